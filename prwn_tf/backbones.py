"""Networks of Keras as encoders: their settings, and what to know before Keras loads.

"keras:NAME" is a network of keras.applications, "keras_hub:PRESET" one of the package
keras_hub. What the former need stands in backbones.csv, which a test holds against
Keras.
"""

import csv
import dataclasses
import difflib
import functools
import importlib.util
import itertools
import pathlib
import re
from typing import ClassVar, NamedTuple

from prwn_tf.errors import UserError
from prwn_tf.settings import EncoderPart, require, setting

KERAS, HUB = "keras", "keras_hub"  # what stands before the colon
IMAGENET, NONE = "imagenet", "none"  # weights that are no file
CHANNELS = (1, 3)  # of images that they take; gray is repeated
HUB_PIXELS = 224  # where a preset is asked without training
MAX_PIXELS = 4096
HDF5 = b"\x89HDF"  # how files of weights begin
TABLE = pathlib.Path(__file__).with_suffix(".csv")


@dataclasses.dataclass(frozen=True)
class BackboneConfig(EncoderPart):
    """A network of Keras.

    Attributes:
        weights: a file is read once, when a run begins; its checkpoints hold the rest.
        trainable: layers that are not trained answer as at test time: batch norm with
            its averages, and nothing is dropped.
        size: trained networks know things at the size that they were trained with, so
            enlarged images are often told apart better, and cost more.
    """

    name: ClassVar = "backbone"
    asked_as: ClassVar = "keras:NAME"
    implementation: ClassVar = "prwn_tf.encoders.backbone:Backbone"

    weights: str = setting(
        IMAGENET,
        "What a network of Keras starts with: imagenet (the published ones, which are "
        "downloaded once; those of a preset), none, or a file that its save_weights "
        "wrote.",
        flag="encoder_weights",
        training_only=True,
        inherited=True,
    )
    trainable: str = setting(
        "all",
        "What is trained of it: all, none, or last:N, the last N layers with weights.",
        flag="encoder_trainable",
        training_only=True,
    )
    size: int = setting(
        0,
        "Pixels that images are resized to for it; 0: as they are, if it takes them.",
        f"[0, {MAX_PIXELS}]",
        flag="encoder_size",
    )

    def __post_init__(self):
        super().__post_init__()
        require(bool(self.weights), "encoder_weights must be imagenet, none or a file")
        require(
            re.fullmatch(r"all|none|last:[1-9]\d{0,8}", self.trainable) is not None,
            f"encoder_trainable must be all, none or last:N, got {self.trainable}",
        )


class Network(NamedTuple):
    """A network of keras.applications.

    Attributes:
        pixels: height and width of the images that its weights were trained with.
        smallest: of those that it takes.
        parameters: numbers in its weights, without the layer of ImageNet's classes.
        file: its weights' name in Keras' folder; url, hash: where they come from.
    """

    pixels: int
    smallest: int
    parameters: int
    file: str
    url: str
    hash: str

    @property
    def megabytes(self) -> float:
        """The size of its weights."""
        return 4 * self.parameters / 1e6


@functools.cache
def networks() -> dict[str, Network]:
    """Returns the networks of keras.applications by name."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {
            row[0]: Network(*map(int, row[1:4]), *row[4:])
            for row in itertools.islice(csv.reader(file), 1, None)
        }


def is_backbone(name: str) -> bool:
    """Returns whether the name of an encoder is that of a network of Keras."""
    return name.startswith((f"{KERAS}:", f"{HUB}:"))


def part_name(name: str) -> str:
    """Returns the field of a config that has the settings of a part."""
    return BackboneConfig.name if is_backbone(name) else name


def pixels(name: str) -> int:
    """Returns the size of images that a network knows best."""
    network = networks().get(name.removeprefix(f"{KERAS}:"))
    return network.pixels if network else HUB_PIXELS


def smallest(name: str) -> int:
    """Returns the size of the smallest images that a network takes."""
    network = networks().get(name.removeprefix(f"{KERAS}:"))
    return network.smallest if network else 1


def knows_imagenet(name: str, weights: str) -> bool:
    """Returns whether an encoder starts with what it learned on ImageNet."""
    if not is_backbone(name):
        return False
    network = networks().get(name.removeprefix(f"{KERAS}:"))
    published = network and pathlib.Path(weights).name == network.file
    return weights == IMAGENET or bool(published)


def check(name: str) -> None:
    """Raises unless there is a network of that name, as far as can be told at once."""
    family, _, network = name.partition(":")
    if family == HUB:
        if importlib.util.find_spec(HUB) is None:
            raise UserError(
                f"{name} needs the package keras_hub, which is not installed here; run "
                "pip install keras-hub, or use a network of Keras as keras:NAME"
            )
    elif network not in networks():
        near = difflib.get_close_matches(network, networks(), n=3) or networks()
        raise UserError(
            f"keras.applications has no network {network!r}; take {', '.join(near)}"
        )


def check_images(name: str, size: int, shape: tuple[int, ...]) -> None:
    """Raises unless a network takes images of a shape, resized to a size if not 0."""
    if shape[-1] not in CHANNELS:
        raise UserError(
            f"--encoder={name} takes images of 1 or 3 channels, found {shape[-1]}; use "
            "--encoder=mlp"
        )
    if 0 < size < smallest(name):
        raise UserError(
            f"--encoder={name} needs images of {smallest(name)} pixels at least, and "
            f"--encoder_size is {size}; raise it"
        )


def check_weights(weights: str) -> None:
    """Raises unless weights are named, or are a file that may hold some."""
    if weights in (IMAGENET, NONE):
        return
    path = pathlib.Path(weights).expanduser()
    if not path.is_file():
        raise UserError(
            f"--encoder_weights={weights} is no file; give imagenet, none, or a file "
            "that save_weights of the network wrote"
        )
    with path.open("rb") as file:
        beginning = file.read(len(HDF5))
    if path.suffix != ".h5" or beginning != HDF5:
        raise UserError(
            f"--encoder_weights={weights} holds no weights; give a file .weights.h5 or "
            ".h5 that save_weights of the network wrote"
        )
