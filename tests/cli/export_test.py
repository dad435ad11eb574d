"""python -m prwn_tf.export on real and damaged runs."""

import json
import pathlib
import shutil

import numpy as np
import pytest

from prwn_tf.errors import UserError
from prwn_tf.serving import export as export_lib
from prwn_tf.serving.classifier import FewShotClassifier
from tests.cli import program
from tests.serving import made


def export(workdir: pathlib.Path, output: pathlib.Path, **environment: str):
    return program.run(
        "export", f"--workdir={workdir}", f"--output={output}", **environment
    )


def test_a_trained_run_without_its_data(finished, tmp_path):
    output = tmp_path / "exported"
    result = export(finished, output, PRWN_DATA_DIR=str(tmp_path / "nowhere"))
    assert result.returncode == 0, result.stderr
    assert "prwn on glyphs, step 12" in result.stdout
    *_, where, command = result.stdout.splitlines()
    assert f"exported to {output}" in where
    assert command.startswith(f"python -m prwn_tf.predict --model={output} --support=")
    about = json.loads((output / "manifest.json").read_text())
    rows = json.loads((finished / "result.json").read_text())["test"]
    assert about["accuracy"] == rows
    assert about["config"] == json.loads((finished / "config.json").read_text())

    images = [made.drawings(index)[0] for index in range(3)]
    first, second = (
        classifier.fit(images, [5, 6, 7]).predict_proba(images)
        for classifier in (
            FewShotClassifier.from_export(output),
            FewShotClassifier.from_workdir(finished),
        )
    )
    np.testing.assert_allclose(first, second, atol=1e-5)


@pytest.mark.parametrize("flag", ["--workdir=runs", "--output=exported"])
def test_both_flags_are_needed(flag):
    result = program.run("export", flag)
    assert result.returncode == 1
    assert "Traceback" not in result.stderr


def test_a_folder_that_is_no_run(tmp_path):
    result = export(tmp_path, tmp_path / "exported")
    program.assert_one_line(result, 2, "is not a run", "no config.json")


def test_a_keras_file_is_not_loaded(tmp_path):
    path = tmp_path / "model.keras"
    path.write_bytes(b"PK\x03\x04")
    result = export(path, tmp_path / "exported")
    program.assert_one_line(result, 2, "is not a run")


def test_an_unfinished_run(finished, tmp_path):
    run = shutil.copytree(finished, tmp_path / "run")
    (run / "result.json").unlink()
    result = export(run, tmp_path / "exported")
    program.assert_one_line(result, 2, "no finished model")


def test_an_output_that_holds_other_things(finished, tmp_path):
    (tmp_path / "thesis.tex").write_text("")
    result = export(finished, tmp_path)
    program.assert_one_line(result, 2, "something else than an exported model")
    assert (tmp_path / "thesis.tex").exists()


def test_an_output_that_cannot_be_written(finished, tmp_path):
    (tmp_path / "file").write_text("")
    result = export(finished, tmp_path / "file" / "exported")
    program.assert_one_line(result, 4, "cannot write")


def test_a_failed_export_deletes_nothing_that_was_whole(tmp_path):
    # As a kill left it on a disk that cannot let folders change places.
    old = tmp_path / ".exported.old"
    old.mkdir()
    (old / "saved_model.pb").write_bytes(b"whole")
    with pytest.raises(UserError, match="is not a run"):
        export_lib.export(tmp_path / "nowhere", tmp_path / "exported")
    assert [path.name for path in tmp_path.iterdir()] == ["exported"]
    assert (tmp_path / "exported" / "saved_model.pb").read_bytes() == b"whole"
