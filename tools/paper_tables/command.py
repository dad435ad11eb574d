"""Trains the rows of a data set, releases them and writes their page."""

import argparse
import pathlib

from paper_tables import analyses, programs, report
from paper_tables.description import DatasetTables

from prwn_tf import cli, files
from prwn_tf.analysis import figures
from prwn_tf.cli import define
from prwn_tf.data import catalog
from prwn_tf.errors import UserError

ROOT = pathlib.Path(__file__).parents[2]


class Command:
    """An experiment of tools/reproduce.py: the columns of one data set."""

    def __init__(self, tables: DatasetTables):
        self.tables = tables
        self.ABOUT = tables.about

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Adds the settings of the experiment."""
        parser.add_argument(
            "--rows",
            default=",".join(self.tables.all_rows),
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
        parser.add_argument(
            "--analyses", action="store_true", help="make the figures again as well"
        )

    def run(self, arguments: argparse.Namespace) -> None:
        """Prepares, trains, releases, analyses and writes the page."""
        tables = self.tables
        output, runs = cli.path(arguments.output), cli.path(arguments.runs)
        wanted = [name for name in arguments.rows.split(",") if name]
        for name in wanted:
            if name not in tables.all_rows:
                known = ", ".join(tables.all_rows)
                raise UserError(f"--rows takes {known}, got {name!r}")
        _check_places(tables, output, runs, arguments.episodes)
        figures.require()  # before days of training
        data_dir = cli.path(arguments.data_dir)
        _prepare(tables.dataset, data_dir, arguments.source)
        missing = _missing(output, wanted)
        for name in missing:
            _train(tables, name, runs / name, data_dir, arguments.episodes)
            further = tables.evaluations.get(name, ())
            _release(runs / name, output / name, further, data_dir)
            report.write(tables, output)
            print(f"released {output / name}", flush=True)
        if missing or arguments.analyses:
            analyses.make(tables, output, runs / analyses.FOLDER, data_dir)
        report.write(tables, output)
        place = tables.page(output).parent
        print(f"{len(wanted) - len(missing)} rows were done before; see {place}")


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


def _prepare(dataset: str, data_dir: pathlib.Path, source: str | None) -> None:
    """Prepares the data set unless it is."""
    if catalog.is_prepared(catalog.location(dataset, data_dir)):
        return
    given = [f"--source={source}"] if source else []
    programs.run("prepare", f"--dataset={dataset}", *given, data_dir=data_dir)


def _missing(output: pathlib.Path, wanted: list[str]) -> list[str]:
    """Returns the rows that are not released; raises if something is in their place."""
    missing = [name for name in wanted if not (output / name / "result.json").exists()]
    for name in missing:
        if (output / name).exists():
            raise UserError(
                f"{output / name} is no released row, and one would replace it; move it"
            )
    return missing


def _train(
    tables: DatasetTables,
    name: str,
    workdir: pathlib.Path,
    data_dir: pathlib.Path,
    episodes: int | None,
) -> None:
    """Runs the row's own command, which continues what is half done."""
    shorter = [f"--episodes={episodes}"] if episodes else []
    programs.run(
        "train",
        *tables.flags(name, ROOT),
        *shorter,
        f"--workdir={workdir}",
        data_dir=data_dir,
    )


def _release(
    run: pathlib.Path,
    output: pathlib.Path,
    further: tuple[dict[str, int], ...],
    data_dir: pathlib.Path,
) -> None:
    """Tests a run in whatever further ways its row needs, and releases it."""
    tests = files.read_json(run / "result.json")["test"]
    adaptations = ",".join(dict.fromkeys(test["adapt"] for test in tests))
    evaluations = []
    for task in further:
        name = "_".join(f"{flag}{number}" for flag, number in task.items())
        evaluations.append(run.with_name(f"{run.name}_{name}"))
        programs.run(
            "evaluate",
            f"--workdir={run}",
            *(f"--{flag}={number}" for flag, number in task.items()),
            f"--adapt={adaptations}",
            f"--output={evaluations[-1]}",
            data_dir=data_dir,
        )
    cli.load_tensorflow()
    from paper_tables import release

    release.release(run, output, evaluations)
