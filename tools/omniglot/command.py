"""The `omniglot` experiment: the Omniglot columns of the paper's tables."""

import argparse
import pathlib
import subprocess
import sys

from omniglot import report, rows

from prwn_tf import cli, flag_sets
from prwn_tf.data import catalog
from prwn_tf.errors import UserError
from prwn_tf.evaluation import figures

ABOUT = "The Omniglot columns of both tables, higher ways, landing and p_clean."
ROOT = pathlib.Path(__file__).parents[2]
RELEASED, RUNS = "results/omniglot", "runs/omniglot"
KNOWN = (*rows.ROWS, *rows.REPEATS)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The settings of the experiment."""
    parser.add_argument(
        "--rows",
        default=",".join(KNOWN),
        help="rows to train, with commas; default: all that are not done, for a day",
    )
    parser.add_argument(
        "--output", default=RELEASED, help="folder of the released rows"
    )
    parser.add_argument(
        "--runs",
        default=RUNS,
        help="folder of the runs themselves, where what is half done continues",
    )
    parser.add_argument(
        "--source",
        help="the Omniglot images, if they are neither prepared nor to be downloaded",
    )
    parser.add_argument(
        "--data_dir",
        default=flag_sets.DATA_DIR,
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
        if name not in KNOWN:
            raise UserError(f"--rows takes {', '.join(KNOWN)}, got {name!r}")
    whole = (cli.path(RELEASED).resolve(), cli.path(RUNS).resolve())
    if arguments.episodes and {output.resolve(), runs.resolve()} & set(whole):
        raise UserError(
            f"--episodes={arguments.episodes} makes models that do not belong into "
            f"{RELEASED} and {RUNS}; give another --output and --runs"
        )
    figures.require()  # before days of training
    data_dir = cli.path(arguments.data_dir)
    _prepare(data_dir, arguments.source)
    missing = [name for name in wanted if not (output / name / "result.json").exists()]
    for name in missing:
        train(name, runs / name, data_dir, arguments.episodes)
        _release(runs / name, output / name, data_dir)
        report.write(output)
        print(f"released {output / name}", flush=True)
    if missing or arguments.analyses:
        analyze(output, data_dir)
    report.write(output)
    print(f"{len(wanted) - len(missing)} rows were done before; see {output.parent}")


def _prepare(data_dir: pathlib.Path, source: str | None) -> None:
    if catalog.is_prepared(catalog.location("omniglot", data_dir)):
        return
    given = [f"--source={source}"] if source else []
    program("prepare", "--dataset=omniglot", *given, data_dir=data_dir)


def train(
    name: str, workdir: pathlib.Path, data_dir: pathlib.Path, episodes: int | None
) -> None:
    """Runs the row's own command, which continues what is half done."""
    shorter = [f"--episodes={episodes}"] if episodes else []
    program(
        "train", *settings(name), *shorter, f"--workdir={workdir}", data_dir=data_dir
    )


def settings(name: str) -> list[str]:
    """The flags that make a row what it is."""
    flagfile, seed = rows.REPEATS.get(name, (name, 0))
    arguments = [f"--flagfile={ROOT / 'flags/omniglot' / flagfile}.flags"]
    if seed:
        arguments += [f"--seed={seed}", f"--label_seed={seed}"]
    return arguments


def _release(run: pathlib.Path, output: pathlib.Path, data_dir: pathlib.Path) -> None:
    evaluation = None
    if output.name in rows.TRANSFERRED:
        evaluation = run.with_name(f"{run.name}_transferred")
        program(
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
        chosen = _given(output, labeled)
        if chosen:
            program("analyze", f"--what={what}", *chosen, folder, data_dir=data_dir)
    chosen = _given(output, [(each.label, each.row) for each in rows.CLEAN])
    if chosen:
        program("distractors", *chosen, folder, data_dir=data_dir)


def _given(output: pathlib.Path, labeled: list[tuple[str, str]]) -> list[str]:
    """The flags for those runs that are there."""
    there = [(a, b) for a, b in labeled if (output / b / "result.json").exists()]
    flags = [(f"--workdir={output / row}", f"--label={label}") for label, row in there]
    return [flag for pair in flags for flag in pair]


def program(name: str, *arguments: str, data_dir: pathlib.Path) -> None:
    """One of the package's own programs, as a reader would run it."""
    command = [sys.executable, "-m", f"prwn_tf.{name}", *arguments]
    print(" ".join(["python", *command[1:]]), flush=True)
    found = subprocess.run([*command, f"--data_dir={data_dir}"])
    if found.returncode:
        raise UserError(
            f"prwn_tf.{name} ended with code {found.returncode}; the same command "
            "continues from there"
        )
