"""What photographs of one's own teach, from random weights and from released ones.

Each set is made, prepared, trained on and tried by the programs of its owner.
"""

import argparse
import pathlib
import shutil
from typing import Any

from own_photos import pictures
from own_photos.pictures import Size
from paper_tables import command, markdown, programs
from photos.command import add_places, try_model

from prwn_tf import cli, files
from prwn_tf.data import catalog
from prwn_tf.errors import UserError
from prwn_tf.precision import PRECISIONS

ABOUT = "What few or many photographs of one's own teach, from mini-ImageNet's images."
NOTES = pathlib.Path(__file__).with_name("notes.md")
TABLE = "table.csv"
# What photos-conv4 was before it learned the validation classes, which are the user's
# here.
MODEL = pathlib.Path(__file__).parents[2] / "results/photos/conv4_classifier"
SIZES = tuple(
    Size(classes, images) for images in (5, 20, 60) for classes in (4, 8, 20, 64)
)
FROZEN, SCRATCH, FURTHER = "frozen", "scratch", "further"
# How a model is made of a set; frozen ones are not.
TRAININGS = {
    FURTHER: ("--flagfile=photos/finetune.flags", f"--init_from={MODEL}"),
    SCRATCH: ("--episodes=800", "--halve_at=400,600"),
}
TESTS = ("--eval_episodes=300",)  # the trial says more
TRIAL = ("--split=test", "--way=5", "--shot=1,5", "--draws=40")
COLUMNS = ("way", "classes", "images", "shot", "accuracy", "interval")
COLUMNS += ("probability", "calibration_error", "auroc", "false_alarms")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the settings of the experiment."""
    add_places(parser, "own_photos")
    parser.add_argument("--precision", choices=PRECISIONS, help="as train's")
    names = ",".join(size.name for size in SIZES)
    parser.add_argument(
        "--sizes",
        default=names,
        help="classes and images of each, with commas: %(default)s",
    )


def run(arguments: argparse.Namespace) -> None:
    """Makes and tries what is missing, and writes the table and its page."""
    output, runs = cli.path(arguments.output), cli.path(arguments.runs)
    data_dir = cli.path(arguments.data_dir)
    sizes = _asked(arguments.sizes)
    command.prepare("mini", data_dir, arguments.source)
    more = (f"--precision={arguments.precision}",) if arguments.precision else ()
    for size in sizes:
        _prepare(size, runs, data_dir)
        for way, flags in TRAININGS.items():
            _train(size, runs / f"{way}_{size.name}", (*flags, *TESTS, *more), data_dir)
    _try(MODEL, sizes[0], runs / FROZEN, data_dir)
    rows = [{"way": FROZEN, **row} for row in _tried(runs / FROZEN)]
    for size in SIZES:
        about = {"classes": size.classes, "images": size.images}
        for way in TRAININGS:
            tried = _tried(runs / f"{way}_{size.name}")
            rows += [{"way": way, **about, **row} for row in tried]
    _write_table(rows, output / TABLE)
    files.write_text(output / "README.md", page(output))
    print(f"see {output / 'README.md'}")


def _asked(names: str) -> list[Size]:
    """Returns the sizes of that name."""
    known = {size.name: size for size in SIZES}
    unknown = [name for name in names.split(",") if name not in known]
    if unknown:
        raise UserError(f"--sizes: {unknown[0]!r} is none of {', '.join(known)}")
    return [known[name] for name in names.split(",")]


def _prepare(size: Size, runs: pathlib.Path, data_dir: pathlib.Path) -> None:
    """Makes a folder of photographs and the data set of it, unless it is there."""
    dataset = f"folder:{size.name}"
    if catalog.is_prepared(catalog.location(dataset, data_dir)):
        return
    folder = runs / "pictures" / size.name
    shutil.rmtree(folder, ignore_errors=True)
    cli.load_tensorflow()
    pictures.write(catalog.open_prepared("mini", data_dir), size, folder)
    source = f"--source={folder}"
    programs.run("prepare", f"--dataset={dataset}", source, data_dir=data_dir)


def _train(
    size: Size, workdir: pathlib.Path, flags: tuple[str, ...], data_dir: pathlib.Path
) -> None:
    """Trains a model and tries it, unless it was tried."""
    if not _trial(workdir).exists():
        given = (f"--dataset=folder:{size.name}", *flags, f"--workdir={workdir}")
        programs.run("train", *given, data_dir=data_dir)
        _try(workdir, size, workdir, data_dir)


def _try(
    model: pathlib.Path | str,
    size: Size,
    workdir: pathlib.Path,
    data_dir: pathlib.Path,
) -> None:
    """Tries a model on the test classes, the same of every set, unless it was."""
    asked = (f"--dataset=folder:{size.name}", *TRIAL)
    try_model(model, _trial(workdir), *asked, data_dir=data_dir)


def _trial(workdir: pathlib.Path) -> pathlib.Path:
    """Returns the file of a trial."""
    return workdir / "trial.json"


def _tried(workdir: pathlib.Path) -> list[dict[str, Any]]:
    """Returns what came of a trial, a row for each number of examples, if made."""
    path = _trial(workdir)
    return files.read_json(path)["rows"] if path.exists() else []


def _write_table(rows: list[dict[str, Any]], path: pathlib.Path) -> None:
    """Writes all rows with a few digits more than the page has."""
    cells = [[_digits(row.get(name, "")) for name in COLUMNS] for row in rows]
    files.write_csv(path, COLUMNS, cells)


def _digits(value: Any) -> Any:
    """Returns a number with four digits behind the point."""
    return round(value, 4) if isinstance(value, float) else value


def page(output: pathlib.Path) -> str:
    """Returns the notes and the accuracies of the table that was written."""
    names, *lines = files.read_csv(output / TABLE)
    rows = [dict(zip(names, line, strict=True)) for line in lines]
    header = ("classes", "images of each", "from random weights, 1 and 5 examples")
    header += ("trained further from a trained encoder",)
    frozen = _cell(rows, way=FROZEN)
    lines = [("none", "–", "–", f"as it is: {frozen}")]
    for size in SIZES:
        about = {"classes": size.classes, "images": size.images}
        cells = [_cell(rows, way=way, **about) for way in (SCRATCH, FURTHER)]
        lines.append((size.classes, size.images, *cells))
    return "\n".join(
        [NOTES.read_text(encoding="utf-8"), markdown.table(header, lines), ""]
    )


def _cell(rows: list[dict[str, str]], **wanted: Any) -> str:
    """Returns the accuracies of a model with few and with more examples."""
    cells = [
        f"{float(row['accuracy']):.1f} ± {float(row['interval']):.1f}"
        for row in rows
        if all(row[name] == str(value) for name, value in wanted.items())
    ]
    return ", ".join(cells) or markdown.NOT_RUN
