"""The runs behind the mini-ImageNet columns, and the cells that they answer.

One training, of 5-shot episodes, answers both columns. In figures, rows are those that
begin with a trained encoder; "random" ones begin with random weights.
"""

import pathlib

from paper_tables import mini_pretrained
from paper_tables.description import (
    Cell,
    DatasetTables,
    HigherWays,
    Published,
    Table,
    situations,
)

DISTRACTORS = 5
_WITHOUT = (
    Cell("PN_all", "pn_all", "none", {1: (49.4,), 5: (68.2,)}),
    Cell("PN", "pn", "none", {1: (43.61, 0.27), 5: (59.08, 0.22)}),
    Cell(
        "MetaGAN on prototypes (ours; the paper's is on relation networks)",
        "metagan",
        "none",
        {1: (50.35, 0.23), 5: (64.43, 0.27)},
    ),
    Cell("PN_VAT", "pn_vat", "none", {1: (49.18, 0.22), 5: (66.94, 0.20)}),
    Cell("PRWN", "prwn", "none", {1: (50.89, 0.22), 5: (67.82, 0.19)}),
    Cell("PRWN, 20 % of the labels", "prwn_label20", "none", {5: (64.8,)}),
    Cell("PN_all + semi-supervised inference", "pn_all", "refine", {}),
    Cell(
        "PN + semi-supervised inference",
        "pn",
        "refine",
        {1: (49.98, 0.34), 5: (63.77, 0.20)},
    ),
    Cell("MetaGAN on prototypes + semi-supervised inference", "metagan", "refine", {}),
    Cell("PN_VAT + semi-supervised inference", "pn_vat", "refine", {}),
    Cell(
        "PN + soft k-means",
        "soft_kmeans",
        "none",
        {1: (50.09, 0.45), 5: (64.59, 0.28)},
    ),
    Cell(
        "PN + soft k-means + cluster",
        "cluster_kmeans",
        "none",
        {1: (49.03, 0.24), 5: (63.08, 0.18)},
    ),
    Cell(
        "PN + masked soft k-means",
        "masked_kmeans",
        "none",
        {1: (50.41, 0.24), 5: (64.39, 0.24)},
    ),
    Cell("TPN-semi", "tpn", "none", {1: (52.78, 0.27), 5: (66.42, 0.21)}),
    Cell("TPN-semi + walk", "tpn_walk", "none", {}),
    # The published one has fewer labels: mini_notes.md.
    Cell("EGNN-semi", "egnn", "none", {5: (62.52,)}),
    Cell("EGNN-semi + walk", "egnn_walk", "none", {}),
    Cell(
        "PRWN + semi-supervised inference",
        "prwn",
        "refine",
        {1: (56.65, 0.24), 5: (69.65, 0.20)},
    ),
    Cell(
        "PRWN, 20 % of the labels, + semi-supervised inference",
        "prwn_label20",
        "refine",
        {},
    ),
)
_WITH = (
    Cell("PRWN", "prwn_distractors", "none", {1: (50.96, 0.23), 5: (67.64, 0.18)}),
    Cell("PRWN, trained without them", "prwn", "none", {}),
    # Trained on labelled images alone, it is the same model as above.
    Cell(
        "PN + semi-supervised inference",
        "pn",
        "refine",
        {1: (47.42, 0.33), 5: (62.62, 0.24)},
    ),
    Cell("PN + soft k-means, trained without them", "soft_kmeans", "none", {}),
    Cell(
        "PN + soft k-means + cluster, trained without them",
        "cluster_kmeans",
        "none",
        {},
    ),
    Cell("PN + masked soft k-means, trained without them", "masked_kmeans", "none", {}),
    Cell(
        "PRWN + semi-supervised inference",
        "prwn_distractors",
        "refine",
        {1: (53.61, 0.22), 5: (67.45, 0.21)},
    ),
    Cell(
        "PRWN, trained without them, + semi-supervised inference",
        "prwn",
        "refine",
        {},
    ),
    Cell(
        "PN + semi-supervised inference + filter",
        "pn",
        "filter",
        {},
    ),
    Cell(
        "PRWN + semi-supervised inference + filter",
        "prwn_distractors",
        "filter",
        {1: (54.51, 0.23), 5: (68.77, 0.20)},
    ),
    Cell(
        "PRWN, trained without them, + semi-supervised inference + filter",
        "prwn",
        "filter",
        {},
    ),
)
# Rows are trained and tested with 5 shots, and tested with one as well. Those whose
# own test has no distractors may be tested among them.
_ONE_SHOT = ({"shot": 1},)
_ALSO_CROWDED = (
    *_ONE_SHOT,
    {"distractors": DISTRACTORS},
    {"shot": 1, "distractors": DISTRACTORS},
)

TABLES = DatasetTables(
    dataset="mini",
    about="The mini-ImageNet columns of both tables, and the analyses with their "
    "figures.",
    source_help="the mini-ImageNet images, which cannot be downloaded, if they are "
    "not prepared",
    flagfiles="flags/mini/short",
    notes=pathlib.Path(__file__).with_name("mini_notes.md"),
    # The most telling first.
    rows=(
        *dict.fromkeys(mini_pretrained.ORIGINS.values()),
        *mini_pretrained.ORIGINS,
        "prwn",
        "pn",
        "pn_all",
        "prwn_distractors",
        "masked_kmeans",
        "pn_vat",
        "prwn_label20",
        "soft_kmeans",
        "cluster_kmeans",
        "tpn",
        "tpn_walk",
        "egnn",
        "egnn_walk",
        "metagan",
    ),
    tables=(
        *mini_pretrained.tables(DISTRACTORS),
        Table("From random weights", 0, _WITHOUT),
        Table("From random weights, with distractors", DISTRACTORS, _WITH),
    ),
    shots=(1, 5),
    higher_ways=HigherWays(
        "Higher ways, 5 shots",
        (
            Published("PN", "pretrained_pn", None),
            Published("PN_all", "pretrained_pn_all", None),
            Published("PRWN", "pretrained_prwn", None),
            Published("PN_random", "pn", None),
            Published("PRWN_random", "prwn", None),
        ),
    ),
    clean=(
        Published("PN", "pretrained_pn", 0.67),
        Published("PN_all", "pretrained_pn_all", 0.76),
        Published("PRWN_distractors", "pretrained_prwn_distractors", 0.81),
        Published("PRWN", "pretrained_prwn", None),
        Published("PN_random", "pn", None),
        Published("PRWN_random", "prwn", None),
    ),
    consistency=(
        Published("PN_VAT", "pretrained_pn_vat", 1.1),
        Published("PN_all", "pretrained_pn_all", 2.91),
        Published("PRWN", "pretrained_prwn", 3.1),
        Published("PN", "pretrained_pn", 5.9),
        Published("PN_random", "pn", None),
        Published("PRWN_random", "prwn", None),
    ),
    consistency_episodes=20,  # an image is nine times as large as Omniglot's
    landing=(
        ("PN", "pretrained_pn"),
        ("PN_all", "pretrained_pn_all"),
        ("PN_VAT", "pretrained_pn_vat"),
        ("PRWN", "pretrained_prwn"),
        ("PN_random", "pn"),
        ("PRWN_random", "prwn"),
    ),
    mapped=(("PN", "pretrained_pn"), ("PRWN", "pretrained_prwn")),
    mapped_ways=20,
    compared=("pretrained_prwn", "pretrained_prwn_distractors", "prwn"),
    evaluations={
        "prwn": _ALSO_CROWDED,
        "pn": _ALSO_CROWDED,
        "pn_all": _ONE_SHOT,
        "prwn_distractors": _ONE_SHOT,
        "masked_kmeans": _ALSO_CROWDED,
        "pn_vat": _ONE_SHOT,
        "prwn_label20": _ONE_SHOT,
        "soft_kmeans": _ALSO_CROWDED,
        "cluster_kmeans": _ALSO_CROWDED,
        "tpn": _ONE_SHOT,
        "tpn_walk": _ONE_SHOT,
        "egnn": _ONE_SHOT,
        "egnn_walk": _ONE_SHOT,
        "classifier": _ONE_SHOT,
        "pretrained_prwn": _ALSO_CROWDED,
        "pretrained_prwn_half": _ONE_SHOT,
        "pretrained_pn": _ALSO_CROWDED,
        "pretrained_pn_vat": _ONE_SHOT,
        "pretrained_prwn_distractors": _ONE_SHOT,
        "pretrained_masked_kmeans": _ALSO_CROWDED,
        "pretrained_pn_all": _ONE_SHOT,
        "pretrained_soft_kmeans": _ALSO_CROWDED,
        "pretrained_cluster_kmeans": _ALSO_CROWDED,
        "pretrained_tpn": _ONE_SHOT,
        "pretrained_tpn_walk": _ONE_SHOT,
        "pretrained_egnn": _ONE_SHOT,
        "pretrained_egnn_walk": _ONE_SHOT,
        "pretrained_metagan": _ONE_SHOT,
        "pretrained_feat": _ONE_SHOT,
        "classifier_label20": _ONE_SHOT,
        "pretrained_prwn_label20": _ONE_SHOT,
        "pretrained_pn_label20": _ONE_SHOT,
        "pretrained_feat_walk": _ONE_SHOT,
        "metagan": _ONE_SHOT,
    },
    origins=mini_pretrained.ORIGINS,
    short=True,
    inference_rows=("pretrained_prwn", "pretrained_pn"),
    situations=situations(
        {
            "clean": {},
            "5 distractor classes": {"distractors": DISTRACTORS},
            "15 distractor classes": {"distractors": 15},
            "unequal numbers": {"balance": "dirichlet"},
            "unequal numbers, 5 distractor classes": {
                "distractors": DISTRACTORS,
                "balance": "dirichlet",
            },
            "1 unlabelled a class": {"unlabeled": 1},
            "20-way": {"way": 20},
            "1-shot": {"shot": 1},
            "1-shot, 5 distractor classes": {"shot": 1, "distractors": DISTRACTORS},
        }
    ),
)
