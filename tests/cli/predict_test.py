"""python -m prwn_tf.predict on folders of every kind."""

import numpy as np
import pytest

from prwn_tf.serving.classifier import FewShotClassifier
from tests.cli import program
from tests.cli.predicting import flags, read
from tests.serving import made

HEADER = "file,label,probability,runner_up,margin,none_of_these,problem"


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
