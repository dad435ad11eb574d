"""What a source of mini- or tiered-ImageNet holds, before it is split."""

from typing import NamedTuple

from prwn_tf.data.raw import Images


class SourceClass(NamedTuple):
    """A class as it lies in a source."""

    name: str  # a wnid, or words
    images: Images
    split: str | None = None  # where a file says so


class Layout(NamedTuple):
    """All classes of a source, and the form in which they lie there."""

    words: str  # for people
    classes: list[SourceClass]
    skipped: dict[str, int]  # what was left out, in words -> how many
