"""Parts as a user gets them wrong."""

import dataclasses

from prwn_tf.regularizers.base import Regularizer
from prwn_tf.settings import Part, Term


class Weightless(Regularizer):
    """A loss term without settings, and so without a weight."""

    names = ("weightless",)


class Undecorated(Regularizer):
    """A loss term whose settings are no dataclass of their own."""

    class Config(Term):
        name = "undecorated"
        weight: float = 0.5


class Unweighed(Regularizer):
    """A loss term whose settings are those of another kind of part."""

    @dataclasses.dataclass(frozen=True)
    class Config(Part):
        name = "unweighed"
