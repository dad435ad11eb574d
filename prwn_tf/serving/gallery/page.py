"""The page itself: text around thumbnails, one style, one short script.

It forbids itself everything but its own script, its own style, pictures inside of it
and, to show them large, the files that they were made of.
"""

import base64
import hashlib
import importlib.resources
import pathlib

from prwn_tf import files
from prwn_tf.serving.gallery import choice, sections, thumbnails
from prwn_tf.serving.gallery.cards import DOUBTFUL, Pictures, cut, percent, text
from prwn_tf.serving.gallery.choice import Choice
from prwn_tf.serving.models import ServedModel
from prwn_tf.serving.predictions import UNCALIBRATED, Predictions

ADAPT_TEXTS = {
    "before": "The classes were learned before.",
    "none": "Unlabelled images did not move the classes.",
    "refine": "All unlabelled images moved the classes.",
    "filter": "Unlabelled images that the walk trusts moved the classes.",
    "gate": "Unlabelled images that belong to the classes moved them.",
}
OUTSIDE = (
    "<b>Outside</b> means that an image is further from every class than 95 % of the "
    "classes' own images are, so that it probably shows none of them."
)
SORTS = {
    "given": "As listed",
    "certain": "Most certain first",
    "doubtful": "Least certain first",
    "outside": "Furthest outside first",
    "name": "By file name",
}


def write(
    path: pathlib.Path, predictions: Predictions, model: ServedModel, title: str
) -> None:
    """Writes the page of what came of `predict`."""
    chosen = choice.choose(predictions)
    rows = {each.path: place for place, each in enumerate(chosen.by_doubt)}
    sources = thumbnails.thumbnails(chosen.paths())
    pictures = Pictures(path.parent, sources, rows)
    files.write_text(path, page(predictions, chosen, pictures, model, title))


def page(
    predictions: Predictions,
    chosen: Choice,
    pictures: Pictures,
    model: ServedModel,
    title: str,
) -> str:
    """Returns the whole page."""
    style, script = _asset("style.css"), _asset("script.js")
    parts = [
        _header(predictions, model, title),
        _controls(chosen),
        "<main>",
        *(
            sections.of_class(i, each, pictures)
            for i, each in enumerate(chosen.classes)
        ),
        sections.outside(chosen, pictures),
        sections.unlabeled(chosen, predictions, pictures),
        sections.of_all(chosen, pictures),
        sections.problems(predictions, pictures),
        _legend(predictions),
        "</main>",
        _large(chosen),
    ]
    return f"""<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; \
img-src 'self' data: file:; \
style-src '{_digest(style)}'; script-src '{_digest(script)}'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{text(title)}</title>
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
    if outside := sum(each.novel for each in predictions.queries):
        facts.append((f"{outside:,}", "outside"))
    if predictions.problems:
        facts.append((f"{len(predictions.problems):,}", "unreadable"))
    about = model.about
    tiles = "".join(f"<li><b>{number}</b> {what}</li>" for number, what in facts)
    known = predictions.classifier.threshold_ == predictions.classifier.threshold_
    return (
        f"<header><h1>{text(title)}</h1><ul class=facts>{tiles}</ul>"
        f"<p>Labelled by {text(about.get('method'))}, trained on "
        f"{text(about.get('dataset'))}. {ADAPT_TEXTS[predictions.adapt]} "
        f"{OUTSIDE * known}</p></header>"
    )


def _controls(chosen: Choice) -> str:
    """Returns what sorts, searches and downloads, and the links to all sections."""
    options = "".join(f"<option value={k}>{v}</option>" for k, v in SORTS.items())
    links = [("all", "All by doubt")] * bool(chosen.by_doubt)
    links += [(f"class-{i}", each.name) for i, each in enumerate(chosen.classes)]
    links += [("doubted", "Outside")] * bool(chosen.doubted)
    links += [("unlabeled", "Unlabelled")] * bool(chosen.trusted)
    chips = "".join(f'<a href="#{to}">{cut(name)}</a>' for to, name in links)
    return (
        "<nav><div class=controls><label><span>Sort</span> "
        f"<select id=sort>{options}</select></label>"
        "<label><span>Find</span> <input id=find type=search "
        'placeholder="file or class"></label><output id=count></output>'
        "<button id=download hidden>corrected.csv</button></div>"
        f"<div class=chips>{chips}</div></nav>"
    )


def _legend(predictions: Predictions) -> str:
    """Returns the explanation of what stands on a card."""
    classifier = predictions.classifier
    likely = (
        "<dt>98 %</dt><dd>The probability of the label, as often right as it says on "
        f"images kept for that. Amber below {100 * DOUBTFUL:.0f} %, and where the "
        "image lies outside.</dd>"
        if classifier.calibrated_
        else f"<dt>{UNCALIBRATED}</dt><dd>The model has seen no validation classes, so "
        "its probabilities mean little.</dd>"
    )
    outside = (
        "<dt>outside 90 %</dt><dd>The probability that the image shows none of "
        "the classes, were such images as many as others. Above "
        f"{percent(classifier.threshold_)} it counts as outside, as do 5 % of the "
        "classes' own images.</dd>"
    ) * (classifier.threshold_ == classifier.threshold_)
    return (
        f"<footer><h2>How to read this</h2><dl>{likely}"
        f"<dt>then cat</dt><dd>The second most likely class.</dd>{outside}"
        "<dt>wrong?</dt><dd>Open the image and give it its class. corrected.csv then "
        "has every image with its label; those outside have none until you give them "
        "one. <code>prwn predict --support_table=corrected.csv</code> learns from it, "
        "<code>prwn prepare --labels=corrected.csv</code> makes a data set of it.</dd>"
        "</dl></footer>"
    )


def _large(chosen: Choice) -> str:
    """Returns the frame in which an image is shown large, and gets its right label."""
    options = "".join(
        f'<option value="{text(each.name)}">{text(each.name)}</option>'
        for each in chosen.classes
    )
    return (
        "<dialog id=large><div class=bar><button id=previous title=Previous>‹</button>"
        "<span id=which></span><button id=next title=Next>›</button>"
        "<button id=close title=Close>✕</button></div>"
        '<img id=picture alt=""><p id=facts></p>'
        "<div id=correct><label>Label <select id=right>"
        f'{options}<option value="">none of them</option></select></label>'
        "<label>or a new class <input id=fresh maxlength=80></label></div></dialog>"
    )
