"""Accuracy over many episodes, scored in batches from cached embeddings."""

import dataclasses
import functools
from collections.abc import Callable, Sequence

import numpy as np
import tensorflow as tf

from prwn_tf.config import ASKED, EpisodeSpec
from prwn_tf.episodes import plan as plan_lib
from prwn_tf.episodes import pools as pools_lib
from prwn_tf.episodes.pipeline import query_labels
from prwn_tf.episodes.pools import Pools
from prwn_tf.evaluation import curves, intervals
from prwn_tf.evaluation.calibration import AUTO, Calibration
from prwn_tf.evaluation.embeddings import Embeddings
from prwn_tf.evaluation.intervals import Tested
from prwn_tf.heads.base import EmbeddedEpisode, Head
from prwn_tf.model import accuracy

BATCH_NUMBERS = 2**23  # scores and similarities held at once


@dataclasses.dataclass(frozen=True)
class Confidence:
    """How sure a head was of its answers, and whether they were right."""

    correct: np.ndarray  # [E, Q]
    before: np.ndarray  # [E, Q] probabilities of the answers, by the scores as they are
    after: np.ndarray  # [E, Q] by scores over the temperature
    temperature: float | None  # None if it was not fitted, and `after` is `before`

    def errors(self) -> dict[str, float | None]:
        """Returns the temperature, and the calibration error before and after it."""
        before, after = (
            curves.calibration_error(sure, self.correct)
            for sure in (self.before, self.after)
        )
        return {
            "temperature": self.temperature,
            "calibration_error": before,
            "calibrated_error": None if self.temperature is None else after,
        }


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """How well a head did on a run of episodes.

    Attributes:
        adapt: the adaptation by the name that it was asked for; see `chosen`.
        accuracies: [E] share of correct queries of each episode.
        refines: whether the head itself learns from the unlabelled points.
        chosen: what "auto" meant.
        tested: what the episodes were drawn from, where that is known.
    """

    spec: EpisodeSpec
    adapt: str
    accuracies: np.ndarray
    refines: bool = False
    chosen: str = ""
    confidence: Confidence | None = None
    tested: Tested | None = None

    @property
    def semi_supervised(self) -> bool:
        """Whether the unlabelled points had a say."""
        return self.refines or (self.chosen or self.adapt) != "none"

    @property
    def accuracy(self) -> float:
        """Share of correct queries of all episodes."""
        return float(np.mean(self.accuracies))

    @property
    def interval(self) -> float:
        """Half the width of the 95 % interval, over episodes or classes, or NaN."""
        if self.tested is None:
            return intervals.half_width(self.accuracies)
        return intervals.interval(self.accuracies, self.tested)

    @property
    def chance(self) -> float:
        """The accuracy of who knows nothing."""
        return 1 / self.spec.way

    def row(self) -> dict[str, float | int | str]:
        """Returns the evaluation as it is stored."""
        return {
            "adapt": self.adapt,
            "semi_supervised": self.semi_supervised,
            **{name: getattr(self.spec, name) for name in ASKED},
            "balance": self.spec.balance,
            "accuracy": self.accuracy,
            "interval": self.interval,
            "episodes": len(self.accuracies),
            "chance": self.chance,
            **(self._drawn_from() if self.tested else {}),
            **({"chosen": self.chosen} if self.chosen else {}),
            **(self.confidence.errors() if self.confidence else {}),
        }

    def _drawn_from(self) -> dict[str, int | str]:
        """Returns the classes and images behind the number, and what varied in it."""
        over_classes = intervals.is_over_classes(self.tested)
        return {
            "classes": self.tested.classes,
            "images": self.tested.images,
            "interval_over": "classes" if over_classes else "episodes",
        }

    @property
    def percent(self) -> str:
        """Accuracy and interval as they are printed."""
        interval = intervals.plus_minus(100 * self.interval, 2)
        return f"{100 * self.accuracy:.2f}{interval}"

    def __str__(self) -> str:
        way = f"{self.adapt}, {self.chosen}" if self.chosen else self.adapt
        way = "the head's own way" if self.adapt == "none" else way
        kind = f"semi-supervised: {way}" if self.semi_supervised else "inductive"
        return f"{self.percent} {kind}"


class Evaluator:
    """Scores the episodes of a split with a trained head and its adaptations."""

    def __init__(self, pools: Pools, head: Head, seed: int):
        self._pools = pools
        self._head = head
        self._seed = seed
        # Both are traced once for each kind of episode.
        self._datasets = {}
        self._scorers = {}

    def __call__(
        self,
        embeddings: Embeddings,
        spec: EpisodeSpec,
        adaptations: Sequence[str],
        episodes: int,
        calibration: Calibration | None = None,
    ) -> list[Evaluation]:
        """Scores episodes 0..episodes-1 from the split's embeddings.

        Args:
            calibration: has the temperatures, and says what "auto" means.
        """
        pools_lib.check(self._pools, spec)
        fitted = calibration if spec.unlabeled_points else None
        automatic = fitted.best(spec.shot) if fitted else "none"
        actual = [automatic if name == AUTO else name for name in adaptations]
        temperatures = [
            calibration and calibration.temperature(name, spec.shot) for name in actual
        ]
        score = self._scorer(spec, tuple(actual))
        divisors = tf.constant([each or 1.0 for each in temperatures])
        plans = self._plans(spec, episodes)
        batches = plans.batch(batch_size(spec, embeddings.shape[-1]))
        parts, classes = [], []
        for plan in batches:
            parts.append(score(divisors, *_vectors(embeddings, plan)))
            classes.append(plan.classes[:, : spec.way].numpy())
        accuracies, sureness = (
            np.concatenate(part, axis=1) for part in zip(*parts, strict=True)
        )  # [adaptations, E], [adaptations, E, Q, 3]
        refines = self._head.uses_unlabeled and spec.unlabeled_points > 0
        return [
            Evaluation(
                spec=spec,
                adapt=name,
                accuracies=accuracies[place],
                refines=refines,
                chosen=actual[place] if name == AUTO else "",
                confidence=Confidence(
                    *np.moveaxis(sureness[place], -1, 0), temperatures[place]
                ),
                tested=self._tested(np.concatenate(classes), sureness[place, ..., 0]),
            )
            for place, name in enumerate(adaptations)
        ]

    def _tested(self, classes: np.ndarray, correct: np.ndarray) -> Tested:
        """Returns how each class fared, of episodes [E, N] and their queries [E, Q]."""
        pools = self._pools
        return intervals.tested(len(pools.rows), len(pools.names), classes, correct)

    def _plans(self, spec: EpisodeSpec, episodes: int) -> tf.data.Dataset:
        key = (spec, episodes)
        if key not in self._datasets:
            self._datasets[key] = plan_lib.plans(
                self._pools, spec, self._seed, episodes
            )
        return self._datasets[key]

    def _scorer(self, spec: EpisodeSpec, adaptations: tuple[str, ...]) -> Callable:
        key = (spec, adaptations)
        if key not in self._scorers:
            heads = [self._head.adapted(adapt) for adapt in adaptations]
            self._scorers[key] = tf.function(
                functools.partial(_score, spec, heads),
                reduce_retracing=True,
                autograph=False,
            )
        return self._scorers[key]


def _vectors(embeddings: Embeddings, plan: plan_lib.Plan) -> list[tf.Tensor]:
    """Returns support [E, N, K, D], queries [E, N, q, D], unlabelled [E, U, D]."""
    parts = (plan.support, plan.query, plan.unlabeled)
    return [embeddings.gather(part) for part in parts]


def _score(
    spec: EpisodeSpec,
    heads: Sequence[Head],
    divisors: tf.Tensor,
    support: tf.Tensor,
    queries: tf.Tensor,
    unlabeled: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the accuracy of each head on each episode, and how sure it was.

    [heads], [E, N, K, D], [E, N, q, D], [E, U, D] -> [heads, E], [heads, E, Q, 3], the
    last for whether it was right, and for how likely it thought so, with scores as they
    are and divided by the divisor.
    """
    labels = query_labels(spec.way, spec.query)  # [Q]
    queries = tf.reshape(queries, [-1, spec.queries, queries.shape[-1]])  # [E, Q, D]
    episodes = EmbeddedEpisode(support, queries, unlabeled)
    scores = [head.answer(episodes).scores for head in heads]  # [E, Q, N] each
    sureness = [
        tf.stack([_right(each, labels), _sure(each), _sure(each / divisor)], axis=-1)
        for each, divisor in zip(scores, tf.unstack(divisors), strict=True)
    ]
    return tf.stack([accuracy(each, labels) for each in scores]), tf.stack(sureness)


def _right(scores: tf.Tensor, labels: tf.Tensor) -> tf.Tensor:
    """Returns 1 for queries whose best score is their class: [E, Q, N] -> [E, Q]."""
    best = tf.argmax(scores, axis=-1, output_type=labels.dtype)
    return tf.cast(best == labels, scores.dtype)


def _sure(scores: tf.Tensor) -> tf.Tensor:
    """Returns the probability of the best of some logits: [E, Q, N] -> [E, Q]."""
    best = tf.reduce_max(scores, axis=-1)
    return tf.exp(best - tf.reduce_logsumexp(scores, axis=-1))


def batch_size(spec: EpisodeSpec, size: int) -> int:
    """Returns how many episodes are scored at once, within a budget of memory."""
    points = spec.queries + spec.unlabeled_points
    return max(1, min(100, BATCH_NUMBERS // (points * (spec.way + size))))
