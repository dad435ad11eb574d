"""The parts of the page that come from the analyses; those not made are left out."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from paper_tables import analyses, markdown
from paper_tables.description import Published
from paper_tables.results import Results


def all_sections(results: Results) -> list[str]:
    """Returns the titles and texts of the analyses that were made, with figures."""
    higher = results.tables.higher_ways
    ways = _ways_at if higher.at else _by_way
    sections = (
        ("Differences on the same episodes", "pairs", _pairs, ()),
        (higher.title, "ways", ways, ("ways",)),
        ("Between and within classes", "scale", _scale, ()),
        ("Coming home (landing probability)", "landing", _landing, ("landing",)),
        (
            "The walker among distractors (p_clean)",
            "distractors",
            _clean,
            ("distractors_clean", "distractors_roc", "distractors_histogram"),
        ),
        (
            "Local consistency (average VAT loss)",
            "consistency",
            _consistency,
            ("consistency",),
        ),
        ("Reliability", "calibration", _reliability, ("calibration",)),
        ("On the way (validation classes)", "training", _training, ("training",)),
        ("Embeddings of the same classes", "embedding", _embedding, ("embedding",)),
    )
    parts = []
    for title, name, text, figures in sections:
        if results.analysis(name):
            parts += [f"## {title}", text(results), _source(results, name)]
            parts += [_figure(results, figure) for figure in figures]
    return [part for part in parts if part]


def _source(results: Results, name: str) -> str:
    """Returns where the numbers of an analysis stand, and what episodes they are of."""
    file = results.link(analyses.FOLDER, f"{name}.json")
    spec = results.numbers(name).get("spec")
    if not spec:
        return f"Numbers: [{name}]({file})."
    pool = f"{spec['unlabeled']} unlabelled images a class"
    if spec["distractors"]:
        pool += f" and of {spec['distractors']} distractor classes"
    task = f"{spec['way']}-way {spec['shot']}-shot, {pool}"
    return f"Numbers: [{name}]({file}); test episodes are {task}. Bands are 95 %."


def _figure(results: Results, name: str) -> str:
    """Returns a figure of the page, and links to it for a paper; nothing without."""
    if not (results.output / analyses.FOLDER / f"{name}.png").exists():
        return ""
    png, svg, pdf = (
        results.link(analyses.FOLDER, f"{name}.{kind}")
        for kind in ("png", "svg", "pdf")
    )
    about = f"{name}, {results.tables.dataset}"
    return f"![{about}]({png})\n\n[SVG]({svg}), [PDF]({pdf})"


def _beside_paper(
    results: Results,
    name: str,
    published: Sequence[Published],
    number: Callable[[dict[str, Any]], str | None],
) -> str:
    """Returns the numbers of an analysis beside the paper's.

    Args:
        number: returns what a row of the analysis says, or None if it is another.
    """
    entries = results.analysis(name)
    lines = []
    for each in published:
        numbers = (number(row) for row in entries if row["run"] == each.label)
        ours = next(filter(None, numbers), markdown.NOT_RUN)
        paper = "–" if each.number is None else each.number
        lines.append((each.label, paper, ours, f"`{each.row}`"))
    return markdown.table(("model", "paper", "ours", "run"), lines)


def _ways_at(results: Results) -> str:
    """Returns the accuracies of the number of ways that the paper has them for."""
    _, runs, way = results.tables.higher_ways

    def number(row: dict[str, Any]) -> str | None:
        return markdown.measured(row) if row["way"] == way else None

    accuracies = _beside_paper(results, "ways", runs, number)
    return "\n\n".join([accuracies, _gains(results, way)])


def _gains(results: Results, way: int) -> str:
    """Returns what each run gains on each one before it, in shares of the latter."""
    every = results.numbers("ways").get("relative_gain", ())
    gains = [row for row in every if row["way"] == way]
    if not gains:
        return ""
    bases = list(dict.fromkeys(row["base"] for row in gains))
    by_pair = {(row["run"], row["base"]): row for row in gains}
    lines = []
    for run in dict.fromkeys(row["run"] for row in gains):
        rows = [by_pair.get((run, base)) for base in bases]
        cells = (
            f"{100 * row['gain']:+.1f} ± {100 * row['interval']:.1f} %" if row else ""
            for row in rows
        )
        lines.append((run, *cells))
    header = [f"gain at {way} ways", *(f"over {base}" for base in bases)]
    return markdown.table(header, lines)


def _by_way(results: Results) -> str:
    """Returns the accuracies of all numbers of ways, and the gains at the last."""
    entries = results.analysis("ways")
    ways = sorted({row["way"] for row in entries})
    by_run = {
        label: {row["way"]: row for row in entries if row["run"] == label}
        for label in dict.fromkeys(row["run"] for row in entries)
    }
    lines = []
    for label, by_way in by_run.items():
        lines.append((label, *(markdown.measured(by_way.get(way)) for way in ways)))
    header = ("model", *(f"{way} ways" for way in ways))
    return "\n\n".join([markdown.table(header, lines), _gains(results, ways[-1])])


def _pairs(results: Results) -> str:
    """Returns how much more some rows have than others, in points."""
    tables = results.tables
    labels = {each.row: each.label for each in tables.clean}
    signed = {}  # (run, base, distractors, adapt) -> points and interval
    shown = set()  # both orders of a pair
    for row in results.numbers("pairs")["differences"]:
        kind = (row["distractors"], row["adapt"])
        points, interval = 100 * row["difference"], 100 * row["interval"]
        signed[row["run"], row["base"], *kind] = points, interval
        signed[row["base"], row["run"], *kind] = -points, interval
    kinds = list(dict.fromkeys(key[2:] for key in signed))
    lines = []
    for run in (labels[row] for row in tables.compared):
        for base in labels.values():
            pairs = [signed.get((run, base, *kind)) for kind in kinds]
            if pairs and None not in pairs and (run, base) not in shown:
                cells = (f"{gap:+.2f} ± {interval:.2f}" for gap, interval in pairs)
                lines.append((f"{run} − {base}", *cells))
                shown |= {(run, base), (base, run)}
    header = (f"{adapt}, {crowd or 'no'} distractors" for crowd, adapt in kinds)
    return markdown.table(("points", *header), lines)


def _scale(results: Results) -> str:
    """Returns how far apart the classes are."""
    lines = [
        (row["run"], *(f"{row[name]:.1f}" for name in ("between", "within", "ratio")))
        for row in results.analysis("scale")
    ]
    header = ("model", "between two centres", "image to its centre", "ratio")
    return markdown.table(header, lines)


def _clean(results: Results) -> str:
    """Returns how likely the walker is at a clean point, and what its score tells."""
    columns = {
        "own scale": "p_clean_smoothed",
        "common scale": "common_p_clean_smoothed",
        "common scale, unsmoothed": "common_p_clean_raw",
        "ROC area": "roc_area",
        "ROC area, common scale": "common_roc_area",
    }
    rows = {row["run"]: row for row in results.analysis("distractors")}
    lines = []
    for each in results.tables.clean:
        paper = "–" if each.number is None else each.number
        row = rows.get(each.label)
        cells = (
            f"{row[name]:.3f} ± {row[f'{name}_interval']:.3f}"
            if row
            else markdown.NOT_RUN
            for name in columns.values()
        )
        lines.append((each.label, paper, *cells, f"`{each.row}`"))
    return markdown.table(("model", "paper", *columns, "run"), lines)


def _consistency(results: Results) -> str:
    """Returns the average VAT losses by the length of the change."""
    entries = results.analysis("consistency")
    shares = list(dict.fromkeys(row["share"] for row in entries))
    lines = []
    for each in results.tables.consistency:
        paper = "–" if each.number is None else each.number
        own = [row for row in entries if row["run"] == each.label]
        for scale in dict.fromkeys(row["scale"] for row in own):
            cells = (
                f"{row['vat_loss']:.3g} ± {_two_digits(row['interval'])}"
                for row in own
                if row["scale"] == scale
            )
            lines.append((each.label, paper, scale, *cells, f"`{each.row}`"))
    lengths = (f"{Fraction(share).limit_denominator()} norm" for share in shares)
    return markdown.table(("model", "paper", "scale", *lengths, "run"), lines)


def _two_digits(number: float) -> str:
    """Returns a number rounded to its first two digits, without an exponent."""
    return f"{float(f'{number:.2g}'):g}"


def _landing(results: Results) -> str:
    """Returns the landing probabilities of every run after most steps, by view."""
    entries = results.analysis("landing")
    last = max(row["steps"] for row in entries)
    views = ("way", "scale", "smoothing")
    by_view: dict[tuple, dict[str, Any]] = {}
    for row in entries:
        if row["steps"] == last:
            view = tuple(row[name] for name in views)
            by_view.setdefault(view, {})[row["run"]] = row
    lines = []
    for label in dict.fromkeys(row["run"] for row in entries):
        rows = (by_run[label] for by_run in by_view.values())
        lines.append(
            (label, *(f"{row['landing']:.3f} ± {row['interval']:.3f}" for row in rows))
        )
    titles = (
        f"{way}-way, {scale} scale, "
        + (f"smoothing {smooth:g}" if smooth else "unsmoothed")
        for way, scale, smooth in by_view
    )
    return markdown.table((f"after {last} inner steps", *titles), lines)


def _reliability(results: Results) -> str:
    """Returns the calibration errors of every run, before and after temperature."""
    lines = [
        (
            row["run"],
            row["adapt"],
            f"{100 * row['accuracy']:.2f}",
            f"{100 * row['calibration_error']:.2f}",
            f"{100 * row['calibrated_error']:.2f}" if row["temperature"] else "–",
        )
        for row in results.analysis("calibration")
    ]
    header = ("model", "`--adapt`", "accuracy", "error before (points)", "after")
    return markdown.table(header, lines)


def _training(results: Results) -> str:
    """Returns the first and the last validation of every run that has kept them."""
    by_run: dict[str, list[dict[str, Any]]] = {}
    for row in results.analysis("training"):
        by_run.setdefault(row["run"], []).append(row)
    lines = [
        (label, *(f"{markdown.measured(row)} at {row['step']}" for row in ends))
        for label, rows in by_run.items()
        for ends in [(rows[0], rows[-1])]
    ]
    return markdown.table(("model", "first validation", "last"), lines)


def _embedding(results: Results) -> str:
    """Returns how much of the variance the two PCA axes hold."""
    lines = [
        (row["run"], f"{100 * sum(row['explained']):.0f} %")
        for row in results.analysis("embedding")
    ]
    return markdown.table(("model", "variance along two PCA axes"), lines)
