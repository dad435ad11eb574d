"""Settings that say of themselves what they are: default, help, range and flag.

A setting is declared once, as a field of a frozen dataclass. Its check, its flag and
the flag's help follow from it. Nothing here loads TensorFlow, so that --help and
mistakes are answered at once.
"""

import dataclasses
import functools
import math
import typing
from typing import Any, ClassVar

from prwn_tf.errors import UserError

REQUIRED = dataclasses.MISSING  # the default of a setting that must be given
MAX_INT = 2**31 - 1
LARGE = 1e4  # bounds beyond it are told one at a time
COUNT = f"[1, {MAX_INT}]"
SEED = f"[0, {MAX_INT}]"


def require(condition: bool, message: str) -> None:
    """Raises what is wrong with a setting, for the user to read."""
    if not condition:
        raise UserError(message)


class Interval:
    """A range of numbers as people write it: "[0, 1)", "(0, inf)"."""

    def __init__(self, text: str):
        low, high = text[1:-1].split(",")
        self.low, self.high = float(low), float(high)
        self._takes_low, self._takes_high = text[0] == "[", text[-1] == "]"
        self._text = text

    def __contains__(self, value: float) -> bool:
        above = value >= self.low if self._takes_low else value > self.low
        below = value <= self.high if self._takes_high else value < self.high
        return above and below

    def demand(self, value: float) -> str:
        """Returns what the range asks of a number that is outside of it."""
        if self.high < LARGE:
            return f"in {self._text}"
        if value > self.low:
            return "finite" if math.isinf(value) else f"at most {self.high:.12g}"
        if self.low == 0:
            return ">= 0" if self._takes_low else "positive"
        return f"at least {self.low:.12g}"


class Choice(tuple):
    """The values that a setting may have."""

    def demand(self, value: Any) -> str:
        """Returns what the choice asks of a value that is not in it."""
        *most, last = map(str, self)
        return f"{', '.join(most)} or {last}" if most else last


def setting(
    default: Any,
    text: str,
    within: str | tuple = "",
    *,
    flag: str = "",
    methods: tuple[str, ...] = (),
    may_change: bool = False,
    training_only: bool = False,
    inherited: bool = False,
    symbol: str = "",
    also: tuple[str, ...] = (),
) -> Any:
    """Declares a field that a flag sets.

    Args:
        default: its value where nothing else is said; `REQUIRED` for none.
        text: the flag's help.
        within: an interval as "[0, 1)", or the values that it may have.
        flag: its name; by default that of the group and of the field, as walk_steps.
        methods: those that look at it, if others with the same head do not.
        may_change: whether a resumed run may change it: length, logging or device.
        training_only: whether an encoder with another value still computes the same
            from the same weights, outside of training.
        inherited: whether a run that begins with another's encoder has its value.
        symbol: what the paper calls it.
        also: what other libraries call it.
    """
    allowed = Interval(within) if isinstance(within, str) and within else Choice(within)
    if symbol:
        text = f"{text.rstrip('.')} ({symbol} in the paper)."
    metadata = {
        "text": text,
        "within": allowed,
        "flag": flag,
        "methods": methods,
        "may_change": may_change,
        "training_only": training_only,
        "inherited": inherited,
        "also": (*([symbol] if symbol else []), *also),
    }
    return dataclasses.field(default=default, metadata=metadata)


class Settings:
    """A group of settings: the base of frozen dataclasses of `setting` fields."""

    prefix: ClassVar[str] = ""  # of its flags
    group: ClassVar[str] = "expert"  # where help lists them

    @classmethod
    def flags(cls) -> dict[str, dataclasses.Field]:
        """Returns flag -> field, for the settings that a flag sets."""
        return {
            flag_name(cls, field): field
            for field in dataclasses.fields(cls)
            if "text" in field.metadata
        }

    def __post_init__(self):
        for name, field in self.flags().items():
            value, within = getattr(self, field.name), field.metadata["within"]
            for each in value if isinstance(value, tuple) else [value]:
                if within and each not in within:
                    raise UserError(f"{name} must be {within.demand(each)}, got {each}")

    def unused_reason(self, name: str) -> str:
        """Returns why nothing looks at a setting; empty if something does."""
        del name
        return ""


def flag_name(group: type[Settings], field: dataclasses.Field) -> str:
    """Returns the name of the flag that sets a field."""
    return field.metadata["flag"] or f"{group.prefix}{field.name}"


def kind(group: type[Settings], field: dataclasses.Field) -> Any:
    """Returns the type of a setting: int, float, bool, str or a tuple of these."""
    return typing.get_type_hints(group)[field.name]


class Part(Settings):
    """The settings of one part of a model: an encoder, a head or a term of the loss.

    `name` is the part's field in `TrainConfig`, and what its flags begin with.
    `implementation` is where its class is, loaded when a model is built; the class of
    one's own part names its settings instead. `smallest_image` is the shorter side, in
    pixels, of the smallest image that it can take.
    """

    name: ClassVar[str]
    implementation: ClassVar[str] = ""
    group: ClassVar[str] = "encoders and heads"
    smallest_image: ClassVar[int] = 1

    def __init_subclass__(cls, **options: Any):
        super().__init_subclass__(**options)
        if "name" in cls.__dict__:
            cls.prefix = f"{cls.name}_"


class EncoderPart(Part):
    """The settings of an encoder."""

    asked_as: ClassVar[str] = ""  # what --encoder says, if not its name


class Term(Part):
    """A term of the loss that can join any head; weight 0 leaves it out."""

    group: ClassVar[str] = "losses"
    weight: float

    def points_needed(self) -> int:
        """Returns the unlabelled points without which the term means nothing."""
        return 1


def part(settings: type[Part]) -> Any:
    """Declares a part as a field of a config; a term is left out by default."""
    off = {"weight": 0.0} if issubclass(settings, Term) else {}
    return dataclasses.field(default_factory=functools.partial(settings, **off))
