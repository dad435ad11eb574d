"""How a method looks in every figure: its colour, marker, dashes, and its name.

Colours are those of Okabe and Ito, which colour-blind readers can tell apart; methods
differ in markers and dashes as well.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

BLUE, VERMILION, GREEN = "#0072B2", "#D55E00", "#009E73"
PURPLE, ORANGE, SKY = "#CC79A7", "#E69F00", "#56B4E9"
BLACK, GREY, YELLOW = "#000000", "#808080", "#F0E442"  # yellow is faint on white


class Style(NamedTuple):
    """The look of a curve."""

    color: str
    marker: str
    dashes: str


# A method of the paper -> its look, the same in every figure.
METHODS = {
    "PN": Style(BLUE, "o", "-"),
    "PRWN": Style(VERMILION, "^", "-"),
    "PN_all": Style(GREEN, "s", "--"),
    "PN_VAT": Style(PURPLE, "D", "-."),
    "PN_20way": Style(SKY, "v", ":"),
    "PRWN_distractors": Style(ORANGE, "P", "--"),
    # The same methods from random weights, beside those from a trained encoder.
    "PN_random": Style(BLACK, "X", "-."),
    "PRWN_random": Style(GREY, "*", "-"),
}
# Runs of other names take what is left of these, in order.
OTHERS = (
    *METHODS.values(),
    Style(YELLOW, "p", "-."),
)


def styles(labels: Sequence[str]) -> dict[str, Style]:
    """Returns the look of each run of a figure, by its label."""
    known = {label: METHODS[label] for label in labels if label in METHODS}
    free = [style for style in OTHERS if style not in known.values()] or OTHERS
    unknown = [label for label in labels if label not in known]
    return known | {
        label: free[index % len(free)] for index, label in enumerate(unknown)
    }


def title(label: str) -> str:
    """Returns a label as a figure shows it: PN_all with a subscript."""
    name, _, below = label.partition("_")
    if re.fullmatch(r"[A-Za-z]+_[A-Za-z0-9]+", label):
        return rf"{name}$_{{\mathrm{{{below}}}}}$"
    return label.replace("$", r"\$")
