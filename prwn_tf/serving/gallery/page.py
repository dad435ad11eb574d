"""The page itself: text around thumbnails, one style, one short script.

Names of files and classes are anybody's, so all text is escaped, and the page forbids
itself everything but its own script, its own style and pictures inside of it.
"""

import base64
import hashlib
import html
import importlib.resources
import pathlib
from collections.abc import Mapping, Sequence

from prwn_tf import files
from prwn_tf.serving.gallery import choice, thumbnails
from prwn_tf.serving.gallery.choice import Choice, ClassChoice
from prwn_tf.serving.models import ServedModel
from prwn_tf.serving.predictions import UNCALIBRATED, Prediction, Predictions

DOUBTFUL = 0.6  # probabilities below this are marked
MAX_PROBLEMS = 200  # unreadable images that are listed
ADAPT_TEXTS = {
    "before": "The classes were learned before.",
    "none": "Unlabelled images did not move the classes.",
    "refine": "All unlabelled images moved the classes.",
    "filter": "Unlabelled images that the walk trusts moved the classes.",
    "gate": "Unlabelled images that belong to the classes moved them.",
}
SORTS = {
    "given": "As listed",
    "certain": "Most certain first",
    "doubtful": "Least certain first",
    "outside": "Least like any class first",
    "name": "By file name",
}


def write(
    path: pathlib.Path, predictions: Predictions, model: ServedModel, title: str
) -> None:
    """Writes the page of what came of `predict`."""
    chosen = choice.choose(predictions)
    sources = thumbnails.thumbnails(chosen.paths())
    files.write_text(path, page(predictions, chosen, sources, model, title))


def page(
    predictions: Predictions,
    chosen: Choice,
    sources: Mapping[str, str],
    model: ServedModel,
    title: str,
) -> str:
    """Returns the whole page; `sources` are the thumbnails by path."""
    style, script = _asset("style.css"), _asset("script.js")
    parts = [
        _header(predictions, model, title),
        _controls(chosen),
        "<main>",
        *(_class(i, each, sources) for i, each in enumerate(chosen.classes)),
        _doubted(chosen, sources),
        _unlabeled(chosen, predictions, sources),
        _problems(predictions),
        _legend(predictions),
        "</main>",
    ]
    return f"""<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
img-src data:; style-src '{_digest(style)}'; script-src '{_digest(script)}'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{_text(title)}</title>
<style>{style}</style>
{"".join(parts)}
<script>{script}</script>
</html>
"""


def _asset(name: str) -> str:
    """Returns the text of a file beside this one."""
    folder = importlib.resources.files("prwn_tf.serving.gallery")
    return (folder / name).read_text(encoding="utf-8")


def _digest(content: str) -> str:
    """Returns the hash by which the page allows a style or a script."""
    digest = hashlib.sha256(content.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _text(value: object) -> str:
    """Escapes text for the page."""
    return html.escape(str(value))


def _count(number: int, what: str) -> str:
    """Returns a number of things in words: "1 image", "2,000 images"."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def _percent(probability: float) -> str:
    """Returns whole per cent, but never 100 of what is not quite certain."""
    if probability != probability:
        return UNCALIBRATED
    return "&gt;99 %" if probability > 0.995 else f"{100 * probability:.0f} %"


# --- Parts of the page, from the top


def _header(predictions: Predictions, model: ServedModel, title: str) -> str:
    """Returns the title and the numbers of everything."""
    examples = sum(map(len, predictions.support.values()))
    labelled = sum(not each.problem for each in predictions.queries)
    facts = [
        (f"{len(predictions.support):,}", "classes"),
        *([(f"{examples:,}", "examples")] if examples else []),
        (f"{labelled:,}", "images labelled"),
    ]
    if predictions.unlabeled:
        trusted = f"{len(predictions.trusted):,} of {len(predictions.unlabeled):,}"
        facts.append((trusted, "unlabelled trusted"))
    if predictions.problems:
        facts.append((f"{len(predictions.problems):,}", "unreadable"))
    about = model.about
    tiles = "".join(f"<li><b>{number}</b> {what}</li>" for number, what in facts)
    return (
        f"<header><h1>{_text(title)}</h1><ul class=facts>{tiles}</ul>"
        f"<p>Labelled by {_text(about.get('method'))}, trained on "
        f"{_text(about.get('dataset'))}. {ADAPT_TEXTS[predictions.adapt]}</p>"
        "</header>"
    )


def _controls(chosen: Choice) -> str:
    """Returns what sorts and searches, and the links to all sections."""
    options = "".join(f"<option value={k}>{v}</option>" for k, v in SORTS.items())
    links = [(f"class-{i}", each.name) for i, each in enumerate(chosen.classes)]
    links += [("doubted", "None of them?")] * bool(chosen.doubted)
    links += [("unlabeled", "Unlabelled")] * bool(chosen.trusted)
    chips = "".join(f'<a href="#{to}">{_text(name)}</a>' for to, name in links)
    return (
        "<nav><div class=controls><label><span>Sort</span> "
        f"<select id=sort>{options}</select></label>"
        "<label><span>Find</span> <input id=find type=search "
        'placeholder="file or class"></label><output id=count></output></div>'
        f"<div class=chips>{chips}</div></nav>"
    )


def _class(index: int, chosen: ClassChoice, sources: Mapping[str, str]) -> str:
    """Returns the section of a class."""
    more = chosen.examples_given - len(chosen.examples)
    examples = "".join(_image(path, sources, "example") for path in chosen.examples)
    hidden = f"<span class=more>and {more:,} more</span>" * (more > 0)
    number, mean = _count(chosen.predicted, "image"), _percent(chosen.certainty)
    about = f"{number}, {mean} on average" if chosen.predicted else "no image"
    given = _count(chosen.examples_given, "example")
    examples = (
        f"<div class=examples><span class=what>Your {given}</span>{examples}{hidden}"
        "</div>"
    ) * bool(chosen.examples_given)
    grids = _grid("Most certain" * bool(chosen.least), chosen.most, sources)
    grids += _grid("Least certain", chosen.least, sources)
    return (
        f"<section id=class-{index}>"
        f"<h2>{_text(chosen.name)} <small>{about}</small></h2>"
        f"{examples}{grids}</section>"
    )


def _doubted(chosen: Choice, sources: Mapping[str, str]) -> str:
    """Returns the section of queries that are perhaps of no class."""
    if not chosen.doubted:
        return ""
    return (
        "<section id=doubted><h2>Probably none of the classes <small>further from all "
        "of them than 95 % of their own images are</small></h2>"
        f"{_grid('', chosen.doubted, sources)}</section>"
    )


def _unlabeled(
    chosen: Choice, predictions: Predictions, sources: Mapping[str, str]
) -> str:
    """Returns the section of what the filter keeps and what it sets aside."""
    if not predictions.unlabeled:
        return ""
    usable = sum(not each.problem for each in predictions.unlabeled)
    aside = usable - len(predictions.trusted)
    return (
        "<section id=unlabeled><h2>Unlabelled images <small>which of them moved the "
        "classes</small></h2>"
        + _grid(f"Trusted ({len(predictions.trusted):,})", chosen.trusted, sources)
        + _grid(f"Set aside ({aside:,})", chosen.aside, sources)
        + "</section>"
    )


def _problems(predictions: Predictions) -> str:
    """Returns the section of images that could not be read."""
    if not predictions.problems:
        return ""
    rows = "".join(
        f"<tr><td>{_text(each.file)}</td><td>{_text(each.problem)}</td></tr>"
        for each in predictions.problems[:MAX_PROBLEMS]
    )
    more = len(predictions.problems) - MAX_PROBLEMS
    rest = f"<p>and {more:,} more, in predictions.csv</p>" * (more > 0)
    return (
        "<section id=problems><h2>Could not be read <small>and have no label</small>"
        f"</h2><div class=scroll><table>{rows}</table></div>{rest}</section>"
    )


def _legend(predictions: Predictions) -> str:
    """Returns the explanation of what stands on a card."""
    classifier = predictions.classifier
    likely = (
        "<dt>98 %</dt><dd>The probability of the label, as often right as it says on "
        f"classes kept for that. Amber below {100 * DOUBTFUL:.0f} %, and where the "
        "image probably shows none of the classes.</dd>"
        if classifier.calibrated_
        else f"<dt>{UNCALIBRATED}</dt><dd>The model has seen no validation classes, so "
        "its probabilities mean little.</dd>"
    )
    unlike = (
        "<dt>none: 90 %</dt><dd>The probability that the image shows none of "
        "the classes, were such images as many as others. Listed above "
        f"{_percent(classifier.threshold_)}, as are 5 % of the classes' own "
        "images.</dd>"
    ) * (classifier.threshold_ == classifier.threshold_)
    return (
        f"<footer><h2>How to read this</h2><dl>{likely}"
        f"<dt>then cat</dt><dd>The second most likely class.</dd>{unlike}"
        "</dl><p>All labels are in predictions.csv; this page shows the ends of each "
        "class.</p></footer>"
    )


def _grid(
    title: str, predictions: Sequence[Prediction], sources: Mapping[str, str]
) -> str:
    """Returns cards side by side under a title."""
    if not predictions:
        return ""
    heading = f"<h3>{_text(title)}</h3>" if title else ""
    cards = "".join(_card(each, sources) for each in predictions)
    return f"{heading}<div class=grid>{cards}</div>"


def _card(prediction: Prediction, sources: Mapping[str, str]) -> str:
    """Returns an image with its label, and what the script sorts it by."""
    doubt = " doubtful" * (prediction.probability < DOUBTFUL or prediction.novel)
    file, label = _text(prediction.file), _text(prediction.label)
    name = pathlib.PurePosixPath(prediction.file).name
    return (
        f'<figure class="card{doubt}" data-margin="{prediction.margin:.6g}" '
        f'data-outside="{prediction.none_of_these:.6g}" data-name="{file}" '
        f'data-label="{label}">'
        f"{_image(prediction.path, sources, prediction.file)}"
        f'<figcaption><b title="{label}">{label}</b>'
        f"{_meter(prediction.probability)}<i>{_percent(prediction.probability)}</i>"
        f"<small>then {_text(prediction.runner_up)}</small>{_unlike(prediction)}"
        f'<small class=file title="{file}">{_text(name)}</small>'
        "</figcaption></figure>"
    )


def _meter(probability: float) -> str:
    """Returns a bar as long as a probability, if that is known."""
    known = probability == probability
    return f'<meter min=0 max=1 value="{probability:.4f}"></meter>' * known


def _unlike(prediction: Prediction) -> str:
    """Returns how likely an image shows none of the classes, if that is known."""
    unlike = prediction.none_of_these
    return f"<small>none: {_percent(unlike)}</small>" * (unlike == unlike)


def _image(path: str, sources: Mapping[str, str], alt: str) -> str:
    """Returns a thumbnail, or a word in its place."""
    source = sources.get(path)
    if source is None:
        return '<span class="thumb gone">gone</span>'
    return (
        f'<span class=thumb><img loading=lazy src="{source}" alt="{_text(alt)}"></span>'
    )
