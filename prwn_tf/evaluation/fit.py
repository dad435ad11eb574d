"""A calibration from validation episodes, and how it fares on other classes."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from prwn_tf.config import ADAPTATIONS, EpisodeSpec, TrainConfig
from prwn_tf.episodes.pipeline import query_labels
from prwn_tf.episodes.pools import Pools
from prwn_tf.evaluation import curves, strangers
from prwn_tf.evaluation.calibration import Calibration, Fit, Novelty
from prwn_tf.evaluation.embeddings import Embeddings
from prwn_tf.evaluation.intervals import half_width
from prwn_tf.evaluation.strangers import Responses
from prwn_tf.heads.base import Head

SHOTS = (1, 5)  # beside those of the task


def fit(
    pools: Pools, embeddings: Embeddings, head: Head, config: TrainConfig
) -> Calibration | None:
    """Returns what the validation classes say of a model; None if they are too few."""
    names = [name for name in head.adaptations if name in ADAPTATIONS]
    task, episodes = config.test, config.validation_episodes
    fits, novelties = [], []
    for shot in sorted({task.shot, *SHOTS}):
        spec = strangers.spec_like(pools, task, shot)
        if spec is None:
            continue
        answers = strangers.responses(
            pools,
            embeddings,
            head,
            names,
            spec,
            task.distractors,
            config.eval_seed,
            episodes,
        )
        fits += _fits(answers, spec)
        novelties += _novelties(answers, shot)
    if not fits:
        return None
    return Calibration(task, episodes, tuple(fits), tuple(novelties))


def measure(
    pools: Pools,
    embeddings: Embeddings,
    head: Head,
    calibration: Calibration,
    seed: int,
    episodes: int,
    task: EpisodeSpec,
) -> list[dict[str, Any]]:
    """Returns how well each adaptation tells strangers on a task's episodes.

    A row has the area under the ROC curve, the share of own images that are above the
    threshold, and the share of strangers that are.
    """
    names = [n for n in ADAPTATIONS if calibration.novelty(n, task.shot)]
    spec = strangers.spec_like(pools, task, task.shot)
    if spec is None or spec.distractors <= task.distractors or not names:
        return []
    answers = strangers.responses(
        pools, embeddings, head, names, spec, task.distractors, seed, episodes
    )
    rows = []
    for name, each in answers.items():
        novelty = calibration.novelty(name, task.shot)
        own, others = map(novelty.probabilities, (each.own, each.strangers))
        rows.append(
            {
                "adapt": name,
                "shot": task.shot,
                "distractors": task.distractors,
                "roc_area": curves.area(own.ravel(), others.ravel()),
                "false_alarms": float(np.mean(own > novelty.threshold)),
                "caught": float(np.mean(others > novelty.threshold)),
            }
        )
    return rows


def _fits(answers: Mapping[str, Responses], spec: EpisodeSpec) -> Iterator[Fit]:
    """Yields the temperature of each adaptation, and what it gains on "none"."""
    labels = query_labels(spec.way, spec.query).numpy()  # [Q]
    accuracies = {
        name: (each.scores.argmax(axis=-1) == labels).mean(axis=-1)
        for name, each in answers.items()
    }  # [E]
    for name, each in answers.items():
        flat = each.scores.reshape(-1, each.scores.shape[-1])
        repeated = np.tile(labels, len(each.scores))
        gain = accuracies[name] - accuracies["none"]
        yield Fit(
            adapt=name,
            shot=spec.shot,
            temperature=curves.fitted_temperature(flat, repeated),
            accuracy=float(accuracies[name].mean()),
            gain=float(gain.mean()),
            interval=half_width(gain),
        )


def _novelties(answers: Mapping[str, Responses], shot: int) -> Iterator[Novelty]:
    """Yields how each adaptation tells strangers, if there were any."""
    for name, each in answers.items():
        if each.strangers.size:
            own, others = (part.reshape(-1, 2) for part in each[1:])
            novelty = Novelty(name, shot, *curves.fitted_curve(own, others), area=0.0)
            area = curves.area(*map(novelty.probabilities, (own, others)))
            yield dataclasses.replace(novelty, area=area)
