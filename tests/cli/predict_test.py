"""python -m prwn_tf.predict on folders of every kind."""

import csv
import os
import pathlib
import shutil

import numpy as np
import pytest

from prwn_tf.serving.classifier import FewShotClassifier
from tests.cli import program
from tests.data import made as raw
from tests.images import decoder_test as images_test
from tests.serving import made

NAMES = ("ant", "bée", "cat")
HEADER = "file,label,probability,runner_up,margin,none_of_these,problem"


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> pathlib.Path:
    """A run as it is released, which `predict` takes as it does an export."""
    return made.write_run(tmp_path_factory.mktemp("model"), calibrated=True)


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> pathlib.Path:
    """support/, query/ and unlabeled/, in dark ink on white paper."""
    folder = tmp_path_factory.mktemp("folders")
    drawn = {name: 255 - made.drawings(index) for index, name in enumerate(NAMES)}
    made.write_folders(folder / "support", {k: v[:3] for k, v in drawn.items()})
    made.write_folders(folder / "query", {k: v[3:8] for k, v in drawn.items()})
    made.write_folders(folder / "unlabeled", {k: v[8:12] for k, v in drawn.items()})
    return folder


def flags(model, folders, output, changes=()) -> list[str]:
    values = {
        "model": model,
        "support": folders / "support",
        "query": folders / "query",
        "unlabeled": folders / "unlabeled",
        "adapt": "filter",
        "output": output,
    } | dict(changes)
    return [f"--{name}={value}" for name, value in values.items() if value is not None]


def read(path: pathlib.Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def predicted(model, folders, tmp_path_factory):
    """Output folder and what was printed, in a locale without umlauts."""
    output = tmp_path_factory.mktemp("output") / "new"
    result = program.run("predict", *flags(model, folders, output), LC_ALL="C")
    assert result.returncode == 0, result.stderr
    return output, result.stdout


def test_says_what_it_runs_and_did(predicted, model):
    output, printed = predicted
    assert f"model {model}: prwn trained on glyphs, sha256 " in printed
    assert "it knows drawings; --model=photos-resnet knows photographs" in printed
    assert "3 classes from 9 examples" in printed
    assert (
        "12 unlabelled images, 6 of which moved the classes (--adapt=filter)" in printed
    )
    assert "15 images labelled: " in printed
    assert f"look at {output}/gallery.html" in printed.splitlines()[-1]
    page = (output / "gallery.html").read_text(encoding="utf-8")
    assert "Predictions for query" in page
    assert page.count("<figure") >= 15 + 12


def test_the_table_is_the_classifiers(predicted, model, folders):
    output, _ = predicted
    text = (output / "predictions.csv").read_text(encoding="utf-8")
    assert text.splitlines()[0] == HEADER
    rows = read(output / "predictions.csv")
    paths = sorted((folders / "query").rglob("*.png"))
    assert [row["file"] for row in rows] == [
        path.relative_to(folders / "query").as_posix() for path in paths
    ]
    support = sorted((folders / "support").rglob("*.png"))
    classifier = FewShotClassifier(model).fit(
        support,
        [path.parent.name for path in support],
        sorted((folders / "unlabeled").rglob("*.png")),
        adapt="filter",
    )
    likely = classifier.predict_proba(paths)
    order = np.argsort(-likely, axis=1)
    names = classifier.classes_
    assert [row["label"] for row in rows] == names[order[:, 0]].tolist()
    assert [row["runner_up"] for row in rows] == names[order[:, 1]].tolist()
    ordered = np.take_along_axis(likely, order, axis=1)
    found = {
        name: [float(row[name]) for row in rows]
        for name in ("probability", "margin", "none_of_these")
    }
    np.testing.assert_allclose(found["probability"], ordered[:, 0], atol=1e-4)
    odds = np.log(ordered[:, 0] / ordered[:, 1])
    np.testing.assert_allclose(found["margin"], odds, rtol=1e-2, atol=1e-3)
    novelty = classifier.novelty(paths)
    np.testing.assert_allclose(found["none_of_these"], novelty, atol=1e-5)
    assert not any(row["problem"] for row in rows)
    right = [row["file"].startswith(row["label"]) for row in rows]
    assert np.mean(right) > 0.6


def test_says_which_unlabelled_images_it_trusts(predicted):
    rows = read(predicted[0] / "unlabeled.csv")
    assert [row["trusted"] for row in rows].count("yes") == 6
    assert len(rows) == 12


def test_one_image_by_what_was_learned_before(predicted, model, folders, tmp_path):
    output, _ = predicted
    query = next((folders / "query").rglob("*.png"))
    name = query.relative_to(folders / "query").as_posix()
    changes = {"support": None, "unlabeled": None, "query": query, "adapt": None}
    changes["classes"] = output / "classes.npz"
    result = program.run("predict", *flags(model, folders, tmp_path, changes))
    assert result.returncode == 0, result.stderr
    assert "3 classes learned before" in result.stdout
    [row] = read(tmp_path / "predictions.csv")
    [before] = [
        each for each in read(output / "predictions.csv") if each["file"] == name
    ]
    assert row["file"] == query.name
    for column in ("label", "runner_up"):
        assert row[column] == before[column]
    for column in ("probability", "margin", "none_of_these"):
        assert float(row[column]) == pytest.approx(float(before[column]), abs=1e-4)
    assert "learned before" in (tmp_path / "gallery.html").read_text(encoding="utf-8")


def test_a_class_is_added_later(predicted, model, folders, tmp_path):
    output, _ = predicted
    drawn = 255 - made.drawings(7)
    made.write_folders(tmp_path / "new", {"dog": drawn[:3]})
    made.write_folders(tmp_path / "query", {"dog": drawn[3:9]})
    changes = {"support": tmp_path / "new", "classes": output / "classes.npz"}
    changes |= {"unlabeled": None, "adapt": None, "query": tmp_path / "query"}
    result = program.run("predict", *flags(model, folders, tmp_path / "out", changes))
    assert result.returncode == 0, result.stderr
    assert "3 classes learned before and 1 class from 3 examples" in result.stdout
    labels = [row["label"] for row in read(tmp_path / "out" / "predictions.csv")]
    assert "dog" in labels
    # They are as they were, and the new one is among them for the next time.
    before = FewShotClassifier.load(output / "classes.npz", model)
    after = FewShotClassifier.load(tmp_path / "out" / "classes.npz", model)
    assert after.classes_.tolist() == sorted([*before.classes_, "dog"])
    kept = after.classes_ != "dog"
    np.testing.assert_array_equal(after.prototypes_[kept], before.prototypes_)
    queries = sorted((tmp_path / "query").rglob("*.png"))
    assert labels == after.predict(queries).tolist()
    points = after.transform(sorted((tmp_path / "new").rglob("*.png")))
    np.testing.assert_allclose(after.prototypes_[~kept][0], points.mean(0), rtol=1e-5)
    changes["support"] = folders / "support"
    result = program.run("predict", *flags(model, folders, tmp_path / "out", changes))
    program.assert_one_line(result, 2, "the class 'ant' is there already")


def test_of_one_image_the_label_is_printed(predicted, model, folders):
    output, _ = predicted
    query = next((folders / "query").rglob("*.png"))
    name = query.relative_to(folders / "query").as_posix()
    [row] = [each for each in read(output / "predictions.csv") if each["file"] == name]
    changes = {"support": None, "unlabeled": None, "query": query, "adapt": None}
    changes["classes"] = output / "classes.npz"
    before = sorted(output.rglob("*"))
    result = program.run("predict", *flags(model, folders, None, changes))
    assert result.returncode == 0, result.stderr
    likely, margin, none = (
        float(row[column]) for column in ("probability", "margin", "none_of_these")
    )
    assert result.stdout == (
        f"{query.name}: {row['label']} {likely:.2f}, {row['runner_up']} "
        f"{likely * np.exp(-margin):.2f}, none of these {none:.2f}\n"
    )
    assert sorted(output.rglob("*")) == before


def test_one_image_that_cannot_be_read(model, folders, tmp_path):
    query = raw.write(tmp_path / "one.jpg", b"<html>")
    changes = {"query": query, "unlabeled": None, "adapt": None}
    result = program.run("predict", *flags(model, folders, None, changes))
    program.assert_one_line(result, 2, f"--query={query} is a web page")


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


def test_without_unlabelled_images(model, folders, tmp_path):
    (tmp_path / "unlabeled.csv").write_text("of an earlier call")
    result = program.run(
        "predict", *flags(model, folders, tmp_path, {"unlabeled": None, "adapt": None})
    )
    assert result.returncode == 0, result.stderr
    rows = read(tmp_path / "predictions.csv")
    novel = sum(float(row["none_of_these"]) > 0.9 for row in rows)
    assert f"{novel} of them probably none of the classes" in result.stdout
    assert not (tmp_path / "unlabeled.csv").exists()


def test_an_uncalibrated_model_says_so(folders, tmp_path):
    model = made.write_run(tmp_path / "model")
    changes = {"adapt": None}
    result = program.run("predict", *flags(model, folders, tmp_path / "out", changes))
    assert result.returncode == 0, result.stderr
    assert "(--adapt=gate)" in result.stdout
    assert "the model is uncalibrated" in result.stdout
    rows = read(tmp_path / "out" / "predictions.csv")
    assert {row["probability"] for row in rows} == {"uncalibrated"}
    assert {row["none_of_these"] for row in rows} == {""}
    page = (tmp_path / "out" / "gallery.html").read_text(encoding="utf-8")
    assert "<i>uncalibrated</i>" in page
    assert "Probably none" not in page


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
