"""The published settings, one assertion for each number in the sources."""

import dataclasses

import pytest

from prwn_tf import imports
from prwn_tf.config import PARTS, TERMS, EpisodeSpec
from prwn_tf.methods import METHODS
from prwn_tf.protocols import DATASETS, Task, protocol

NAMES = ["tfds:cifar100" if kind == "tfds" else kind for kind in DATASETS]


def test_omniglot_prwn():
    config = protocol(Task("omniglot", "prwn"))
    assert config.train == EpisodeSpec(way=20, shot=1, query=1, unlabeled=10)
    assert config.test == EpisodeSpec(way=5, shot=1, query=14, unlabeled=5)
    assert (config.walk.weight, config.walk.steps, config.walk.decay) == (1.5, 3, 1.0)
    assert config.walk.smoothing == 0.1
    assert config.label_ratio == 0.1
    assert config.episodes == 20_000
    assert config.eval_episodes == 3_000
    assert config.optimizer.learning_rate == 1e-3
    assert config.optimizer.halve_at == tuple(range(2_000, 20_000, 2_000))
    assert config.optimizer.beta_2 == 0.99
    assert config.optimizer.weight_decay == 5e-5
    assert config.select == "last"


def test_omniglot_prwn_with_distractors():
    config = protocol(Task("omniglot", "prwn", distractors=5))
    assert config.train == EpisodeSpec(5, 1, 1, unlabeled=10, distractors=5)
    assert config.test == EpisodeSpec(5, 1, 14, unlabeled=5, distractors=5)
    assert (config.walk.weight, config.walk.decay) == (2.0, 0.7)


def test_omniglot_asks_all_drawings_that_are_left():
    assert protocol(Task("omniglot", "prwn", shot=5)).test.query == 10
    assert protocol(Task("omniglot", "pn", unlabeled=0)).test.query == 19


@pytest.mark.parametrize("shot", [1, 5])
def test_mini_prwn(shot):
    config = protocol(Task("mini", "prwn", shot=shot))
    assert config.train == EpisodeSpec(way=5, shot=5, query=5, unlabeled=10)
    assert config.test == EpisodeSpec(way=5, shot=shot, query=20, unlabeled=20)
    assert (config.walk.weight, config.walk.decay) == (0.5, 0.7)
    assert config.label_ratio == 0.4
    assert config.episodes == 100_000
    assert config.optimizer.learning_rate == 2.5e-4
    assert config.optimizer.halve_at == tuple(range(12_500, 100_000, 12_500))
    assert config.image_shape == (84, 84, 3)


def test_tiered_prwn():
    config = protocol(Task("tiered", "prwn", shot=5))
    assert config.label_ratio == 0.1
    assert config.episodes == 200_000
    assert config.optimizer.learning_rate == 2.5e-4
    assert config.optimizer.halve_at[:2] == (50_000, 75_000)


@pytest.mark.parametrize("shot", [1, 5])
def test_pn_trains_as_it_is_tested_and_without_unlabelled_images(shot):
    config = protocol(Task("mini", "pn", shot=shot, distractors=5))
    assert config.train == EpisodeSpec(way=5, shot=shot, query=5)
    assert config.test.distractors == 5
    assert config.walk.weight == 0
    assert config.optimizer.learning_rate == 1e-3


def test_omniglot_pn_is_trained_as_the_kmeans_heads_are():
    config = protocol(Task("omniglot", "pn"))
    assert config.train == EpisodeSpec(way=5, shot=1, query=1)
    assert config.optimizer == protocol(Task("omniglot", "soft_kmeans")).optimizer


@pytest.mark.parametrize("dataset", NAMES)
@pytest.mark.parametrize("method", METHODS)
def test_what_is_asked_is_what_is_tested(dataset, method):
    task = Task(dataset, method, way=7, shot=2, query=3, unlabeled=4, distractors=1)
    assert protocol(task).test == EpisodeSpec(7, 2, 3, 4, 1)


KMEANS = ["soft_kmeans", "cluster_kmeans", "masked_kmeans"]


@pytest.mark.parametrize("method", KMEANS)
@pytest.mark.parametrize("distractors", [0, 5])
def test_omniglot_kmeans(method, distractors):
    config = protocol(Task("omniglot", method, distractors=distractors))
    assert config.train == EpisodeSpec(5, 1, 1, 5, distractors)
    assert config.test == EpisodeSpec(5, 1, 14, 5, distractors)
    assert config.terms == ()
    assert config.label_ratio == 0.1
    assert config.episodes == 20_000
    assert config.optimizer.learning_rate == 1e-3
    assert config.optimizer.halve_at == (6_000, 8_000, 12_000, 14_000, 16_000, 18_000)
    assert config.optimizer.beta_2 == 0.999


@pytest.mark.parametrize("dataset", ["mini", "tiered"])
@pytest.mark.parametrize("shot", [1, 5])
def test_imagenet_kmeans_trains_with_the_shots_it_is_tested_with(dataset, shot):
    config = protocol(Task(dataset, "masked_kmeans", shot=shot, distractors=5))
    assert config.train == EpisodeSpec(5, shot, 5, 5, 5)
    assert config.test == EpisodeSpec(5, shot, 20, 20, 5)
    assert config.label_ratio == {"mini": 0.4, "tiered": 0.1}[dataset]
    assert config.episodes == 200_000
    assert config.optimizer.learning_rate == 1e-3
    assert config.optimizer.halve_at == tuple(range(50_000, 200_000, 25_000))
    assert (config.kmeans.radius, config.kmeans.mask_power) == (100, 1)


def test_pn_vat():
    config = protocol(Task("omniglot", "pn_vat"))
    assert config.train == EpisodeSpec(20, 1, 1, 10)
    assert config.terms == ("vat", "entropy")
    assert (config.vat.epsilon, config.vat.xi, config.vat.iterations) == (8, 0.01, 1)
    assert (config.vat.weight, config.vat.query_weight) == (1, 0.2)
    assert config.entropy.weight == 1
    config = protocol(Task("mini", "pn_vat", shot=1))
    assert config.train == EpisodeSpec(5, 5, 5, 10)
    assert config.episodes == 120_000
    assert config.optimizer.learning_rate == 2.5e-4


@pytest.mark.parametrize(("shot", "feat"), [(1, (64, 1, 16)), (5, (32, 0.1, 64))])
@pytest.mark.parametrize(("dataset", "ratio"), [("mini", 0.4), ("tiered", 0.1)])
def test_feat(dataset, ratio, shot, feat):
    config = protocol(Task(dataset, "feat", shot=shot))
    assert config.train == EpisodeSpec(5, shot, query=15)
    assert config.test == EpisodeSpec(5, shot, 20, 20)
    settings = config.feat
    assert (
        settings.temperature,
        settings.balance,
        settings.contrast_temperature,
    ) == feat
    assert (settings.attention_dropout, settings.dropout) == (0.1, 0.5)
    assert config.conv4.pool == "max"
    optimizer = config.optimizer
    assert (optimizer.learning_rate, optimizer.weight_decay) == (1e-4, 0)
    assert (optimizer.beta_1, optimizer.beta_2) == (0.9, 0.999)
    assert optimizer.halve_at == tuple(range(2_000, 20_000, 2_000))
    assert (config.episodes, config.eval_episodes) == (20_000, 10_000)
    assert (config.select, config.validation_episodes) == ("best", 600)
    assert config.label_ratio == ratio


def test_feat_with_unlabelled_images():
    config = protocol(Task("mini", "feat_walk", shot=1))
    assert config.train == EpisodeSpec(5, 1, query=15, unlabeled=10)
    walk = config.walk
    assert (walk.weight, walk.steps, walk.decay) == (1.0, 3, 0.7)
    assert walk.temperature == config.feat.temperature
    joined = protocol(Task("mini", "feat", shot=1, terms=("walk",)))
    assert dataclasses.replace(joined, method="feat_walk") == config
    semi = protocol(Task("mini", "feat_semi", shot=1))
    assert (semi.train, semi.terms) == (config.train, ())


@pytest.mark.parametrize("shot", [1, 5])
@pytest.mark.parametrize(
    ("dataset", "ratio", "interval"), [("mini", 0.4, 10_000), ("tiered", 0.1, 25_000)]
)
def test_tpn(dataset, ratio, interval, shot):
    config = protocol(Task(dataset, "tpn", shot=shot, distractors=5))
    assert config.train == EpisodeSpec(5, shot, 15, 5, 5)
    assert config.test == EpisodeSpec(5, shot, 20, 20, 5)
    assert config.encoder == "conv4"
    settings = config.tpn
    assert (settings.neighbors, settings.alpha, settings.scale) == (20, 0.99, 0)
    optimizer = config.optimizer
    assert (optimizer.learning_rate, optimizer.beta_2) == (1e-3, 0.999)
    assert optimizer.halve_at == tuple(range(interval, 210_000, interval))
    assert (config.episodes, config.label_ratio) == (210_000, ratio)


@pytest.mark.parametrize(
    ("dataset", "ratio", "interval", "episodes"),
    [("mini", 0.4, 15_000, 100_000), ("tiered", 0.1, 30_000, 200_000)],
)
def test_egnn(dataset, ratio, interval, episodes):
    config = protocol(Task(dataset, "egnn"))
    assert config.train == EpisodeSpec(5, 5, 1, 5)
    assert config.test == EpisodeSpec(5, 5, 1, 5)
    assert config.encoder == "egnn_conv"
    assert (config.egnn.size, config.egnn.dropout) == (96, 0.1)
    optimizer = config.optimizer
    assert (optimizer.learning_rate, optimizer.weight_decay) == (1e-3, 1e-6)
    assert optimizer.halve_at == tuple(range(interval, episodes, interval))
    assert (config.episodes, config.eval_episodes) == (episodes, 10_000)
    assert config.label_ratio == ratio


@pytest.mark.parametrize("method", ["tpn", "egnn"])
def test_graphs_on_omniglot_are_trained_as_the_kmeans_heads_are(method):
    config = protocol(Task("omniglot", method))
    kmeans = protocol(Task("omniglot", "soft_kmeans"))
    assert dataclasses.replace(config, method="soft_kmeans") == kmeans


def test_a_term_joins_any_method_in_that_methods_own_training():
    config = protocol(Task("omniglot", "soft_kmeans", terms=("walk", "vat")))
    assert config.terms == ("walk", "vat")
    assert (config.walk.weight, config.walk.decay) == (1.5, 1.0)
    assert config.train == EpisodeSpec(5, 1, 1, 5)


@pytest.mark.parametrize("dataset", NAMES)
def test_pn_with_a_walk_is_prwn(dataset):
    joined = protocol(Task(dataset, "pn", terms=("walk",)))
    prwn = protocol(Task(dataset, "prwn"))
    assert dataclasses.replace(joined, method="prwn") == prwn


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dataset", NAMES)
def test_unlabelled_points_are_there_for_whoever_uses_them(dataset, method):
    config = protocol(Task(dataset, method))
    used = bool(config.terms) or METHODS[method].uses_unlabeled
    assert (config.train.unlabeled_points > 0) == used


def test_every_part_of_a_config_names_its_class():
    for name, part in PARTS.items():
        assert part.name == name
        if part.implementation:
            assert imports.load(part.implementation).Config is part
    for method in METHODS.values():
        assert set(method.terms) <= set(TERMS)
        uses = imports.load(method.head).uses_unlabeled
        assert uses == method.uses_unlabeled
