"""One style for all figures: made for the column of a paper, and for every eye.

Figures are rendered without a display: PNG for a page, SVG and PDF for a paper. How a
method looks is said in `styles.py`.
"""

import importlib.util
import io
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from prwn_tf import files
from prwn_tf.analysis.styles import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    YELLOW,
    Style,
)
from prwn_tf.errors import UserError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMN = 3.4  # inches
PAGE = 7.0
COLORS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK, YELLOW)  # of classes
CLEAN, DISTRACTOR = COLORS[0], COLORS[1]
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
STYLE = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "axes.grid": True,
    "grid.color": "0.9",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.5,
    "lines.markersize": 4,
    "figure.dpi": 200,
    "savefig.dpi": 200,
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "prwn_tf",  # the same figure is the same file
    "pdf.fonttype": 42,
}
KINDS = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}

Drawing = Mapping[str, bytes]  # kind of file -> its content


def require() -> None:
    """Raises unless matplotlib is installed."""
    if importlib.util.find_spec("matplotlib") is None:
        raise UserError(
            "figures need the package matplotlib, which is not installed; run: "
            "pip install -e '.[figures]'"
        )


def render(draw: Callable[..., "Figure"], *arguments: Any) -> Drawing:
    """Draws a figure in our style, and returns the contents of its files by kind."""
    require()
    import matplotlib

    drawing = {}
    with matplotlib.rc_context(STYLE):
        figure = draw(*arguments)
        for kind, metadata in KINDS.items():
            file = io.BytesIO()
            figure.savefig(file, format=kind, metadata=metadata)
            figure.set_layout_engine("none")  # laid out once, which takes longest
            drawing[kind] = file.getvalue()
    return drawing | {"png": _compress(drawing["png"])}


def write(folder: pathlib.Path, name: str, drawing: Drawing) -> None:
    """Writes the files of a figure."""
    for kind, content in drawing.items():
        files.write_bytes(folder / f"{name}.{kind}", content)


def _compress(content: bytes) -> bytes:
    """Returns a PNG with a palette of 256 colours, in a third of the bytes."""
    from PIL import Image

    smaller = io.BytesIO()
    picture = Image.open(io.BytesIO(content)).convert("RGB")
    picture.quantize(256).save(smaller, "PNG", optimize=True)
    return smaller.getvalue()


def new_figure(width: float, height: float) -> "Figure":
    """Returns an empty figure, in inches, that keeps its parts apart by itself."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def draw_curve(
    axes: "Axes",
    style: Style,
    label: str,
    x: Sequence[float],
    y: np.ndarray,
    interval: np.ndarray,
    **how: Any,
) -> None:
    """Draws a curve in the look of its method, with a band for its interval."""
    look = {"linestyle": style.dashes, "marker": style.marker, "color": style.color}
    axes.plot(x, y, label=label, **look | how)
    axes.fill_between(x, y - interval, y + interval, color=style.color, alpha=0.2, lw=0)


def draw_bound(axes: "Axes", value: float, label: str) -> None:
    """Draws a line that nothing can pass, or that anything reaches."""
    axes.axhline(value, color="0.45", lw=1, ls=(0, (1, 2)), label=label)


def draw_points(
    axes: "Axes", positions: np.ndarray, labels: np.ndarray, names: Sequence[str], **how
) -> None:
    """Draws points [n, 2] in the colour and marker of their class [n]."""
    for index, name in enumerate(names):
        chosen = positions[labels == index]
        axes.scatter(
            chosen[:, 0],
            chosen[:, 1],
            label=name,
            color=COLORS[index % len(COLORS)],
            marker=MARKERS[(index + index // len(COLORS)) % len(MARKERS)],
            # As vectors, thousands of points make a file of megabytes.
            **{"s": 12, "linewidths": 0, "rasterized": True, **how},
        )


def draw_prototypes(axes: "Axes", positions: np.ndarray) -> None:
    """Draws prototypes [N, 2] as stars in the colours of their classes."""
    colors = [COLORS[index % len(COLORS)] for index in range(len(positions))]
    style = {"s": 90, "marker": "*", "edgecolors": "black", "linewidths": 0.8}
    axes.scatter(positions[:, 0], positions[:, 1], c=colors, zorder=3, **style)
    axes.scatter([], [], c="white", label="prototype", **style)  # for the legend


def remove_axes(axes: "Axes") -> None:
    """Removes ticks and grid from a map whose coordinates mean nothing."""
    axes.set(xticks=[], yticks=[])
    axes.grid(False)
    for side in ("top", "right"):
        axes.spines[side].set_visible(True)


def legend_square(color: str, label: str):
    """Returns a coloured square for a legend."""
    from matplotlib.patches import Patch

    return Patch(color=color, label=label)


def rgb(color: str) -> tuple[int, int, int]:
    """Returns the three bytes of a colour like #0072B2."""
    red, green, blue = (int(color[place : place + 2], 16) for place in (1, 3, 5))
    return red, green, blue
