"""The toy experiment as text: tables beside the paper's, and where the walk helps."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from toy import settings, summary
from toy.settings import Setting
from toy.study import Outcome

if TYPE_CHECKING:
    from toy.whole import Key, Trained

TITLES = {"spiral": "Spiral", "gaussian_circles": "Gaussian circles"}


def report(models: Mapping["Key", "Trained"], command: str, swept_steps: int) -> str:
    """Returns all tables in Markdown."""
    first = next(iter(models.values()))
    seeds = len(summary.of(first.outcomes, "few"))
    parts = [
        "# Experiments in the plane",
        f"`{command}` ([all numbers](toy.json))",
        "1-shot accuracy (%) over 600 episodes, mean ± standard deviation over "
        f"{seeds} seeds; a seed draws the labels, the first weights and the episodes. "
        "The paper reports one run. Settings of equal training are those of the walk "
        "that validation points prefer, with other seeds (`--tune`, "
        "[what was tried](tuning.md)). A gain is the mean difference "
        "between walk and few labels, seed by seed, with its 95 % interval.",
        "## Equal training: every model sees the same number of episodes",
        _sections(models, "training"),
        *_tuned(models),
        "`best step`: test accuracy at the step with the best validation accuracy of "
        "the same run, among those of the table of lengths and the last. `all labels`: "
        "every labelled training point as support, which is what the figures show.",
        "## Equal epochs: every model passes 300 times over the points it uses",
        "The model with few labels then takes a tenth (spiral) or a twentieth "
        '(circles) of the steps of the others. The paper says "300 epochs" and not '
        "what an epoch is. The rate of the circles is not the tuned one, but a "
        "thousandth of it, and was chosen to show a gap like the paper's: the model "
        "with few labels is hardly trained when it ends. At the tuned rate, after as "
        f"many steps or somewhat fewer: {_at_tuned_rate(models)}.",
        _sections(models, "epochs"),
        "## Where the walk helps: length of training",
        _lengths(models),
        "![accuracy by length of training](toy_curves.png)",
        "Validation points, mean and standard deviation of the seeds. "
        "[SVG](toy_curves.svg), [PDF](toy_curves.pdf).",
    ]
    for kind, title in SWEEP_TITLES.items():
        rows = _sweep(models, kind, swept_steps)
        if rows:
            parts.append(f"## Where the walk helps: {title} ({swept_steps} steps)")
            header = ("set", title, "few labels", "+ walk", "gain on test")
            parts.append(_table(header, rows))
    parts += [
        "## What the models answer",
        "![both sets](toy.png)",
        "Areas have the colour of the class that a model answers there; large signs "
        "are labelled points, dots the others. Above stands the test accuracy with "
        "every labelled point as support, of the drawn seed and the mean of all, "
        "after equal training. [SVG](toy.svg), [PDF](toy.pdf). Each set by itself:",
    ]
    parts += [f"![{name}](toy_{name}.png)" for name in _datasets(models)]
    return "\n\n".join(parts) + "\n"


SWEEP_TITLES = {
    "labels": "labelled points of a class",
    "unlabeled": "unlabelled points of a class in an episode",
}


def _datasets(models: Mapping["Key", "Trained"]) -> list[str]:
    """Returns the names of the sets, each once."""
    return list(dict.fromkeys(name for name, _, _ in models))


def _sections(models: Mapping["Key", "Trained"], kind: str) -> str:
    """Returns a section for each set, of one kind of training."""
    return "\n\n".join(
        _section(name, models[name, kind, 0]) for name in _datasets(models)
    )


def _tuned(models: Mapping["Key", "Trained"]) -> list[str]:
    """Returns each model at the setting that validation prefers, if it was tried."""
    rows, gains = [], []
    for name in _datasets(models):
        both = [models.get((name, f"tuned_{model}", 0)) for model in ("few", "walk")]
        if None in both:
            return []
        for model, trained in zip(("few", "walk"), both, strict=True):
            outcomes = summary.of(trained.outcomes, model)
            cells = [
                summary.mean_and_spread(summary.last(outcomes, split))
                for split in ("train", "val", "test")
            ]
            steps = trained.setting.steps[0]
            setting = _describe(trained.setting, walks=model == "walk")
            about = (TITLES[name], settings.TITLES[model], str(steps), setting)
            rows.append([*about, *cells])
        few, walk = (summary.last(each.outcomes, "test") for each in both)
        gains.append(f"Gain on test, {TITLES[name]}: {summary.gain(few, walk)}.")
    header = ("set", "model", "steps", "setting", "train", "val", "test")
    return [
        "## Tuned: each model at the setting that validation prefers",
        _table(header, rows),
        *gains,
    ]


def _at_tuned_rate(models: Mapping["Key", "Trained"]) -> str:
    """Returns what a tuned rate gives after about the steps of equal epochs."""
    sentences = []
    for name in _datasets(models):
        lengths, epochs = (models[name, kind, 0] for kind in ("lengths", "epochs"))
        if epochs.setting.learning_rate == lengths.setting.learning_rate:
            continue
        few, walk, _ = epochs.setting.steps
        for model, most in (("few", few), ("walk", walk)):
            outcomes = summary.of(lengths.outcomes, model)
            step = max(step for step in outcomes[0].curve if step <= most)
            values = [each.curve[step]["test"] for each in outcomes]
            accuracy = summary.mean_and_spread(values)
            sentences.append(
                f"{TITLES[name]}, {settings.TITLES[model]}: {accuracy} after {step}"
            )
    return "; ".join(sentences)


def _section(name: str, trained: "Trained") -> str:
    """Returns the table of one set, with the gain of the walk under it."""
    header = ("model", "steps", "paper train / val", "train", "val", "test")
    rows = []
    for model, steps in zip(settings.MODELS, trained.setting.steps, strict=True):
        outcomes = summary.of(trained.outcomes, model)
        paper = " / ".join(f"{value:.2f}" for value in settings.PAPER[name][model])
        values = [summary.last(outcomes, split) for split in ("train", "val", "test")]
        values.append(summary.stopped(outcomes, "test"))
        values.append([each.by_labels["test"] for each in outcomes])
        cells = map(summary.mean_and_spread, values)
        rows.append([settings.TITLES[model], str(steps), paper, *cells])
    few, walk = (summary.of(trained.outcomes, model) for model in ("few", "walk"))
    last = summary.gain(*(summary.last(part, "test") for part in (few, walk)))
    stopped = summary.gain(*(summary.stopped(part, "test") for part in (few, walk)))
    return "\n\n".join(
        [
            f"**{TITLES[name]}** ({_describe(trained.setting)})",
            _table((*header, "test, best step", "test, all labels"), rows),
            f"Gain on test: {last}.",
            f"Gain at the best step: {stopped}.",
        ]
    )


def _describe(setting: Setting, walks: bool = True) -> str:
    """Returns a setting in words."""
    walk = setting.walk
    labels = f"{setting.labels} labels a class, Adam {setting.learning_rate:g}"
    if not walks:
        return labels
    inner = f"{walk.steps} inner step{'' if walk.steps == 1 else 's'}"
    return (
        f"{labels}, walk "
        f"weight {walk.weight:g}, {inner}, decay {walk.decay:g} (the "
        "paper's panels have 1), visit weight "
        f"{walk.visit_weight:g}, smoothing {walk.smoothing:g}, {setting.unlabeled} "
        "unlabelled points a class"
    )


def _sweep(
    models: Mapping["Key", "Trained"], kind: str, steps: int
) -> list[Sequence[str]]:
    """Returns rows of one thing varied, the model of the main table among them."""
    rows = []
    for name in _datasets(models):
        base = models[name, "lengths", 0]
        varied = {
            key[2]: each for key, each in models.items() if key[:2] == (name, kind)
        }
        if not varied:
            return []
        seeds = {each.seed for each in next(iter(varied.values())).outcomes}
        varied[getattr(base.setting, kind)] = base
        for value, trained in sorted(varied.items()):
            walk = _at(trained.outcomes, "walk", seeds, steps)
            few = _at(trained.outcomes, "few", seeds, steps)
            few = few or _at(base.outcomes, "few", seeds, steps)
            cells = map(summary.mean_and_spread, (few, walk))
            gain = str(summary.gain(few, walk))
            rows.append([TITLES[name], str(value), *cells, gain])
    return rows


def _at(
    outcomes: Sequence[Outcome], model: str, seeds: set[int], step: int
) -> list[float]:
    """Returns the 1-shot test accuracy at a step, of some seeds."""
    chosen = [each for each in summary.of(outcomes, model) if each.seed in seeds]
    return [each.curve[step]["test"] for each in chosen]


def _lengths(models: Mapping["Key", "Trained"]) -> str:
    """Returns the table of accuracies by the number of steps."""
    rows = []
    for name in _datasets(models):
        outcomes = models[name, "lengths", 0].outcomes
        seeds = {each.seed for each in outcomes}
        for step in outcomes[0].curve:
            values = [_at(outcomes, model, seeds, step) for model in settings.MODELS]
            cells = map(summary.mean_and_spread, values)
            gain = str(summary.gain(*values[:2])) if step else "untrained"
            rows.append([TITLES[name], str(step), *cells, gain])
    header = ("set", "steps", "few labels", "+ walk", "all labels", "gain on test")
    return _table(header, rows)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
