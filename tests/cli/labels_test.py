"""What was corrected on the page goes back in: predict and prepare take its table."""

import pathlib

import pytest

from prwn_tf import files
from tests.cli import program
from tests.cli.predicting import read
from tests.data import made


def write_table(path: pathlib.Path, rows: list[tuple[str, str]]) -> pathlib.Path:
    files.write_csv(path, ("file", "label", "labelled_by"), [(*r, "you") for r in rows])
    return path


@pytest.fixture
def table(folders, tmp_path) -> pathlib.Path:
    """Labels of the queries, one of them corrected to a class of its own."""
    names = sorted(
        path.relative_to(folders / "query").as_posix()
        for path in (folders / "query").rglob("*.png")
    )
    rows = [(name, name.partition("/")[0]) for name in names]
    return write_table(tmp_path / "corrected.csv", [*rows[1:], (rows[0][0], "dog")])


def predict(model, table, folders, output, *more):
    return program.run(
        *("predict", f"--model={model}", f"--support_table={table}"),
        *(f"--query={folders / 'unlabeled'}", f"--output={output}", *more),
    )


def test_predict_learns_from_a_table(model, table, folders, tmp_path):
    support = f"--support={folders / 'query'}"
    result = predict(model, table, folders, tmp_path / "out", support)
    assert result.returncode == 0, result.stderr
    assert "4 classes from 15 examples" in result.stdout
    labels = {row["label"] for row in read(tmp_path / "out" / "predictions.csv")}
    assert labels <= {"ant", "bée", "cat", "dog"}


def test_tables_that_cannot_be_used(model, table, folders, tmp_path):
    result = predict(model, table, folders, tmp_path / "out")
    program.assert_one_line(
        result, 2, "15 of the 15 files in --support_table=", "--support"
    )
    alike = write_table(
        tmp_path / "a.csv", [("ant/00.png", "Ant"), ("ant/01.png", "ant")]
    )
    support = f"--support={folders / 'query'}"
    result = predict(model, alike, folders, tmp_path / "out", support)
    program.assert_one_line(result, 2, "two labels for one class, 'Ant' and 'ant'")


def test_prepare_makes_classes_of_a_table(tmp_path):
    rows = []
    for index in range(13):
        name = f"day{index % 2}/{index:02}.png"
        made.write(tmp_path / "pile" / name, made.png(index // 2, index))
        rows.append((name, f"class{index // 2}" if index < 12 else ""))
    table = write_table(tmp_path / "corrected.csv", rows)
    flags = ["--dataset=folder", f"--data_dir={tmp_path / 'data'}", "--image_size=16"]
    flags += [f"--source={tmp_path / 'pile'}"]
    result = program.run("prepare", *flags, f"--labels={table}")
    assert result.returncode == 0, result.stderr
    assert "own images in class folders, labelled by a table" in result.stdout
    assert "12 images" in result.stdout
    manifest = files.read_json(next((tmp_path / "data").rglob("manifest.json")))
    assert manifest["skipped"] == {"images without a label": 1}
    result = program.run("prepare", *flags, "--replace", "--labels=none.csv")
    program.assert_one_line(result, 2, "cannot read --labels=", "No such file")
    result = program.run("prepare", "--dataset=glyphs", f"--labels={table}")
    program.assert_one_line(result, 2, "--labels does not apply to --dataset=glyphs")
