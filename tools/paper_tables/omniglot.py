"""The runs behind the Omniglot columns, and the cells of the paper that they answer."""

import pathlib

from paper_tables.description import (
    Ablation,
    Cell,
    DatasetTables,
    Factor,
    HigherWays,
    Published,
    Table,
    situations,
)

DISTRACTORS = 5
_WITHOUT = (
    Cell("PN_all", "pn_all", "none", {1: (98.8,)}),
    Cell(
        "PN_all, of training and validation classes",
        "pn_all_train_val",
        "none",
        {1: (98.8,)},
    ),
    Cell("PN", "pn", "none", {1: (94.62, 0.09)}),
    Cell("PN, trained 20-way as PRWN is", "pn_20way", "none", {}),
    Cell(
        "MetaGAN on prototypes (ours; the paper's is on relation networks)",
        "metagan",
        "none",
        {1: (97.58, 0.07)},
    ),
    Cell("PN_VAT", "pn_vat", "none", {1: (97.14, 0.16)}),
    Cell("PN + association", "association", "none", {}),
    Cell("PRWN", "prwn", "none", {1: (98.28, 0.15)}),
    Cell("PRWN + MetaGAN's generator", "metagan_walk", "none", {}),
    Cell("PN + semi-supervised inference", "pn", "refine", {1: (97.45, 0.05)}),
    Cell("PN, 20-way, + semi-supervised inference", "pn_20way", "refine", {}),
    Cell("MetaGAN on prototypes + semi-supervised inference", "metagan", "refine", {}),
    Cell("PN_VAT + semi-supervised inference", "pn_vat", "refine", {}),
    Cell("PN + association + semi-supervised inference", "association", "refine", {}),
    Cell("PN + soft k-means", "soft_kmeans", "none", {1: (97.25, 0.10)}),
    Cell("PN + soft k-means + cluster", "cluster_kmeans", "none", {1: (97.68, 0.07)}),
    Cell("PN + masked soft k-means", "masked_kmeans", "none", {1: (97.52, 0.07)}),
    Cell("PRWN + semi-supervised inference", "prwn", "refine", {1: (99.23, 0.08)}),
    Cell(
        "PRWN + MetaGAN's generator + semi-supervised inference",
        "metagan_walk",
        "refine",
        {},
    ),
)
_WITH = (
    Cell("PRWN", "prwn_distractors", "none", {1: (97.76, 0.11)}),
    Cell("PRWN, trained 20-way (ours)", "prwn_distractors_20way", "none", {}),
    Cell("PRWN, trained without them", "prwn", "none", {}),
    # Trained on labelled images alone, it is the same model as above.
    Cell("PN + semi-supervised inference", "pn", "refine", {1: (95.08, 0.09)}),
    Cell("PN, 20-way, + semi-supervised inference", "pn_20way", "refine", {}),
    Cell("PN_VAT + semi-supervised inference", "pn_vat", "refine", {}),
    Cell("PN_all + semi-supervised inference", "pn_all", "refine", {}),
    Cell("PN + soft k-means", "soft_kmeans_distractors", "none", {1: (95.01, 0.09)}),
    Cell(
        "PN + soft k-means + cluster",
        "cluster_kmeans_distractors",
        "none",
        {1: (97.17, 0.04)},
    ),
    Cell(
        "PN + masked soft k-means",
        "masked_kmeans_distractors",
        "none",
        {1: (97.30, 0.30)},
    ),
    Cell(
        "PRWN + semi-supervised inference",
        "prwn_distractors",
        "refine",
        {1: (97.86, 0.22)},
    ),
    Cell(
        "PRWN, trained 20-way (ours), + semi-supervised inference",
        "prwn_distractors_20way",
        "refine",
        {},
    ),
    Cell(
        "PRWN, trained without them, + semi-supervised inference",
        "prwn",
        "refine",
        {},
    ),
    Cell("PN + semi-supervised inference + filter", "pn", "filter", {}),
    Cell("PN, 20-way, + semi-supervised inference + filter", "pn_20way", "filter", {}),
    Cell("PN_VAT + semi-supervised inference + filter", "pn_vat", "filter", {}),
    Cell("PN_all + semi-supervised inference + filter", "pn_all", "filter", {}),
    Cell(
        "PRWN + semi-supervised inference + filter",
        "prwn_distractors",
        "filter",
        {1: (99.04, 0.18)},
    ),
    Cell(
        "PRWN, trained 20-way (ours), + semi-supervised inference + filter",
        "prwn_distractors_20way",
        "filter",
        {},
    ),
    Cell(
        "PRWN, trained without them, + semi-supervised inference + filter",
        "prwn",
        "filter",
        {},
    ),
)
_HIGHER_WAYS = HigherWays(
    "800 ways, 1 shot",
    (
        Published("PN", "pn", 39.84),
        Published("PN_20way", "pn_20way", None),
        Published("PN_all", "pn_all", 65.57),
        Published("PRWN", "prwn", 64.43),
    ),
    at=800,
)
# The most telling and the quickest first.
_ROWS = (
    "prwn",
    "prwn_distractors",
    "pn",
    "pn_20way",
    "association",
    "soft_kmeans",
    "cluster_kmeans",
    "masked_kmeans",
    "soft_kmeans_distractors",
    "cluster_kmeans_distractors",
    "masked_kmeans_distractors",
    "pn_all",
    "pn_all_train_val",
    "prwn_distractors_20way",
    "pn_vat",
    "metagan",
    "metagan_walk",
)
_ABLATIONS = (
    Ablation(
        "prwn",
        "PRWN",
        (
            Factor(r"most inner steps $\tau$", "walk_steps", 3, (0, 1, 2, 4, 5)),
            Factor(r"decay $\alpha$", "walk_decay", 1, (0.5, 0.7)),
            Factor(r"weight $\lambda$", "walk_weight", 1.5, (0, 0.5, 1, 2, 2.5)),
            Factor("visit weight", "visit_weight", 1, (0, 0.5)),
            Factor("smoothing", "graph_smoothing", 0.1, (0, 0.01, 0.3)),
            Factor("unlabelled a class", "train_unlabeled", 10, (2, 5, 18)),
            # 5 % of 20 images leave no query.
            Factor("labelled share", "label_ratio", 0.1, (0.2, 0.5)),
        ),
        episodes=6_000,
    ),
    # What might bring the row among distractors up to the paper's.
    Ablation(
        "prwn_distractors",
        "PRWN_distractors",
        (
            Factor(r"Adam's $\beta_2$", "beta_2", 0.99, (0.999,)),
            Factor("unlabelled a class", "train_unlabeled", 10, (5,)),
            Factor("visit weight", "visit_weight", 1, (0.5,)),
            Factor("ways in training", "train_way", 5, (20,)),
        ),
    ),
    Ablation(
        "pn_all",
        "PN_all",
        (
            Factor(
                "episodes between halvings of the rate",
                "halve_at",
                2000,
                (4000,),
                written=lambda every: ",".join(map(str, range(every, 20_000, every))),
            ),
        ),
    ),
)

TABLES = DatasetTables(
    dataset="omniglot",
    about="The Omniglot columns of both tables, and the analyses with their figures.",
    source_help="the Omniglot images, if they are neither prepared nor to be "
    "downloaded",
    flagfiles="flags/omniglot",
    notes=pathlib.Path(__file__).with_name("omniglot_notes.md"),
    rows=_ROWS,
    tables=(
        Table("Without distractors", 0, _WITHOUT),
        Table("With distractors", DISTRACTORS, _WITH),
    ),
    shots=(1,),
    higher_ways=_HIGHER_WAYS,
    clean=(
        Published("PN", "pn", 0.67),
        Published("PN_20way", "pn_20way", None),
        Published("PN_all", "pn_all", 0.76),
        Published("PN_VAT", "pn_vat", None),
        Published("PRWN_distractors", "prwn_distractors", 0.81),
        Published("PRWN", "prwn", None),
    ),
    consistency=(
        Published("PN_VAT", "pn_vat", 1.1),
        Published("PN_all", "pn_all", 2.91),
        Published("PRWN", "prwn", 3.1),
        Published("PN", "pn", 5.9),
        Published("PN_20way", "pn_20way", None),
        Published("PRWN_distractors", "prwn_distractors", None),
    ),
    landing=(
        ("PN", "pn"),
        ("PN_20way", "pn_20way"),
        ("PN_all", "pn_all"),
        ("PN_VAT", "pn_vat"),
        ("PRWN", "prwn"),
        ("PRWN_distractors", "prwn_distractors"),
    ),
    mapped=(("PN", "pn"), ("PRWN", "prwn")),
    mapped_ways=50,
    evaluations=dict.fromkeys(
        ("prwn", "pn", "pn_20way", "pn_vat", "pn_all"), ({"distractors": DISTRACTORS},)
    ),
    compared=("prwn", "prwn_distractors"),
    page_beside=True,
    shows_images=True,
    ablations=_ABLATIONS,
    seeds=(1, 2),
    # What learns the validation classes too is a try, and was trained once.
    spread=tuple(row for row in _ROWS if row != "pn_all_train_val"),
    inference_rows=(
        "prwn",
        "pn",
        "prwn_distractors",
        "prwn_seed1",
        "pn_seed1",
        "prwn_seed2",
        "pn_seed2",
    ),
    # A class has 20 images, so where more are unlabelled, fewer are asked.
    situations=situations(
        {
            "clean": {},
            "5 distractor classes": {"distractors": DISTRACTORS},
            "15 distractor classes": {"distractors": 15},
            "unequal numbers": {"query": 5, "balance": "dirichlet"},
            "unequal numbers, 5 distractor classes": {
                "distractors": DISTRACTORS,
                "query": 5,
                "balance": "dirichlet",
            },
            "1 unlabelled a class": {"unlabeled": 1},
            "10 unlabelled a class": {"unlabeled": 10, "query": 9},
            "20-way": {"way": 20},
            "5-shot": {"shot": 5, "query": 10},
        }
    ),
)
