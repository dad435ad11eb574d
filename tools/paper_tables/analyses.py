"""The analyses of the released rows, and which of their files are released."""

import pathlib
import shutil
from collections.abc import Iterable

from paper_tables import programs
from paper_tables.description import DatasetTables

from prwn_tf.analysis.figures import KINDS

FOLDER = "analysis"
EPISODES = 3_000  # that runs are compared on, as many as they are tested on
NUMBERS = (
    "training",
    "scale",
    "landing",
    "consistency",
    "ways",
    "ways_gain",
    "embedding",
    "distractors",
    "calibration",
    "pairs",
    "pairs_differences",
)
FIGURES = (
    "ways",
    "landing",
    "consistency",
    "calibration",
    "distractors_clean",
    "distractors_roc",
    "distractors_histogram",
    "embedding",
    "training",
)
# They show images of the data set, which not all of them allow.
PICTURES = "distractors_episode_*.png"


def make(
    tables: DatasetTables,
    output: pathlib.Path,
    workdir: pathlib.Path,
    data_dir: pathlib.Path,
) -> None:
    """Analyses the rows that are released in a folder, and releases what comes of it.

    Args:
        workdir: folder for everything that the programs write.
    """
    analyze = {
        ("--what=ways",): [(each.label, each.row) for each in tables.higher_ways.runs],
        ("--what=training,scale,landing,calibration",): tables.landing,
        (
            "--what=consistency",
            f"--eval_episodes={tables.consistency_episodes}",
        ): tables.landing,
        ("--what=embedding", f"--way={tables.mapped_ways}"): tables.mapped,
        ("--what=pairs", f"--eval_episodes={EPISODES}"): [
            (each.label, each.row) for each in tables.clean
        ],
    }
    folder = f"--output={workdir}"
    for flags, labeled in analyze.items():
        if chosen := _run_flags(output, labeled):
            programs.run("analyze", *flags, *chosen, folder, data_dir=data_dir)
    chosen = _run_flags(output, [(each.label, each.row) for each in tables.clean])
    if chosen:
        programs.run("distractors", *chosen, folder, data_dir=data_dir)
    release(workdir, output / FOLDER, pictures=tables.shows_images)


def release(workdir: pathlib.Path, output: pathlib.Path, pictures: bool) -> None:
    """Copies numbers and curves, and pictures of episodes only where they may be."""
    names = [f"{name}.{kind}" for name in NUMBERS for kind in ("json", "csv")]
    names += [f"{name}.{kind}" for name in FIGURES for kind in KINDS]
    paths = [workdir / name for name in names]
    paths += workdir.glob(PICTURES) if pictures else ()
    for path in paths:
        if path.exists():
            output.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, output / path.name)


def _run_flags(output: pathlib.Path, labeled: Iterable[tuple[str, str]]) -> list[str]:
    """Returns the flags that name the released rows among some labels and rows."""
    flags = []
    for label, row in labeled:
        if (output / row / "result.json").exists():
            flags += [f"--workdir={output / row}", f"--label={label}"]
    return flags
