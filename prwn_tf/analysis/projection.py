"""Embeddings laid out in the plane: by PCA, which is linear, and by t-SNE."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from prwn_tf.analysis import figures
from prwn_tf.analysis.findings import Finding, Row, as_floats
from prwn_tf.analysis.settings import Settings
from prwn_tf.analysis.styles import title
from prwn_tf.analysis.subject import Subject
from prwn_tf.config import EpisodeSpec

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_IMAGES = 100  # of a class
MAX_NAMED = 10  # classes in a legend
PERPLEXITY, SEED = 30, 0  # of t-SNE


@dataclasses.dataclass(frozen=True)
class Map:
    """The images of an episode's classes and their prototypes, two numbers each."""

    label: str
    names: tuple[str, ...]  # of the classes
    classes: np.ndarray  # [images] the class of each image
    pca: np.ndarray  # [images + N, 2], prototypes last
    tsne: np.ndarray  # [images + N, 2]
    explained: tuple[float, float]  # share of the variance along the two PCA axes

    def rows(self) -> list[Row]:
        """Returns a row for each point."""
        names = [self.names[index] for index in self.classes]
        names += [f"prototype of {name}" for name in self.names]
        columns = ("pca_1", "pca_2", "tsne_1", "tsne_2")
        places = np.concatenate([self.pca, self.tsne], axis=1)
        return [
            {"run": self.label, "class": name}
            | as_floats(zip(columns, place, strict=True))
            for name, place in zip(names, places, strict=True)
        ]


def analyze(subjects: Sequence[Subject], settings: Settings) -> Finding:
    """Maps every run's embedding of the same images."""
    maps = [
        embedding_map(subject, settings.spec, settings.episode) for subject in subjects
    ]
    explained = [{"run": each.label, "explained": each.explained} for each in maps]
    return Finding(
        name="embedding",
        lines=[
            f"{each.label:12} two PCA axes hold {100 * sum(each.explained):.0f} % of "
            f"the variance of {len(each.names)} classes"
            for each in maps
        ],
        numbers={**settings.about("episode"), "rows": explained},
        tables={"embedding": [row for each in maps for row in each.rows()]},
        figures={"embedding": figures.render(draw, maps)},
    )


def embedding_map(subject: Subject, spec: EpisodeSpec, episode: int = 0) -> Map:
    """Maps the images of an episode's classes, and the head's prototypes of them."""
    plan = subject.plan(spec, episode)
    classes = plan.classes.numpy()[: spec.way]
    rows = [np.array(subject.store.rows(index)[:MAX_IMAGES]) for index in classes]
    vectors = subject.embeddings.gather(np.concatenate(rows)).numpy()
    answer = subject.model.head.answer(subject.embedded(plan))
    everything = np.concatenate([vectors, answer.prototypes.numpy()])
    # The plane has two axes, even if the embedding has one.
    everything = np.pad(everything, [(0, 0), (0, everything.shape[1] == 1)])
    flat, explained = pca(everything)
    return Map(
        label=subject.label,
        names=tuple(subject.store.names[index] for index in classes),
        classes=np.repeat(np.arange(spec.way), [len(part) for part in rows]),
        pca=flat,
        tsne=tsne(everything),
        explained=explained,
    )


def pca(vectors: np.ndarray) -> tuple[np.ndarray, tuple[float, float]]:
    """Returns coordinates along the two widest axes, and their share of the variance.

    [n, D] -> [n, 2]. The largest entry of an axis is positive, so that the picture
    does not flip from one machine to the next.
    """
    centred = vectors - vectors.mean(axis=0)
    _, sizes, axes = np.linalg.svd(centred, full_matrices=False)
    axes = axes[:2]
    largest = np.take_along_axis(axes, np.abs(axes).argmax(axis=1)[:, None], axis=1)
    share = sizes[:2] ** 2 / max(np.sum(sizes**2), np.finfo(sizes.dtype).tiny)
    return centred @ (axes * np.sign(largest)).T, (float(share[0]), float(share[1]))


def tsne(vectors: np.ndarray) -> np.ndarray:
    """Returns coordinates that keep neighbours together: [n, D] -> [n, 2]."""
    import threadpoolctl
    from sklearn.manifold import TSNE

    if not np.ptp(vectors, axis=0).any():  # a dead network, at which it would crash
        return np.zeros((len(vectors), 2))
    model = TSNE(perplexity=_perplexity(len(vectors)), init="pca", random_state=SEED)
    # Its threads wait for each other busily: ten times slower on a machine in use.
    with threadpoolctl.threadpool_limits(1):
        return model.fit_transform(vectors)


def _perplexity(points: int) -> float:
    """Returns how many neighbours count; few points have not as many."""
    return min(PERPLEXITY, (points - 1) / 3)


def draw(maps: Sequence[Map]) -> "Figure":
    """Draws runs side by side: PCA above, t-SNE below, prototypes as stars."""
    figure = figures.new_figure(figures.PAGE, 0.6 + 2 * figures.PAGE / len(maps))
    panels = figure.subplots(2, len(maps), squeeze=False)
    for (above, below), each in zip(panels.T, maps, strict=True):
        count = len(each.classes)
        for axes, places in ((above, each.pca), (below, each.tsne)):
            figures.draw_points(axes, places[:count], each.classes, each.names)
            figures.draw_prototypes(axes, places[count:])
            figures.remove_axes(axes)
        first, second = (
            f"{100 * share:.0f} % of the variance" for share in each.explained
        )
        above.set(xlabel=first, ylabel=second)
        about = f"{title(each.label)}, {len(each.names)} classes"
        above.set_title(f"{about}: PCA", loc="left")
        perplexity = f"perplexity {_perplexity(len(each.tsne)):.3g}"
        below.set_title(f"{about}: t-SNE ({perplexity}, seed {SEED})", loc="left")
    named = len(maps[0].names) <= MAX_NAMED
    handles, labels = panels[0, 0].get_legend_handles_labels()
    kept = slice(None) if named else slice(-1, None)  # the star of prototypes is last
    figure.legend(handles[kept], labels[kept], loc="outside lower center", ncols=3)
    return figure
