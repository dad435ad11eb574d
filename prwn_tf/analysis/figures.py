"""One style for all figures: made for the column of a paper, and for every eye.

Colours are those of Okabe and Ito, which colour-blind readers can tell apart; curves
differ in their dashes and markers as well. Figures are rendered without a display.
"""

import importlib.util
import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from prwn_tf.errors import UserError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMN = 3.4  # inches
PAGE = 7.0
COLORS = (
    "#0072B2",  # blue
    "#D55E00",  # vermilion
    "#009E73",  # green
    "#CC79A7",  # purple
    "#E69F00",  # orange
    "#56B4E9",  # sky
    "#000000",
    "#F0E442",  # yellow, last because it is faint on white
)
CLEAN, DISTRACTOR = COLORS[0], COLORS[1]
DASHES = ("-", "--", "-.", ":")
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
}


def require() -> None:
    """Raises unless matplotlib is installed."""
    if importlib.util.find_spec("matplotlib") is None:
        raise UserError(
            "figures need the package matplotlib, which is not installed; run: "
            "pip install -e '.[figures]'"
        )


def render(draw: Callable[..., "Figure"], *arguments: Any) -> bytes:
    """Draws a figure in our style, and returns the content of a PNG file."""
    require()
    import matplotlib

    with matplotlib.rc_context(STYLE):
        file = io.BytesIO()
        draw(*arguments).savefig(file, format="png")
    return _compress(file)


def _compress(file: io.BytesIO) -> bytes:
    """Returns the picture with a palette of 256 colours, in a third of the bytes."""
    from PIL import Image

    smaller = io.BytesIO()
    Image.open(file).convert("RGB").quantize(256).save(smaller, "PNG", optimize=True)
    return smaller.getvalue()


def new_figure(width: float, height: float) -> "Figure":
    """Returns an empty figure, in inches, that keeps its parts apart by itself."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def draw_curve(
    axes: "Axes",
    index: int,
    label: str,
    x: Sequence[float],
    y: np.ndarray,
    interval: np.ndarray,
    **how: Any,
) -> None:
    """Draws curve number `index` of a figure, with a band for its interval."""
    color = COLORS[index % len(COLORS)]
    style = {
        "linestyle": DASHES[index % len(DASHES)],
        "marker": MARKERS[index % len(MARKERS)],
    }
    axes.plot(x, y, color=color, label=label, **style | how)
    axes.fill_between(x, y - interval, y + interval, color=color, alpha=0.2, lw=0)


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
            **{"s": 12, "linewidths": 0, **how},
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
