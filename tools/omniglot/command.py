"""The `omniglot` experiment: the Omniglot columns of the paper's tables."""

import argparse
import pathlib

from omniglot import programs, report, rows

from prwn_tf import cli
from prwn_tf.analysis import figures
from prwn_tf.cli import define
from prwn_tf.data import catalog
from prwn_tf.errors import UserError

ABOUT = "The Omniglot columns of both tables, and the analyses with their figures."
ROOT = pathlib.Path(__file__).parents[2]
RELEASED_DIR, RUNS_DIR = "results/omniglot", "runs/omniglot"
KNOWN_ROWS = (*rows.ROWS, *rows.REPEATS)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the settings of the experiment."""
    parser.add_argument(
        "--rows",
        default=",".join(KNOWN_ROWS),
        help="rows to train, with commas; default: all that are not released yet",
    )
    parser.add_argument(
        "--output", default=RELEASED_DIR, help="folder of the released rows"
    )
    parser.add_argument(
        "--runs",
        default=RUNS_DIR,
        help="folder of the runs themselves, where what is half done continues",
    )
    parser.add_argument(
        "--source",
        help="the Omniglot images, if they are neither prepared nor to be downloaded",
    )
    parser.add_argument(
        "--data_dir",
        default=define.DATA_DIR,
        help="folder of prepared data sets",
    )
    parser.add_argument(
        "--episodes",
        type=int,
        help="shorter training, to see that it works; needs --output and --runs",
    )
    parser.add_argument(
        "--analyses", action="store_true", help="make the figures again as well"
    )


def run(arguments: argparse.Namespace) -> None:
    """Prepares, trains, releases, analyses and writes the table."""
    output, runs = cli.path(arguments.output), cli.path(arguments.runs)
    wanted = [name for name in arguments.rows.split(",") if name]
    for name in wanted:
        if name not in KNOWN_ROWS:
            raise UserError(f"--rows takes {', '.join(KNOWN_ROWS)}, got {name!r}")
    _check_places(output, runs, arguments.episodes)
    figures.require()  # before days of training
    data_dir = cli.path(arguments.data_dir)
    _prepare(data_dir, arguments.source)
    missing = [name for name in wanted if not (output / name / "result.json").exists()]
    for name in missing:
        if (output / name).exists():
            raise UserError(
                f"{output / name} is no released row, and one would replace it; move it"
            )
    for name in missing:
        train(name, runs / name, data_dir, arguments.episodes)
        _release(runs / name, output / name, data_dir)
        report.write(output)
        print(f"released {output / name}", flush=True)
    if missing or arguments.analyses:
        analyze(output, data_dir)
    report.write(output)
    print(f"{len(wanted) - len(missing)} rows were done before; see {output.parent}")


def _check_places(
    output: pathlib.Path, runs: pathlib.Path, episodes: int | None
) -> None:
    """Raises if the results would replace what they should not."""
    places = {output.resolve(), runs.resolve()}
    if len(places) == 1:
        raise UserError(
            f"--output and --runs are both {output}, and a released row has the name "
            "of its run; give two folders"
        )
    full = {cli.path(each).resolve() for each in (RELEASED_DIR, RUNS_DIR)}
    if episodes and places & full:
        raise UserError(
            f"--episodes={episodes} makes models that do not belong into "
            f"{RELEASED_DIR} and {RUNS_DIR}; give another --output and --runs"
        )
    report.check_replaceable(output)


def _prepare(data_dir: pathlib.Path, source: str | None) -> None:
    """Prepares Omniglot unless it is."""
    if catalog.is_prepared(catalog.location("omniglot", data_dir)):
        return
    given = [f"--source={source}"] if source else []
    programs.run("prepare", "--dataset=omniglot", *given, data_dir=data_dir)


def train(
    name: str, workdir: pathlib.Path, data_dir: pathlib.Path, episodes: int | None
) -> None:
    """Runs the row's own command, which continues what is half done."""
    shorter = [f"--episodes={episodes}"] if episodes else []
    programs.run(
        "train",
        *rows.flags(name, ROOT),
        *shorter,
        f"--workdir={workdir}",
        data_dir=data_dir,
    )


def _release(run: pathlib.Path, output: pathlib.Path, data_dir: pathlib.Path) -> None:
    """Tests a run among distractors if its row needs that, and releases it."""
    evaluation = None
    if output.name in rows.TRANSFERRED:
        evaluation = run.with_name(f"{run.name}_transferred")
        programs.run(
            "evaluate",
            f"--workdir={run}",
            f"--distractors={rows.DISTRACTORS}",
            "--adapt=none,refine,filter",
            f"--output={evaluation}",
            data_dir=data_dir,
        )
    cli.load_tensorflow()
    from omniglot import release

    release.release(run, output, evaluation)


def analyze(output: pathlib.Path, data_dir: pathlib.Path) -> None:
    """Draws the figures from the rows that are released."""
    pairs = {
        "ways": [(each.label, each.row) for each in rows.HIGHER_WAY],
        "landing": rows.LANDING,
        "consistency": rows.LANDING,
    }
    folder = f"--output={output / 'analysis'}"
    for what, labeled in pairs.items():
        chosen = _run_flags(output, labeled)
        if chosen:
            programs.run(
                "analyze", f"--what={what}", *chosen, folder, data_dir=data_dir
            )
    chosen = _run_flags(output, [(each.label, each.row) for each in rows.CLEAN])
    if chosen:
        programs.run("distractors", *chosen, folder, data_dir=data_dir)


def _run_flags(output: pathlib.Path, labeled: list[tuple[str, str]]) -> list[str]:
    """Returns the flags that name the released rows among some labels and rows."""
    flags = []
    for label, row in labeled:
        if (output / row / "result.json").exists():
            flags += [f"--workdir={output / row}", f"--label={label}"]
    return flags
