"""The files and lines that say how a run ended."""

import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from prwn_tf import backbones, config_json, files, methods
from prwn_tf.config import ASKED, EpisodeSpec, TrainConfig
from prwn_tf.data.sets import facts
from prwn_tf.evaluation import intervals
from prwn_tf.evaluation.evaluate import Evaluation


def result(
    config: TrainConfig,
    step: int,
    seconds: float,
    test: Sequence[Evaluation],
    losses: Mapping[str, float],
) -> dict[str, Any]:
    """Returns the content of a run's result.json.

    Args:
        losses: means over the last training steps.
    """
    origin = config.init_from
    return {
        "method": config.method,
        "dataset": config.dataset,
        "step": step,
        "select": config.select,
        "seconds": round(seconds, 1),
        "seed": config.seed,
        "label_ratio": config.label_ratio,
        "deterministic": config.deterministic,
        "xla": config.xla,
        "precision": config.precision,
        "init_from": config_json.to_dict(origin) if origin else None,
        "train_spec": config_json.to_dict(methods.training_spec(config)),
        "test_spec": config_json.to_dict(config.test),
        "losses": dict(losses),
        **warning(config),
        "test": [evaluation.row() for evaluation in test],
    }


def warning(config: TrainConfig) -> dict[str, str]:
    """Returns what a reader of a config's numbers must know, under "warning", if so."""
    texts = []
    if config.dataset in facts.FROM_IMAGENET and backbones.knows_imagenet(
        config.encoder, config.backbone.weights
    ):
        texts.append(
            f"{config.encoder} was trained on ImageNet and has seen the test classes "
            f"of {config.dataset}: its accuracy is not that on new classes"
        )
    if config.learns_validation:
        texts.append(
            "the validation classes are learned as well (--train_splits): accuracy on "
            "them is not that on new classes"
        )
    return {"warning": "; ".join(texts)} if texts else {}


def write_episodes(path: pathlib.Path, test: Sequence[Evaluation]) -> None:
    """Writes a table with a row for each episode, and columns for each evaluation.

    They are its accuracy and, where it is calibrated, the mean probability of its
    answers, named by how it adapts and by what else evaluations differ in.
    """
    columns = [evaluation.accuracies for evaluation in test]
    names = _column_names(test)
    header = ["episode", *(f"accuracy_{name}" for name in names)]
    for name, evaluation in zip(names, test, strict=True):
        sure = evaluation.confidence
        if sure is not None and sure.temperature is not None:
            header.append(f"confidence_{name}")
            columns.append(sure.after.mean(axis=1))
    rows = (
        [index, *(f"{value:.6f}" for value in values)]
        for index, values in enumerate(zip(*columns, strict=True))
    )
    files.write_csv(path, header, rows)


def _column_names(test: Sequence[Evaluation]) -> list[str]:
    """Returns how evaluations adapt, and what else they differ in."""
    varied = _varied(test)
    return [
        "".join([each.adapt, *(f"_{getattr(each.spec, n)}{n}" for n in varied)])
        for each in test
    ]


def heading(evaluations: Sequence[Evaluation]) -> str:
    """Returns what the numbers are, and what the episodes have in common."""
    first, varied = evaluations[0], _varied(evaluations)
    spec, test = first.spec, first.tested
    same = [f"{name} {getattr(spec, name)}" for name in ASKED if name not in varied]
    common = f"all with {', '.join(same)}" if varied else str(spec)
    over = f"{len(first.accuracies)} episodes"
    if test and intervals.is_over_classes(test):
        over = f"{test.classes} classes (bootstrap)"
    numbers = f"accuracy (%) ± 95 % interval over {over} of one training"
    return "\n".join([numbers, *[common] * bool(same), *drawn_from(evaluations)])


def drawn_from(evaluations: Sequence[Evaluation]) -> list[str]:
    """Returns the chance level, classes and images of accuracies, where known."""
    test, ways = evaluations[0].tested, {each.spec.way for each in evaluations}
    chance = f"chance {100 * evaluations[0].chance:.2f}; " * (len(ways) == 1)
    if test is None:
        return []
    return [f"{chance}{test.classes:,} classes of {test.images:,} images"]


def lines(evaluations: Sequence[Evaluation]) -> str:
    """Returns some evaluations for the terminal: a list, or a table if specs differ."""
    several = len({evaluation.spec for evaluation in evaluations}) > 1
    shown = table(evaluations) if several else "\n".join(map(str, evaluations))
    return f"{heading(evaluations)}\n{shown}"


def table(evaluations: Sequence[Evaluation]) -> str:
    """Returns a line for each kind of episode, a column for each way to adapt."""
    adaptations = list(dict.fromkeys(each.adapt for each in evaluations))
    accuracy: dict[EpisodeSpec, dict[str, str]] = {}
    for each in evaluations:
        accuracy.setdefault(each.spec, {})[each.adapt] = each.percent
    varied = _varied(evaluations)
    columns = [*varied, *["chance"] * ("way" in varied)]
    rows = []
    for spec, cells in accuracy.items():
        told = [str(getattr(spec, name)) for name in varied]
        told += [f"{100 / spec.way:.2f}"] * ("way" in varied)
        rows.append([*told, *map(cells.get, adaptations)])
    return align([[*columns, *adaptations], *rows])


def calibration_lines(evaluations: Sequence[Evaluation]) -> list[str]:
    """Returns how far probabilities are from the truth, with and without temperature.

    The error is the mean gap between the probability of answers and their accuracy.
    """
    rows = [["calibration error (points)", "before", "after", "temperature"]]
    for name, each in zip(_column_names(evaluations), evaluations, strict=True):
        temperature, before, after = each.confidence.errors().values()
        fitted = ["uncalibrated", "-"]
        if temperature is not None:
            fitted = [f"{100 * after:.2f}", f"{temperature:.3g}"]
        rows.append([name, f"{100 * before:.2f}", *fitted])
    return align(rows).splitlines()


def stranger_lines(rows: Sequence[Mapping[str, Any]]) -> str:
    """Returns how well images of further classes are told, for the terminal."""
    if not rows:
        return (
            "none of these: not measured, the model had too few validation classes, or "
            "these\nepisodes leave no class that could be a stranger's"
        )
    named = ("adapt", "shot", "distractors")
    header = ["none of these", *named[1:], "ROC area", "false alarms", "caught"]
    cells = [
        [str(row[name]) for name in named]
        + [f"{row['roc_area']:.3f}"]
        + [f"{100 * row[name]:.1f} %" for name in ("false_alarms", "caught")]
        for row in rows
    ]
    return align([header, *cells])


def align(rows: Sequence[Sequence[str]]) -> str:
    """Returns cells in columns as wide as their widest cell, for the terminal."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )


def _varied(evaluations: Sequence[Evaluation]) -> list[str]:
    """Returns the fields in which the episodes of some evaluations differ."""
    return [
        name
        for name in ASKED
        if len({getattr(evaluation.spec, name) for evaluation in evaluations}) > 1
    ]
