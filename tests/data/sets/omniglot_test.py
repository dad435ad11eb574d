"""Omniglot, from every form that users have it in, and from the real archive."""

import itertools
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import zipfile

import numpy as np
import pytest

from prwn_tf.data.sets import omniglot, omniglot_sources, omniglot_splits
from prwn_tf.data.store import reader
from prwn_tf.errors import UserError
from tests.data import made

ARCHIVE = pathlib.Path(__file__).parents[4] / "shared/data/omniglot/omniglot_png.tar.gz"
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


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A folder of `images_background` and `images_evaluation`, not to be changed."""
    folder = tmp_path_factory.mktemp("original")
    for half, characters in HALVES.items():
        write_characters(folder / half, characters)
    return folder


@pytest.fixture
def halves(original, tmp_path):
    """A copy of `original` that a test may spoil."""
    return shutil.copytree(original, tmp_path / "halves")


# --- Pixels


def test_cubic_weights_are_those_of_opencv():
    weights = 2048 * omniglot.cubic_weights(105, 28)

    # The first centre is 1.375 and the second 5.125; both have four neighbours.
    np.testing.assert_array_equal(weights[0, :5], [-225, 1535, 873, -135, 0])
    np.testing.assert_array_equal(weights[1, 3:9], [0, -147, 1981, 235, -21, 0])
    np.testing.assert_array_equal(weights[::-1, ::-1], weights)
    np.testing.assert_array_equal(weights.sum(axis=1), 2048)


def test_cubic_weights_repeat_the_border():
    # The first centre is -0.25: two of its neighbours, with -0.0352 and 0.2617, lie
    # outside and count for pixel 0.
    weights = omniglot.cubic_weights(2, 4)

    np.testing.assert_allclose(weights[0], [1.10546875, -0.10546875])


def test_shrink_equals_opencv():
    rows, columns = np.indices((105, 105))
    image = np.where((rows * rows + 3 * columns) % 11 < 4, 0, 255).astype(np.uint8)

    shrunk = omniglot.shrink(image)

    # From 255 - cv2.resize(image, (28, 28), interpolation=cv2.INTER_CUBIC), 5.0.0.
    # fmt: off
    expected = [
        0, 0, 0, 0, 0, 25, 7, 0, 93, 58, 12, 167, 132, 55, 233, 206, 120, 255, 253, 184,
        255, 247, 224, 255, 190, 219, 251, 108,
    ]
    # fmt: on
    np.testing.assert_array_equal(shrunk[13], expected)
    assert shrunk.sum() == 83711


def test_shrink_makes_ink_bright():
    blank = np.full((105, 105), 255, np.uint8)
    dot = blank.copy()
    dot[5, 5] = 0

    assert not omniglot.shrink(blank).any()
    assert (omniglot.shrink(0 * blank) == 255).all()
    assert omniglot.shrink(dot)[1, 1] == 239  # 255 * (1981 / 2048)^2
    assert np.count_nonzero(omniglot.shrink(dot)) == 1


# --- What is written


def test_classes_are_characters_in_four_rotations(original, tmp_path):
    stores = build(tmp_path / "out", original)

    assert {split: len(found.names) for split, found in stores.items()} == {
        "train": 8,
        "val": 4,
        "test": 4,
    }
    assert stores["test"].names == tuple(
        f"Gurmukhi/character42/rot{angle}" for angle in ("000", "090", "180", "270")
    )
    assert (stores["train"].counts == 20).all()
    reader.verify(tmp_path / "out")


def test_drawings_are_in_the_order_of_their_drawers(original, tmp_path):
    test = build(tmp_path / "out", original)["test"]

    expected = [
        omniglot.shrink(draw("Gurmukhi/character42", drawer)) for drawer in range(1, 21)
    ]
    np.testing.assert_array_equal(test.read(test.rows(0))[..., 0], expected)


def test_rotations_are_exact(original, tmp_path):
    test = build(tmp_path / "out", original)["test"]

    upright = test.read(test.rows(0))
    for turns in (1, 2, 3):
        np.testing.assert_array_equal(
            test.read(test.rows(turns)), np.rot90(upright, turns, axes=(1, 2))
        )


# --- What users have


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


@pytest.mark.parametrize(
    "layout",
    [
        as_merged_folder,
        as_links_to_alphabets,
        as_one_of_two_folders,
        as_halves_and_merged,
        as_misnamed_tar,
        as_folder_of_one_archive,
        as_folder_of_zips,
        as_one_of_two_zips,
    ],
)
def test_every_source_gives_the_same_data(original, tmp_path, layout):
    (tmp_path / "in").mkdir()
    build(tmp_path / "reference", original)

    build(tmp_path / "out", layout(original, tmp_path / "in"))

    reference = reader.read_manifest(tmp_path / "reference")
    assert reader.read_manifest(tmp_path / "out")["splits"] == reference["splits"]


def test_the_manifest_names_the_source(original, tmp_path):
    (tmp_path / "in").mkdir()
    source = as_misnamed_tar(original, tmp_path / "in")
    build(tmp_path / "out", source)

    manifest = reader.read_manifest(tmp_path / "out")
    assert manifest["dataset"] == "omniglot"
    assert manifest["source"][0]["file"] == "omniglot.zip"
    assert len(manifest["source"][0]["sha256"]) == 64


# --- What can be wrong with it


def test_a_missing_source_is_refused(tmp_path):
    assert_refused(tmp_path / "out", tmp_path / "nowhere", "nowhere does not exist")


def test_an_empty_folder_is_refused(tmp_path):
    (tmp_path / "in").mkdir()
    assert_refused(tmp_path / "out", tmp_path / "in", "holds no Omniglot drawing")


def test_a_pickle_of_others_is_named(tmp_path):
    images = np.zeros((2, 28, 28, 1), np.uint8)
    content = {"images": images, "labels": np.array([0, 1]), "label_str": ["a", "b"]}
    path = tmp_path / "in/train_vinyals_aug90.pkl"
    made.write(path, made.pickled(content, "python2"))
    for source in (path, path.parent):
        message = r"vinyals_aug90.pkl is a pickle; .* give --source the folder with im"
        assert_refused(tmp_path / "out", source, message)


def test_half_of_omniglot_is_refused(halves, tmp_path):
    shutil.rmtree(halves / "images_background")
    assert_refused(
        tmp_path / "out",
        halves,
        "lacks 3 of 4 characters: Angelic/character01, Hebrew/character01, .*--source",
    )


def test_a_long_list_of_missing_characters_is_cut(original, tmp_path):
    with pytest.raises(UserError, match=r"lacks 1,6\d\d of .* and 1,6\d\d more; give"):
        omniglot.build(tmp_path / "out", source=original)


def test_a_missing_drawing_is_refused(halves, tmp_path):
    drawing_path(halves / "images_background", "Hebrew/character01", 7).unlink()
    assert_refused(
        tmp_path / "out", halves, "1 character of .* each: Hebrew/character01 has 19;"
    )


def test_a_drawing_too_many_is_refused(halves, tmp_path):
    path = drawing_path(halves / "images_background", "Hebrew/character01", 7)
    shutil.copy(path, path.with_name("0003_21.png"))
    assert_refused(tmp_path / "out", halves, "Hebrew/character01 has 21;")


@pytest.mark.parametrize("content", [b"", b"<!DOCTYPE html>", b"\x89PNG\r\n\x1a\ncut"])
def test_a_file_that_is_no_image_is_refused(halves, tmp_path, content):
    path = drawing_path(halves / "images_background", "Angelic/character01", 3)
    path.write_bytes(content)
    assert_refused(
        tmp_path / "out",
        halves,
        "1 drawing cannot be used: .*Angelic/character01/0001_03.png is not a PNG",
    )


def test_a_truncated_image_is_refused(halves, tmp_path):
    path = drawing_path(halves / "images_background", "Angelic/character01", 3)
    path.write_bytes(path.read_bytes()[:60])
    assert_refused(tmp_path / "out", halves, "0001_03.png is not a PNG")


def test_images_of_another_size_are_refused(halves, tmp_path):
    for drawer in range(1, 9):
        path = drawing_path(halves / "images_background", "Hebrew/character01", drawer)
        path.write_bytes(encode_png(np.zeros((28, 30), np.uint8)))
    assert_refused(
        tmp_path / "out",
        halves,
        "8 drawings cannot be used: .*_01.png has 28x30 pixels, .* and 3 more; .*105x",
    )


def test_two_versions_of_a_drawing_are_refused(halves, tmp_path):
    as_merged_folder(halves, halves)
    path = drawing_path(halves / "images_all", "Hebrew/character01", 7)
    path.write_bytes(encode_png(draw("other", 1)))
    assert_refused(tmp_path / "out", halves, "differs from another drawing 7 of Hebrew")


def test_a_web_page_for_one_of_two_zips_is_refused(original, tmp_path):
    (tmp_path / "in").mkdir()
    source = as_folder_of_zips(original, tmp_path / "in")
    (source / "images_evaluation.zip").write_text("<!DOCTYPE html>")
    assert_refused(
        tmp_path / "out", source, "images_evaluation.zip is a web page, not an archive"
    )


def test_a_folder_of_other_archives_is_refused(original, tmp_path):
    (tmp_path / "in").mkdir()
    source = as_misnamed_tar(original, tmp_path / "in")
    shutil.copy(source, source.with_name("another.tar"))
    assert_refused(
        tmp_path / "out", source.parent, "2 archives: another.tar, omniglot.zip; give"
    )


# --- tensorflow_datasets


@pytest.fixture
def prepared_builder(original, tmp_path):
    """tensorflow_datasets' own builder, fed with our drawings instead of downloads."""
    import tensorflow_datasets as tfds

    train, evaluation, small = (tmp_path / name for name in ("one", "two", "three"))
    shutil.copytree(original / "images_background", train / "images")
    shutil.copytree(original / "images_evaluation", evaluation / "images")
    # The builder insists on 1,623 labels of 50 alphabets; one file names each.
    every = itertools.chain(*omniglot_splits.omniglot_characters().values())
    names = NAMES + sorted(set(every) - set(NAMES))
    for label, name in enumerate(names, start=1):
        (small / "images" / name).mkdir(parents=True)
        (small / "images" / name / f"{label:04d}_01.png").touch()

    class Downloads:
        register_checksums = False
        downloaded_size = 0

        def download_and_extract(self, urls):
            return dict(zip(urls, (train, evaluation, small, small), strict=True))

    builder = tfds.builder("omniglot", data_dir=tmp_path / "tfds")
    builder._make_download_manager = lambda **_: Downloads()
    builder.download_and_prepare()
    return builder


def test_tfds_gives_the_same_drawings(prepared_builder, original):
    found = list(omniglot_sources.tfds_drawings(prepared_builder))

    drawings = {(one.character, one.drawer): one.content for one in found}
    assert len(drawings) == len(found) == 80
    for half, characters in HALVES.items():
        for character in characters:
            for drawer in range(1, 21):
                path = drawing_path(original / half, character, drawer)
                assert drawings[character, drawer] == path.read_bytes()


def test_without_a_network_one_line_asks_for_a_source(tmp_path):
    program = f"""
import pathlib
from prwn_tf.data.sets import omniglot
from prwn_tf.errors import UserError
try:
    omniglot.build(pathlib.Path({str(tmp_path / "out")!r}), source=None)
except UserError as error:
    print(error)
"""
    nowhere = "http://127.0.0.1:9"
    run = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ
        | {"TFDS_DATA_DIR": str(tmp_path), "https_proxy": nowhere, "no_proxy": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert run.stdout.startswith("cannot get Omniglot through tensorflow_datasets")
    assert run.stdout.count("\n") == 1
    assert "--source" in run.stdout
    assert not run.stderr
    assert not any(tmp_path.iterdir())


# --- The real archive


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    if not ARCHIVE.exists():
        pytest.skip(f"needs {ARCHIVE}")
    directory = tmp_path_factory.mktemp("real") / "omniglot"
    omniglot.build(directory, source=ARCHIVE)
    return directory


def test_real_counts(real):
    stores = reader.open_dataset(real)

    counts = {split: len(found.names) for split, found in stores.items()}
    assert counts == {"train": 4112, "val": 688, "test": 1692}
    assert all((found.counts == 20).all() for found in stores.values())


def test_real_manifest(real):
    reader.verify(real)

    source = reader.read_manifest(real)["source"]
    assert source[0]["file"] == "omniglot_png.tar.gz"
    assert source[0]["sha256"].startswith("754fd663")


def test_real_ink_is_bright_on_dark(real):
    for found in reader.open_dataset(real).values():
        images = np.asarray(found.images)

        assert images.shape[1:] == (28, 28, 1)
        assert 5 < images.mean() < 50
        assert np.median(images) == 0
        assert (images.max(axis=(1, 2, 3)) > 100).all()


def test_real_rotations_are_exact(real):
    for found in reader.open_dataset(real).values():
        # [characters, rotations, drawers, height, width]
        images = np.asarray(found.images).reshape(-1, 4, 20, 28, 28)
        for turns in (1, 2, 3):
            turned = np.rot90(images[:, 0], turns, axes=(2, 3))
            assert (images[:, turns] == turned).all()
