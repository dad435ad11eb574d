"""A small Omniglot of four characters, in every form that users have it in."""

import itertools
import shutil
import tarfile
import zipfile

import numpy as np
import pytest

from prwn_tf.data.sets import omniglot
from prwn_tf.data.store import reader
from prwn_tf.errors import UserError

CHARACTERS = {
    "train": ["Angelic/character01", "Malay_(Jawi_-_Arabic)/character02"],
    "val": ["Hebrew/character01"],
    "test": ["Gurmukhi/character42"],
}
NAMES = sorted(itertools.chain(*CHARACTERS.values()))
HALVES = {
    "images_background": [*CHARACTERS["train"], *CHARACTERS["val"]],
    "images_evaluation": CHARACTERS["test"],
}


def encode_png(image):
    import tensorflow as tf

    return tf.io.encode_png(image[..., None]).numpy()


def draw(character, drawer):
    """A black L on white, that is different for each drawing: [105, 105]."""
    image = np.full((105, 105), 255, np.uint8)
    image[10:90, 4 * drawer : 4 * drawer + 6] = 0
    image[80:90, 4 * drawer : 4 * drawer + 12 + len(character)] = 0
    return image


def drawing_path(folder, character, drawer):
    number = 1 + NAMES.index(character)
    return folder / character / f"{number:04d}_{drawer:02d}.png"


def write_characters(folder, characters):
    for character in characters:
        (folder / character).mkdir(parents=True)
        for drawer in range(1, 21):
            path = drawing_path(folder, character, drawer)
            path.write_bytes(encode_png(draw(character, drawer)))


def build(directory, source):
    omniglot.build(directory, source=source, characters=CHARACTERS)
    return reader.open_dataset(directory)


def assert_refused(directory, source, message):
    with pytest.raises(UserError, match=message) as caught:
        build(directory, source)
    assert "\n" not in str(caught.value)
    assert not directory.exists()


def write_halves(folder):
    """Writes a folder of `images_background` and `images_evaluation`."""
    for half, characters in HALVES.items():
        write_characters(folder / half, characters)
    return folder


def as_merged_folder(original, place):
    for half in HALVES:
        shutil.copytree(original / half, place / "images_all", dirs_exist_ok=True)
    return place


def as_links_to_alphabets(original, place):
    for alphabet in original.glob("*/*"):
        (place / alphabet.name).symlink_to(alphabet)
    return place


def as_one_of_two_folders(original, place):
    return original / "images_evaluation"


def as_halves_and_merged(original, place):
    shutil.copytree(original, place, dirs_exist_ok=True)
    return as_merged_folder(original, place)


def as_misnamed_tar(original, place):
    with tarfile.open(place / "omniglot.zip", "w:gz") as archive:
        archive.add(original, ".")
    return place / "omniglot.zip"


def as_folder_of_one_archive(original, place):
    (place / "LICENSE").write_text("MIT")
    return as_misnamed_tar(original, place).parent


def as_folder_of_zips(original, place):
    for half in HALVES:
        with zipfile.ZipFile(place / f"{half}.zip", "w") as archive:
            archive.writestr("__MACOSX/Angelic/character01/0001_01.png", b"")
            for path in (original / half).rglob("*.png"):
                archive.write(path, path.relative_to(original))
    (place / "images_background_small1.zip").write_bytes(b"not looked at")
    return place


def as_one_of_two_zips(original, place):
    return as_folder_of_zips(original, place) / "images_background.zip"
