"""Trains the rows of a data set, releases them and writes their page."""

import argparse
import pathlib
import shutil
from collections.abc import Mapping

from paper_tables import ablations, analyses, inference, programs, report
from paper_tables.description import DatasetTables

from prwn_tf import cli, files
from prwn_tf.analysis import figures
from prwn_tf.cli import define
from prwn_tf.data import catalog
from prwn_tf.errors import UserError
from prwn_tf.precision import PRECISIONS

ROOT = pathlib.Path(__file__).parents[2]


class Command:
    """An experiment of tools/reproduce.py: the columns of one data set."""

    def __init__(self, tables: DatasetTables):
        self.tables = tables
        self.ABOUT = tables.about

    @property
    def _names(self) -> tuple[str, ...]:
        """What can be trained: rows of the tables, then those of ablations."""
        return (*self.tables.all_rows, *self.tables.ablation_rows)

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Adds the settings of the experiment."""
        parser.add_argument(
            "--rows",
            default=",".join(self._names),
            help="rows to train, with commas; default: all that are not released yet",
        )
        parser.add_argument(
            "--output",
            default=self.tables.released_dir,
            help="folder of the released rows",
        )
        parser.add_argument(
            "--runs",
            default=self.tables.runs_dir,
            help="folder of the runs themselves, where what is half done continues",
        )
        parser.add_argument("--source", help=self.tables.source_help)
        parser.add_argument(
            "--data_dir", default=define.DATA_DIR, help="folder of prepared data sets"
        )
        parser.add_argument(
            "--episodes",
            type=int,
            help="shorter training, to see that it works; needs --output and --runs",
        )
        add_precision(parser)
        parser.add_argument(
            "--analyses", action="store_true", help="make the figures again as well"
        )

    def run(self, arguments: argparse.Namespace) -> None:
        """Prepares, trains, releases, analyses and writes the page."""
        tables = self.tables
        output, runs = cli.path(arguments.output), cli.path(arguments.runs)
        wanted = [name for name in arguments.rows.split(",") if name]
        for name in wanted:
            if name not in self._names:
                raise UserError(f"--rows takes {', '.join(self._names)}, got {name!r}")
        _check_places(tables, output, runs, arguments.episodes)
        figures.require()  # before days of training
        data_dir = cli.path(arguments.data_dir)
        prepare(tables.dataset, data_dir, arguments.source)
        missing = _missing(tables, output, wanted)
        for name in missing:
            _train(tables, name, runs / name, data_dir, arguments)
            if name in tables.ablation_rows:
                ablations.release(runs / name, _place(tables, output, name), data_dir)
            else:
                release(runs / name, output / name)
            report.write(tables, output)
            print(f"released {_place(tables, output, name)}", flush=True)
        self._measure(wanted, output, runs, data_dir)
        if not arguments.episodes:  # a shorter training is only to see that it works
            inference.measure(tables, output, data_dir)
        if arguments.analyses or tables.analyzed.intersection(missing):
            analyses.make(tables, output, runs / analyses.FOLDER, data_dir)
        report.write(tables, output)
        place = tables.page(output).parent
        print(f"{len(wanted) - len(missing)} rows were done before; see {place}")

    def _measure(
        self,
        wanted: list[str],
        output: pathlib.Path,
        runs: pathlib.Path,
        data_dir: pathlib.Path,
    ) -> None:
        """Makes what tests of released rows are missing, and draws the ablations."""
        for name in wanted:
            for task in self.tables.further_tests(name):
                _test(output / name, task, runs, data_dir)
        for name in ablations.missing(self.tables, output):
            ablations.release(output / name, output / ablations.FOLDER / name, data_dir)
        ablations.draw_all(self.tables, output)


def _check_places(
    tables: DatasetTables,
    output: pathlib.Path,
    runs: pathlib.Path,
    episodes: int | None,
) -> None:
    """Raises if the results would replace what they should not."""
    places = {output.resolve(), runs.resolve()}
    if len(places) == 1:
        raise UserError(
            f"--output and --runs are both {output}, and a released row has the name "
            "of its run; give two folders"
        )
    own = (tables.released_dir, tables.runs_dir)
    if episodes and places & {cli.path(each).resolve() for each in own}:
        raise UserError(
            f"--episodes={episodes} makes models that do not belong into "
            f"{' and '.join(own)}; give another --output and --runs"
        )
    report.check_replaceable(tables, output)


def prepare(dataset: str, data_dir: pathlib.Path, source: str | None) -> None:
    """Prepares the data set unless it is."""
    if catalog.is_prepared(catalog.location(dataset, data_dir)):
        return
    given = [f"--source={source}"] if source else []
    programs.run("prepare", f"--dataset={dataset}", *given, data_dir=data_dir)


def _place(tables: DatasetTables, output: pathlib.Path, name: str) -> pathlib.Path:
    """Returns the folder that a training is released in."""
    return output / (ablations.FOLDER if name in tables.ablation_rows else "") / name


def _missing(
    tables: DatasetTables, output: pathlib.Path, wanted: list[str]
) -> list[str]:
    """Returns the rows that are not released; raises if something is in their place."""
    missing = []
    for name in wanted:
        ablated = name in tables.ablation_rows
        place = _place(tables, output, name)
        if (place / (ablations.MEASURED if ablated else "result.json")).exists():
            continue
        if place.exists():
            raise UserError(
                f"{place} is no released row, and one would replace it; move it"
            )
        missing.append(name)
    return missing


def _train(
    tables: DatasetTables,
    name: str,
    workdir: pathlib.Path,
    data_dir: pathlib.Path,
    arguments: argparse.Namespace,
) -> None:
    """Runs the row's own command, which continues what is half done."""
    shorter = [f"--episodes={arguments.episodes}"] if arguments.episodes else []
    origin = tables.origins.get(name)
    begun = [f"--init_from={workdir.with_name(origin)}"] if origin else []
    programs.run(
        "train",
        *tables.flags(name, ROOT),
        *shorter,
        *begun,
        f"--precision={arguments.precision}",
        f"--workdir={workdir}",
        data_dir=data_dir,
    )


def add_precision(parser: argparse.ArgumentParser) -> None:
    """Adds the precision of trainings."""
    parser.add_argument(
        "--precision",
        choices=PRECISIONS,
        default=PRECISIONS[0],
        help="numbers that the encoder trains with; bfloat16 is faster on a CPU that "
        "computes with it, and the page says what was trained so",
    )


def release(run: pathlib.Path, output: pathlib.Path) -> None:
    """Releases a run."""
    cli.load_tensorflow()
    from paper_tables import release as releasing

    releasing.release(run, output)
    # What was measured of an earlier model of this name.
    files.remove(output.parent / inference.FOLDER / f"{output.name}.json")
    shutil.rmtree(output.parent / ablations.FOLDER / output.name, ignore_errors=True)


def _test(
    row: pathlib.Path,
    task: Mapping[str, int],
    runs: pathlib.Path,
    data_dir: pathlib.Path,
) -> None:
    """Tests a released row in a further way, unless that is among its tests."""
    result = files.read_json(row / "result.json")
    own = result["test_spec"] | task
    asked = {name: own[name] for name in ("shot", "distractors")}
    if any(asked.items() <= test.items() for test in result["test"]):
        return
    adaptations = ",".join(dict.fromkeys(test["adapt"] for test in result["test"]))
    suffix = "_".join(f"{flag}{number}" for flag, number in task.items())
    output = runs / f"{row.name}_{suffix}"
    programs.run(
        "evaluate",
        f"--workdir={row}",
        *(f"--{flag}={number}" for flag, number in task.items()),
        f"--adapt={adaptations}",
        f"--output={output}",
        data_dir=data_dir,
    )
    result["test"] += files.read_json(output / "evaluation.json")
    files.write_json(row / "result.json", result)
