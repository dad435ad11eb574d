"""From a folder of images to a store: bad images, too little space, a second try."""

import os
import re
import zipfile

import numpy as np
import pytest

from prwn_tf import files, protocols
from prwn_tf.data import ingest, preparation
from prwn_tf.data.store import reader, summary
from prwn_tf.errors import StorageError, UserError
from prwn_tf.images import decoder
from prwn_tf.serving.preprocess import Preprocess
from tests.data import made

NAMES = [f"class {letter}" for letter in "abcdefg"]


@pytest.fixture
def source(tmp_path):
    return made.class_folders(tmp_path / "in", NAMES, images=4)


def prepare(tmp_path, source, **options):
    options = {"image_size": made.SIZE, "replace": True} | options
    preparation.prepare(
        "folder", tmp_path, preparation.Options(source=source, **options)
    )
    return reader.open_dataset(tmp_path / "folder")


def refused(tmp_path, source, message, kind=UserError, **options):
    with pytest.raises(kind, match=message) as caught:
        prepare(tmp_path, source, **options)
    assert "\n" not in str(caught.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]
    return str(caught.value)


def test_pixels_are_those_of_the_files(tmp_path, source):
    stores = prepare(tmp_path, source)

    for part in stores.values():
        for place, name in enumerate(part.names):
            expected = [made.pixels(NAMES.index(name), index) for index in range(4)]
            np.testing.assert_array_equal(part.read(part.rows(place)), expected)


@pytest.mark.parametrize("decoded_bytes", [0, 2**26])
def test_many_images_keep_their_order(tmp_path, monkeypatch, decoded_bytes):
    monkeypatch.setattr(ingest, "DECODED_BYTES", decoded_bytes)
    monkeypatch.setattr(decoder, "LOADED_BYTES", 300)  # a few images at once
    source = made.class_folders(tmp_path / "in", NAMES, images=150)
    stores = prepare(tmp_path, source)

    greens = stores["train"].images[:, 0, 0, 1].reshape(-1, 150)
    order = np.argsort([str(number) for number in range(150)])
    np.testing.assert_array_equal(greens, [100 + order] * len(stores["train"].names))


def test_the_fit_is_recorded_and_known_to_models(tmp_path, source):
    wide = np.repeat(np.arange(40, dtype=np.uint8)[None, :, None], 16, axis=0)
    content = made.encode_png(np.repeat(wide, 3, axis=-1))
    made.write(source / NAMES[0] / "0.png", content)
    stores = prepare(tmp_path, source, fit="crop")
    assert reader.read_manifest(tmp_path / "folder")["fit"] == "crop"
    assert "all of 16x16x3 by --fit=crop, " in "\n".join(
        summary.lines(tmp_path / "folder")
    )
    [image] = [
        image
        for part in stores.values()
        for image in part.images
        if (image[..., 0] == image[..., 1]).all()
    ]
    np.testing.assert_array_equal(image[0, :, 0], np.arange(12, 28))  # its middle
    config = protocols.protocol(
        protocols.Task("folder", "prwn", prepared=protocols.Prepared(fit="crop"))
    )
    assert Preprocess.from_config(config).fit == "crop"


def test_the_same_images_give_the_same_bytes(tmp_path, source):
    prepare(tmp_path, source)
    first = reader.read_manifest(tmp_path / "folder")
    prepare(tmp_path, source)
    assert reader.read_manifest(tmp_path / "folder") == first


BAD = {
    "empty.jpg": (b"", "is empty"),
    "page.jpg": (b"<!DOCTYPE html>", "is a web page"),
    "text.png": (b"no image", "is not a JPEG, PNG, GIF, BMP, "),
    "cut.png": (made.png(0, 0)[:60], "is a damaged or incomplete PNG image"),
}


def spoil(source):
    for number, (name, (content, _)) in enumerate(BAD.items()):
        made.write(source / NAMES[number] / name, content)
    made.write(source / NAMES[0] / "photo.jpg", made.png(0, 9))  # only misnamed


def test_bad_images_are_all_named(tmp_path, source):
    spoil(source)
    message = refused(tmp_path, source, r"^4 images cannot be decoded: .*skip_bad_im")
    for name, (_, reason) in BAD.items():
        assert f"{name} {reason}" in message


def test_one_bad_image(tmp_path, source):
    made.write(source / NAMES[2] / "é.jpg", b"")
    refused(
        tmp_path, source, r"^1 image cannot be decoded: .*class c/é.jpg is empty; rep"
    )


def test_many_bad_images_are_listed_before_the_error(tmp_path, source, capsys):
    bad = [source / name / f"bad{n}.jpg" for name in NAMES for n in range(9)]
    for path in bad:
        made.write(path, b"")
    message = refused(tmp_path, source, "^63 images cannot be decoded, all listed abo")
    assert "is empty" not in message
    printed = capsys.readouterr().out.splitlines()
    assert sorted(printed[-63:]) == sorted(f"{path} is empty" for path in bad)


def test_bad_images_can_be_left_out_and_are_recorded(tmp_path, source):
    spoil(source)
    stores = prepare(tmp_path, source, skip_bad_images=True)
    manifest = reader.read_manifest(tmp_path / "folder")

    assert sum(len(part) for part in stores.values()) == 4 * len(NAMES) + 1
    assert manifest["skipped"] == {"unreadable images": 4}
    assert len(manifest["unreadable"]) == 4
    assert any("page.jpg is a web page" in text for text in manifest["unreadable"])
    text = "\n".join(summary.lines(tmp_path / "folder"))
    assert "skipped: 4 unreadable images" in text


def test_all_classes_that_are_left_with_one_image(tmp_path, source):
    for index in range(3):
        made.write(source / NAMES[3] / f"{index}.png", b"")
        made.write(source / NAMES[5] / f"{index}.png", b"")
    message = refused(
        tmp_path,
        source,
        "^too few images are left without the unreadable ones: .*a class needs 2",
        skip_bad_images=True,
    )
    assert "'class d' has 1 of 4" in message
    assert "'class f' has 1 of 4" in message


def test_names_do_not_command_the_terminal(tmp_path, source):
    made.write(source / NAMES[0] / "\x1b[31m.jpg", b"")
    prepare(tmp_path, source, skip_bad_images=True)
    text = "".join(summary.lines(tmp_path / "folder"))

    assert r"\x1b[31m.jpg is empty" in text
    assert text.isprintable()


def test_a_file_that_cannot_be_read(tmp_path, source):
    (source / NAMES[1] / "gone.jpg").symlink_to(tmp_path / "nowhere")
    refused(tmp_path, source, r"gone.jpg cannot be read: No such file")


def test_a_huge_file_is_not_read(tmp_path, source):
    with (source / NAMES[1] / "huge.jpg").open("wb") as file:
        os.truncate(file.fileno(), 2**40)
    refused(tmp_path, source, "huge.jpg has 1,099,511,627,776 bytes")


def test_too_little_space_is_said_before_anything_is_written(
    tmp_path, source, monkeypatch
):
    monkeypatch.setattr(files, "free_space", lambda path: 1000)
    refused(
        tmp_path,
        source,
        "28 images of 16x16 need 21,504 bytes in .* 1,000 are free",
        StorageError,
    )


def test_an_older_data_set_survives_a_failed_try(tmp_path, source):
    prepare(tmp_path, source)
    before = reader.read_manifest(tmp_path / "folder")
    spoil(source)
    with pytest.raises(UserError, match="cannot be decoded"):
        prepare(tmp_path, source)

    assert reader.read_manifest(tmp_path / "folder") == before
    reader.verify(tmp_path / "folder")


def interrupt(tmp_path, source):
    """Stops an import after three of its classes, of four images each."""

    class Interrupted(ingest.Decoder):
        images = 0

        def __call__(self, contents):
            Interrupted.images += len(contents)
            if Interrupted.images > 12:
                raise KeyboardInterrupt
            return super().__call__(contents)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ingest, "Decoder", Interrupted)
        with pytest.raises(KeyboardInterrupt):
            prepare(tmp_path, source)
    assert not (tmp_path / "folder").exists()


def test_bad_images_of_an_interrupted_import_are_not_forgotten(tmp_path, source):
    made.write(source / NAMES[0] / "bad.jpg", b"")
    interrupt(tmp_path, source)
    refused(tmp_path, source, "^1 image cannot be decoded: .*bad.jpg is empty")


def test_a_changed_file_is_decoded_again(tmp_path, source):
    paths = [source / name / "1.png" for name in NAMES]  # in the middle of a class
    for path in paths:
        path.write_bytes(made.png(0, 1).ljust(100, b"\0"))
    interrupt(tmp_path, source)
    for path in paths:
        before = path.stat()
        path.write_bytes(made.png(200, 1).ljust(100, b"\0"))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    stores = prepare(tmp_path, source)

    for part in stores.values():
        for place in range(len(part.names)):
            images = part.read(part.rows(place)[1:2])
            np.testing.assert_array_equal(images, [made.pixels(200, 1)])


def test_an_interrupted_import_of_an_archive_is_continued(tmp_path, source, capsys):
    path = tmp_path / "in.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for image in source.rglob("*.png"):
            archive.write(image, image.relative_to(source))
    interrupt(tmp_path, path)
    prepare(tmp_path, path)
    assert "an earlier run was stopped, at image 12" in capsys.readouterr().out

    (tmp_path / "folder").rename(tmp_path / "before")
    interrupt(tmp_path, path)
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))
    prepare(tmp_path, path)
    assert "stopped" not in capsys.readouterr().out


def test_an_interrupted_import_is_continued(tmp_path, source, capsys):
    interrupt(tmp_path, source)
    prepare(tmp_path, source)
    assert "continuing where an earlier run was stopped, at image 12" in (
        capsys.readouterr().out
    )
    splits = reader.read_manifest(tmp_path / "folder")["splits"]
    prepare(tmp_path / "again", source)
    assert reader.read_manifest(tmp_path / "again/folder")["splits"] == splits


def test_the_smallest_class_is_named(tmp_path, source):
    prepare(tmp_path, source)
    assert "train: 3 classes, 12 images" in summary.lines(tmp_path / "folder")
    for name in NAMES:
        (source / name / "0.png").unlink()
    made.class_folders(source, ["class a"], images=5)
    prepare(tmp_path, source)
    text = "\n".join(summary.lines(tmp_path / "folder"))
    assert re.search(r"\d images, 3 in the smallest \(class \w\)\n", text)
