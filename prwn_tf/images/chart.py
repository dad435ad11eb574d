"""A bar chart as pixels, for TensorBoard, without a drawing library."""

from collections.abc import Sequence

import numpy as np

from prwn_tf.images import lettering

HEIGHT = 160  # pixels of a bar of 1
BAR, GAP = 48, 16
LEFT, TOP, BOTTOM = 40, 28, 40
BLUE, GRAY = (40, 90, 220), (215, 215, 215)
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def bars(
    values: Sequence[float], names: Sequence[str], title: str, below: str
) -> np.ndarray:
    """Returns numbers from 0 to 1 as bars with names: [height, width, 3] of uint8."""
    inner = len(values) * (BAR + GAP) + GAP
    words = [lettering.lettered(text).shape[1] for text in (title, below)]
    width = LEFT + max(inner, *words) + GAP
    picture = np.full((TOP + HEIGHT + BOTTOM, width, 3), 255, np.uint8)
    lettering.write(picture, title, 2, LEFT)
    for tick in TICKS:
        row = TOP + round(HEIGHT * (1 - tick))
        picture[row, LEFT : LEFT + inner] = GRAY
        lettering.write(picture, f"{tick:.2f}", row - lettering.HEIGHT // 2, 2)
    for place, (value, name) in enumerate(zip(values, names, strict=True)):
        left = LEFT + GAP + place * (BAR + GAP)
        high = round(HEIGHT * min(1.0, max(0.0, value)))
        picture[TOP + HEIGHT - high : TOP + HEIGHT, left : left + BAR] = BLUE
        lettering.write(picture, name, TOP + HEIGHT + 6, left + BAR // 2)
        lettering.write(picture, f"{value:.2f}", TOP + HEIGHT - high - 12, left + 6)
    lettering.write(picture, below, TOP + HEIGHT + 24, LEFT)
    return picture
