"""What many tests share: small stores, prepared glyphs, the real Omniglot."""

import fcntl
import gc
import json
import os
import pathlib
import shutil
import subprocess
from collections.abc import Callable

import numpy as np
import pytest

import prwn_tf  # noqa: F401  (sets the allocator before any test loads TensorFlow)
from prwn_tf.data.sets import glyphs, omniglot
from prwn_tf.data.store import reader
from prwn_tf.data.store import writer as writer_lib
from tests.cli import program

# Traced steps are millions of objects that stay: to look through them rarely saves a
# sixteenth of the time.
gc.set_threshold(200_000, 50, 1000)

SHARED = pathlib.Path(__file__).parents[2] / "shared"


# Files that take a minute and more. They come first, so that at the end no process is
# at work on one of them while the other has nothing left.
LONGEST = (
    *("cli/results_test.py", "training/compiled_step_test.py", "cli/train_test.py"),
    *("cli/methods_test.py", "cli/cluster_test.py", "faults/soak_test.py"),
    *("encoders/networks_test.py", "cli/backbone_test.py", "precision_test.py"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Moves the longest files to the beginning; all else stays in its order."""
    tests = pathlib.Path(__file__).parent
    places = {tests / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path, len(places)))


def made_once(
    tmp_path_factory, name: str, fill: Callable[[pathlib.Path], None]
) -> pathlib.Path:
    """Returns a folder that one process of a test session fills and all others use."""
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        place = place.parent
    folder, done = place / name, place / f"{name}.done"
    with (place / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            fill(folder)
            done.touch()
    return folder


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory) -> pathlib.Path:
    """A data folder with the glyphs drawn, for all tests; none writes to it."""
    return made_once(
        tmp_path_factory, "data", lambda folder: glyphs.build(folder / "glyphs")
    )


@pytest.fixture(scope="session")
def first_run(
    tmp_path_factory, data_dir
) -> tuple[pathlib.Path, subprocess.CompletedProcess]:
    """The workdir of a run of 12 episodes on glyphs, and what it printed.

    It is made once for all tests, and none writes to it. It ran in an interpreter of
    its own, in another time zone and in a locale without umlauts.
    """

    def train(folder: pathlib.Path) -> None:
        flags = program.quick(folder / "work dir ü", data_dir)
        # Runs that are compared with this one have other hashes and another zone.
        strange = {"LANG": "C", "LC_NUMERIC": "tr_TR.UTF-8", "PYTHONHASHSEED": "7"}
        result = program.run_fresh("train", *flags, TZ="UTC+9", **strange)
        assert result.returncode == 0, result.stderr
        (folder / "printed.json").write_text(json.dumps(vars(result)))

    folder = made_once(tmp_path_factory, "first", train)
    printed = json.loads((folder / "printed.json").read_text())
    return folder / "work dir ü", subprocess.CompletedProcess(**printed)


@pytest.fixture(scope="session")
def finished(tmp_path_factory, first_run) -> pathlib.Path:
    """A copy of the first run, in which the tests of this process may evaluate."""
    return shutil.copytree(first_run[0], tmp_path_factory.mktemp("finished") / "prwn")


@pytest.fixture(scope="session")
def omniglot_archive() -> pathlib.Path:
    """The real Omniglot, where it lies beside the project."""
    path = SHARED / "data" / "omniglot" / "omniglot_png.tar.gz"
    if not path.exists():
        pytest.skip("the real Omniglot is not beside this checkout")
    return path


@pytest.fixture(scope="session")
def real_omniglot(omniglot_archive, tmp_path_factory) -> pathlib.Path:
    """A data folder with the real Omniglot, for all tests; none writes to it."""
    return made_once(
        tmp_path_factory,
        "real",
        lambda folder: omniglot.build(folder / "omniglot", source=omniglot_archive),
    )


@pytest.fixture
def make_store(tmp_path):
    """Writes a store whose every image tells its split, class and place."""

    def make(counts: list[int], shape=(8, 8, 1), name="made") -> dict:
        with writer_lib.StoreWriter(
            tmp_path / name, image_shape=shape, about={}
        ) as writer:
            for split in reader.SPLITS:
                for index, count in enumerate(counts):
                    images = np.zeros((count, *shape), np.uint8)
                    images[:, 0, 0, 0] = index
                    images[:, 0, 1, 0] = np.arange(count)
                    writer.add(split, f"class{index}", images)
        return reader.open_dataset(tmp_path / name)

    return make
