"""What a program that is ended leaves behind, and that the next one removes it."""

import functools
import pathlib
import signal

import pytest

from tests.faults import kills
from tests.serving import made


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> pathlib.Path:
    return made.write_run(tmp_path_factory.mktemp("model"))


def flags(folder: pathlib.Path, model: pathlib.Path) -> list[str]:
    drawn = {name: made.drawings(index) for index, name in enumerate("ab")}
    made.write_folders(folder / "in", {name: few[:2] for name, few in drawn.items()})
    places = {"support": folder / "in", "query": folder / "in" / "a"}
    places |= {"model": model, "output": folder / "out"}
    return [f"--{name}={path}" for name, path in places.items()]


def test_a_terminated_export_leaves_no_temporary_file(sandbox, model, tmp_path):
    end = functools.partial(kills.kill_at, 1, signal.SIGTERM, "manifest.json")
    ended = sandbox.run(
        "export", f"--workdir={model}", f"--output={tmp_path / 'out'}", before=end
    )
    assert ended.returncode in (-signal.SIGTERM, 128 + signal.SIGTERM)
    assert not list(sandbox.temporary.iterdir())
    assert not (tmp_path / "out").exists()


def test_a_killed_predict_leaves_what_the_next_removes(sandbox, model, tmp_path):
    given = flags(tmp_path, model)
    # Before it is renamed, which is its second change.
    end = functools.partial(kills.kill_at, 2, signal.SIGKILL, "predictions.csv")
    ended = sandbox.run("predict", *given, before=end)
    assert ended.returncode == -signal.SIGKILL
    assert not list(sandbox.temporary.iterdir())
    left = list((tmp_path / "out").glob(".*"))
    assert [path.name.startswith(".predictions.csv.") for path in left] == [True]
    assert sandbox.run("predict", *given).returncode == 0
    assert not list((tmp_path / "out").glob(".*"))
