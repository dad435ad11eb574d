"""The distractor analysis of several runs: numbers, curve, histogram and pictures."""

from collections.abc import Sequence

import numpy as np

from prwn_tf.analysis import figures, scale, visit_figures
from prwn_tf.analysis.findings import Finding, Row, as_floats
from prwn_tf.analysis.settings import Settings
from prwn_tf.analysis.subject import Subject
from prwn_tf.analysis.visits import Visits, follow_walker
from prwn_tf.evaluation import report


def analyze(subjects: Sequence[Subject], settings: Settings) -> Finding:
    """Measures where each run's walker goes, and what filter and gate make of it."""
    all_visits, rescaled = (
        [
            follow_walker(subject, settings.spec, settings.episodes, settings.smoothing)
            for subject in some
        ]
        for some in (subjects, map(scale.at_common_scale, subjects))
    )
    rows = [
        own.summary() | _common(common.summary())
        for own, common in zip(all_visits, rescaled, strict=True)
    ]
    drawn = {
        "distractors_clean": figures.render(
            visit_figures.draw_clean, all_visits, rescaled
        ),
        "distractors_roc": figures.render(visit_figures.draw_roc, all_visits),
        "distractors_histogram": figures.render(
            visit_figures.draw_histogram, all_visits
        ),
    }
    for subject, each in zip(subjects, all_visits, strict=True):
        if not subject.store.visible:
            continue
        name = "".join(letter if letter.isalnum() else "_" for letter in each.label)
        drawn[f"distractors_episode_{name}"] = _draw_episode(subject, each, settings)
    return Finding(
        name="distractors",
        lines=_table(rows),
        numbers={
            **settings.about("smoothing", "episode"),
            "common_between": scale.BETWEEN,
            "ceiling": all_visits[0].ceiling,
            "rows": rows,
            "roc": [_roc_curve(each) for each in all_visits],
        },
        tables={
            "distractors": rows,
            "distractors_episodes": [
                row for each in all_visits for row in _episode_rows(each)
            ],
        },
        figures=drawn,
    )


def _draw_episode(subject: Subject, visits: Visits, settings: Settings) -> bytes:
    """Draws the images of one episode in the order of their scores."""
    rows = subject.plan(settings.spec, settings.episode).unlabeled.numpy()
    return figures.render(
        visit_figures.draw_episode,
        visits,
        settings.episode,
        lambda places: subject.store.read(rows[places]),
    )


def _episode_rows(visits: Visits) -> list[Row]:
    """Returns a row for each episode."""
    columns = visits.episode_values()
    return [
        {"run": visits.label, "episode": index}
        | as_floats(zip(columns, values, strict=True))
        for index, values in enumerate(np.stack([*columns.values()], axis=1))
    ]


def _common(summary: Row) -> Row:
    """Returns the numbers of a summary under names that say their scale."""
    return {f"common_{name}": value for name, value in summary.items() if name != "run"}


def _roc_curve(visits: Visits) -> Row:
    """Returns the mean ROC curve of a run."""
    curve = visits.separation
    return {
        "run": visits.label,
        "distractors_taken": curve.alarms.tolist(),
        "clean_found": curve.caught.mean(axis=0).tolist(),
    }


def _table(rows: Sequence[Row]) -> list[str]:
    """Returns lines for the terminal; the files have more."""
    columns = {
        "p_clean": "p_clean_smoothed",
        "common scale": "common_p_clean_smoothed",
        "ROC area": "roc_area",
        "filter: clean": "clean_share_of_kept",
        "gate: clean": "clean_share_by_gate",
    }

    def cell(row: Row, name: str) -> str:
        interval = f"{row[f'{name}_interval']:.3f}".removeprefix("0")
        return f"{row[name]:.3f} ± {interval}"

    cells = [
        [row["run"], *(cell(row, name) for name in columns.values())] for row in rows
    ]
    return report.align([["", *columns], *cells]).splitlines()
