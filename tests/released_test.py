"""Released models and flagfiles are found by name, from any folder."""

import pathlib
import sys

import pytest

from prwn_tf import __main__, released
from prwn_tf.errors import UserError
from prwn_tf.serving import models
from tests.children import child

ROOT = pathlib.Path(__file__).parents[1]


@pytest.mark.parametrize("name", released.MODELS)
def test_a_released_model_is_found_by_its_name(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    models.check(released.model(name))
    (tmp_path / name).mkdir()  # a folder of the reader's own comes first
    assert released.model(name) == pathlib.Path(name)


def test_another_name_is_told_which_there_are():
    with pytest.raises(UserError, match=r"released models are omniglot-prwn"):
        models.open_model("omniglot-prnw")


def test_a_released_flagfile_is_found_from_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = str(ROOT / "flags/omniglot/prwn.flags")
    assert released.flagfile("omniglot/prwn.flags") == path
    assert released.flagfile("flags/omniglot/prwn.flags") == path
    assert released.flagfile("nowhere.flags") == "nowhere.flags"
    assert released.flagfile("README.md") == "README.md"
    (tmp_path / "omniglot").mkdir()
    (tmp_path / "omniglot/prwn.flags").touch()
    assert released.flagfile("omniglot/prwn.flags") == "omniglot/prwn.flags"


@pytest.mark.parametrize("between", ["=", " "])
def test_a_program_takes_a_released_flagfile(tmp_path, between):
    flags = f"--flagfile{between}omniglot/prwn.flags --data_dir=none".split()
    result = child.run("-m", "prwn_tf", "train", *flags, cwd=tmp_path)
    assert result.returncode == 2
    assert "omniglot is not prepared" in result.stderr


def test_a_wheel_carries_flagfiles_and_models_and_nothing_that_runs_left(tmp_path):
    folder = tmp_path / "results/omniglot/prwn"
    kept = ["checkpoints/ckpt-1.index", "config.json"]
    left = [
        "tensorboard/events",
        "events.1",
        "evaluation.json",
        "episodes.csv",
        ".lock",
    ]
    for name in (*kept, *left):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    table = tmp_path / released.OWN_PHOTOS
    carried = [path for path in released.files(tmp_path) if path != table]
    assert [path.relative_to(folder).as_posix() for path in carried] == kept
    names = {path.relative_to(ROOT).as_posix() for path in released.files(ROOT)}
    assert {"flags/omniglot/prwn.flags", "results/omniglot/prwn/config.json"} <= names
    assert released.OWN_PHOTOS in names


def test_the_programs_are_listed(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["prwn"])
    __main__.main()
    printed = capsys.readouterr().out
    for name in __main__.PROGRAMS:
        assert f"\n  {name} " in printed
    mains = {
        path.stem
        for path in (ROOT / "prwn_tf").glob("*.py")
        if "cli.run(main" in path.read_text()
    }
    assert mains == {*__main__.PROGRAMS}


def test_a_misspelt_program(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["prwn", "predit"])
    with pytest.raises(SystemExit, match="1"):
        __main__.main()
    assert "did you mean predict?" in capsys.readouterr().err
