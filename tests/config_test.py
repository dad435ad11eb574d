import dataclasses
import json

import pytest

from prwn_tf import config_json, protocols
from prwn_tf.config import EpisodeSpec, OptimizerConfig, TrainConfig, WalkConfig
from prwn_tf.errors import UserError


@pytest.fixture
def config() -> TrainConfig:
    return protocols.protocol(protocols.Task("omniglot", "prwn"))


def test_sizes_of_an_episode():
    spec = EpisodeSpec(way=5, shot=1, query=3, unlabeled=4, distractors=2)
    assert spec.classes == 7
    assert spec.queries == 15
    assert spec.unlabeled_points == 28
    assert spec.clean_points == 20


def test_to_json_and_back(config):
    text = json.dumps(config_json.to_dict(config))
    assert config_json.from_dict(TrainConfig, json.loads(text)) == config


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"speed": 1}, "unknown settings speed"),
        ({"seed": "0"}, r"config.seed should be of type .*int.*, found '0'"),
        ({"seed": True}, "config.seed should be of type"),
        ({"walk": {"steps": 1.5}}, "config.walk.steps should be of type"),
        ({"walk": 3}, "config.walk should hold settings, found 3"),
        ({"optimizer": {"halve_at": [1, "2"]}}, "config.optimizer.halve_at"),
        ({"image_shape": []}, "image_shape must be three sizes"),
        ({"image_shape": [28, 28]}, "image_shape must be three sizes"),
        ({"image_shape": [28, 28, 0]}, "image_shape must be three sizes"),
    ],
)
def test_foreign_json_is_refused(config, change, message):
    with pytest.raises(UserError, match=message):
        config_json.from_dict(TrainConfig, config_json.to_dict(config) | change)


def test_missing_settings_are_named(config):
    values = config_json.to_dict(config)
    del values["train"]
    with pytest.raises(UserError, match=r"incomplete.*'train'"):
        config_json.from_dict(TrainConfig, values)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (EpisodeSpec, {"way": 1, "shot": 1, "query": 1}),
        (EpisodeSpec, {"way": 5, "shot": 0, "query": 1}),
        (EpisodeSpec, {"way": 5, "shot": 1, "query": 0}),
        (EpisodeSpec, {"way": 5, "shot": 1, "query": 1, "unlabeled": -1}),
        (WalkConfig, {"steps": -1}),
        (WalkConfig, {"decay": 1.1}),
        (OptimizerConfig, {"learning_rate": -1.0}),
        (OptimizerConfig, {"halve_at": (2, 2)}),
        (OptimizerConfig, {"halve_at": (-5, 2)}),
        (OptimizerConfig, {"halve_at": (0,)}),
        (OptimizerConfig, {"halve_at": (10**20,)}),
        (OptimizerConfig, {"beta_1": 1.0}),
        (OptimizerConfig, {"beta_2": 1.5}),
        (OptimizerConfig, {"beta_2": -0.1}),
        (OptimizerConfig, {"epsilon": 0.0}),
        (OptimizerConfig, {"weight_decay": -1.0}),
        (OptimizerConfig, {"weight_decay": float("nan")}),
    ],
)
def test_values_out_of_range(kind, values):
    with pytest.raises(UserError):
        kind(**values)


def test_a_resumed_run_may_change_its_length_but_not_its_task(config):
    longer = dataclasses.replace(config, episodes=30_000, xla="walk")
    assert config_json.differences(config, longer) == {}
    other = dataclasses.replace(
        config, seed=1, walk=dataclasses.replace(config.walk, steps=2)
    )
    assert config_json.differences(config, other) == {
        "seed": (0, 1),
        "walk.steps": (3, 2),
    }


def test_a_walk_needs_points(config):
    bare = dataclasses.replace(config, train=EpisodeSpec(way=2, shot=1, query=1))
    with pytest.raises(UserError, match="train_unlabeled and train_extra are 0"):
        bare.check_terms()
