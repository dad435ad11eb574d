"""The distractor analysis of several runs: numbers, curve, histogram and pictures."""

from collections.abc import Sequence

import numpy as np

from prwn_tf.analysis import figures, visit_figures
from prwn_tf.analysis.findings import Finding, Row, floats
from prwn_tf.analysis.settings import Settings
from prwn_tf.analysis.subject import Subject
from prwn_tf.analysis.visits import Visits, visits
from prwn_tf.evaluation import report


def find(subjects: Sequence[Subject], settings: Settings) -> Finding:
    """Where each run's walker goes, and what the filter makes of it."""
    found = [
        visits(subject, settings.spec, settings.episodes, settings.smoothing)
        for subject in subjects
    ]
    rows = [each.summary() for each in found]
    drawn = {
        "distractors_roc": figures.rendered(visit_figures.roc, found),
        "distractors_histogram": figures.rendered(visit_figures.histogram, found),
    }
    for subject, each in zip(subjects, found, strict=True):
        if not subject.store.visible:
            continue
        name = "".join(letter if letter.isalnum() else "_" for letter in each.label)
        drawn[f"distractors_episode_{name}"] = _picture(subject, each, settings)
    return Finding(
        name="distractors",
        lines=_table(rows),
        numbers={
            **settings.about("smoothing", "episode"),
            "rows": rows,
            "roc": [_curve(each) for each in found],
        },
        tables={
            "distractors": rows,
            "distractors_episodes": [row for each in found for row in _episodes(each)],
        },
        figures=drawn,
    )


def _picture(subject: Subject, found: Visits, settings: Settings) -> bytes:
    plan = subject.plan(settings.spec, settings.episode)
    images = subject.store.read(plan.unlabeled.numpy())
    return figures.rendered(visit_figures.episode, found, settings.episode, images)


def _episodes(found: Visits) -> list[Row]:
    columns = found.episode_values()
    return [
        {"run": found.label, "episode": index}
        | floats(zip(columns, values, strict=True))
        for index, values in enumerate(np.stack([*columns.values()], axis=1))
    ]


def _curve(found: Visits) -> Row:
    curve = found.separation
    return {
        "run": found.label,
        "distractors_taken": curve.alarms.tolist(),
        "clean_found": curve.caught.mean(axis=0).tolist(),
    }


def _table(rows: Sequence[Row]) -> list[str]:
    """What to read at the terminal; the files have more."""
    columns = {
        "p_clean": "p_clean_smoothed",
        "unsmoothed": "p_clean_raw",
        "ROC area": "roc_area",
        "clean of the kept": "clean_share_of_kept",
    }

    def shown(row: Row, name: str) -> str:
        return f"{row[name]:.3f} ± {row[f'{name}_interval']:.3f}"

    cells = [
        [row["run"], *(shown(row, name) for name in columns.values())] for row in rows
    ]
    return report.aligned([["", *columns], *cells]).splitlines()
