"""Checkpoints hold what an encoder keeps where `tf.train.Checkpoint` does not look."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.encoders.conv4 import Conv4
from prwn_tf.errors import UserError
from prwn_tf.heads.prototypes import PrototypeHead
from prwn_tf.model import FewShotModel
from prwn_tf.training import weights
from prwn_tf.training.checkpoints import Checkpoints


class Odd(Conv4):
    """An encoder with what `tf.train.Checkpoint` does not see: a list, random state."""

    def __init__(self):
        super().__init__(channels=4)
        self.more = [keras.layers.Dense(4, trainable=False)]
        self.dropout = keras.layers.Dropout(0.5, seed=3)

    def build(self, input_shape):
        super().build(input_shape)
        self.more[0].build((None, 4))

    def call(self, images, training=False):
        features = super().call(images, training=training)
        return self.dropout(self.more[0](features), training=training)


class OddHead(PrototypeHead):
    """A head with a list as well."""

    def build(self, input_shape):
        super().build(input_shape)
        self.more = [keras.layers.Dense(4)]
        self.more[0].build((None, 4))


def odd() -> FewShotModel:
    model = FewShotModel(Odd(), OddHead())
    model.build((None, 16, 16, 1))
    model.compile(optimizer=keras.optimizers.SGD())
    model.build_optimizers()
    return model


def test_what_lies_in_a_list_or_is_random_is_kept(tmp_path):
    images = np.random.default_rng(0).random((5, 16, 16, 1), np.float32)
    model = odd()
    for _ in range(3):
        model(images, training=True)
    Checkpoints(tmp_path, model).save(3)
    expected = [model(images, training=True).numpy() for _ in range(2)]
    assert not np.array_equal(*expected)
    other = odd()
    assert Checkpoints(tmp_path, other).restore().step == 3
    for each in expected:
        np.testing.assert_array_equal(other(images, training=True), each)


def same(some, others) -> bool:
    """Whether the weights of two layers are the same, one by one."""
    pairs = zip(some.get_weights(), others.get_weights(), strict=True)
    return all(np.array_equal(*pair) for pair in pairs)


def test_what_lies_in_a_list_is_used_as_it_was_trained(tmp_path):
    model, used, begun, given = odd(), odd(), odd(), odd()
    assert model.variables[0] is model.encoder.variables[0]  # others.py counts on it
    assert len(model.encoder.more[0].weights) == len(model.head.more[0].weights) == 2
    Checkpoints(tmp_path / "run", model).save(3)
    assert weights.restore(tmp_path / "run", used) == 3
    assert same(used.encoder, model.encoder)
    assert same(used.head, model.head)
    weights.restore_encoder(tmp_path / "run" / "ckpt-3", begun.encoder)
    assert same(begun.encoder, model.encoder)
    weights.save(tmp_path / "released", model, "last", 3)
    assert weights.restore(tmp_path / "released", given) == 3
    assert same(given.encoder, model.encoder)
    assert same(given.head, model.head)


def test_a_checkpoint_that_lacks_the_list_is_no_checkpoint(tmp_path):
    model = odd()
    parts = tf.train.Checkpoint(encoder=model.encoder, head=model.head)
    tf.train.Checkpoint(model=parts).write(str(tmp_path / "ckpt-3"))
    with pytest.raises(UserError, match="none of the 1 checkpoints"):
        weights.restore(tmp_path, odd())
    with pytest.raises(UserError, match="cannot be read"):
        weights.restore_encoder(tmp_path / "ckpt-3", odd().encoder)


class Normalized(keras.Model):
    """An encoder that begins as some of Keras do: with averages of its data."""

    def build(self, input_shape):
        self.normalization = keras.layers.Normalization()
        self.normalization.build(input_shape)

    def call(self, images, training=False):
        return tf.reshape(self.normalization(images), [-1, 4])

    def compute_output_shape(self, input_shape):
        return input_shape[0], 4


def test_a_normalization_notices_what_is_restored(tmp_path):
    def model():
        made = FewShotModel(Normalized(), PrototypeHead())
        made.build((None, 2, 2, 1))
        made.compile(optimizer=keras.optimizers.Adam())
        made.build_optimizers()
        return made

    images = np.random.default_rng(0).random((5, 2, 2, 1), np.float32)
    first, trained, used = model(), model(), model()
    first.encoder.normalization.adapt(images)
    Checkpoints(tmp_path, first).save(1)
    Checkpoints(tmp_path, trained).restore()
    weights.restore(tmp_path, used)
    for restored in (trained, used):
        np.testing.assert_allclose(restored(images), first(images), atol=1e-6)
