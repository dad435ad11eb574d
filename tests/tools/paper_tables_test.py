"""The rows of every data set have what they are made of, and are what they say."""

import itertools
import json
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from paper_tables import analyses, markdown, mini, omniglot, report  # noqa: E402
from paper_tables.description import DatasetTables  # noqa: E402

from prwn_tf.analysis.figures import KINDS  # noqa: E402
from tests.children import child  # noqa: E402

ALL = (omniglot.TABLES, mini.TABLES)
RELEASED = [
    (tables, path.parent.name)
    for tables in ALL
    for path in sorted((ROOT / tables.released_dir).glob("*/result.json"))
]
each_data_set = pytest.mark.parametrize("tables", ALL, ids=lambda each: each.dataset)


def header(tables: DatasetTables, row: str) -> str:
    """Returns the comment of a row's flagfile, on one line."""
    text = (ROOT / tables.flagfiles / f"{row}.flags").read_text(encoding="utf-8")
    lines = [line.strip("# ") for line in text.splitlines() if line.startswith("#")]
    return " ".join(lines)


@each_data_set
def test_every_row_has_its_flagfile_and_its_cells(tables):
    paths = (ROOT / tables.flagfiles).glob("*.flags")
    assert {path.stem for path in paths} >= set(tables.rows)  # some only pre-train
    assert {cell.row for cell in tables.cells} == set(tables.rows)


@each_data_set
def test_published_numbers_are_those_of_the_flagfiles(tables):
    for cell in tables.cells:
        for accuracy, *interval in cell.paper.values():
            text = f"{accuracy:.2f} ± {interval[0]:.2f}" if interval else f"{accuracy} "
            assert text in header(tables, cell.row)


def own_test(tables, row: str) -> dict[str, int]:
    """The kind of episodes that a row's training ends with, as its name tells."""
    shot = 1 if "1shot" in row else tables.shots[-1]
    return {"shot": shot, "distractors": 5 * ("distractors" in row)}


@each_data_set
def test_one_command_gives_the_digits_of_all_tests_of_a_row(tables):
    """It tests every combination of numbers, so there are no others."""
    for row, further in tables.evaluations.items():
        own = own_test(tables, row)
        tests = [own, *(own | task for task in further)]
        numbers = [{test[name] for test in tests} for name in own]
        combinations = {*itertools.product(*numbers)}
        assert {tuple(test.values()) for test in tests} == combinations


@each_data_set
def test_every_cell_is_tested(tables):
    """A cell of another kind of episodes than its row's own is a further test."""
    for table, shot in itertools.product(tables.tables, tables.shots):
        for cell in table.cells:
            own = own_test(tables, cell.row)
            further = tables.evaluations.get(cell.row, ())
            tests = [own, *(own | task for task in further)]
            assert {"shot": shot, "distractors": table.distractors} in tests, cell


SAME_CONFIG = """
import pathlib, sys
from absl import flags
from prwn_tf import config_json, train
from prwn_tf.cli import read
from prwn_tf.training.workdir import Workdir
row, *arguments = sys.argv[1:]
flags.FLAGS(["train", *arguments])
asked, stored = read.train_config(), Workdir(pathlib.Path(row)).load_config()
differing = config_json.differences(asked, stored, may_change=True)
if origin := stored.init_from:  # which file it was, no flagfile says
    assert flags.FLAGS.init_from.endswith(f"/{origin.workdir}"), origin
    differing = {k: v for k, v in differing.items() if not k.startswith("init_from.")}
decided = {"conv_block", "xla", "precision", "classifier.classes"}  # by machine or data
assert not differing.keys() - decided, differing
"""


@pytest.mark.parametrize(
    ("tables", "row"), RELEASED, ids=[f"{each.dataset}/{row}" for each, row in RELEASED]
)
def test_released_rows_were_trained_as_their_flagfiles_say(tables, row):
    path = ROOT / tables.released_dir / row
    child.run("-c", SAME_CONFIG, path, *tables.flags(row, ROOT), check=True)


@each_data_set
def test_the_page_is_made_from_the_folders(tables):
    output = ROOT / tables.released_dir
    assert tables.page(output).read_text() == report.page(tables, output)


@pytest.mark.parametrize("pictures", [True, False])
def test_pictures_with_images_are_released_only_where_they_may_be(tmp_path, pictures):
    names = {"landing.json", "landing.csv", "landing.png", "distractors_histogram.svg"}
    shown = {"distractors_episode_PN.png"}
    for name in names | shown | {"distractors_episodes.csv", "tensorboard"}:
        (tmp_path / name).write_text(json.dumps(name))
    analyses.release(tmp_path, tmp_path / "released", pictures)
    released = {path.name for path in (tmp_path / "released").iterdir()}
    assert released == (names | shown if pictures else names)


def test_no_picture_of_mini_is_released():
    assert not mini.TABLES.shows_images
    released = (ROOT / "results/mini").rglob("*")
    pictures = {path.stem for path in released if path.suffix[1:] in KINDS}
    assert pictures <= set(analyses.FIGURES)


def test_one_episode_has_no_interval():
    assert markdown.measured({"accuracy": 0.5, "interval": None}) == "50.00"
    assert markdown.measured({"accuracy": 0.5, "interval": 0.01}) == "50.00 ± 1.00"
