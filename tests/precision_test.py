"""Half precision ends with the embeddings, and is told where it is slow."""

import functools
import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from prwn_tf import build, methods, precision
from prwn_tf.errors import UserError
from prwn_tf.training import loop
from prwn_tf.training.checkpoints import Checkpoints
from tests.cli import program
from tests.small import make_config, make_episode, train

OTHERS = [name for name in methods.METHODS if name != "prwn"]


def make_model(kind, method="prwn", **changes):
    config = build.resolved(make_config(method, "off", precision=kind, **changes))
    return build.trainable_model(config), config


@functools.cache  # those of float32 are compared with more than once
def losses(kind, method="prwn", xla="off", **changes):
    """Returns the losses of two steps."""
    logs = train(make_config(method, xla, precision=kind, **changes))
    return [each["loss"] for each in logs]


def test_the_encoder_alone_is_of_half_precision():
    model, _ = make_model("bfloat16", "feat")
    encoder = {layer.compute_dtype for layer in model.encoder._flatten_layers()}
    others = {layer.compute_dtype for layer in model.head._flatten_layers()}
    assert encoder == {"bfloat16"}
    assert others == {"float32"}
    assert {variable.dtype for variable in model.trainable_variables} == {"float32"}
    assert model(make_episode().unlabeled).dtype == tf.float32
    assert keras.config.dtype_policy().name == "float32"


@pytest.mark.parametrize(
    ("kind", "block", "steps"),
    [
        ("bfloat16", "fast", 2),
        pytest.param("bfloat16", "plain", 2, marks=pytest.mark.slow),
        # The second may be another, until the scale of the losses is found.
        ("float16", "plain", 1),
    ],
)
def test_prwn_learns_alike(kind, block, steps):
    expected = losses("float32", conv_block="plain")[:steps]
    found = losses(kind, conv_block=block)[:steps]
    assert found == pytest.approx(expected, rel=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "method"),
    # Of float16 a loss, two losses and a player: the rest takes as long again.
    [("bfloat16", name) for name in OTHERS]
    + [("float16", name) for name in ("tpn", "pn_vat", "metagan")],
)
def test_every_method_learns_alike(kind, method):
    # What follows on an encoder does not know which it is; this one is soon traced.
    found = losses(kind, method, encoder="mlp")
    expected = losses("float32", method, encoder="mlp")
    # VAT looks for the worst change by a tiny one, which half precision rounds.
    close = 0.5 if "vat" in methods.METHODS[method].terms else 0.1
    assert found[0] == pytest.approx(expected[0], rel=close)
    assert np.isfinite(found).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
@pytest.mark.parametrize("encoder", ["mlp", "egnn_conv", "resnet12"])
def test_every_encoder_learns(kind, encoder):
    assert np.isfinite(losses(kind, encoder=encoder)).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bfloat16", "float16"])
def test_compiled_steps_learn_alike(kind):
    plain = losses(kind, conv_block="plain")
    compiled = losses(kind, xla="step", conv_block="plain")
    assert compiled == pytest.approx(plain, rel=0.03)


@pytest.mark.slow
def test_a_compiled_fast_block_computes_the_same_loss():
    """The step after it differs by what its gradients were rounded to."""
    compiled = losses("bfloat16", xla="step", conv_block="fast")
    plain = losses("bfloat16", conv_block="fast")
    assert compiled[0] == pytest.approx(plain[0], rel=0.01)
    assert compiled[1] == pytest.approx(plain[1], rel=0.1)


def test_a_step_that_overflows_is_left_out_and_lowers_the_scale():
    model, config = make_model("float16")
    step = loop.compiled_step(model, config)
    scale = model.optimizer.dynamic_scale
    scale.assign(1e30)  # float16 ends at 65504
    before = [variable.numpy() for variable in model.trainable_variables]
    assert np.isfinite(step(make_episode())["loss"])
    for variable, value in zip(model.trainable_variables, before, strict=True):
        np.testing.assert_array_equal(variable, value)
    assert float(scale.numpy()) == pytest.approx(0.5e30)
    scale.assign(1)
    step(make_episode(index=1))
    assert any(
        np.any(variable.numpy() != value)
        for variable, value in zip(model.trainable_variables, before, strict=True)
    )


def test_the_scale_is_part_of_a_checkpoint(tmp_path):
    model, _ = make_model("float16")
    model.optimizer.dynamic_scale.assign(4096)
    model.optimizer.step_counter.assign(7)
    Checkpoints(tmp_path, model).save(3)
    other, _ = make_model("float16")
    assert Checkpoints(tmp_path, other).restore().step == 3
    assert float(other.optimizer.dynamic_scale.numpy()) == 4096
    assert int(other.optimizer.step_counter.numpy()) == 7


def test_the_fast_block_is_not_for_float16():
    with pytest.raises(UserError, match="exclude each other"):
        make_config("prwn", "off", precision="float16", conv_block="fast")
    assert make_model("float16")[1].conv_block == "plain"
    assert make_model("bfloat16")[1].conv_block == "fast"


@pytest.mark.parametrize(
    ("kind", "abilities", "told"),
    [
        ("bfloat16", "avx2 avx512f", "neither avx512_bf16 nor amx_bf16"),
        ("float16", "avx512_bf16", "neither avx512_fp16 nor amx_fp16"),
        ("bfloat16", "avx2 avx512_bf16", ""),
        ("bfloat16", "amx_bf16 amx_tile", ""),
        ("float32", "sse2", ""),
    ],
)
def test_a_cpu_that_converts_is_told(
    tmp_path, monkeypatch, caplog, kind, abilities, told
):
    info = tmp_path / "cpuinfo"
    info.write_text(f"model name\t: any\nflags\t\t: fpu {abilities}\n")
    monkeypatch.setattr(precision, "CPU_INFO", info)
    build.resolved(make_config("prwn", "off", precision=kind))
    if told:
        [line] = caplog.messages
        assert f"--precision={kind} will train many times slower" in line
        assert told in line
    else:
        assert not caplog.messages


def test_a_system_that_does_not_say_is_not_told(tmp_path, monkeypatch):
    monkeypatch.setattr(precision, "CPU_INFO", tmp_path / "none")
    assert precision.slow_on_cpu("bfloat16") == ""


def test_evaluate_in_another_precision(finished, data_dir, tmp_path):
    rows = []
    for flags in ([], ["--precision=bfloat16"]):
        result = program.run(
            "evaluate",
            *(f"--workdir={finished}", f"--data_dir={data_dir}"),
            *(f"--output={tmp_path}", *flags),
        )
        assert result.returncode == 0, result.stderr
        rows += json.loads((tmp_path / "evaluation.json").read_text())
    assert "precision" not in rows[0]
    assert rows[1]["precision"] == "bfloat16"
    # tests/cli/results_test.py compares that of a model that has learned something.
    assert rows[1]["accuracy"] != rows[0]["accuracy"]
