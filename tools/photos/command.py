"""The released models that know photographs: trained, and tried as people use them."""

import argparse
import pathlib

from paper_tables import command, markdown, programs

from prwn_tf import cli, files
from prwn_tf.cli import define

ABOUT = "The released models that know photographs, from mini-ImageNet's images."
ROOT = pathlib.Path(__file__).parents[2]
NOTES = pathlib.Path(__file__).with_name("notes.md")
# Flagfiles in flags/photos, and lines in prwn_tf/released.py. Each begins with another
# run. A third one, which leaves the validation classes alone, calibrates it.
MODELS = ("conv4", "resnet")
BEGUN, HELD_OUT = "{}_classifier", "{}_held_out"
WAYS = (3, 5)
SHOTS = 5  # of the validation that is shown
TRIED = (
    *("model", "classes", "examples", "accuracy (%)", "mean probability (%)"),
    *("calibration error (points)", "AUROC", "false alarms (%)"),
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the settings of the experiment."""
    add_places(parser, "photos")
    command.add_precision(parser)


def add_places(parser: argparse.ArgumentParser, name: str) -> None:
    """Adds where an experiment on photographs finds and leaves what."""
    parser.add_argument("--output", default=f"results/{name}", help="what is released")
    parser.add_argument("--runs", default=f"runs/{name}", help="the runs themselves")
    parser.add_argument("--source", help="the images, if they are not prepared")
    parser.add_argument(
        "--data_dir", default=define.DATA_DIR, help="folder of prepared data sets"
    )


def run(arguments: argparse.Namespace) -> None:
    """Prepares, trains, releases and tries what is missing, and writes the page."""
    output, runs = cli.path(arguments.output), cli.path(arguments.runs)
    data_dir = cli.path(arguments.data_dir)
    command.prepare("mini", data_dir, arguments.source)
    for name in MODELS:
        for run_name, flags in runs_of(name, output).items():
            if not (output / run_name / "result.json").exists():
                workdir = runs / run_name
                places = f"--precision={arguments.precision}", f"--workdir={workdir}"
                programs.run("train", *flags, *places, data_dir=data_dir)
                if run_name == name:
                    _calibrate(workdir, output / HELD_OUT.format(name), data_dir)
                command.release(workdir, output / run_name)
        for way in WAYS:
            model = output / name
            try_model(model, model / _trial(way), f"--way={way}", data_dir=data_dir)
    files.write_text(output / "README.md", page(output))
    print(f"see {output / 'README.md'}")


def runs_of(name: str, output: pathlib.Path) -> dict[str, tuple[str, ...]]:
    """Returns the runs behind a model, in their order, and what makes each."""
    begun = BEGUN.format(name)
    begin, goes_on = (
        f"--flagfile={ROOT / 'flags/photos' / run}.flags" for run in (begun, name)
    )
    origin = f"--init_from={output / begun}"
    return {
        begun: (begin,),
        HELD_OUT.format(name): (goes_on, origin),
        name: (goes_on, origin, "--train_splits=train,val"),
    }


def _calibrate(
    run: pathlib.Path, held_out: pathlib.Path, data_dir: pathlib.Path
) -> None:
    """Tests a run again, with the calibration of one that has learned less."""
    result = files.read_json(run / "result.json")
    adaptations = ",".join(test["adapt"] for test in result["test"])
    given = f"--calibrate_from={held_out}", f"--adapt={adaptations}"
    programs.run("evaluate", f"--workdir={run}", *given, data_dir=data_dir)
    result["test"] = files.read_json(run / "evaluation.json")
    files.write_json(run / "result.json", result)


def try_model(
    model: pathlib.Path | str,
    output: pathlib.Path,
    *flags: str,
    data_dir: pathlib.Path,
) -> None:
    """Tries a model as people use it, unless the file of its trial is there."""
    if not output.exists():
        output.parent.mkdir(parents=True, exist_ok=True)
        tool = str(ROOT / "tools" / "photo_trial.py")
        asked = (f"--model={model}", *flags, f"--output={output}")
        programs.run_python(tool, *asked, data_dir=data_dir)


def _trial(way: int) -> str:
    """Returns the name of the file of a trial."""
    return f"trial_{way}way.json"


def page(output: pathlib.Path) -> str:
    """Returns the page of all models: the notes, their tests, their trials."""
    validations = [
        (f"[`{run}`]({run})", f"{100 * fit['accuracy']:.2f}")
        for name in MODELS
        for run in (BEGUN.format(name), HELD_OUT.format(name))  # it has none itself
        for fit in files.read_json(output / run / "calibration.json")["fits"]
        if (fit["adapt"], fit["shot"]) == ("none", SHOTS)
    ]
    tests = [
        (f"[`{run}`]({run})", _shots(test), test["adapt"], markdown.measured(test))
        for name in MODELS
        for run in runs_of(name, output)
        for test in files.read_json(output / run / "result.json")["test"]
    ]
    trials = [
        (f"[`photos-{name}`]({name}/{_trial(way)})", way, row["shot"], *_cells(row))
        for name in MODELS
        for way in WAYS
        for row in files.read_json(output / name / _trial(way))["rows"]
    ]
    return "\n".join(
        [
            NOTES.read_text(encoding="utf-8"),
            "## Validation episodes, 5-way 5-shot\n",
            "From `calibration.json` of each run; `validation.csv` is of fewer.\n",
            markdown.table(("run", "accuracy (%)"), validations),
            "\n## Test episodes\n",
            markdown.table(("run", "task", "adapt", "accuracy (%)"), tests),
            "\n## As people use it\n",
            markdown.table(TRIED, trials),
            "",
        ]
    )


def _shots(test: dict) -> str:
    """Returns the task of a test in words."""
    return f"{test['way']}-way {test['shot']}-shot"


def _cells(row: dict) -> list[str]:
    """Returns what came of a trial, as cells of a table."""
    return [
        f"{row['accuracy']:.1f} ± {row['interval']:.1f}",
        f"{row['probability']:.1f}",
        f"{row['calibration_error']:.1f}",
        f"{row['auroc']:.3f}",
        f"{row['false_alarms']:.1f}",
    ]
