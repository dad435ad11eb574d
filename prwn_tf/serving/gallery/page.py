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
from prwn_tf.serving.predictions import Found, Prediction

DOUBTFUL = 0.6  # probabilities below this are marked
_USES = {
    "before": "The classes were learned before.",
    "none": "Unlabelled images did not move the classes.",
    "refine": "All unlabelled images moved the classes.",
    "filter": "Unlabelled images that the walk trusts moved the classes.",
}
SORTS = {
    "given": "As listed",
    "certain": "Most certain first",
    "doubtful": "Least certain first",
    "outside": "Least like any class first",
    "name": "By file name",
}


def write(path: pathlib.Path, found: Found, model: ServedModel, title: str) -> None:
    """Writes the page of what `predict` found."""
    chosen = choice.choose(found)
    sources = thumbnails.thumbnails(chosen.paths())
    files.write_text(path, page(found, chosen, sources, model, title))


def page(
    found: Found,
    chosen: Choice,
    sources: Mapping[str, str],
    model: ServedModel,
    title: str,
) -> str:
    """The whole page; `sources` are the thumbnails by path."""
    style, script = _asset("style.css"), _asset("script.js")
    parts = [
        _header(found, model, title),
        _controls(chosen),
        "<main>",
        *(_class(i, each, sources) for i, each in enumerate(chosen.classes)),
        _doubted(chosen, sources),
        _unlabeled(chosen, found, sources),
        _problems(found),
        _legend(found),
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
    folder = importlib.resources.files("prwn_tf.serving.gallery")
    return (folder / name).read_text(encoding="utf-8")


def _digest(content: str) -> str:
    digest = hashlib.sha256(content.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _text(value: object) -> str:
    return html.escape(str(value))


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


def _percent(probability: float) -> str:
    """Never 100 % of what is not quite certain."""
    return "&gt;99 %" if probability > 0.995 else f"{100 * probability:.0f} %"


# --- Parts of the page, from above


def _header(found: Found, model: ServedModel, title: str) -> str:
    examples = sum(map(len, found.support.values()))
    labelled = sum(not each.problem for each in found.queries)
    facts = [
        (f"{len(found.support):,}", "classes"),
        *([(f"{examples:,}", "examples")] if examples else []),
        (f"{labelled:,}", "images labelled"),
    ]
    if found.unlabeled:
        trusted = f"{len(found.trusted):,} of {len(found.unlabeled):,}"
        facts.append((trusted, "unlabelled trusted"))
    if found.problems:
        facts.append((f"{len(found.problems):,}", "unreadable"))
    about = model.about
    tiles = "".join(f"<li><b>{number}</b> {what}</li>" for number, what in facts)
    return (
        f"<header><h1>{_text(title)}</h1><ul class=facts>{tiles}</ul>"
        f"<p>Labelled by {_text(about.get('method'))}, trained on "
        f"{_text(about.get('dataset'))}. {_USES[found.adapt]}</p>"
        "</header>"
    )


def _controls(chosen: Choice) -> str:
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


def _class(index: int, shown: ClassChoice, sources: Mapping[str, str]) -> str:
    more = shown.examples_given - len(shown.examples)
    examples = "".join(_image(path, sources, "example") for path in shown.examples)
    hidden = f"<span class=more>and {more:,} more</span>" * (more > 0)
    number, mean = _count(shown.predicted, "image"), _percent(shown.certainty)
    about = f"{number}, {mean} on average" if shown.predicted else "no image"
    given = _count(shown.examples_given, "example")
    examples = (
        f"<div class=examples><span class=what>Your {given}</span>{examples}{hidden}"
        "</div>"
    ) * bool(shown.examples_given)
    grids = _grid("Most certain" * bool(shown.least), shown.most, sources)
    grids += _grid("Least certain", shown.least, sources)
    return (
        f"<section id=class-{index}><h2>{_text(shown.name)} <small>{about}</small></h2>"
        f"{examples}{grids}</section>"
    )


def _doubted(chosen: Choice, sources: Mapping[str, str]) -> str:
    if not chosen.doubted:
        return ""
    return (
        "<section id=doubted><h2>Perhaps none of the classes <small>the walk hardly "
        "returns through them</small></h2>"
        f"{_grid('', chosen.doubted, sources)}</section>"
    )


def _unlabeled(chosen: Choice, found: Found, sources: Mapping[str, str]) -> str:
    if not found.unlabeled:
        return ""
    aside = sum(not each.problem for each in found.unlabeled) - len(found.trusted)
    return (
        "<section id=unlabeled><h2>Unlabelled images <small>what the filter made of "
        "them</small></h2>"
        + _grid(f"Trusted ({len(found.trusted):,})", chosen.trusted, sources)
        + _grid(f"Set aside ({aside:,})", chosen.aside, sources)
        + "</section>"
    )


def _problems(found: Found) -> str:
    if not found.problems:
        return ""
    shown = found.problems[:200]
    rows = "".join(
        f"<tr><td>{_text(each.file)}</td><td>{_text(each.problem)}</td></tr>"
        for each in shown
    )
    more = len(found.problems) - len(shown)
    rest = f"<p>and {more:,} more, in predictions.csv</p>" * (more > 0)
    return (
        "<section id=problems><h2>Could not be read <small>and have no label</small>"
        f"</h2><div class=scroll><table>{rows}</table></div>{rest}</section>"
    )


def _legend(found: Found) -> str:
    crowd = "unlabelled images" if found.unlabeled else "other images"
    return (
        "<footer><h2>How to read this</h2><dl>"
        "<dt>98 %</dt><dd>The probability of the label. Amber below "
        f"{100 * DOUBTFUL:.0f} %.</dd>"
        "<dt>then cat</dt><dd>The second most likely class.</dd>"
        f"<dt>outside 0.9</dt><dd>The share of the {crowd} that the random walk trusts "
        "more. Above 0.5, the filter would set the image aside.</dd>"
        "</dl><p>All labels are in predictions.csv; this page shows the ends of each "
        "class.</p></footer>"
    )


def _grid(
    title: str, predictions: Sequence[Prediction], sources: Mapping[str, str]
) -> str:
    if not predictions:
        return ""
    heading = f"<h3>{_text(title)}</h3>" if title else ""
    cards = "".join(_card(each, sources) for each in predictions)
    return f"{heading}<div class=grid>{cards}</div>"


def _card(shown: Prediction, sources: Mapping[str, str]) -> str:
    doubt = " doubtful" * (shown.probability < DOUBTFUL)
    name = pathlib.PurePosixPath(shown.file).name
    return (
        f'<figure class="card{doubt}" data-margin="{shown.margin:.6g}" '
        f'data-outside="{shown.out_of_class:.6g}" data-name="{_text(shown.file)}" '
        f'data-label="{_text(shown.label)}">{_image(shown.path, sources, shown.file)}'
        f'<figcaption><b title="{_text(shown.label)}">{_text(shown.label)}</b>'
        f'<meter min=0 max=1 value="{shown.probability:.4f}"></meter>'
        f"<i>{_percent(shown.probability)}</i>"
        f"<small>then {_text(shown.runner_up)}</small>"
        f"<small>outside {shown.out_of_class:.2f}</small>"
        f'<small class=file title="{_text(shown.file)}">{_text(name)}</small>'
        "</figcaption></figure>"
    )


def _image(path: str, sources: Mapping[str, str], alt: str) -> str:
    source = sources.get(path)
    if source is None:
        return '<span class="thumb gone">gone</span>'
    return (
        f'<span class=thumb><img loading=lazy src="{source}" alt="{_text(alt)}"></span>'
    )
