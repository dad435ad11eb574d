"""The loop's own accounts: how fast it says that it is, and what went wrong."""

import dataclasses
import signal

import pytest
import tensorflow as tf

from prwn_tf import build, protocols
from prwn_tf.config import EpisodeSpec, GanConfig
from prwn_tf.episodes.pipeline import Episode
from prwn_tf.errors import NonFiniteLossError, Stopped
from prwn_tf.training import loop
from prwn_tf.training.checkpoints import Checkpoints
from prwn_tf.training.workdir import Workdir


class Speeds:
    """Takes the place of TensorBoard."""

    def __init__(self):
        self.found = {}

    def training(self, step, logs, rate, speed):
        self.found[step] = speed


@pytest.mark.parametrize(
    "changes", [{}, {"checkpoint_every": 3}, {"validate_every": 2}]
)
def test_the_speed_is_that_of_all_steps_since_the_last_report(
    tmp_path, monkeypatch, changes
):
    config = dataclasses.replace(
        protocols.protocol(protocols.Task("glyphs", "pn")),
        train=EpisodeSpec(way=2, shot=1, query=1),
        channels=2,
        episodes=12,
        report_every=4,
        **changes,
    )
    model = build.trainable_model(config)
    images = tf.ones([2, 1, 28, 28, 1])
    now = [100.0]
    monkeypatch.setattr(loop.time, "monotonic", lambda: now[0])

    def episodes(start):
        for _ in range(start, config.episodes):
            now[0] += 0.5  # a step takes half a second
            yield Episode(images, images, tf.zeros([0, 28, 28, 1]))

    def validate(step):
        now[0] += 60  # which is no training

    workdir, monitor = Workdir(tmp_path), Speeds()
    checkpoints = Checkpoints(workdir.checkpoints, model)
    loop.train(
        model, episodes, config, workdir, checkpoints, monitor, validate, start=0
    )
    assert monitor.found == {4: 2.0, 8: 2.0, 12: 2.0}
    assert float(checkpoints.seconds) == 6.0


@pytest.mark.parametrize("restart", [False, True])
def test_a_signal_in_the_last_validation_is_not_lost(tmp_path, restart):
    config = dataclasses.replace(
        protocols.protocol(protocols.Task("glyphs", "pn")),
        train=EpisodeSpec(way=2, shot=1, query=1),
        channels=2,
        episodes=2,
    )
    model = build.trainable_model(config)
    images = tf.ones([2, 1, 28, 28, 1])
    episode = Episode(images, images, tf.zeros([0, 28, 28, 1]))
    workdir = Workdir(tmp_path)
    workdir.claim(config, restart=restart)
    words = "the same command( without --restart)? continues"
    with pytest.raises(Stopped, match=f"SIGTERM at step 2 .*; {words}") as caught:
        loop.train(
            model,
            lambda start: [episode] * 2,
            config,
            workdir,
            Checkpoints(workdir.checkpoints, model),
            Speeds(),
            lambda step: signal.raise_signal(signal.SIGTERM),
            start=0,
        )
    assert caught.value.exit_code == 143
    assert ("without --restart" in str(caught.value)) == restart
    assert (tmp_path / "checkpoints/ckpt-2.index").exists()


def test_the_loss_of_a_player_is_watched_as_well(tmp_path):
    """The common loss stays finite, and the step and the player are named."""
    config = dataclasses.replace(
        protocols.protocol(protocols.Task("glyphs", "metagan")),
        train=EpisodeSpec(way=2, shot=1, query=1, unlabeled=1),
        gan=GanConfig(noise=2, channels=1),
        channels=2,
        episodes=8,
        report_every=4,
    )
    model = build.trainable_model(config)
    [player] = model.players

    def terms(context, original=player.terms):
        found = original(context)
        bad = tf.where(context.step == 5, float("inf"), 1.0)
        return found._replace(own_loss=tf.stop_gradient(bad) * found.own_loss)

    player.terms = terms
    images = tf.random.stateless_uniform([2, 1, 28, 28, 1], [0, 0])
    episode = Episode(images, images, images[:, 0])
    workdir = Workdir(tmp_path)
    words = r"the loss gan_generator is not finite at step 6 \(training episode 5\)"
    with pytest.raises(NonFiniteLossError, match=words):
        loop.train(
            model,
            lambda start: [episode._replace(index=tf.constant(i)) for i in range(8)],
            config,
            workdir,
            Checkpoints(workdir.checkpoints, model),
            Speeds(),
            lambda step: None,
            start=0,
        )
