"""The flags that several programs share, in sets that a program takes or leaves."""

import os

from absl import flags

from prwn_tf import methods, protocols
from prwn_tf.config import MOST, TERMS

DATA_DIR = os.environ.get("PRWN_DATA_DIR", "~/.cache/prwn_tf")  # unless a flag says


def define_data_flags() -> None:
    """Where prepared data lies."""
    flags.DEFINE_string(
        "data_dir",
        DATA_DIR,
        "Folder of prepared data sets; the variable PRWN_DATA_DIR changes the default.",
    )


def define_task_flags(
    *,
    several: bool = False,
    default_episodes: str = "3000; glyphs and folder 1000, spiral and circles 600",
) -> None:
    """The task to be good at: validation and test episodes.

    Args:
        several: whether each flag takes several numbers, for `task_specs`.
        default_episodes: in words.
    """
    define = define_integers if several else flags.DEFINE_integer
    define("way", None, "Classes that an episode tells apart.", lower_bound=2)
    define("shot", None, "Labelled images a class of an episode.", lower_bound=1)
    define("query", None, "Images a class that it is asked to label.", lower_bound=1)
    define("unlabeled", None, "Its unlabelled images a class.", lower_bound=0)
    define(
        "distractors",
        None,
        "Further classes present among the unlabelled images only.",
        lower_bound=0,
    )
    flags.DEFINE_integer(
        "eval_episodes",
        None,
        f"Episodes to average over; default: {default_episodes}.",
        lower_bound=1,
        upper_bound=MOST,
    )


class _Integers(flags.ArgumentParser):
    """Whole numbers with commas between them."""

    syntactic_help = "whole numbers with commas between them"

    def __init__(self, lower_bound: int):
        self._number = flags.IntegerParser(lower_bound=lower_bound)

    def parse(self, argument: str | list[int]) -> list[int]:
        texts = argument.split(",") if isinstance(argument, str) else argument
        return [self._number.parse(text) for text in texts]


def define_integers(
    name: str, default: list[int] | None, text: str, lower_bound: int
) -> None:
    """A flag of whole numbers with commas between them."""
    flags.DEFINE(
        _Integers(lower_bound),
        name,
        default,
        f"{text} Several with commas between them.",
        serializer=flags.ListSerializer(","),
    )


def define_analysis_flags() -> None:
    """Which finished runs to look into, and through which episodes."""
    flags.DEFINE_multi_string(
        "workdir",
        None,
        "Folder of a finished run. Give it several times to compare runs.",
        required=True,
    )
    flags.DEFINE_multi_string(
        "label",
        [],
        "Name of each run in tables and figures; default: its method, and its folder "
        "where two have the same.",
    )
    flags.DEFINE_enum("split", "test", ["val", "test"], "Classes to look at.")
    flags.DEFINE_string(
        "output",
        None,
        "Folder for the results; default: analysis/ in the first workdir.",
    )
    flags.DEFINE_integer("episode", 0, "The episode whose picture is drawn.", 0, MOST)
    flags.DEFINE_float(
        "graph_smoothing",
        0.1,
        "Uniform share mixed into steps from and to prototypes, for all runs.",
        lower_bound=0,
        upper_bound=0.99,
    )


def define_train_flags() -> None:
    """What and how to train; unset flags take the published value."""
    flags.DEFINE_enum(
        "dataset", "glyphs", protocols.DATASETS, "What to learn from; folder is yours."
    )
    flags.DEFINE_enum("method", "prwn", list(methods.METHODS), "How to learn.")
    flags.DEFINE_enum(
        "encoder", None, sorted(methods.ENCODERS), "Network from image to embedding."
    )
    flags.DEFINE_integer(
        "channels", None, "Channels of each block of the encoder.", lower_bound=1
    )
    flags.DEFINE_integer("train_way", None, "As --way, in training.", lower_bound=2)
    flags.DEFINE_integer("train_shot", None, "As --shot, in training.", lower_bound=1)
    flags.DEFINE_integer("train_query", None, "As --query, in training.", lower_bound=1)
    flags.DEFINE_integer(
        "train_unlabeled", None, "As --unlabeled, in training.", lower_bound=0
    )
    flags.DEFINE_integer(
        "train_distractors", None, "As --distractors, in training.", lower_bound=0
    )
    flags.DEFINE_integer(
        "train_extra",
        None,
        "Unlabelled images of a training episode that belong to no class, from what "
        "prepare took as --unlabeled_source.",
        lower_bound=0,
    )
    flags.DEFINE_integer("episodes", None, "Training episodes.", lower_bound=1)
    flags.DEFINE_integer(
        "seed", None, "Draws first weights and training episodes.", lower_bound=0
    )
    flags.DEFINE_float("label_ratio", None, "Labelled share of a training class.")
    flags.DEFINE_integer(
        "label_seed", None, "Draws which images are labelled.", lower_bound=0
    )
    define_term_flags()
    flags.DEFINE_float("learning_rate", None, "Adam's rate at the start.")
    flags.DEFINE_list("halve_at", None, "Steps at which the rate is halved.")
    flags.DEFINE_float("beta_2", None, "Adam's second beta.")
    flags.DEFINE_float(
        "weight_decay", None, "How much weights are held small (kernels alone)."
    )
    flags.DEFINE_enum(
        "select", None, ["last", "best"], "Test the last or the best checkpoint."
    )
    flags.DEFINE_integer(
        "validate_every", None, "Steps between validations.", lower_bound=1
    )
    flags.DEFINE_integer(
        "validation_episodes", None, "Episodes of a validation.", lower_bound=1
    )
    flags.DEFINE_integer(
        "checkpoint_every", None, "Steps between checkpoints.", lower_bound=1
    )
    flags.DEFINE_integer(
        "report_every", None, "Steps between points of the curves.", lower_bound=1
    )
    flags.DEFINE_enum(
        "conv_block",
        None,
        ["auto", "plain", "fast"],
        "Train by Keras layers, or by the same function arranged for a CPU; auto: fast "
        "unless there is a GPU.",
    )
    flags.DEFINE_enum(
        "xla",
        None,
        ["auto", "off", "walk", "step"],
        "Compile nothing, the walk, or the whole step; auto: step on a GPU unless "
        "--deterministic, else off.",
    )
    flags.DEFINE_boolean(
        "deterministic", None, "The same bits on every run, on a GPU too; slower there."
    )


def define_term_flags() -> None:
    """The loss terms that can join any method; weight 0 leaves one out."""
    flags.DEFINE_multi_string(
        "regularizers",
        None,
        f"Loss terms instead of the method's own, of {', '.join(TERMS)}; each with its "
        "published weight. Several with commas.",
    )
    flags.DEFINE_float(
        "walk_weight", None, "Weight of the walk in the loss; 0 leaves it out."
    )
    flags.DEFINE_integer(
        "walk_steps",
        None,
        "Most steps of the walker from point to point.",
        lower_bound=0,
    )
    flags.DEFINE_float("walk_decay", None, "Weight of t inner steps: decay ** t.")
    flags.DEFINE_float(
        "visit_weight", None, "Weight of visiting all points, beside coming home."
    )
    flags.DEFINE_float(
        "graph_smoothing",
        None,
        "Uniform share mixed into steps from and to prototypes.",
    )
    flags.DEFINE_float(
        "vat_weight", None, "Weight of virtual adversarial training (VAT)."
    )
    flags.DEFINE_float("vat_epsilon", None, "VAT: how far an image is moved.")
    flags.DEFINE_float(
        "vat_xi", None, "VAT: how far it is moved to find the worst way."
    )
    flags.DEFINE_float(
        "vat_query_weight", None, "VAT: weight of the queries beside the unlabelled."
    )
    flags.DEFINE_float(
        "entropy_weight", None, "Weight of the entropy of unlabelled points."
    )
    flags.DEFINE_float("association_weight", None, "Weight of learning by association.")
    flags.DEFINE_float("cluster_radius", None, "First radius of cluster_kmeans.")
    flags.DEFINE_integer("mask_power", None, "masked_kmeans counts mask ** power.")
