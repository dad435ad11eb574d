"""python -m prwn_tf.predict on what is wrong or odd: images, folders, flags, models."""

import os
import shutil

import numpy as np
import pytest

from tests.cli import program
from tests.cli.predicting import flags, read
from tests.data import made as raw
from tests.images import decoder_test as images_test
from tests.serving import made


def test_one_image_that_cannot_be_read(model, folders, tmp_path):
    query = raw.write(tmp_path / "one.jpg", b"<html>")
    changes = {"query": query, "unlabeled": None, "adapt": None}
    result = program.run("predict", *flags(model, folders, None, changes))
    program.assert_one_line(result, 2, f"--query={query} is a web page")


def test_a_folder_in_which_no_image_can_be_read(model, folders, tmp_path):
    for name in ("one.jpg", "two.jpg"):
        raw.write(tmp_path / "query" / name, b"<html>")
    changes = {"query": tmp_path / "query", "unlabeled": None, "adapt": None}
    result = program.run("predict", *flags(model, folders, tmp_path / "o", changes))
    program.assert_one_line(result, 2, "none of the 2 images in --query=", "a web page")
    assert not list((tmp_path / "o").iterdir())


def test_results_lie_outside_of_the_images(model, folders):
    inside = folders / "unlabeled" / "labels"
    result = program.run("predict", *flags(model, folders, inside))
    program.assert_one_line(result, 2, f"{inside} lies inside of --unlabeled=")
    assert not inside.exists()


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"support": None}, "give one of them"),
        ({"classes": "classes.npz"}, "leave out --unlabeled"),
        ({"support": None, "classes": "classes.npz"}, "leave out --unlabeled"),
        (
            {
                "support": None,
                "unlabeled": None,
                "adapt": None,
                "classes": "nowhere.npz",
            },
            "nowhere.npz: No such file",
        ),
    ],
)
def test_where_the_classes_come_from(model, folders, tmp_path, changes, text):
    result = program.run("predict", *flags(model, folders, tmp_path, changes))
    program.assert_one_line(result, 2, text)


def bad_and_odd_images() -> dict[str, bytes]:
    image = 255 - made.drawings(0)[15]
    color = np.repeat(image, 3, axis=-1)
    frame = b",\0\0\0\0\1\0\1\0\0\2\2%c\1\0"
    huge = b"\x89PNG\r\n\x1a\n" + raw.chunk(
        b"IHDR", b"\0\0\x75\x30\0\0\x75\x30\x08\0\0\0\0"
    )
    return {
        "animated.gif": b"GIF89a\1\0\1\0\x80\0\0\xff\0\0\0\0\xff"
        + frame % b"D"
        + frame % b"L"
        + b";",
        "cut.png": made.png(image)[:-30],
        "deep.png": made.png(image.astype(np.uint16) * 257),
        "empty.png": b"",
        "gray.png": made.png(image),
        "huge.png": huge,
        "page.jpg": b"<!DOCTYPE html>",
        "photo.heic": b"\0\0\0\x18ftypheic" + bytes(12),
        "photo.jpg": images_test.jpeg(color),
        "pixel.png": made.png(image[:1, :1]),
        "rgba.png": made.png(images_test.rgba(color)),
        "text.png": b"hello, I am not an image",
    }


def test_bad_queries_are_reported_and_do_not_stop_the_rest(model, folders, tmp_path):
    for name, content in bad_and_odd_images().items():
        raw.write(tmp_path / "query" / name, content)
    (tmp_path / "query" / "notes.txt").write_text("")
    changes = {"query": tmp_path / "query"}
    result = program.run("predict", *flags(model, folders, tmp_path / "out", changes))
    assert result.returncode == 0, result.stderr
    rows = {row["file"]: row for row in read(tmp_path / "out" / "predictions.csv")}
    problems = {name: row["problem"] for name, row in rows.items() if row["problem"]}
    assert list(rows) == list(bad_and_odd_images())
    assert problems == {
        "cut.png": "is a damaged or incomplete PNG image",
        "empty.png": "is empty",
        "huge.png": "has 30000x30000 pixels, at most 67,108,864 are decoded",
        "page.jpg": "is a web page",
        "photo.heic": problems["photo.heic"],
        "text.png": problems["text.png"],
    }
    # Read by Pillow or with its remedy, in the table and on the page.
    assert "is a HEIC image" in problems["photo.heic"]
    assert "save it as JPEG" in problems["photo.heic"]
    page = (tmp_path / "out" / "gallery.html").read_text(encoding="utf-8")
    assert f"<span class=reason>{problems['photo.heic']}</span>" in page
    assert "is not a JPEG, PNG, GIF, BMP, WebP, " in problems["text.png"]
    # The same drawing, whatever kind of file it is in.
    alike = [rows[name] for name in ("gray.png", "deep.png", "rgba.png", "photo.jpg")]
    assert len({row["label"] for row in alike}) == 1
    values = [float(row["probability"]) for row in alike]
    np.testing.assert_allclose(values, values[0], atol=0.05)
    assert rows["animated.gif"]["label"]
    assert rows["empty.png"]["label"] == rows["empty.png"]["probability"] == ""
    assert "empty.png is empty, so it has no label" in result.stdout
    assert "1 files passed over" in result.stdout


def test_bad_unlabelled_images_are_left_out(model, folders, tmp_path):
    more = tmp_path / "more"
    more.mkdir()
    for number, path in enumerate(sorted((folders / "unlabeled").rglob("*.png"))):
        # Names that cannot be shown, and so look alike.
        shutil.copy(path, os.fsencode(more) + b"/%c.png" % (0xE0 + number))
    (more / "a.png").write_bytes(b"")
    result = program.run(
        "predict", *flags(model, folders, tmp_path / "out", {"unlabeled": more})
    )
    assert result.returncode == 0, result.stderr
    rows = read(tmp_path / "out" / "unlabeled.csv")
    assert rows[0]["problem"] == "is empty"
    assert rows[0]["trusted"] == "no"
    assert [row["trusted"] for row in rows].count("yes") == 6


def test_bad_examples_are_an_error(model, folders, tmp_path):
    support = shutil.copytree(folders / "support", tmp_path / "support")
    (support / "ant" / "00.png").write_bytes(b"<html>")
    (support / "cat" / "01.png").write_bytes(b"")
    result = program.run(
        "predict", *flags(model, folders, tmp_path / "out", {"support": support})
    )
    texts = ["ant/00.png) is a web page", "cat/01.png) is empty"]
    program.assert_one_line(result, 2, *texts)


@pytest.mark.parametrize(
    ("changes", "texts"),
    [
        ({"model": "/nowhere"}, ["/nowhere does not exist"]),
        ({"support": "/nowhere"}, ["--support=/nowhere does not exist"]),
        ({"query": "/nowhere"}, ["--query=/nowhere does not exist"]),
        ({"unlabeled": None, "adapt": "refine"}, ["--adapt=refine", "--unlabeled"]),
        ({"output": None}, ["is a folder", "give an --output, or one image"]),
        ({"output": "/dev/null/x"}, ["cannot write /dev/null/x"]),
    ],
)
def test_flags_that_cannot_be(model, folders, tmp_path, changes, texts):
    result = program.run("predict", *flags(model, folders, tmp_path / "out", changes))
    code = 4 if changes.get("output") else 2
    program.assert_one_line(result, code, *texts)


@pytest.mark.parametrize(
    ("content", "text"),
    [(b"PK\x03\x04", "is a Keras file"), (b"\x89HDF\r\n", "is a Keras file")],
)
def test_foreign_models_are_not_loaded(folders, tmp_path, content, text):
    path = raw.write(tmp_path / "model.keras", content)
    result = program.run("predict", *flags(path, folders, tmp_path / "out"))
    program.assert_one_line(result, 2, text, "prwn_tf.export")
    result = program.run("predict", *flags(tmp_path, folders, tmp_path / "out"))
    program.assert_one_line(result, 2, "is no model")


def test_an_altered_export(model, folders, tmp_path):
    exported = tmp_path / "exported"
    result = program.run("export", f"--workdir={model}", f"--output={exported}")
    assert result.returncode == 0, result.stderr
    data = next(exported.rglob("*.data-*"))
    content = bytearray(data.read_bytes())
    content[50] ^= 1
    data.write_bytes(content)
    result = program.run("predict", *flags(exported, folders, tmp_path / "out"))
    program.assert_one_line(result, 2, "was altered after the export", data.name)
