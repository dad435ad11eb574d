import numpy as np
import pytest
import tensorflow as tf

from prwn_tf import files
from prwn_tf.analysis import findings
from prwn_tf.config import ADAPTATIONS, EpisodeSpec
from prwn_tf.encoders.conv4 import Conv4
from prwn_tf.episodes import pipeline, plan, pools
from prwn_tf.episodes.pipeline import query_labels
from prwn_tf.errors import UserError
from prwn_tf.evaluation import intervals
from prwn_tf.evaluation.embeddings import Embedder
from prwn_tf.evaluation.evaluate import Evaluation, Evaluator
from prwn_tf.heads.kmeans import ClusterKMeans, MaskedKMeans, SoftKMeans
from prwn_tf.heads.prototypes import PrototypeHead
from prwn_tf.model import FewShotModel, accuracy
from tests.heads.answers import scores_of
from tests.oracle import report as oracle

SPEC = EpisodeSpec(way=3, shot=2, query=2, unlabeled=3, distractors=2)


@pytest.fixture
def setting(make_store):
    store = make_store([9, 8, 9, 7, 12, 9], shape=(16, 16, 1))["test"]
    noise = np.random.default_rng(0).integers(0, 256, (len(store), 16, 16, 1))
    store.path.write_bytes(noise.astype(np.uint8).tobytes())
    model = FewShotModel(Conv4(channels=4), PrototypeHead())
    model.build((None, 16, 16, 1))
    return store, pools.whole(store, "test"), model


def test_the_same_as_embedding_every_episode_anew(setting):
    store, pool, model = setting
    evaluator = Evaluator(pool, model.head, seed=3)
    found = evaluator(Embedder(model)(store), SPEC, ADAPTATIONS, 10)
    heads = [model.head.adapted(adapt) for adapt in ADAPTATIONS]
    episodes = pipeline.episodes(store, pool, SPEC, seed=3, start=0, stop=10)
    for index, episode in enumerate(episodes):
        expected = [_accuracy(model, head, episode) for head in heads]
        accuracies = [evaluation.accuracies[index] for evaluation in found]
        np.testing.assert_allclose(accuracies, expected, atol=1e-6)


def _accuracy(model, head, episode):
    def embed(images):
        flat = model(tf.reshape(images, [-1, 16, 16, 1]))
        return tf.reshape(flat, [*images.shape[:-3], flat.shape[-1]])

    queries = tf.reshape(embed(episode.query), [SPEC.queries, -1])
    scores = scores_of(head, embed(episode.support), queries, embed(episode.unlabeled))
    return float(accuracy(scores, query_labels(SPEC.way, SPEC.query)))


def test_more_episodes_begin_with_the_same_ones(setting):
    store, pool, model = setting
    evaluator = Evaluator(pool, model.head, seed=0)
    embeddings = Embedder(model)(store)
    [few] = evaluator(embeddings, SPEC, ["none"], 10)
    [many] = evaluator(embeddings, SPEC, ["none"], 250)
    np.testing.assert_array_equal(many.accuracies[:10], few.accuracies)


def test_several_specs_in_one_process(setting):
    store, pool, model = setting
    evaluator = Evaluator(pool, model.head, seed=0)
    embeddings = Embedder(model)(store)
    for way in (2, 5, 2, 6):
        spec = EpisodeSpec(way=way, shot=1, query=2)
        [found] = evaluator(embeddings, spec, ["none"], 5)
        assert found.accuracies.shape == (5,)


def test_specs_are_checked(setting):
    store, pool, model = setting
    evaluator = Evaluator(pool, model.head, seed=0)
    with pytest.raises(UserError, match=r"7 classes .* test split has 6"):
        evaluator(Embedder(model)(store), EpisodeSpec(7, 1, 1), ["none"], 5)


def test_of_few_classes_it_says_how_each_fared(setting):
    store, pool, model = setting
    evaluator = Evaluator(pool, model.head, seed=3)
    [found] = evaluator(Embedder(model)(store), SPEC, ["none"], 40)
    classes, right = np.zeros(6), np.zeros(6)
    planned = plan.planner(pool, SPEC, 3)
    for index, correct in enumerate(found.confidence.correct):
        for place, label in enumerate(planned(index).classes[: SPEC.way]):
            classes[label] += SPEC.query
            right[label] += correct[place * SPEC.query : (place + 1) * SPEC.query].sum()
    assert found.tested[:2] == (6, 54)
    np.testing.assert_allclose(found.tested.by_class, right / classes, atol=1e-6)
    assert found.interval > intervals.half_width(found.accuracies)
    row = found.row()
    assert (row["classes"], row["images"], row["interval_over"]) == (6, 54, "classes")
    assert row["chance"] == pytest.approx(1 / 3)


def test_accuracy_and_interval_match_oracle():
    correct = np.array([6, 3, 5, 4, 6])
    found = Evaluation(SPEC, "none", correct / SPEC.queries)
    expected = oracle.accuracy_and_interval(correct, SPEC.queries)
    assert (found.accuracy, found.interval) == pytest.approx(expected)
    row = found.row()
    assert row["episodes"] == 5
    assert row["distractors"] == 2


def test_printed_form():
    found = Evaluation(EpisodeSpec(5, 1, 14), "none", np.array([0.98, 1.0]))
    assert str(found) == "99.00 ± 1.39 inductive"
    found = Evaluation(SPEC, "filter", np.array([0.5, 0.5]))
    assert str(found) == "50.00 ± <0.01 semi-supervised: filter"


def test_one_episode_has_no_interval(tmp_path):
    found = Evaluation(SPEC, "filter", np.array([0.5]))
    assert str(found) == "50.00 semi-supervised: filter"
    files.write_json(tmp_path / "row.json", [found.row()])
    [row] = files.read_json(tmp_path / "row.json")
    assert row["interval"] is None
    assert row["accuracy"] == 0.5
    assert findings.format_mean(np.array([0.5])) == "0.500"


@pytest.mark.parametrize("head_class", [SoftKMeans, ClusterKMeans, MaskedKMeans])
def test_a_semi_supervised_head_is_evaluated_its_own_way_and_says_so(
    setting, head_class
):
    store, pool, model = setting
    head = head_class()
    head.build((None, 4))
    evaluator = Evaluator(pool, head, seed=3)
    embeddings = Embedder(model)(store)
    [found] = evaluator(embeddings, SPEC, ["none"], 10)
    episodes = pipeline.episodes(store, pool, SPEC, seed=3, start=0, stop=10)
    expected = [_accuracy(model, head, episode) for episode in episodes]
    np.testing.assert_allclose(found.accuracies, expected, atol=1e-6)
    assert "semi-supervised: the head's own way" in str(found)
    assert found.row()["semi_supervised"]
    [alone] = evaluator(embeddings, EpisodeSpec(3, 2, 2), ["none"], 10)
    assert "inductive" in str(alone)
    assert not alone.row()["semi_supervised"]
