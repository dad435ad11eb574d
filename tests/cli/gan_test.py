"""A generator as a user trains it: logged, killed, resumed, looked at, refused."""

import json
import pathlib

import numpy as np
import pytest
import tensorflow as tf

from tests.children import child
from tests.cli import program
from tests.faults import harness

ROOT = pathlib.Path(__file__).parents[2]
# With the walk of the default method. A narrow generator, for time's sake.
GAN = {"gan_weight": 1, "gan_channels": 2, "gan_noise": 4} | program.PLAIN


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory, data_dir) -> tuple[pathlib.Path, str]:
    """The workdir of a run with a walk and a generator, and what it printed."""
    workdir = tmp_path_factory.mktemp("gan") / "unbroken"
    result = program.run("train", *program.quick(workdir, data_dir, **GAN))
    assert result.returncode == 0, result.stderr
    return workdir, result.stdout


def test_both_players_are_counted_and_reported(unbroken):
    workdir, printed = unbroken
    assert "parameters:        encoder 1,864, gan 8,349" in printed
    losses = json.loads((workdir / "result.json").read_text())["losses"]
    names = {"walker", "gan_real", "gan_fake", "gan_generator"}
    assert names <= losses.keys()
    for name in (*names, "gan/spread", "gan/generated_for_real"):
        steps = [step for step, _ in harness.curve(workdir, f"train/{name}")]
        assert steps == [2, 4, 6, 8, 10, 12], name
    shares = harness.curve(workdir, "train/gan/unlabeled_for_real")
    assert all(0 <= value <= 1 for _, value in shares)


def drawings(workdir: pathlib.Path) -> dict[int, np.ndarray]:
    """Returns the pictures of generated images in TensorBoard, by step."""
    return {
        event.step: tf.io.decode_png(value.tensor.string_val[2]).numpy()
        for path in sorted(workdir.glob("events.*"))
        for event in tf.compat.v1.train.summary_iterator(str(path))
        for value in event.summary.value
        if value.tag == "generated"
    }


@pytest.mark.slow  # tests/cli/own_parts_test.py kills one with a player
def test_a_run_goes_on_to_the_same_bits_and_pictures(unbroken, tmp_path, data_dir):
    workdir, _ = unbroken
    flags = program.quick(tmp_path / "killed", data_dir, **GAN)
    harness.as_if_killed(workdir, tmp_path / "killed", 4)
    assert program.run("train", *flags).returncode == 0
    both = (workdir, tmp_path / "killed")
    assert len({harness.weights(path, 12) for path in both}) == 1
    first, last = (harness.tensors(workdir, step) for step in (4, 12))
    moved = {name for name in first if (first[name] != last[name]).any()}
    assert any(name.startswith("optimizer/") for name in moved)
    # A layer of the generator, by its shape: its kernel, and two means of its Adam.
    kernels = {name for name in moved if first[name].shape == (8 + 4, 7 * 7 * 8)}
    assert len(kernels) == 3
    found, expected = (drawings(path) for path in both)
    assert list(found) == list(expected) == [6, 12]
    for step in found:
        np.testing.assert_array_equal(found[step], expected[step])


def inspect(*flags: str):
    return child.run("tools/inspect_episode.py", *flags, cwd=ROOT)


def test_what_it_draws_can_be_looked_at(unbroken, data_dir, tmp_path):
    workdir, _ = unbroken
    picture = tmp_path / "drawn.png"
    place = [f"--workdir={workdir}", f"--data_dir={data_dir}", f"--output={picture}"]
    drawn = inspect(*place, "--split=train")
    assert drawn.returncode == 0, drawn.stderr
    assert "drawn at step 12: generated" in drawn.stdout
    shown = tf.io.decode_png(picture.read_bytes()).numpy()
    # The first training episode, at the last step: what TensorBoard has.
    np.testing.assert_array_equal(shown, drawings(workdir)[12])
    result = inspect(*place, "--way=3")
    program.assert_one_line(result, 2, "--way=3 has no effect beside --workdir")


def test_a_run_that_draws_nothing_says_so(finished, data_dir):
    result = inspect(f"--workdir={finished}", f"--data_dir={data_dir}")
    program.assert_one_line(result, 2, "draws nothing", "--gan_weight=1")


def test_a_generator_that_explodes_ends_the_run_with_3(tmp_path, data_dir):
    flags = program.quick(tmp_path, data_dir, **GAN, gan_rate=1e38)
    result = program.run("train", *flags)
    program.assert_one_line(result, 3, "not finite at step", "nan_report.json")
    assert (tmp_path / "checkpoints" / "ckpt-0.index").exists()
