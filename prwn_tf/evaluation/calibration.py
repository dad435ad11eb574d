"""What validation episodes say of a model's answers, kept with the model.

For each adaptation and number of shots: the temperature that makes its probabilities
honest, what unlabelled images add to its accuracy, and how far from all classes an
image must be to belong to none of them. Numbers of shots between are interpolated.

Nothing here loads TensorFlow.
"""

import dataclasses
import math
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from prwn_tf import config_json, files
from prwn_tf.config import ADAPTATIONS, EpisodeSpec, TrainConfig
from prwn_tf.data.store.reader import ClassStore
from prwn_tf.errors import UserError
from prwn_tf.evaluation.curves import sigmoid
from prwn_tf.evaluation.intervals import plus_minus
from prwn_tf.settings import COUNT, Choice, Interval

OWNER = "calibration_of.json"  # beside a calibration that is of no run
NEEDED = "2 validation classes of 3 images, which the model has not learned"
AUTO = "auto"  # the adaptation that did best here
# What fields may be, and all others: what can be computed with in float32.
ALLOWED = {
    "adapt": Choice(ADAPTATIONS),
    "shot": Interval(COUNT),
    "temperature": Interval("[1e-30, 1e30]"),
}
FINITE = Interval("[-1e30, 1e30]")
ANEW = "python -m prwn_tf.evaluate --calibrate makes it anew"


@dataclasses.dataclass(frozen=True)
class Fit:
    """How an adaptation did on validation episodes of so many shots.

    Attributes:
        temperature: what scores are divided by before the softmax.
        gain: accuracy less that of "none" on the same episodes.
        interval: half the width of the 95 % interval of the gain; NaN if there was
            one episode.
    """

    adapt: str
    shot: int
    temperature: float
    accuracy: float
    gain: float
    interval: float


@dataclasses.dataclass(frozen=True)
class Novelty:
    """How an image is told that belongs to none of the classes.

    With d its squared distance to the nearest class, and r that of a stranger by the
    support, the probability is sigmoid(nearest log d + stranger log r + bias), were
    there as many strangers as images of the classes. Above the threshold are 5 % of
    the latter. (Equal weights of opposite signs are d in the unit of r; validation
    decides how far r can be relied on.)
    """

    adapt: str
    shot: int
    nearest: float
    stranger: float
    bias: float
    threshold: float
    area: float  # under the ROC curve, of the episodes it was fitted on

    def probabilities(self, features: np.ndarray) -> np.ndarray:
        """Returns how likely images belong to none: `curves.log_distances` -> [...]."""
        return sigmoid(features @ [self.nearest, self.stranger] + self.bias)


K = TypeVar("K", Fit, Novelty)


@dataclasses.dataclass(frozen=True)
class Calibration:
    """All fits of a model, and the episodes that they come from."""

    spec: EpisodeSpec
    episodes: int
    fits: tuple[Fit, ...]
    novelties: tuple[Novelty, ...] = ()  # empty if there are too few classes

    def temperature(self, adapt: str, shot: float) -> float | None:
        """Returns the temperature of an adaptation, if it was fitted."""
        fit = _between(self.fits, adapt, shot)
        return fit and fit.temperature

    def novelty(self, adapt: str, shot: float) -> Novelty | None:
        """Returns how an adaptation tells strangers, if it was fitted."""
        return _between(self.novelties, adapt, shot)

    def best(self, shot: float) -> str:
        """Returns the adaptation that "auto" means.

        That is the most accurate of those that gain more than their interval on
        "none", at the nearest number of shots; without any, "none" itself, if it is
        among them.
        """
        near = min({fit.shot for fit in self.fits}, key=lambda n: _apart(n, shot))
        fits = [fit for fit in self.fits if fit.shot == near]
        alone = all(fit.adapt != "none" for fit in fits)
        helpful = {f.adapt: f.accuracy for f in fits if alone or f.gain > f.interval}
        return max(helpful, key=helpful.get, default="none")

    def lines(self) -> list[str]:
        """Returns what unlabelled images add, and what "auto" means, for the reader."""
        lines = []
        for shot in sorted({fit.shot for fit in self.fits}):
            fits = [fit for fit in self.fits if fit.shot == shot]
            gains = ", ".join(
                f"{fit.adapt} {100 * fit.gain:+.2f}{plus_minus(100 * fit.interval, 2)}"
                for fit in fits[1:]
            )
            gains = f", {gains}" if gains else ""
            lines.append(
                f"validation, {shot}-shot: none {100 * fits[0].accuracy:.2f}{gains}; "
                f"{AUTO} is {self.best(shot)}"
            )
        return lines

    def without(self, *adaptations: str) -> "Calibration | None":
        """Returns what is known of other adaptations than some; None if nothing is."""
        fits, novelties = (
            tuple(each for each in some if each.adapt not in adaptations)
            for some in (self.fits, self.novelties)
        )
        return Calibration(self.spec, self.episodes, fits, novelties) if fits else None

    def to_dict(self) -> dict[str, Any]:
        """Returns what JSON can hold."""
        return dataclasses.asdict(self)


def from_dict(content: Any, where: str) -> Calibration:
    """Returns what `Calibration.to_dict` made; all else is an error."""
    expected = {field.name for field in dataclasses.fields(Calibration)}
    lists = ("fits", "novelties")
    if (
        not isinstance(content, Mapping)
        or content.keys() != expected
        or not all(isinstance(content[name], list | tuple) for name in lists)
        or type(content["episodes"]) is not int
    ):
        raise UserError(f"{where} holds no calibration; {ANEW}")
    if not content["fits"]:
        raise UserError(f"{where}.fits must hold a fit, found none; {ANEW}")
    fits, novelties = (
        tuple(_part(kind, each, f"{where}.{name}") for each in content[name])
        for name, kind in zip(lists, (Fit, Novelty), strict=True)
    )
    spec = config_json.from_dict(EpisodeSpec, content["spec"], f"{where}.spec")
    return Calibration(spec, content["episodes"], fits, novelties)


def read(path: pathlib.Path) -> Calibration | None:
    """Returns the calibration of a run from its file, if there is one."""
    return from_dict(files.read_json(path), str(path)) if path.exists() else None


def require(path: pathlib.Path, asked: str) -> None:
    """Raises unless there is the file of a calibration, which a flag needs."""
    if read(path) is None:
        raise UserError(
            f"{asked} looks at what validation classes say, and there is no {path} "
            "that has it; python -m prwn_tf.evaluate --calibrate makes it, by at least "
            f"{NEEDED}"
        )


def nothing_of_strangers(known: Calibration | None) -> str:
    """Returns why answers do not say what is none of the classes, and what does."""
    if known is None:
        return (
            "the model is uncalibrated, so it cannot tell what is none of the classes; "
            "python -m prwn_tf.evaluate --calibrate does that to a run, by at least "
            f"{NEEDED}"
        )
    if not known.novelties:
        return (
            "the model's validation classes were too few to tell by them what is none "
            "of the classes"
        )
    if all(each.adapt != "none" for each in known.novelties):
        return (
            "the model is calibrated for classes that unlabelled images moved (refine, "
            "filter or gate); learn them with such images to have it tell what is none "
            "of them"
        )
    return (
        "the classes were learned before the model was calibrated; learn them again to "
        "have it tell what is none of them"
    )


def write(path: pathlib.Path, calibration: Calibration | None) -> None:
    """Stores the calibration of a run; an earlier one does not stay."""
    if calibration is None:
        path.unlink(missing_ok=True)
    else:
        files.write_json(path, calibration.to_dict())


def is_owned(path: pathlib.Path, config: TrainConfig) -> bool:
    """Returns whether the calibration of no run says that it is of this config."""
    owner = path.with_name(OWNER)
    known = files.read_json(owner) if owner.exists() else None
    return bool(known) and (
        config_json.from_dict(TrainConfig, known, str(owner)) == config
    )


def own(path: pathlib.Path, config: TrainConfig) -> None:
    """Says which config the calibration to come is of; an earlier one does not stay."""
    write(path, None)
    files.write_json(path.with_name(OWNER), config_json.to_dict(config))


def update(path: pathlib.Path, fitted: Calibration | None) -> list[str]:
    """Stores what a run's own validation classes say, and returns it in lines.

    Where they say nothing, as those that it has learned, what it was given by another
    run stays.
    """
    if fitted is None and path.exists():
        return [f"the validation classes say nothing, so {path.name} stays"]
    write(path, fitted)
    return fitted.lines() if fitted else [f"uncalibrated, for lack of {NEEDED}"]


def caution(stores: Mapping[str, ClassStore]) -> list[str]:
    """Returns what to say where validation images are of classes that are learned."""
    learned, validation = stores["train"], stores["val"]
    if not validation.visible or not set(learned.names) & set(validation.names):
        return []
    return [
        "validation images are of classes that it learns (--hold_out=images): for "
        "others its\nprobabilities are too high"
    ]


def _part(kind: type[K], values: Any, where: str) -> K:
    """Returns a fit or a novelty from JSON, if it can be computed with.

    An interval of NaN is null there.
    """
    if isinstance(values, Mapping) and values.get("interval", 0.0) is None:
        part = _part(kind, {**values, "interval": 0.0}, where)
        return dataclasses.replace(part, interval=math.nan)
    part = config_json.from_dict(kind, values, where)
    for name, value in dataclasses.asdict(part).items():
        allowed = ALLOWED.get(name, FINITE)
        if value not in allowed:
            raise UserError(
                f"{where}.{name} must be {allowed.demand(value)}, got {value}; {ANEW}"
            )
    return part


def _between(fits: Sequence[K], adapt: str, shot: float) -> K | None:
    """Returns a fit for any number of shots, between those of an adaptation."""
    own = sorted((fit for fit in fits if fit.adapt == adapt), key=lambda fit: fit.shot)
    if not own:
        return None
    at = [math.log(fit.shot) for fit in own]

    def value(name: str) -> float:
        values = [getattr(fit, name) for fit in own]
        positive = name == "temperature"  # which lives on a scale of ratios
        values = np.log(values) if positive else values
        between = float(np.interp(math.log(shot), at, values))
        return math.exp(between) if positive else between

    numbers = [f.name for f in dataclasses.fields(own[0]) if f.type is float]
    return dataclasses.replace(own[0], **{name: value(name) for name in numbers})


def _apart(shot: float, other: float) -> float:
    """Returns how far two numbers of shots are from each other."""
    return abs(math.log(shot / other))
