"""The runs behind the Omniglot columns, and the cells of the paper that they answer."""

import pathlib
from typing import NamedTuple


class Cell(NamedTuple):
    """A published accuracy (%), and the row and test entry that has ours."""

    title: str
    row: str
    adapt: str
    accuracy: float | None  # None: the paper has no such row
    interval: float | None = None


class Table(NamedTuple):
    """The cells of one kind of test episodes."""

    title: str
    distractors: int  # classes of an episode
    cells: tuple[Cell, ...]


_WITHOUT = (
    Cell("PN_all", "pn_all", "none", 98.8),
    Cell("PN", "pn", "none", 94.62, 0.09),
    Cell("PN, trained 20-way as PRWN is", "pn_20way", "none", None),
    Cell("PN_VAT", "pn_vat", "none", 97.14, 0.16),
    Cell("PRWN", "prwn", "none", 98.28, 0.15),
    Cell("PN + semi-supervised inference", "pn", "refine", 97.45, 0.05),
    Cell("PN, 20-way, + semi-supervised inference", "pn_20way", "refine", None),
    Cell("PN_VAT + semi-supervised inference", "pn_vat", "refine", None),
    Cell("PN + soft k-means", "soft_kmeans", "none", 97.25, 0.10),
    Cell("PN + soft k-means + cluster", "cluster_kmeans", "none", 97.68, 0.07),
    Cell("PN + masked soft k-means", "masked_kmeans", "none", 97.52, 0.07),
    Cell("PRWN + semi-supervised inference", "prwn", "refine", 99.23, 0.08),
)
_WITH = (
    Cell("PRWN", "prwn_distractors", "none", 97.76, 0.11),
    Cell("PRWN, trained without them", "prwn", "none", None),
    Cell("PN + semi-supervised inference", "pn_distractors", "refine", 95.08, 0.09),
    Cell("PN + soft k-means", "soft_kmeans_distractors", "none", 95.01, 0.09),
    Cell(
        "PN + soft k-means + cluster", "cluster_kmeans_distractors", "none", 97.17, 0.04
    ),
    Cell("PN + masked soft k-means", "masked_kmeans_distractors", "none", 97.30, 0.30),
    Cell("PRWN + semi-supervised inference", "prwn_distractors", "refine", 97.86, 0.22),
    Cell(
        "PRWN, trained without them, + semi-supervised inference",
        "prwn",
        "refine",
        None,
    ),
    Cell(
        "PRWN + semi-supervised inference + filter",
        "prwn_distractors",
        "filter",
        99.04,
        0.18,
    ),
    Cell(
        "PRWN, trained without them, + semi-supervised inference + filter",
        "prwn",
        "filter",
        None,
    ),
)
DISTRACTORS = 5
TABLES = (
    Table("Without distractors", 0, _WITHOUT),
    Table("With distractors", DISTRACTORS, _WITH),
)
CELLS = tuple(cell for table in TABLES for cell in table.cells)
# Rows that are tested among distractors without having been trained for them.
TRANSFERRED = ("prwn",)
# The flagfiles of the rows, the most telling and the quickest first.
ROWS = (
    "prwn",
    "prwn_distractors",
    "pn",
    "pn_20way",
    "pn_distractors",
    "soft_kmeans",
    "cluster_kmeans",
    "masked_kmeans",
    "soft_kmeans_distractors",
    "cluster_kmeans_distractors",
    "masked_kmeans_distractors",
    "pn_all",
    "pn_vat",
)
# One label split hides what another one would give: the same flagfile, other seeds.
SEEDS = (1, 2)
SPREAD = ("prwn", "pn")
REPEATS = {
    f"{row}_seed{seed}": (row, seed) for row in SPREAD for seed in SEEDS
}  # name -> flagfile, seed of labels, weights and episodes


class Published(NamedTuple):
    """A number of the paper's analyses."""

    label: str  # of the run in our figures
    row: str
    number: float | None  # None: the paper has no such run


# Accuracy (%) of 800-way episodes; probability that the walker is at a clean point.
HIGHER_WAY = (
    Published("PN", "pn", 39.84),
    Published("PN_20way", "pn_20way", None),
    Published("PN_all", "pn_all", 65.57),
    Published("PRWN", "prwn", 64.43),
)
CLEAN = (
    Published("PN", "pn_distractors", 0.67),
    Published("PN_all", "pn_all", 0.76),
    Published("PRWN", "prwn_distractors", 0.81),
)
# Average VAT loss: how far an answer moves under the worst small change of an image.
CONSISTENCY = (
    Published("PN_VAT", "pn_vat", 1.1),
    Published("PN_all", "pn_all", 2.91),
    Published("PRWN", "prwn", 3.1),
    Published("PN", "pn", 5.9),
    Published("PN_20way", "pn_20way", None),
)
LANDING = (
    ("PN", "pn"),
    ("PN_20way", "pn_20way"),
    ("PN_all", "pn_all"),
    ("PN_VAT", "pn_vat"),
    ("PRWN", "prwn"),
)


def flags(row: str, root: pathlib.Path) -> list[str]:
    """Returns the flags that make a row what it is, for a repository at `root`."""
    flagfile, seed = REPEATS.get(row, (row, 0))
    path = root / "flags/omniglot" / f"{flagfile}.flags"
    seeds = [f"--seed={seed}", f"--label_seed={seed}"] if seed else []
    return [f"--flagfile={path}", *seeds]
