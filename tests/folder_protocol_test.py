"""The defaults for own images always fit what was prepared."""

import dataclasses
import math

import pytest

from prwn_tf import methods
from prwn_tf.config import WalkConfig
from prwn_tf.errors import UserError
from prwn_tf.protocols import Prepared, Task, protocol
from tests.children import child


def fits(config, data):
    """Whether the episodes can be drawn from the smallest classes."""
    test, train = config.test, config.train
    labelled = math.floor(data.train_images * config.label_ratio + 1e-9)
    own = train.shot + train.query
    hidden = data.train_images - (own if config.label_ratio == 1 else labelled)
    return (
        own <= labelled
        and train.unlabeled <= hidden
        and test.shot + test.query + test.unlabeled <= data.held_out_images
        and test.classes <= data.held_out_classes
        and train.classes <= data.train_classes
        and train.extra <= data.extra
    )


@pytest.mark.parametrize("images", [3, 4, 5, 6, 9, 10, 15, 20, 37, 100, 1300])
@pytest.mark.parametrize("held_out", [2, 3, 5, 14, 15, 50])
@pytest.mark.parametrize("classes", [2, 4, 50])
@pytest.mark.parametrize("extra", [0, 3, 1000])
@pytest.mark.parametrize("ratio", [None, 0.7])
def test_defaults_fit(images, held_out, classes, extra, ratio):
    data = Prepared((32, 32, 3), classes, images, max(2, classes // 2), held_out, extra)
    task = Task("folder", "prwn", prepared=data, label_ratio=ratio)
    config = protocol(task)
    assert fits(config, data), config
    assert config.label_ratio == (ratio or 1)
    methods.check(config)
    assert config.image_shape == (32, 32, 3)
    assert config.walk.weight > 0


def test_what_is_asked_leaves_the_rest_fitting():
    data = Prepared(held_out_images=20)
    for task in ({"shot": 1}, {"query": 12}, {"unlabeled": 3}, {"shot": 8, "query": 2}):
        test = protocol(Task("folder", "prwn", prepared=data, **task)).test
        assert test.shot + test.query + test.unlabeled <= 20
        assert all(getattr(test, name) == value for name, value in task.items())


@pytest.mark.parametrize(("pool", "extra"), [(0, 0), (30, 30), (1000, 50)])
def test_images_of_no_class_are_as_many_as_the_others_at_most(pool, extra):
    train = protocol(Task("folder", "prwn", prepared=Prepared(extra=pool))).train
    assert train.clean_points == 50
    assert train.extra == extra


@pytest.mark.parametrize(
    ("images", "episode"), [(600, (5, 5, 10)), (12, (3, 3, 6)), (3, (1, 1, 1))]
)
@pytest.mark.parametrize("dataset", ["folder:pets", "tfds:cifar100"])
def test_no_label_is_hidden(dataset, images, episode):
    data = Prepared(train_images=images)
    config = protocol(Task(dataset, "prwn", prepared=data))
    assert config.label_ratio == 1
    train = config.train
    assert (train.shot, train.query, train.unlabeled) == episode


def test_without_a_walk_nothing_is_unlabelled():
    config = protocol(Task("folder", "pn", prepared=Prepared(extra=30)))
    assert config.train.unlabeled_points == 0
    assert config.label_ratio == 1


@pytest.mark.parametrize("dataset", ["mini", "tiered"])
def test_imagenet_may_be_prepared_in_another_size(dataset):
    small = Prepared(image_shape=(32, 32, 3))
    assert protocol(Task(dataset, "prwn", prepared=small)).image_shape == (32, 32, 3)
    assert protocol(Task(dataset, "prwn")).image_shape == (84, 84, 3)


def test_classes_of_two_images_walk_through_those_of_no_class():
    data = Prepared(train_images=2, extra=1000)
    config = protocol(Task("folder", "prwn", prepared=data))
    assert (config.train.unlabeled, config.train.extra) == (0, 50)
    methods.check(config)


def test_classes_of_two_images_alone_are_trained_on_without_a_walk():
    config = protocol(Task("folder", "prwn", prepared=Prepared(train_images=2)))
    methods.check(config)
    assert config.terms == ()
    asked = dataclasses.replace(config, walk=WalkConfig(weight=0.5))
    with pytest.raises(UserError, match="needs unlabelled points"):
        methods.check(asked)


ADVICE = """
import collections
import dataclasses
from prwn_tf import protocols, train
from prwn_tf.origin import Origin
from prwn_tf.task import Prepared, Task
Store = collections.namedtuple("Store", "names smallest")
own = protocols.protocol(Task("folder:pets", "prwn", prepared=Prepared()))
own = dataclasses.replace(own, image_shape=(84, 84, 3))
small = dataclasses.replace(own, image_shape=(28, 28, 1))
begun = dataclasses.replace(own, init_from=Origin(sha256="12ab"))
mini = protocols.protocol(Task("mini", "prwn"))
four, many = (Store(["a"] * count, 20) for count in (4, 64))
print(train._advice(own, four))
assert not train._advice(own, many)
assert not any(train._advice(each, four) for each in (small, begun, mini))
"""


def test_few_photographs_are_advised_to_begin_with_a_trained_encoder():
    told = child.run("-c", ADVICE, check=True).stdout
    assert "random, and 4 classes teach little" in told
    assert "random weights, trained" in told
    assert "so: no training taught more: " in told
    assert max(map(len, told.splitlines())) <= 80
