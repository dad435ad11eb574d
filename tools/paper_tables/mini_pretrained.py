"""The mini-ImageNet rows that begin with a trained encoder.

It had the labels that the rows themselves have, 40 % or 20 %; the paper's had all.
"""

from paper_tables.description import Cell, Table

# The most telling first.
ROWS = (
    *("pretrained_prwn", "pretrained_pn", "pretrained_pn_all"),
    *("pretrained_prwn_distractors", "pretrained_masked_kmeans", "pretrained_pn_vat"),
    *("pretrained_prwn_half", "pretrained_metagan", "pretrained_soft_kmeans"),
    "pretrained_cluster_kmeans",
)
GRAPH_ROWS = (
    *("pretrained_tpn", "pretrained_tpn_walk"),
    *("pretrained_egnn", "pretrained_egnn_walk"),
)
FEAT_ROWS = ("pretrained_feat", "pretrained_feat_walk")
LABEL20_ROWS = ("pretrained_prwn_label20", "pretrained_pn_label20")
ORIGINS = {  # row -> the one whose encoder it begins with
    **dict.fromkeys((*ROWS, *FEAT_ROWS, *GRAPH_ROWS), "classifier"),
    **dict.fromkeys(LABEL20_ROWS, "classifier_label20"),
}
_PRETRAINED = (
    Cell("Linear layer, then prototypes", "classifier", "none", {}),
    Cell("Linear layer, then refined prototypes", "classifier", "refine", {}),
    Cell("PN", "pretrained_pn", "none", {1: (43.61, 0.27), 5: (59.08, 0.22)}),
    Cell("PN_all", "pretrained_pn_all", "none", {1: (49.4,), 5: (68.2,)}),
    Cell(
        "MetaGAN on prototypes (ours; the paper's is on relation networks)",
        "pretrained_metagan",
        "none",
        {1: (50.35, 0.23), 5: (64.43, 0.27)},
    ),
    Cell("PN_VAT", "pretrained_pn_vat", "none", {1: (49.18, 0.22), 5: (66.94, 0.20)}),
    Cell("PRWN", "pretrained_prwn", "none", {1: (50.89, 0.22), 5: (67.82, 0.19)}),
    Cell("PRWN, published weight of the walk", "pretrained_prwn_half", "none", {}),
    Cell(
        "Linear layer, then prototypes, 20 % of the labels",
        "classifier_label20",
        "none",
        {},
    ),
    Cell("PN, 20 % of the labels", "pretrained_pn_label20", "none", {}),
    Cell("PRWN, 20 % of the labels", "pretrained_prwn_label20", "none", {5: (64.8,)}),
    Cell(
        "PN + semi-supervised inference",
        "pretrained_pn",
        "refine",
        {1: (49.98, 0.34), 5: (63.77, 0.20)},
    ),
    Cell(
        "PN + soft k-means",
        "pretrained_soft_kmeans",
        "none",
        {1: (50.09, 0.45), 5: (64.59, 0.28)},
    ),
    Cell(
        "PN + soft k-means + cluster",
        "pretrained_cluster_kmeans",
        "none",
        {1: (49.03, 0.24), 5: (63.08, 0.18)},
    ),
    Cell(
        "PN + masked soft k-means",
        "pretrained_masked_kmeans",
        "none",
        {1: (50.41, 0.24), 5: (64.39, 0.24)},
    ),
    Cell("TPN-semi", "pretrained_tpn", "none", {1: (52.78, 0.27), 5: (66.42, 0.21)}),
    Cell("TPN-semi + walk", "pretrained_tpn_walk", "none", {}),
    # The published one has fewer labels: mini_notes.md.
    Cell("EGNN-semi", "pretrained_egnn", "none", {5: (62.52,)}),
    Cell("EGNN-semi + walk", "pretrained_egnn_walk", "none", {}),
    Cell(
        "PRWN + semi-supervised inference",
        "pretrained_prwn",
        "refine",
        {1: (56.65, 0.24), 5: (69.65, 0.20)},
    ),
    Cell(
        "PRWN, published weight of the walk, + semi-supervised inference",
        "pretrained_prwn_half",
        "refine",
        {},
    ),
    Cell(
        "PN, 20 % of the labels, + semi-supervised inference",
        "pretrained_pn_label20",
        "refine",
        {},
    ),
    Cell(
        "PRWN, 20 % of the labels, + semi-supervised inference",
        "pretrained_prwn_label20",
        "refine",
        {},
    ),
    Cell("PRWN + gate (ours)", "pretrained_prwn", "gate", {}),
    Cell("FEAT", "pretrained_feat", "none", {1: (53.97,), 5: (71.31,)}),
    Cell("FEAT + walk", "pretrained_feat_walk", "none", {1: (54.18,), 5: (71.07,)}),
)
_PRETRAINED_CROWDED = (
    Cell(
        "PRWN",
        "pretrained_prwn_distractors",
        "none",
        {1: (50.96, 0.23), 5: (67.64, 0.18)},
    ),
    Cell("PRWN, trained without them", "pretrained_prwn", "none", {}),
    Cell(
        "PN + semi-supervised inference",
        "pretrained_pn",
        "refine",
        {1: (47.42, 0.33), 5: (62.62, 0.24)},
    ),
    Cell(
        "PN + soft k-means, trained without them",
        "pretrained_soft_kmeans",
        "none",
        {},
    ),
    Cell(
        "PN + soft k-means + cluster, trained without them",
        "pretrained_cluster_kmeans",
        "none",
        {},
    ),
    Cell(
        "PN + masked soft k-means, trained without them",
        "pretrained_masked_kmeans",
        "none",
        {},
    ),
    Cell(
        "PRWN + semi-supervised inference",
        "pretrained_prwn_distractors",
        "refine",
        {1: (53.61, 0.22), 5: (67.45, 0.21)},
    ),
    Cell(
        "PRWN + semi-supervised inference + filter",
        "pretrained_prwn_distractors",
        "filter",
        {1: (54.51, 0.23), 5: (68.77, 0.20)},
    ),
    Cell(
        "PRWN, trained without them, + semi-supervised inference + filter",
        "pretrained_prwn",
        "filter",
        {},
    ),
    Cell("PRWN, trained without them, + gate (ours)", "pretrained_prwn", "gate", {}),
)


def tables(distractors: int) -> tuple[Table, Table]:
    """Returns the tables of these rows, without and with distractors."""
    title = "From an encoder that was trained before"
    return (
        Table(title, 0, _PRETRAINED),
        Table(f"{title}, with distractors", distractors, _PRETRAINED_CROWDED),
    )
