"""The paper's figure of the plane: decision regions above, embeddings below."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import tensorflow as tf
from toy import settings, study

from prwn_tf import build
from prwn_tf.analysis import figures
from prwn_tf.analysis.projection import pca
from prwn_tf.analysis.styles import METHODS
from prwn_tf.episodes.pools import Pools
from prwn_tf.heads.prototypes import nearest_scores
from prwn_tf.model import FewShotModel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GRID = 300  # points along a side of the plane
SHOWN = 0  # the seed whose models are drawn
MARGIN = 1.08  # side of the plane, in units of the outermost point


class Plane(NamedTuple):
    """A set in the plane, and what was trained on it."""

    name: str
    setting: settings.Setting
    data: study.Data
    outcomes: Sequence[study.Outcome]  # of all seeds

    @property
    def shown(self) -> list[study.Outcome]:
        """The models of the seed that is drawn."""
        return [each for each in self.outcomes if each.seed == SHOWN]

    def title(self, model: str) -> str:
        """Returns a model, its walk as the paper's panels say it, and its accuracy."""
        title = settings.TITLES[model]
        if model == "walk":
            walk = self.setting.walk
            steps, decay, weight = walk.steps, f"{walk.decay:g}", f"{walk.weight:g}"
            title = rf"walk ($\tau$={steps}, $\alpha$={decay}, $\lambda$={weight})"
        shares = {
            each.seed: 100 * each.by_labels["test"]
            for each in self.outcomes
            if each.model == model
        }
        mean = np.mean(list(shares.values()))
        return f"{title}\n{shares[SHOWN]:.1f} %, mean of {len(shares)}: {mean:.1f} %"


def draw_planes(planes: Sequence[Plane]) -> "Figure":
    """Draws the paper's figure: a row for each set, a column for each model."""
    figure = figures.new_figure(figures.PAGE, 0.4 + 2.5 * len(planes))
    panels = figure.subplots(len(planes), len(settings.MODELS), squeeze=False)
    for line, plane in zip(panels, planes, strict=True):
        for axes, outcome in zip(line, plane.shown, strict=True):
            model, pools, prototypes = _trained(plane.setting, plane.data, outcome)
            _draw_regions(axes, model, plane.data, pools, prototypes)
            axes.set_title(plane.title(outcome.model))
        line[0].set_ylabel(f"{plane.name.replace('_', ' ')}, seed {SHOWN}")
    return figure


def _trained(
    setting: settings.Setting, data: study.Data, outcome: study.Outcome
) -> tuple[FewShotModel, Pools, tf.Tensor]:
    """Returns a trained model, which points it had labels of, and its prototypes."""
    config = setting.config(outcome.model)
    model = build.build_model(config)
    model.set_weights(outcome.weights)
    pools = data.labels(config.label_ratio, outcome.seed)
    return model, pools, data.prototypes(model, pools)


def draw_plane(plane: Plane) -> "Figure":
    """Draws one seed's models: their regions, and PCA of their embeddings."""
    figure = figures.new_figure(figures.PAGE, 5.0)
    panels = figure.subplots(2, len(plane.shown))
    for index, outcome in enumerate(plane.shown):
        model, pools, prototypes = _trained(plane.setting, plane.data, outcome)
        above, below = panels[:, index]
        _draw_regions(above, model, plane.data, pools, prototypes)
        _draw_embeddings(below, model, plane.data, prototypes.numpy())
        above.set_title(plane.title(outcome.model))
    panels[0, 0].set_ylabel(f"the plane, seed {SHOWN}")
    panels[1, 0].set_ylabel("the embedding")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    more, names = panels[1, 0].get_legend_handles_labels()
    figure.legend(
        handles + more[-1:], labels + names[-1:], loc="outside lower center", ncols=3
    )
    return figure


def _draw_regions(
    axes: "Axes",
    model: FewShotModel,
    data: study.Data,
    pools: Pools,
    prototypes: tf.Tensor,
) -> None:
    """Draws the nearest prototype as background, and labelled points large."""
    points = data.points["train"].numpy().reshape(-1, 2)
    classes = data.stores["train"].labels()
    side = MARGIN * np.abs(points).max()
    line = np.linspace(-side, side, GRID, dtype=np.float32)
    grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 1, 1, 2)
    answer = tf.argmax(nearest_scores(prototypes, model(grid)), axis=-1).numpy()
    palette = np.array([figures.rgb(color) for color in figures.COLORS]) / 255
    tint = 0.35 * palette[answer] + 0.65  # towards white
    axes.imshow(
        tint.reshape(GRID, GRID, 3), origin="lower", extent=(-side, side, -side, side)
    )
    labeled = np.zeros(len(points), bool)
    for start, count in zip(pools.starts, pools.labeled, strict=True):
        labeled[pools.rows[start : start + count]] = True
    axes.scatter(
        *points[~labeled].T,
        s=1.5,
        color="0.25",
        lw=0,
        label="unlabelled point",
        rasterized=True,
    )
    everything = labeled.all()
    figures.draw_points(
        axes,
        points[labeled],
        classes[labeled],
        [f"labelled, class {index + 1}" for index in range(len(prototypes))],
        s=5 if everything else 16,
        edgecolors="black",
        linewidths=0 if everything else 0.5,
    )
    figures.remove_axes(axes)


def _draw_embeddings(
    axes: "Axes", model: FewShotModel, data: study.Data, prototypes: np.ndarray
) -> None:
    """Draws training points in the two widest directions of the embedding."""
    vectors = model(data.points["train"]).numpy()
    flat, explained = pca(np.concatenate([vectors, prototypes]))
    names = [f"class {index + 1}" for index in range(len(prototypes))]
    figures.draw_points(
        axes, flat[: len(vectors)], data.stores["train"].labels(), names, s=5
    )
    figures.draw_prototypes(axes, flat[len(vectors) :])
    figures.remove_axes(axes)
    axes.set_xlabel(f"PCA ({100 * sum(explained):.0f} % of the variance)")


def draw_curves(by_dataset: dict[str, Sequence[study.Outcome]]) -> "Figure":
    """Draws validation accuracy against training steps, a panel for each set."""
    figure = figures.new_figure(figures.PAGE, 2.7)
    panels = figure.subplots(1, len(by_dataset), squeeze=False)[0]
    for axes, (dataset, outcomes) in zip(panels, by_dataset.items(), strict=True):
        for model in settings.MODELS:
            chosen = [each.curve for each in outcomes if each.model == model]
            steps = [step for step in chosen[0] if step > 0]
            values = 100 * np.array(
                [[curve[step]["val"] for step in steps] for curve in chosen]
            )  # [seeds, steps]
            figures.draw_curve(
                axes,
                METHODS[settings.METHODS[model]],
                settings.TITLES[model],
                steps,
                values.mean(axis=0),
                values.std(axis=0, ddof=1),
            )
        axes.set_xscale("log")
        axes.minorticks_off()
        axes.set_xticks(steps, [str(step) for step in steps], rotation=45)
        axes.set_title(dataset.replace("_", " "), loc="left")
        axes.set(xlabel="training episodes")
    panels[0].set(ylabel="1-shot validation accuracy (%)")
    panels[0].legend(loc="lower right")
    return figure
