"""An image on the page: as a card in a grid, or as a row in the list of all.

Names of files and classes are anybody's, so all text is escaped.
"""

import html
import os
import pathlib
import unicodedata
import urllib.parse
from collections.abc import Mapping
from typing import NamedTuple

from prwn_tf.serving.gallery.choice import sureness
from prwn_tf.serving.predictions import UNCALIBRATED, Prediction

DOUBTFUL = 0.6  # probabilities below this are marked
TAIL = 9  # characters of a name that stay when its middle is cut
JOINER = "\u200d"  # between the parts of one sign


class Pictures(NamedTuple):
    """What is there to be seen of the images.

    Attributes:
        folder: where the page will lie.
        thumbnails: the source of an <img> for each path that could be decoded.
        rows: path of a query -> its place in the list of all.
    """

    folder: pathlib.Path
    thumbnails: Mapping[str, str]
    rows: Mapping[str, int]

    def original(self, path: str) -> str:
        """Returns the way from the page to a file, which is never another scheme."""
        way = os.path.relpath(path, os.path.abspath(self.folder))
        return f"./{urllib.parse.quote(os.fsencode(way))}"


def text(value: object) -> str:
    """Returns text, escaped for the page."""
    return html.escape(str(value))


def percent(probability: float) -> str:
    """Returns whole per cent, but never 100 of what is not quite certain."""
    if probability != probability:
        return UNCALIBRATED
    return "&gt;99 %" if probability > 0.995 else f"{100 * probability:.0f} %"


def cut(name: str) -> str:
    """Returns a name whose middle makes way where there is no room for all of it."""
    place = max(0, len(name) - TAIL)
    while 0 < place < len(name) and _continues(name, place):
        place -= 1
    parts = "".join(f"<bdi>{text(part)}</bdi>" for part in (name[:place], name[place:]))
    return f'<span class=cut title="{text(name)}">{parts}</span>'


def card(prediction: Prediction, pictures: Pictures) -> str:
    """Returns an image with its label, and what the script sorts it by."""
    name = pathlib.PurePosixPath(prediction.file).name
    return (
        f'<figure class="card{_doubtful(prediction)}" {_data(prediction, pictures)}>'
        f"{image(prediction.path, pictures, prediction.file)}"
        f"<figcaption><b>{cut(prediction.label)}</b>"
        f"{_meter(prediction.probability)}<i>{percent(prediction.probability)}</i>"
        f"<small class=then>then {cut(prediction.runner_up)}</small>"
        f"{_outside(prediction)}<small>{cut(name)}</small>"
        "</figcaption></figure>"
    )


def row(prediction: Prediction, pictures: Pictures, with_picture: bool) -> str:
    """Returns a line of the list of all images, with a thumbnail or without."""
    shown = pictures if with_picture else pictures._replace(thumbnails={})
    return (
        f'<li class="row{_doubtful(prediction)}" {_data(prediction, pictures)}>'
        f"{image(prediction.path, shown, prediction.file)}"
        f"<span class=name>{cut(prediction.file)}</span><b>{cut(prediction.label)}</b>"
        f"<i>{percent(prediction.probability)}</i>"
        f"<small class=then>then {cut(prediction.runner_up)}</small>"
        f"{_outside(prediction)}</li>"
    )


def unreadable(prediction: Prediction, pictures: Pictures) -> str:
    """Returns a line of the list of images that have no label, with the reason."""
    name = f'data-name="{text(prediction.file)}" data-label=""'
    return (
        f'<li class="row doubtful" {name}>'
        f"{image(prediction.path, pictures, prediction.file)}"
        f"<span class=name>{cut(prediction.file)}</span>"
        f"<span class=reason>{text(prediction.problem)}</span></li>"
    )


def image(path: str, pictures: Pictures, alt: str) -> str:
    """Returns a thumbnail that leads to the file itself, or a sign in its place."""
    source = pictures.thumbnails.get(path)
    inner = "<span>…</span>"
    if source is not None:
        inner = f'<img loading=lazy src="{source}" alt="{text(alt)}">'
    link = text(pictures.original(path))
    return f'<a class=thumb href="{link}" title="Show it large">{inner}</a>'


def _data(prediction: Prediction, pictures: Pictures) -> str:
    """Returns what the script needs to know of an image."""
    number = pictures.rows.get(prediction.path)
    place = "" if number is None else f'data-row="{number}" '
    right, margin, _ = sureness(prediction)
    return (
        f'{place}data-right="{right:.6g}" data-margin="{margin:.6g}" '
        f'data-outside="{prediction.none_of_these:.6g}" '
        f'data-name="{text(prediction.file)}" data-label="{text(prediction.label)}"'
        f"{' data-novel' * prediction.novel}"
    )


def _doubtful(prediction: Prediction) -> str:
    """Returns the class of what should be looked at."""
    return " doubtful" * (prediction.probability < DOUBTFUL or prediction.novel)


def _meter(probability: float) -> str:
    """Returns a bar as long as a probability, if that is known."""
    known = probability == probability
    return f'<meter min=0 max=1 value="{probability:.4f}"></meter>' * known


def _outside(prediction: Prediction) -> str:
    """Returns how likely an image lies outside of the classes, if that is known."""
    outside = prediction.none_of_these
    known = outside == outside
    return f"<small class=outside>outside {percent(outside)}</small>" * known


def _continues(name: str, place: int) -> bool:
    """Returns whether a name would be cut within one sign."""
    pair = name[place - 1 : place + 1]
    return unicodedata.combining(pair[-1]) > 0 or JOINER in pair
