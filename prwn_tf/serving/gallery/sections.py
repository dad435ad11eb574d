"""The sections of the page: a class, what lies outside, all images by doubt."""

from collections.abc import Sequence

from prwn_tf.serving.gallery import choice
from prwn_tf.serving.gallery.cards import (
    Pictures,
    card,
    image,
    percent,
    row,
    text,
    unreadable,
)
from prwn_tf.serving.gallery.choice import Choice, ClassChoice
from prwn_tf.serving.predictions import Prediction, Predictions

MAX_PROBLEMS = 200  # unreadable images that are listed


def of_class(index: int, chosen: ClassChoice, pictures: Pictures) -> str:
    """Returns the section of a class."""
    more = chosen.examples_given - len(chosen.examples)
    examples = "".join(image(path, pictures, "example") for path in chosen.examples)
    hidden = f"<span class=more>and {more:,} more</span>" * (more > 0)
    number, mean = _count(chosen.predicted, "image"), percent(chosen.certainty)
    about = f"{number}, {mean} on average" if chosen.predicted else "no image"
    given = _count(chosen.examples_given, "example").removeprefix("1 ")
    examples = (
        f"<div class=examples><span class=what>Your {given}</span>{examples}{hidden}"
        "</div>"
    ) * bool(chosen.examples_given)
    grids = _grid("Most certain" * bool(chosen.least), chosen.most, pictures)
    grids += _grid("Least certain", chosen.least, pictures)
    return (
        f"<section id=class-{index}>"
        f"<h2>{text(chosen.name)} <small>{about}</small></h2>"
        f"{examples}{grids}</section>"
    )


def outside(chosen: Choice, pictures: Pictures) -> str:
    """Returns the section of queries that are perhaps of no class."""
    if not chosen.doubted:
        return ""
    return (
        "<section id=doubted><h2>Outside <small>probably none of the classes</small>"
        f"</h2>{_grid('', chosen.doubted, pictures)}</section>"
    )


def unlabeled(chosen: Choice, predictions: Predictions, pictures: Pictures) -> str:
    """Returns the section of what the filter keeps and what it sets aside."""
    if not predictions.unlabeled:
        return ""
    usable = sum(not each.problem for each in predictions.unlabeled)
    aside = usable - len(predictions.trusted)
    return (
        "<section id=unlabeled><h2>Unlabelled images <small>which of them moved the "
        "classes</small></h2>"
        + _grid(f"Trusted ({len(predictions.trusted):,})", chosen.trusted, pictures)
        + _grid(f"Set aside ({aside:,})", chosen.aside, pictures)
        + "</section>"
    )


def of_all(chosen: Choice, pictures: Pictures) -> str:
    """Returns the list of all queries, those to be looked at first."""
    if not chosen.by_doubt:
        return ""
    rows = "".join(
        row(each, pictures, with_picture=place < choice.MAX_PICTURED)
        for place, each in enumerate(chosen.by_doubt)
    )
    rest = (
        f"<p>and {chosen.unlisted:,} more that are less doubtful, in predictions.csv "
        "and not in corrected.csv</p>"
    ) * (chosen.unlisted > 0)
    return (
        "<section id=all><h2>All images <small>most doubtful first, whatever their "
        f"class</small></h2><ol class=list>{rows}</ol>{rest}</section>"
    )


def problems(predictions: Predictions, pictures: Pictures) -> str:
    """Returns the section of images that could not be read."""
    if not predictions.problems:
        return ""
    rows = "".join(
        unreadable(each, pictures) for each in predictions.problems[:MAX_PROBLEMS]
    )
    more = len(predictions.problems) - MAX_PROBLEMS
    rest = f"<p>and {more:,} more, in predictions.csv</p>" * (more > 0)
    return (
        "<section id=problems><h2>Could not be read <small>and have no label</small>"
        f"</h2><ol class=list>{rows}</ol>{rest}</section>"
    )


def _grid(title: str, predictions: Sequence[Prediction], pictures: Pictures) -> str:
    """Returns cards side by side under a title."""
    if not predictions:
        return ""
    heading = f"<h3>{text(title)}</h3>" if title else ""
    cards = "".join(card(each, pictures) for each in predictions)
    return f"{heading}<div class=grid>{cards}</div>"


def _count(number: int, what: str) -> str:
    """Returns a number of things in words: "1 image", "2,000 images"."""
    return f"{number:,} {what}{'s' * (number != 1)}"
