"""What the user asked for: a data set, a method, and a kind of episode."""

import dataclasses

from prwn_tf import methods
from prwn_tf.config import EpisodeSpec


@dataclasses.dataclass(frozen=True)
class Prepared:
    """What a prepared data set is like, where every user's is another.

    Attributes:
        train_images: of the smallest training class.
        held_out_classes: of validation or test, whichever has fewer.
        held_out_images: of the smallest class of both.
        extra: images that belong to no class.
    """

    image_shape: tuple[int, ...] = (84, 84, 3)
    train_classes: int = 60
    train_images: int = 600
    held_out_classes: int = 20
    held_out_images: int = 600
    extra: int = 0


@dataclasses.dataclass(frozen=True)
class Task:
    """What the user asked for; None where nothing was said."""

    dataset: str
    method: str
    way: int | None = None
    shot: int | None = None
    query: int | None = None
    unlabeled: int | None = None
    distractors: int | None = None
    prepared: Prepared | None = None
    terms: tuple[str, ...] | None = None

    def spec(self, **defaults: int) -> EpisodeSpec:
        """The test episodes: what was asked, or else the defaults."""
        asked = {name: getattr(self, name) for name in defaults}
        given = {name: value for name, value in asked.items() if value is not None}
        return EpisodeSpec(**defaults | given)

    @property
    def used(self) -> tuple[str, ...]:
        """The loss terms asked for, or else the method's own."""
        own = methods.METHODS[self.method].terms
        return own if self.terms is None else self.terms

    @property
    def refines(self) -> bool:
        """Whether it is trained as Ren et al. (2018) train their k-means heads."""
        return methods.METHODS[self.method].refines

    @property
    def as_paper(self) -> bool:
        """Whether it is trained as the random walk's paper trains its methods."""
        return bool(self.used) and not self.refines

    @property
    def labeled_only(self) -> bool:
        return not self.used and not self.refines
