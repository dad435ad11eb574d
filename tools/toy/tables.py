"""The toy experiment as text: tables beside the paper's, and where the walk helps."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from toy import settings, summary
from toy.settings import Setting
from toy.study import Outcome

if TYPE_CHECKING:
    from toy.whole import Trained, Whole

TITLES = {"spiral": "Spiral", "gaussian_circles": "Gaussian circles"}


def report(whole: "Whole", command: str) -> str:
    """All tables in Markdown."""
    seeds = len(summary.of(whole.trained["spiral", "training"].outcomes, "few"))
    parts = [
        "# Experiments in the plane",
        f"`{command}`",
        "1-shot accuracy (%) over 600 episodes, mean ± standard deviation over "
        f"{seeds} seeds; a seed draws the labels, the first weights and the episodes. "
        "The paper reports one run. Settings were chosen on validation points with "
        "other seeds (`--tune`); test points were used for nothing else. A gain is the "
        "mean difference between walk and few labels, seed by seed, with its 95 % "
        "interval.",
        "## Equal training: every model sees the same number of episodes",
        _sections(whole, "training"),
        "`best step`: test accuracy at the step with the best validation accuracy of "
        "the same run. `all labels`: every labelled training point as support, which "
        "is what the figures show.",
        "## Equal epochs: every model passes 300 times over the points it uses",
        "The model with few labels then takes a tenth (spiral) or a twentieth "
        '(circles) of the steps of the others. The paper says "300 epochs" and not '
        "what an epoch is.",
        _sections(whole, "epochs"),
        "## Where the walk helps: labels of a class",
        _sweep(whole, "labels", "labelled points of a class"),
        "## Where the walk helps: unlabelled points of a class in an episode",
        _sweep(whole, "unlabeled", "unlabelled points of a class"),
        "## Where the walk helps: length of training",
        _lengths(whole),
        "![curves](toy_curves.png)",
        "\n".join(f"![{name}](toy_{name}.png)" for name in settings.DATASETS),
    ]
    return "\n\n".join(parts) + "\n"


def _sections(whole: "Whole", kind: str) -> str:
    return "\n\n".join(
        _section(name, whole.trained[name, kind]) for name in settings.DATASETS
    )


def _section(name: str, trained: "Trained") -> str:
    header = ("model", "steps", "paper train / val", "train", "val", "test")
    rows = []
    for model in settings.MODELS:
        outcomes = summary.of(trained.outcomes, model)
        paper = " / ".join(f"{value:.2f}" for value in settings.PAPER[name][model])
        rows.append(
            [
                settings.TITLES[model],
                str(trained.setting.steps[model]),
                paper,
                *(
                    summary.mean_and_spread(summary.last(outcomes, split))
                    for split in ("train", "val", "test")
                ),
                summary.mean_and_spread(summary.stopped(outcomes, "test")),
                summary.mean_and_spread([each.by_labels["test"] for each in outcomes]),
            ]
        )
    few, walk = (summary.of(trained.outcomes, model) for model in ("few", "walk"))
    stopped = summary.gain(*(summary.stopped(part, "test") for part in (few, walk)))
    return "\n\n".join(
        [
            f"**{TITLES[name]}** ({_described(trained.setting)})",
            _table((*header, "test, best step", "test, all labels"), rows),
            f"Gain on test: {_gain(few, walk)}.",
            f"Gain at the best step: {stopped}.",
        ]
    )


def _described(setting: Setting) -> str:
    walk = setting.walk
    return (
        f"{setting.labels} labels a class, Adam {setting.learning_rate:g}, walk "
        f"weight {walk.weight:g}, {walk.steps} inner steps, visit weight "
        f"{walk.visit_weight:g}, smoothing {walk.smoothing:g}, {setting.unlabeled} "
        "unlabelled points a class"
    )


def _sweep(whole: "Whole", kind: str, title: str) -> str:
    rows = []
    for name in settings.DATASETS:
        base = whole.trained[name, "training"]
        found = {getattr(base.setting, kind): base}
        for key, trained in whole.trained.items():
            if key[:2] == (name, kind):
                found[key[2]] = trained
        seeds = {each.seed for each in found[min(found)].outcomes}
        for value, trained in sorted(found.items()):
            walk = _chosen(trained.outcomes, "walk", seeds)
            few = _chosen(trained.outcomes, "few", seeds)
            few = few or _chosen(base.outcomes, "few", seeds)
            rows.append([TITLES[name], str(value), *_compared(few, walk)])
    return _table(("set", title, "few labels", "+ walk", "gain on test"), rows)


def _lengths(whole: "Whole") -> str:
    rows = []
    for name in settings.DATASETS:
        outcomes = whole.trained[name, "training"].outcomes
        few, walk, full = (summary.of(outcomes, model) for model in settings.MODELS)
        for step in few[0].curve:
            values = [
                [each.curve[step]["test"] for each in part]
                for part in (few, walk, full)
            ]
            rows.append(
                [
                    TITLES[name],
                    str(step),
                    *map(summary.mean_and_spread, values),
                    str(summary.gain(*values[:2])) if step else "",
                ]
            )
    header = ("set", "steps", "few labels", "+ walk", "all labels", "gain on test")
    return _table(header, rows)


def _chosen(outcomes: Sequence[Outcome], model: str, seeds: set[int]) -> list[Outcome]:
    return [each for each in summary.of(outcomes, model) if each.seed in seeds]


def _compared(few: Sequence[Outcome], walk: Sequence[Outcome]) -> list[str]:
    last = [summary.last(part, "test") for part in (few, walk)]
    return [*map(summary.mean_and_spread, last), str(summary.gain(*last))]


def _gain(few: Sequence[Outcome], walk: Sequence[Outcome]) -> str:
    return str(summary.gain(*(summary.last(part, "test") for part in (few, walk))))


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
