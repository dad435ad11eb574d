"""What the flags of an analysis say."""

import pathlib
from collections.abc import Sequence
from typing import Any

from absl import flags

from prwn_tf import cli, files
from prwn_tf.analysis import figures
from prwn_tf.analysis.settings import Settings
from prwn_tf.cli import read
from prwn_tf.config import EpisodeSpec
from prwn_tf.runs import Run

FLAGS = flags.FLAGS


def settings(spec: EpisodeSpec, test: EpisodeSpec, **more: Any) -> Settings:
    """Returns what the flags of an analysis say, beside its episodes."""
    figures.require()
    return Settings(
        spec=spec,
        test=test,
        episodes=FLAGS.eval_episodes or 300,
        smoothing=FLAGS.graph_smoothing,
        episode=FLAGS.episode,
        **more,
    )


def output(opened: Sequence[Run]) -> pathlib.Path:
    """Returns where an analysis goes: where --output says, or to the first run."""
    if FLAGS.output is None:
        read.check_not_released(FLAGS.workdir[0])
    folder = cli.path(FLAGS.output or opened[0].workdir.path / "analysis")
    files.check_writable(folder)
    return folder
