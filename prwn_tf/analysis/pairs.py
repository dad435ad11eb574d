"""Runs compared on the same episodes, with and without distractors.

Two runs meet the same episodes, so the difference of their accuracies has an interval
of its own, narrower than their two intervals suggest. It covers episodes, not seeds:
another training of the same run would end elsewhere.
"""

import dataclasses
import itertools
from collections.abc import Sequence

from prwn_tf.analysis.findings import Finding, Row, mean_and_interval
from prwn_tf.analysis.settings import Settings
from prwn_tf.analysis.subject import Subject
from prwn_tf.config import EpisodeSpec
from prwn_tf.episodes import pools
from prwn_tf.evaluation import report
from prwn_tf.evaluation.evaluate import Evaluation, Evaluator


def analyze(subjects: Sequence[Subject], settings: Settings) -> Finding:
    """Measures every run on the same episodes, and the differences between runs."""
    specs = _specs(subjects[0], settings.test)
    by_run = {
        subject.label: _evaluate(subject, specs, settings.episodes)
        for subject in subjects
    }
    rows = [
        {"run": label, **evaluation.row()}
        for label, evaluations in by_run.items()
        for evaluation in evaluations
    ]
    differences = [
        row
        for base, run in itertools.combinations(by_run, 2)
        for row in _differences(base, by_run[base], run, by_run[run])
    ]
    tables = {"pairs": rows, "pairs_differences": differences}
    return Finding(
        name="pairs",
        lines=_table(differences),
        numbers={"rows": rows, "differences": differences},
        tables={name: each for name, each in tables.items() if each},
        figures={},
    )


def _specs(subject: Subject, test: EpisodeSpec) -> list[EpisodeSpec]:
    """Returns the test episodes, and those with as many distractor classes as ways."""
    crowded = dataclasses.replace(test, distractors=test.way)
    if test.unlabeled == 0 or crowded.classes > len(subject.pools.names):
        return [test]
    pools.check(subject.pools, crowded)
    return [test, crowded]


def _evaluate(
    subject: Subject, specs: Sequence[EpisodeSpec], episodes: int
) -> list[Evaluation]:
    """Returns a run's evaluations, by all adaptations that its head has."""
    head = subject.model.head
    evaluator = Evaluator(subject.pools, head, subject.seed)
    adaptations = head.adaptations if specs[0].unlabeled else ("none",)
    return [
        evaluation
        for spec in specs
        for evaluation in evaluator(subject.embeddings, spec, adaptations, episodes)
    ]


def _differences(
    base: str, before: Sequence[Evaluation], run: str, after: Sequence[Evaluation]
) -> list[Row]:
    """Returns what a run has more than another, where both adapt alike."""
    theirs = {(each.spec, each.adapt): each.accuracies for each in before}
    rows = []
    for each in after:
        if (each.spec, each.adapt) in theirs:
            gap = each.accuracies - theirs[each.spec, each.adapt]  # [E]
            mean, interval = mean_and_interval(gap)
            about = {"distractors": each.spec.distractors, "adapt": each.adapt}
            rows.append(
                {"run": run, "base": base, **about}
                | {"difference": mean, "interval": interval, "episodes": len(gap)}
            )
    return rows


def _table(differences: Sequence[Row]) -> list[str]:
    """Returns a line for each difference."""
    cells = [
        [
            f"{row['run']} - {row['base']}",
            str(row["distractors"]),
            row["adapt"],
            f"{100 * row['difference']:+.2f} ± {100 * row['interval']:.2f}",
        ]
        for row in differences
    ]
    header = ["the same episodes", "distractors", "adapt", "points"]
    return report.align([header, *cells]).splitlines()
