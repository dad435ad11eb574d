import dataclasses
import json
import resource

import numpy as np
import pytest
import tensorflow as tf
from tensorboard.compat.proto import event_pb2

from prwn_tf.analysis import distraction, figures, scale
from prwn_tf.analysis.findings import Finding, format_mean, mean_and_interval
from prwn_tf.analysis.settings import Settings
from prwn_tf.analysis.visits import follow_walker
from prwn_tf.config import EpisodeSpec
from prwn_tf.errors import StorageError, UserError

SPEC = EpisodeSpec(way=3, shot=2, query=1, unlabeled=4, distractors=2)


def picture():
    return figures.new_figure(1, 1)


@pytest.fixture
def finding():
    rows = [{"run": "PN", "share": 1 / 3}, {"run": "PRWN", "share": 0.5}]
    drawing = figures.render(picture)
    return Finding(
        "sharing", ["line"], {"rows": rows}, {"table": rows}, {"sight": drawing}
    )


def test_publishes_numbers_tables_and_figures(finding, tmp_path):
    finding.publish(tmp_path / "new")
    folder = tmp_path / "new"
    stored = json.loads((folder / "sharing.json").read_text())
    assert stored["rows"][0]["share"] == 1 / 3  # all digits
    assert (folder / "table.csv").read_text() == "run,share\nPN,0.333333\nPRWN,0.5\n"
    for kind, content in finding.figures["sight"].items():
        assert (folder / f"sight.{kind}").read_bytes() == content


def test_a_full_disk_is_noticed(finding, tmp_path):
    """Noise does not compress, so that the event file is the one that is too large."""
    pixels = np.random.default_rng(0).integers(0, 256, (40, 40, 3), np.uint8)
    noise = {"noise": {"png": tf.io.encode_png(pixels).numpy()}}
    finding = dataclasses.replace(finding, figures=noise)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(noise["noise"]["png"]), hard))
    try:
        with pytest.raises(StorageError, match=r"cannot write to .*tensorboard"):
            finding.publish(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_figures_are_in_tensorboard(finding, tmp_path):
    finding.publish(tmp_path)
    [events] = (tmp_path / "tensorboard").iterdir()
    tags = [
        value.tag
        for record in tf.data.TFRecordDataset(str(events)).as_numpy_iterator()
        for value in event_pb2.Event.FromString(record).summary.value
    ]
    assert tags == ["analysis/sight"]


def test_mean_and_interval_by_hand():
    values = np.array([0.0, 1.0, 1.0, 0.0])
    assert mean_and_interval(values) == pytest.approx((0.5, 1.96 * 0.5 / 2))
    assert format_mean(values) == "0.500 ± 0.490"


def test_an_episode_that_is_not_looked_at_cannot_be_drawn():
    with pytest.raises(UserError, match=r"episode=5.*eval_episodes"):
        Settings(SPEC, SPEC, episodes=5, episode=5)


def test_distractors_of_two_runs(make_subject, tmp_path):
    subjects = [make_subject("PN", spread=1.5), make_subject("PRWN (b)", spread=0.2)]
    finding = distraction.analyze(
        subjects, Settings(SPEC, SPEC, episodes=12, episode=3)
    )
    pn, prwn = finding.numbers["rows"]
    assert prwn["p_clean_raw"] > pn["p_clean_raw"]
    assert finding.lines[2].startswith("PRWN (b)")
    assert f"{prwn['p_clean_smoothed']:.3f}" in finding.lines[2]
    rescaled = follow_walker(scale.at_common_scale(subjects[1]), SPEC, 12)
    assert prwn["common_p_clean_raw"] == pytest.approx(rescaled.raw.mean())
    assert finding.numbers["ceiling"] == pytest.approx(0.96)  # 12 of 20 are clean
    episodes = finding.tables["distractors_episodes"]
    assert len(episodes) == 24
    assert [row["episode"] for row in episodes[:2]] == [0, 1]
    mean = np.mean([row["roc_area"] for row in episodes[12:]])
    assert mean == pytest.approx(prwn["roc_area"])
    curve = finding.numbers["roc"][1]
    assert len(curve["clean_found"]) == len(curve["distractors_taken"]) == 9
    assert set(finding.figures) == {
        "distractors_clean",
        "distractors_roc",
        "distractors_histogram",
        "distractors_episode_PN",
        "distractors_episode_PRWN__b_",
    }
    finding.publish(tmp_path)  # everything in it can be stored
