"""How an episode is made up, or a mini-batch."""

import dataclasses
from typing import ClassVar

from prwn_tf.settings import REQUIRED, Settings, require, setting

# How many unlabelled images each class has: as many as the others, or in proportions of
# a Dirichlet distribution, as many in all.
BALANCES = ("equal", "dirichlet")


@dataclasses.dataclass(frozen=True)
class EpisodeSpec(Settings):
    """How an episode is made up: N = way classes, K = shot labelled images of each.

    Attributes:
        balance: one of `BALANCES`; episodes to learn from are equal.
    """

    group: ClassVar[str] = "episodes"

    way: int = setting(
        REQUIRED,
        "Classes that an episode tells apart.",
        "[2, inf)",
        symbol="N",
        also=("n_way", "num_classes"),
    )
    shot: int = setting(
        REQUIRED,
        "Labelled images a class of an episode.",
        "[1, inf)",
        symbol="K",
        also=("k_shot", "n_shot"),
    )
    query: int = setting(
        REQUIRED,
        "Images a class that it is asked to label.",
        "[1, inf)",
        also=("n_query", "queries"),
    )
    unlabeled: int = setting(0, "Its unlabelled images a class.", "[0, inf)")
    distractors: int = setting(
        0, "Further classes present among the unlabelled images only.", "[0, inf)"
    )
    extra: int = setting(
        0,
        "Unlabelled images of an episode that belong to no class, from what prepare "
        "took as --unlabeled_source.",
        "[0, inf)",
    )

    balance: str = BALANCES[0]

    def __post_init__(self):
        super().__post_init__()
        require(
            self.balance in BALANCES,
            f"balance must be {' or '.join(BALANCES)}, got {self.balance}",
        )

    def unused_reason(self, name: str) -> str:
        """Returns why nothing looks at a setting; empty if something does."""
        alone = name == "distractors" and self.distractors and not self.unlabeled
        return "--train_unlabeled is 0" if alone else ""

    @property
    def classes(self) -> int:
        """Classes drawn for an episode, distractors included."""
        return self.way + self.distractors

    @property
    def queries(self) -> int:
        """Q: queries of the whole episode."""
        return self.way * self.query

    @property
    def unlabeled_points(self) -> int:
        """U: unlabelled points of the whole episode."""
        return self.class_points + self.extra

    @property
    def class_points(self) -> int:
        """Unlabelled points of a class, distractors included; they come first."""
        return self.unlabeled * self.classes

    @property
    def clean_points(self) -> int:
        """Unlabelled points of the episode's own classes; they come first."""
        return self.unlabeled * self.way

    def __str__(self) -> str:
        crowd = f", {self.distractors} distractors" if self.distractors else ""
        extra = f", {self.extra} unlabelled of no class" if self.extra else ""
        unequal = " on average, unequally many" * (self.balance != BALANCES[0])
        queries = "query" if self.query == 1 else "queries"
        return (
            f"{self.way}-way {self.shot}-shot, {self.query} {queries} and "
            f"{self.unlabeled} unlabelled a class{unequal}{crowd}{extra}"
        )


@dataclasses.dataclass(frozen=True)
class BatchSpec:
    """A mini-batch of labelled images, each asked which training class it is of."""

    distractors: ClassVar = 0

    batch_size: int

    @property
    def way(self) -> int:
        """The places of an episode, here one for each image."""
        return self.batch_size

    def __str__(self) -> str:
        return f"mini-batches of {self.batch_size} labelled images"
