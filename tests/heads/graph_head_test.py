"""What both heads that are graphs promise: who sees whom, and who sees no label."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.config import EntropyConfig, VatConfig, WalkConfig
from prwn_tf.encoders.conv4 import Conv4
from prwn_tf.episodes.pipeline import Episode
from prwn_tf.errors import UserError
from prwn_tf.head_parts import EgnnConfig, TpnConfig
from prwn_tf.heads.base import EmbeddedEpisode
from prwn_tf.heads.edges import EdgeHead
from prwn_tf.heads.propagation import PropagationHead
from prwn_tf.model import FewShotModel
from prwn_tf.regularizers.entropy import Entropy
from prwn_tf.regularizers.vat import Vat
from prwn_tf.regularizers.walk import Walk
from tests import modes
from tests.heads.answers import scores_of

SHAPE = (3, 3, 2)  # of the encoder's map
SIZE = 18
LABELS = [0, 1, 2, 0, 1]
HEADS = ("tpn", "egnn")
CLOSE = {"rtol": 1e-3, "atol": 2e-5}


def points(*shape, seed=0, scale=0.6) -> np.ndarray:
    generator = np.random.default_rng([seed, *shape])
    return (scale * generator.normal(size=shape)).astype(np.float32)


def episode() -> EmbeddedEpisode:
    """Support [3, 2, 18], queries [5, 18], unlabelled points [7, 18]."""
    return EmbeddedEpisode(points(3, 2, SIZE), points(5, SIZE), points(7, SIZE))


def built(name: str):
    """A head without dropout whose averages are not those it starts with."""
    if name == "tpn":
        head = PropagationHead(TpnConfig(neighbors=4))
    else:
        head = EdgeHead(EgnnConfig(size=5, dropout=0.0))
    head.feature_shape = SHAPE
    head.build((None, SIZE))
    norms = [each for each in head._flatten_layers() if hasattr(each, "momentum")]
    for momentum in (0.0, 0.9):
        for norm in norms:
            norm.momentum = momentum
        if momentum == 0.0:
            head.answer(episode(), training=True)  # its statistics are the averages
    return head


def outcome(name: str, embedded: EmbeddedEpisode) -> list[np.ndarray]:
    """Scores in training and at test, the loss, and its gradient of every weight."""
    head = built(name)
    with tf.GradientTape() as tape:
        answer = head.answer(embedded, training=True)
        [loss] = head.loss(embedded, answer, tf.constant(LABELS)).values()
    gradients = tape.gradient(loss, head.trainable_variables)
    at_test = built(name).answer(embedded).scores
    return [answer.scores, at_test, loss, *gradients]


@pytest.mark.parametrize("name", HEADS)
def test_hidden_labels_change_nothing(name):
    """Unlabelled points come class by class; in another order they tell other ones."""
    embedded = episode()
    order = [4, 0, 6, 2, 5, 1, 3]
    hidden = embedded._replace(unlabeled=embedded.unlabeled[order])
    pairs = zip(outcome(name, embedded), outcome(name, hidden), strict=True)
    for shown, expected in pairs:
        np.testing.assert_allclose(shown, expected, **CLOSE)


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("training", [False, True])
def test_permuting_classes_permutes_scores(name, training):
    embedded = episode()
    order = [2, 0, 1]
    other = embedded._replace(support=embedded.support[order])
    expected = built(name).answer(embedded, training).scores.numpy()[:, order]
    scores = built(name).answer(other, training).scores
    np.testing.assert_allclose(scores, expected, **CLOSE)


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("training", [False, True])
def test_permuting_shots_and_queries(name, training):
    embedded = episode()
    other = embedded._replace(
        support=embedded.support[:, ::-1].copy(), queries=embedded.queries[::-1].copy()
    )
    expected = built(name).answer(embedded, training).scores.numpy()[::-1]
    scores = built(name).answer(other, training).scores
    np.testing.assert_allclose(scores, expected, **CLOSE)


@pytest.mark.parametrize("name", HEADS)
def test_at_test_queries_do_not_see_one_another(name):
    head, embedded = built(name), episode()
    scores = scores_of(head, *embedded)
    for place in range(5):
        alone = embedded._replace(queries=embedded.queries[place : place + 1])
        expected = head.adapted("transductive").answer(alone).scores
        np.testing.assert_allclose(scores[place : place + 1], expected, **CLOSE)
    together = head.adapted("transductive").answer(embedded).scores
    assert not np.allclose(scores, together, **CLOSE)


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("adapt", ["none", "transductive"])
@pytest.mark.parametrize("mode", modes.MODES)
def test_many_episodes_at_once(name, adapt, mode):
    head = built(name).adapted(adapt)
    embedded = EmbeddedEpisode(
        points(2, 3, 1, SIZE), points(2, 5, SIZE), points(2, 4, SIZE)
    )
    scores = modes.run(mode, lambda *parts: scores_of(head, *parts), *embedded)
    for index in range(2):
        single = scores_of(head, *(part[index] for part in embedded))
        np.testing.assert_allclose(scores[index], single, **CLOSE)


@pytest.mark.parametrize("name", HEADS)
def test_sizes_that_are_not_known_beforehand(name):
    head = built(name)
    parts = [tf.TensorSpec([None, *shape]) for shape in ((3, 2, 18), (5, 18))]
    unknown = tf.TensorSpec([None, None, SIZE])
    ask = tf.function(lambda *parts: scores_of(head, *parts), [*parts, unknown])
    embedded = [part[None] for part in episode()]
    np.testing.assert_allclose(ask(*embedded), scores_of(head, *embedded), **CLOSE)


@pytest.mark.parametrize("name", HEADS)
@pytest.mark.parametrize("training", [False, True])
def test_no_unlabelled_point(name, training):
    embedded = episode()._replace(unlabeled=np.zeros([0, SIZE], np.float32))
    head = built(name)
    answer = head.answer(embedded, training)
    assert answer.scores.shape == (5, 3)
    [loss] = head.loss(embedded, answer, tf.constant(LABELS)).values()
    assert np.isfinite(answer.scores).all()
    assert np.isfinite(loss)


@pytest.mark.parametrize("name", HEADS)
def test_further_points_leave_no_trace(name):
    head, embedded = built(name), episode()
    before = [variable.numpy() for variable in head.non_trainable_variables]
    scores = head.classify(embedded, embedded.unlabeled, training=True)
    assert scores.shape == (7, 3)
    for variable, value in zip(head.non_trainable_variables, before, strict=True):
        np.testing.assert_array_equal(variable.numpy(), value)
    head.answer(embedded._replace(queries=embedded.unlabeled), training=True)
    variables = zip(head.non_trainable_variables, before, strict=True)
    assert any(not np.array_equal(variable.numpy(), old) for variable, old in variables)


@pytest.mark.parametrize("name", HEADS)
def test_prototypes_do_not_move(name):
    with pytest.raises(UserError, match="none, transductive"):
        built(name).adapted("refine")


def images(*shape) -> tf.Tensor:
    pixels = np.random.default_rng(0).integers(0, 256, (*shape, 16, 16, 1))
    return tf.constant(pixels, tf.uint8)


def small_model(name: str, terms) -> FewShotModel:
    head = {
        "tpn": PropagationHead(TpnConfig(neighbors=4)),
        "egnn": EdgeHead(EgnnConfig(size=6)),
    }[name]
    model = FewShotModel(Conv4(channels=8), head, terms)
    model.build((None, 16, 16, 1))
    model.compile(optimizer=keras.optimizers.Adam(1e-2))
    model.build_optimizers()
    return model


@pytest.mark.parametrize("name", HEADS)
def test_every_variable_moves_with_a_walk(name):
    model = small_model(name, [Walk(WalkConfig())])
    before = [variable.numpy() for variable in model.trainable_variables]
    step = tf.function(model.train_step, autograph=False)
    given = Episode(images(3, 2), images(3, 2), images(8), index=tf.constant(0))
    logs = step(given)
    assert {*model.head.names, "walker", "visit"} <= set(logs)
    for variable, value in zip(model.trainable_variables, before, strict=True):
        assert np.isfinite(variable.numpy()).all()
        assert not np.array_equal(variable.numpy(), value), variable.path
    assert np.isfinite(model.test_step(given)["loss"])


@pytest.mark.parametrize("name", HEADS)
def test_vat_and_entropy_join(name):
    model = small_model(name, [Vat(VatConfig()), Entropy(EntropyConfig())])
    given = Episode(images(3, 1), images(3, 1), images(4), index=tf.constant(0))
    logs = model.train_step(given)
    assert {"vat", "vat_query", "entropy"} <= set(logs)
    assert all(np.isfinite(value) for value in logs.values())
