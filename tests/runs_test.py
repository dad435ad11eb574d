import dataclasses
import pathlib

import pytest

from prwn_tf import config_json, files, protocols, runs
from prwn_tf.errors import UserError
from prwn_tf.training.workdir import Workdir
from tests.serving import made


@pytest.fixture
def make_run(tmp_path):
    """Folders of finished runs, as far as can be seen without their models."""

    def make(name, method="prwn", finished=True, **changes) -> pathlib.Path:
        config = protocols.protocol(protocols.Task("glyphs", method))
        config = dataclasses.replace(config, **changes)
        folder = tmp_path / name
        files.write_json(folder / "config.json", config_json.to_dict(config))
        if finished:
            files.write_json(folder / "result.json", {})
        return folder

    return make


def labels(opened):
    return [run.label for run in opened]


def test_runs_are_called_by_their_methods(make_run):
    paths = [make_run("a", "pn"), make_run("b"), make_run("c", "pn", label_ratio=1.0)]
    assert labels(runs.open_runs(paths)) == ["PN", "PRWN", "PN_all"]


def test_and_by_their_folders_where_methods_are_the_same(make_run):
    paths = [make_run("one"), make_run("two"), make_run("three", "pn")]
    assert labels(runs.open_runs(paths)) == ["PRWN (one)", "PRWN (two)", "PN"]


def test_they_are_compared_on_the_same_episodes(make_run, monkeypatch, capsys):
    monkeypatch.setattr(runs.Run, "subject", lambda run, stores, split, seed: seed)
    opened = runs.open_runs([make_run("a", eval_seed=7), make_run("b")])
    assert runs.subjects(opened, {}, "test") == [7, 7]
    assert "--eval_seed=7" in capsys.readouterr().out
    assert runs.subjects(opened, {}, "test", 3) == [3, 3]
    assert capsys.readouterr().out == ""


def test_or_as_the_user_says(make_run):
    opened = runs.open_runs([make_run("a"), make_run("b")], ["before", "after"])
    assert labels(opened) == ["before", "after"]
    assert opened[1].workdir.path.name == "b"
    assert opened[1].config.method == "prwn"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["one"], "1 labels and 2 workdirs"),
        (["x", "x"], "same label: x, x; give each a label"),
    ],
)
def test_labels_that_do_not_fit(make_run, given, message):
    with pytest.raises(UserError, match=message):
        runs.open_runs([make_run("a"), make_run("b")], given)


def test_an_unfinished_run(make_run):
    with pytest.raises(UserError, match=r"b has no finished model"):
        runs.open_runs([make_run("a"), make_run("b", finished=False)])


def test_different_data_sets(make_run):
    with pytest.raises(UserError, match="glyphs, omniglot"):
        runs.open_runs([make_run("a"), make_run("b", dataset="omniglot")])


def test_a_run_that_was_looked_into_can_be_restarted(make_run):
    path = make_run("a")
    workdir = Workdir(runs.open_runs([path])[0].workdir.path)
    files.write_json(workdir.path / "analysis" / "landing.json", {})
    files.write_json(workdir.path / "evaluation.json", [])
    workdir.claim(workdir.load_config(), restart=True)
    assert [each.name for each in workdir.path.iterdir()] == [".lock"]


def test_a_trained_model_is_rebuilt_from_its_workdir(tmp_path):
    workdir = Workdir(made.write_run(tmp_path))
    trained = runs.load_model(workdir)
    assert trained.step == made.STEP
    assert trained.config == workdir.load_config()
    assert trained.model(made.drawings(0)).shape == (20, 8)


def test_a_model_of_no_step_is_not_trained(tmp_path):
    workdir = Workdir(made.write_run(tmp_path))
    for path in workdir.checkpoints.glob("ckpt-*"):
        path.rename(path.with_name(path.name.replace(f"-{made.STEP}.", "-0.")))
    with pytest.raises(UserError, match="has not been trained for a step"):
        runs.load_model(workdir)
