import csv
import dataclasses

import numpy as np
import pytest

from prwn_tf import backbones, protocols
from prwn_tf.backbones import BackboneConfig
from prwn_tf.config import EpisodeSpec
from prwn_tf.evaluation import intervals, report
from prwn_tf.evaluation.evaluate import Evaluation


def evaluations(specs, adaptations):
    return [
        Evaluation(spec, adapt, np.array([0.5, 0.5 + 0.25 * index]))
        for spec in specs
        for index, adapt in enumerate(adaptations)
    ]


SPECS = [EpisodeSpec(5, 1, 14, 5, 0), EpisodeSpec(20, 1, 14, 5, 0)]


def test_table_has_a_line_for_each_kind_of_episode():
    text = report.table(evaluations(SPECS, ["none", "refine"]))
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert lines[0] == "way chance none refine"
    assert lines[1] == "5 20.00 50.00 ± <0.01 62.50 ± 17.32"
    assert lines[2].startswith("20 5.00 50.00")
    assert len({len(line) for line in text.splitlines()}) == 1


def test_heading_says_what_all_episodes_share():
    several = evaluations(SPECS, ["none", "refine"])
    numbers = "accuracy (%) ± 95 % interval over 2 episodes of one training\n"
    assert report.heading(several) == (
        f"{numbers}all with shot 1, query 14, unlabeled 5, distractors 0"
    )
    assert report.heading(several[:2]) == f"{numbers}{SPECS[0]}"


@pytest.mark.parametrize(
    ("classes", "over"), [(3, "3 classes (bootstrap)"), (20, "2 episodes")]
)
def test_heading_says_what_stands_behind_the_numbers(classes, over):
    tested = intervals.Tested(classes, 60, np.full(classes, 0.5))
    [one] = evaluations(SPECS[:1], ["none"])
    one = dataclasses.replace(one, tested=tested)
    first, _, last = report.heading([one]).splitlines()
    assert first == f"accuracy (%) ± 95 % interval over {over} of one training"
    assert last == f"chance 20.00; {classes} classes of 60 images"
    several = [one, dataclasses.replace(one, spec=SPECS[1])]
    assert report.drawn_from(several) == [f"{classes} classes of 60 images"]


def test_columns_of_episodes_are_named_by_what_differs(tmp_path):
    path = tmp_path / "episodes.csv"
    report.write_episodes(path, evaluations(SPECS, ["none", "refine"]))
    header, *rows = csv.reader(path.open())
    assert header == [
        "episode",
        "accuracy_none_5way",
        "accuracy_refine_5way",
        "accuracy_none_20way",
        "accuracy_refine_20way",
    ]
    assert rows[1] == ["1", "0.500000", "0.750000", "0.500000", "0.750000"]
    report.write_episodes(path, evaluations(SPECS[:1], ["none"]))
    assert path.read_text().splitlines()[0] == "episode,accuracy_none"


PUBLISHED = f"~/.keras/models/{backbones.networks()['VGG16'].file}"


@pytest.mark.parametrize(
    ("dataset", "encoder", "weights", "warned"),
    [
        ("mini", "keras:VGG16", "imagenet", True),
        ("tiered", "keras:VGG16", PUBLISHED, True),
        ("tiered", "keras_hub:vgg_16", "imagenet", True),
        ("mini", "keras:VGG16", "none", False),
        ("mini", "keras:VGG16", "mine.h5", False),
        ("mini", "conv4", "imagenet", False),
        ("omniglot", "keras:VGG16", "imagenet", False),
    ],
)
def test_an_encoder_that_has_seen_the_test_classes(dataset, encoder, weights, warned):
    config = dataclasses.replace(
        protocols.protocol(protocols.Task(dataset, "prwn")),
        encoder=encoder,
        backbone=BackboneConfig(weights),
    )
    result = report.result(config, 1, 1.0, [], {})
    assert ("warning" in result) == warned
    if warned:
        assert f"seen the test classes of {dataset}" in result["warning"]
