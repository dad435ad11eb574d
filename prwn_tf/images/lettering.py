"""Words in pictures, without a font library: capitals of three by five pixels."""

import numpy as np

# A sign, and its five rows of three pixels, each row an octal digit.
_SIGNS = """
    .00002 ,00024 :02020 -00700 %51245 /11244 =07070
    075557 126227 261247 361216 455711 574617 634757 771122 875757 975716
    A25755 B65656 C34443 D65556 E74647 F74644 G34553 H55755 I72227 J11152 K55655
    L44447 M57755 N65555 O25552 P65644 Q25563 R65655 S34216 T72222 U55557 V55552
    W55775 X55255 Y55222 Z71247
"""
_ROWS = {" ": "00000"} | {sign[0]: sign[1:] for sign in _SIGNS.split()}
SCALE = 2  # pixels of a dot
DOTS = 5  # height of a letter
HEIGHT = DOTS * SCALE


def lettered(text: str, scale: int = SCALE) -> np.ndarray:
    """Returns a line of text, black on white: [5 * scale, width, 3] of uint8."""
    letters = [_letter(sign) for sign in text.upper()]
    dots = np.concatenate(letters, axis=1) if letters else np.zeros((DOTS, 0), bool)
    large = dots.repeat(scale, axis=0).repeat(scale, axis=1)
    return np.where(large[..., None], 0, 255).repeat(3, axis=2).astype(np.uint8)


def _letter(sign: str) -> np.ndarray:
    """Returns where a sign has ink, with a gap behind it: [5, 4]."""
    rows = [int(digit) for digit in _ROWS.get(sign, _ROWS["-"])]
    return np.array([[bool(row & bit) for bit in (4, 2, 1, 0)] for row in rows])


def write(
    picture: np.ndarray, text: str, top: int, left: int, scale: int = SCALE
) -> None:
    """Writes a line of text into a picture [H, W, 3], as far as it has room."""
    line = lettered(text, scale)
    room = picture[top : top + line.shape[0], left : left + line.shape[1]]
    room[:] = line[: room.shape[0], : room.shape[1]]
