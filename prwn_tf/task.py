"""What the user asked for: a data set, a method, and a kind of episode."""

import dataclasses

from prwn_tf import imports, methods
from prwn_tf.config import FITS, TERMS, EpisodeSpec, WalkConfig
from prwn_tf.settings import Term


@dataclasses.dataclass(frozen=True)
class Prepared:
    """What a prepared data set is like, where every user's is another.

    Attributes:
        train_images: of the smallest training class.
        held_out_classes: of validation or test, whichever has fewer.
        held_out_images: of the smallest class of both.
        extra: images that belong to no class.
        fit: how its images became squares.
    """

    image_shape: tuple[int, ...] = (84, 84, 3)
    train_classes: int = 60
    train_images: int = 600
    held_out_classes: int = 20
    held_out_images: int = 600
    extra: int = 0
    fit: str = FITS[0]


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
    head: str | None = None  # the user's own, in the place of the method's
    label_ratio: float | None = None

    def spec(self, **defaults: int) -> EpisodeSpec:
        """Returns the test episodes: what was asked, or else the defaults."""
        asked = {name: getattr(self, name) for name in defaults}
        given = {name: value for name, value in asked.items() if value is not None}
        return EpisodeSpec(**defaults | given)

    def train_spec(self, train: EpisodeSpec, test: EpisodeSpec) -> EpisodeSpec:
        """Returns training episodes with the test's distractors, or none for PN."""
        if self.labeled_only:
            return dataclasses.replace(train, unlabeled=0, extra=0)
        return dataclasses.replace(train, distractors=test.distractors)

    def published_terms(self, walk: WalkConfig) -> dict[str, Term]:
        """Returns the terms in use with their published settings, others at weight 0.

        Args:
            walk: the settings of the walk on the data set.
        """
        published = {name: term() for name, term in TERMS.items()} | {"walk": walk}
        return {
            name: config if name in self.used else type(config)(weight=0.0)
            for name, config in published.items()
        }

    @property
    def used(self) -> tuple[str, ...]:
        """The loss terms asked for, or else the method's own."""
        return self._method.terms if self.terms is None else self.terms

    @property
    def trained_as(self) -> str:
        """Whose episodes and rates train it, as `Method.trained_as` names them."""
        joined = self.used and self._method.joined_as
        return joined or self._method.trained_as

    @property
    def labeled_only(self) -> bool:
        """Whether nothing looks at the unlabelled images of a training episode."""
        if self.head:
            return not self.used and not imports.load(self.head).uses_unlabeled
        return not self.used and not self._method.uses_unlabeled

    @property
    def labelled_share(self) -> float:
        """The label ratio asked for, if it can be; else all images are labelled."""
        asked = self.label_ratio or 1.0
        return asked if 0 < asked <= 1 else 1.0

    @property
    def _method(self) -> methods.Method:
        return methods.METHODS[self.method]
