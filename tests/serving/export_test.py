"""The exported folder: complete, verified, and served by TensorFlow alone."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf import build, config_json, files
from prwn_tf.config import TrainConfig
from prwn_tf.errors import UserError
from prwn_tf.heads.prototypes import PrototypeHead
from prwn_tf.serving import export as export_lib
from prwn_tf.serving import manifest, models, signatures
from prwn_tf.training.workdir import Workdir
from tests.oracle import encoder as encoder_oracle
from tests.oracle import gate as gate_oracle
from tests.oracle import prototypes as oracle
from tests.oracle import walk as walk_oracle
from tests.serving import made

ALONE = """
import sys
import numpy as np
import tensorflow as tf

given = {name: tf.constant(array) for name, array in np.load(sys.argv[2]).items()}
call = tf.saved_model.load(sys.argv[1]).signatures
support = call["embed"](images=given["support"])
points = call["embed"](images=given["points"])["embeddings"]
encoded = call["embed_encoded"](contents=given["contents"])
first = call["prototypes"](labels=given["labels"], **support)
moved = {
    name: call[name](labels=given["labels"], unlabeled=points, **support)
    for name in ("refine", "filter", "gate")
}
answer = call["classify"](images=given["queries"], **moved["gate"])
files = call["classify_encoded"](contents=given["query_contents"], **moved["gate"])
np.savez(
    sys.argv[3],
    names=sorted(call),
    ours="prwn_tf" in sys.modules,
    support=support["embeddings"],
    encoded=encoded["embeddings"],
    points=points,
    none=first["prototypes"],
    gate_classes=[moved["gate"][name] for name in ("stranger", "temperature")],
    gate_novelty=moved["gate"]["novelty"],
    gate_offsets=moved["gate"]["offsets"],
    **{name: classes["prototypes"] for name, classes in moved.items()},
    of_files=files["scores"],
    **answer,
)
"""


@pytest.fixture(scope="module")
def episode():
    """Three classes of 2, 1 and 3 images, with points and queries."""
    few = (2, 1, 3)
    drawn = [made.drawings(index) for index in range(3)]
    support = [each[:k] for each, k in zip(drawn, few, strict=True)]
    support = np.concatenate(support)
    queries = np.concatenate([each[10:15] for each in drawn])
    return {
        "support": support,
        "contents": np.array([made.png(image) for image in support]),
        "labels": np.repeat(np.arange(3, dtype=np.int32), few),
        "points": np.concatenate([each[3:7] for each in drawn]),
        "queries": queries,
        "query_contents": np.array([made.png(image) for image in queries]),
    }


@pytest.fixture(scope="module")
def exported(calibrated_workdir, tmp_path_factory):
    """A run that was calibrated, exported."""
    output = tmp_path_factory.mktemp("with_calibration") / "model"
    export_lib.export(calibrated_workdir, output)
    return output


@pytest.fixture(scope="module")
def alone(exported, episode, tmp_path_factory):
    """What a process finds that has only TensorFlow."""
    folder = tmp_path_factory.mktemp("alone")
    np.savez(folder / "in.npz", **episode)
    subprocess.run(
        [sys.executable, "-c", ALONE, exported, folder / "in.npz", folder / "out.npz"],
        check=True,
        cwd=folder,
        capture_output=True,
    )
    with np.load(folder / "out.npz") as actual:
        return dict(actual)


def test_signatures_are_there_without_us(alone):
    assert alone["names"].tolist() == [
        "classify",
        "classify_encoded",
        "embed",
        "embed_encoded",
        "filter",
        "gate",
        "prototypes",
        "refine",
    ]
    assert not alone["ours"]


def test_embeddings_match_the_oracle(alone, episode, workdir):
    stored = files.read_json(workdir / "config.json")
    model = build.build_model(config_json.from_dict(TrainConfig, stored))
    tf.train.Checkpoint(model=model).read(
        str(workdir / "checkpoints" / f"ckpt-{made.STEP}")
    ).assert_existing_objects_matched()
    blocks = model.encoder.blocks
    expected = encoder_oracle.conv4_forward(
        episode["support"] / 255.0,
        kernels=[block.convolution.kernel.numpy() for block in blocks],
        scales=[block.norm.gamma.numpy() for block in blocks],
        offsets=[block.norm.beta.numpy() for block in blocks],
        means=[block.norm.moving_mean.numpy() for block in blocks],
        variances=[block.norm.moving_variance.numpy() for block in blocks],
    )
    np.testing.assert_allclose(alone["support"], expected, atol=1e-5)
    np.testing.assert_allclose(alone["encoded"], expected, atol=1e-5)
    assert np.ptp(expected, axis=0).max() > 0.5  # they do differ


def test_and_those_of_the_run_itself(alone, episode, workdir):
    actual = models.open_workdir(workdir).embed(episode["support"])
    np.testing.assert_allclose(alone["support"], actual, atol=1e-6)


def test_classes_match_the_oracle(alone, episode):
    support, points, labels = alone["support"], alone["points"], episode["labels"]
    groups = [support[labels == label] for label in range(3)]
    means = np.stack([group.mean(axis=0) for group in groups])
    np.testing.assert_allclose(alone["none"], means, atol=1e-5)

    success = walk_oracle.success_score(means, points)
    kept = walk_oracle.keep_above_median(success)
    assert sum(kept) == 6
    shares = [oracle.softmax(row) for row in oracle.scores(means, points)]
    for name, taken in (("refine", np.ones(12)), ("filter", kept)):
        moved = []
        for label, group in enumerate(groups):
            weights = np.array([share[label] for share in shares]) * taken  # [U]
            total = group.sum(axis=0) + weights @ points
            moved.append(total / (len(group) + weights.sum()))
        np.testing.assert_allclose(alone[name], moved, atol=1e-5)


def test_the_gate_and_its_answers_match_the_oracle(alone, episode):
    support, points, labels = alone["support"], alone["points"], episode["labels"]
    prototypes, offsets, _ = gate_oracle.gate(support, labels, points)
    np.testing.assert_allclose(alone["gate"], prototypes, atol=1e-4)
    np.testing.assert_allclose(alone["gate_offsets"], offsets, rtol=1e-3)
    # Two, one and three shots have a temperature between those of one and of five.
    temperature = 3 * 6 ** (1 / 3)
    stranger = gate_oracle.stranger_distance(support, labels, prototypes, offsets)
    expected = [stranger, temperature]
    np.testing.assert_allclose(alone["gate_classes"], expected, rtol=1e-3)
    np.testing.assert_allclose(alone["gate_novelty"], [2, -2, 2, 0.9], rtol=1e-5)
    nearest = -temperature * alone["scores"].max(axis=1) / stranger
    unlike = 1 / (1 + np.exp(-2 * (np.log(np.maximum(nearest, 1e-6)) + 1)))
    np.testing.assert_allclose(alone["none_of_these"], unlike, atol=1e-3)
    likely = [oracle.softmax(row) for row in alone["scores"]]
    np.testing.assert_allclose(alone["probabilities"], likely, atol=1e-5)
    assert (alone["labels"] == alone["probabilities"].argmax(axis=1)).all()
    np.testing.assert_allclose(alone["of_files"], alone["scores"], atol=1e-4)


def test_manifest_says_what_it_is(exported):
    actual = json.loads((exported / manifest.NAME).read_text())
    assert actual["method"] == "prwn"
    assert actual["step"] == made.STEP
    assert actual["accuracy"][0]["accuracy"] == made.ACCURACY
    assert actual["config"]["train"]["way"] > 1
    assert actual["calibration"]["fits"][0]["temperature"] == 3
    preprocess = {"size": 28, "channels": 1, "canvas": 28, "fit": "squeeze"}
    assert actual["preprocess"] == preprocess | {"turns": True}
    assert sorted(actual["files"]) == sorted(
        path.relative_to(exported).as_posix()
        for path in exported.rglob("*")
        if path.is_file() and path.name != manifest.NAME
    )
    assert "tensorflow" in actual["versions"]


def test_shown_by_tensorflows_own_tool(exported):
    result = subprocess.run(
        [
            sys.executable,
            "-m",
            "tensorflow.python.tools.saved_model_cli",
            *("show", "--dir", exported, "--tag_set", "serve"),
            *("--signature_def", "classify"),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    for name in ("inputs['images']", "inputs['prototypes']", "['probabilities']"):
        assert name in result.stdout


def test_heads_with_a_way_of_their_own_are_exported_as_prototypes(tmp_path):
    run = made.write_run(tmp_path / "run", "soft_kmeans")
    _, about = signatures.load(Workdir(run))
    assert [row["adapt"] for row in about["accuracy"]] == ["refine"]


def test_heads_that_are_more_than_prototypes_are_refused(
    workdir, tmp_path, monkeypatch
):
    monkeypatch.setattr(PrototypeHead, "by_prototypes", False)
    for use in (
        lambda: export_lib.export(workdir, tmp_path / "model"),
        lambda: models.open_workdir(workdir),
    ):
        with pytest.raises(UserError, match=r"PrototypeHead, is more.*use .*evaluate"):
            use()
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (lambda run: (run / "result.json").unlink(), "no finished model"),
        (lambda run: (run / "result.json").write_text("{}"), "holds no test rows"),
        (lambda run: (run / "config.json").unlink(), "is not a run"),
        (lambda run: shutil.rmtree(run / "checkpoints"), "none of the 0 checkpoints"),
    ],
)
def test_a_run_that_cannot_be_exported(workdir, tmp_path, damage, text):
    run = shutil.copytree(workdir, tmp_path / "run")
    damage(run)
    with pytest.raises(UserError, match=text):
        export_lib.export(run, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_damaged_weights_are_passed_over(workdir, tmp_path):
    run = shutil.copytree(workdir, tmp_path / "run")
    for path in (run / "checkpoints").glob(f"ckpt-{made.STEP}.*"):
        content = path.read_bytes()
        newer = path.name.replace(f"-{made.STEP}.", f"-{made.STEP + 1}.")
        path.with_name(newer).write_bytes(content[: len(content) // 2])
    _, about = signatures.load(Workdir(run))
    assert about["step"] == made.STEP


def test_points_of_a_plane_are_no_images(workdir, tmp_path):
    run = shutil.copytree(workdir, tmp_path / "run")
    values = files.read_json(run / "config.json")
    toy = values | {"dataset": "spiral", "image_shape": [1, 1, 2], "encoder": "mlp"}
    files.write_json(run / "config.json", toy)
    with pytest.raises(UserError, match="not square images"):
        signatures.load(Workdir(run))
