"""Pictures of where the walker goes among clean points and distractors."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from prwn_tf.analysis import figures
from prwn_tf.analysis.findings import mean_and_interval
from prwn_tf.analysis.styles import styles, title
from prwn_tf.analysis.visits import Visits

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = range(25, 15, -1)  # pictures in a row; the first number that leaves none over
BINS = 20
MAX_PICTURES = 500
CORNER = 0.9  # areas above it are curves in a corner, which is drawn larger,
SIDE = 0.4  # so much of both shares


def draw_clean(all_visits: Sequence[Visits], rescaled: Sequence[Visits]) -> "Figure":
    """Draws how often the walker's first point is clean, a line for each run."""
    count = len(all_visits)
    figure = figures.new_figure(figures.PAGE, 1.0 + 0.22 * count)
    panels = figure.subplots(1, 3, sharey=True)
    kinds = {
        "own scale, smoothing {:g}": [each.smoothed for each in all_visits],
        "common scale, smoothing {:g}": [each.smoothed for each in rescaled],
        "common scale, unsmoothed": [each.raw for each in rescaled],
    }
    looks = styles([each.label for each in all_visits])
    for axes, (kind, values) in zip(panels, kinds.items(), strict=True):
        for place, (each, chances) in enumerate(zip(all_visits, values, strict=True)):
            mean, interval = mean_and_interval(chances)
            look = looks[each.label]
            axes.errorbar(mean, place, xerr=interval, fmt=look.marker, color=look.color)
        axes.set_title(kind.format(all_visits[0].smoothing), loc="left")
        axes.set(xlabel="p(first point is clean)")
    for axes in panels[:2]:
        axes.axvline(all_visits[0].ceiling, color="0.45", lw=1, ls=(0, (1, 2)))
        axes.set(xlabel=f"p(first point is clean), at most {all_visits[0].ceiling:.3g}")
    panels[0].set_yticks(range(count), [title(each.label) for each in all_visits])
    panels[0].set_ylim(count - 0.5, -0.5)
    return figure


def draw_roc(all_visits: Sequence[Visits]) -> "Figure":
    """Draws how well the success score finds clean points, and what the filter does."""
    figure = figures.new_figure(figures.COLUMN, 3.7 + 0.16 * len(all_visits))
    axes = figure.subplots()
    looks = styles([each.label for each in all_visits])
    for each in all_visits:
        curve = each.separation
        caught = np.array([mean_and_interval(share) for share in curve.caught.T])
        area, interval = mean_and_interval(curve.area)
        figures.draw_curve(
            axes,
            looks[each.label],
            f"{title(each.label)}: {area:.3f} ± {interval:.3f}",
            curve.alarms,
            caught[:, 0],
            caught[:, 1],
            marker=None,
        )
        place = np.mean(each.distractors_kept), np.mean(each.clean_kept)
        axes.plot(*place, looks[each.label].marker, color=looks[each.label].color)
    axes.plot([], [], "o", color="0.3", label="what the filter keeps")
    corner = all(map(_is_in_corner, all_visits))
    if not corner:
        axes.plot([0, 1], [0, 1], color="0.45", lw=1, ls=(0, (1, 2)), label="chance")
    axes.set(
        xlabel="share of distractors taken",
        ylabel="share of clean points found",
        xlim=(-0.01, SIDE + 0.01) if corner else (-0.02, 1.02),
        ylim=(0.99 - SIDE, 1.01) if corner else (-0.02, 1.02),
        aspect="equal",
    )
    drawn = axes.get_legend_handles_labels()
    figure.legend(*drawn, loc="outside lower center", title="area under the curve")
    return figure


def _is_in_corner(visits: Visits) -> bool:
    """Returns whether a curve, and what the filter keeps, lie in the upper left."""
    kept = max(np.mean(visits.distractors_kept), 1 - np.mean(visits.clean_kept))
    return kept < SIDE and visits.separation.area.mean() > CORNER


def draw_histogram(all_visits: Sequence[Visits]) -> "Figure":
    """Draws where clean points and distractors rank, one panel for each run.

    The filter decides by ranks within the episode, and the scores themselves run over
    many decades.
    """
    count = len(all_visits)
    figure = figures.new_figure(figures.COLUMN, 0.7 + 1.3 * count)
    panels = figure.subplots(count, 1, sharex=True, sharey=True, squeeze=False)
    for axes, each in zip(panels[:, 0], all_visits, strict=True):
        order = each.scores.argsort(axis=1, kind="stable")
        rank = 100 * (order.argsort(axis=1) + 0.5) / order.shape[1]  # [E, U]
        kinds = {
            "clean": (rank[:, : each.clean], figures.CLEAN, None),
            "distractor": (rank[:, each.clean :], figures.DISTRACTOR, "////"),
        }
        for name, (part, color, hatch) in kinds.items():
            axes.hist(
                part.ravel(),
                bins=np.linspace(0, 100, BINS + 1),
                weights=np.full(part.size, 100 / part.size),
                histtype="stepfilled",
                color=color,
                edgecolor=color,
                alpha=0.45,
                hatch=hatch,
                label=name,
            )
        axes.axvline(50, color="black", lw=1)
        axes.set(ylabel="points (%)", xlim=(0, 100))
        axes.set_title(title(each.label), loc="left")
    panels[0, 0].legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2)
    panels[-1, 0].set(xlabel="rank by success score (%); the filter keeps above 50")
    return figure


def draw_episode(
    visits: Visits, index: int, read: Callable[[np.ndarray], np.ndarray]
) -> "Figure":
    """Draws an episode's unlabelled images, the highest score first.

    Of those that are kept, and of the others, `MAX_PICTURES` are drawn at most.

    Args:
        read: places among the unlabelled images [n] -> the images [n, H, W, C].
    """
    order = np.argsort(-visits.scores[index], kind="stable")
    kept = int(visits.kept[index].sum())
    blocks = {"kept by the filter": order[:kept], "left out": order[kept:]}
    columns = next((n for n in COLUMNS if kept % n == 0), COLUMNS[-1])
    heights = [
        _lines(min(len(block), MAX_PICTURES), columns) for block in blocks.values()
    ]
    picture = figures.PAGE / columns  # inches
    figure = figures.new_figure(figures.PAGE, 0.9 + picture * sum(heights))
    panels = figure.subplots(2, 1, gridspec_kw={"height_ratios": heights})
    for axes, (name, block) in zip(panels, blocks.items(), strict=True):
        clean = block < visits.clean
        count = f"{clean.sum()} clean, {(~clean).sum()} distractors"
        shown = slice(MAX_PICTURES)
        axes.imshow(_sheet(read(block[shown]), clean[shown], columns))
        axes.set_title(f"{name}: {count}", loc="left")
        axes.set_axis_off()
    handles = [
        figures.legend_square(figures.CLEAN, "clean"),
        figures.legend_square(figures.DISTRACTOR, "distractor"),
    ]
    panels[0].legend(handles=handles, loc="lower right", bbox_to_anchor=(1, 1), ncols=2)
    figure.supxlabel(
        f"{title(visits.label)}: the success score falls to the right, line by line",
        fontsize=figures.STYLE["font.size"],
    )
    return figure


def _sheet(images: np.ndarray, clean: np.ndarray, columns: int) -> np.ndarray:
    """Lays images [n, H, W, C] side by side, framed by kind: -> [height, width, 3]."""
    images = np.broadcast_to(images, [*images.shape[:3], 3])
    border = max(2, images.shape[1] // 10)
    height, width = (side + 3 * border for side in images.shape[1:3])
    lines = _lines(len(images), columns)
    sheet = np.full([lines * height, columns * width, 3], 255, np.uint8)
    for place, (image, own) in enumerate(zip(images, clean, strict=True)):
        top, left = place // columns * height, place % columns * width
        framed = sheet[top : top + height - border, left : left + width - border]
        framed[:] = figures.rgb(figures.CLEAN if own else figures.DISTRACTOR)
        framed[border:-border, border:-border] = image
    return sheet


def _lines(pictures: int, columns: int) -> int:
    """Returns how many lines some pictures take."""
    return -(-max(pictures, 1) // columns)
