"""FewShotClassifier: what it learns, and how it answers."""

import concurrent.futures

import numpy as np
import pytest
import sklearn.base
import sklearn.exceptions
import sklearn.linear_model
import sklearn.model_selection
import sklearn.pipeline

from prwn_tf.serving.classifier import FewShotClassifier
from prwn_tf.serving.inputs import InputError
from tests.oracle import gate as gate_oracle
from tests.oracle import prototypes as oracle
from tests.oracle import walk as walk_oracle
from tests.serving import made


def test_learns_from_a_few(fitted, queries):
    assert fitted.classes_.tolist() == made.NAMES.tolist()
    # By chance it would be a third; the encoder was not trained.
    assert fitted.score(queries, np.repeat(made.NAMES, 10)) > 0.6


def test_prototypes_and_probabilities_match_the_oracle(fitted, model, support, queries):
    embedded = model.embed(support[0]).reshape(3, made.SHOTS, -1)
    means = oracle.prototypes(embedded)
    np.testing.assert_allclose(fitted.prototypes_, means, atol=1e-5)
    scores = oracle.scores(means, model.embed(queries))
    expected = np.stack([oracle.softmax(row) for row in scores])
    actual = fitted.predict_proba(queries)
    np.testing.assert_allclose(actual, expected, atol=1e-4)
    assert fitted.predict(queries).tolist() == made.NAMES[expected.argmax(1)].tolist()


@pytest.mark.parametrize("adapt", ["none", "refine", "filter"])
def test_adaptations_match_the_oracle(model, support, unlabeled, adapt):
    actual = FewShotClassifier(model).fit(*support, unlabeled, adapt)
    embedded = model.embed(support[0]).reshape(3, made.SHOTS, -1).astype(float)
    points = model.embed(unlabeled).astype(float)
    means = oracle.prototypes(embedded)
    leave = walk_oracle.leave_probability(means, points)
    arrive = walk_oracle.arrive_probability(means, points)
    trust = np.sum(leave * arrive.T, axis=0)
    kept = walk_oracle.keep_above_median(trust)
    weights = {"none": 0 * kept, "refine": 0 * kept + 1, "filter": kept}[adapt]

    expected = oracle.refine(embedded, points, weights)
    np.testing.assert_allclose(actual.prototypes_, expected, atol=1e-4)
    assert actual.belongs_.tolist() == weights.tolist()


@pytest.mark.parametrize("adapt", ["gate", None])
def test_the_gate_matches_the_oracle(model, support, unlabeled, queries, adapt):
    actual = FewShotClassifier(model).fit(*support, unlabeled, adapt)
    codes = np.repeat(np.arange(3), made.SHOTS)
    prototypes, offsets, weights = gate_oracle.gate(
        model.embed(support[0]), codes, model.embed(unlabeled)
    )
    np.testing.assert_allclose(actual.prototypes_, prototypes, atol=1e-4)
    np.testing.assert_allclose(actual.belongs_, weights.sum(axis=1), atol=1e-3)
    scores = gate_oracle.scores(prototypes, offsets, model.embed(queries))
    expected = np.stack([oracle.softmax(row) for row in scores])
    np.testing.assert_allclose(actual.predict_proba(queries), expected, atol=1e-3)


def test_auto_is_what_the_model_says_or_the_gate(model, calibrated, support, unlabeled):
    for served, expected in ((model, "gate"), (calibrated, "filter")):
        actual = FewShotClassifier(served).fit(*support, unlabeled)
        named = FewShotClassifier(served).fit(*support, unlabeled, expected)
        assert actual.adapt_ == expected
        np.testing.assert_array_equal(actual.prototypes_, named.prototypes_)
        assert FewShotClassifier(served, adapt="auto").fit(*support).adapt_ == "none"


def test_probabilities_have_the_temperature_of_the_shots(
    model, calibrated, support, queries
):
    plain = FewShotClassifier(model).fit(*support)
    actual = FewShotClassifier(calibrated).fit(*support)
    assert not plain.calibrated_
    assert actual.calibrated_
    temperature = 3.0 * made.SHOTS  # between 3 at one shot and 15 at five
    assert actual.served_.temperature == pytest.approx(temperature, rel=1e-5)
    scores = oracle.scores(plain.prototypes_, model.embed(queries))
    expected = [oracle.softmax(row / temperature) for row in scores]
    np.testing.assert_allclose(actual.predict_proba(queries), expected, atol=1e-4)


def test_novelty_is_the_distance_in_the_unit_of_a_strangers(
    calibrated, support, queries
):
    fitted = FewShotClassifier(calibrated).fit(*support)
    points, labels = calibrated.embed(support[0]), np.repeat(np.arange(3), made.SHOTS)
    means, nothing = fitted.prototypes_.astype(float), np.zeros(3)
    stranger = gate_oracle.stranger_distance(points, labels, means, nothing)
    nearest = -oracle.scores(means, calibrated.embed(queries)).max(axis=1) / stranger
    expected = 1 / (1 + np.exp(-2.0 * (np.log(nearest) + 1.0)))
    np.testing.assert_allclose(fitted.novelty(queries), expected, rtol=1e-3)
    assert fitted.threshold_ == pytest.approx(0.9)
    far = fitted.answer(fitted.prototypes_ + 1e3).none_of_these
    assert (far > fitted.threshold_).all()


def test_novelty_is_not_known_of_an_uncalibrated_model(fitted, queries):
    with pytest.raises(InputError, match=r"the model is uncalibrated, .*--calibrate"):
        fitted.novelty(queries)
    assert np.isnan(fitted.threshold_)


def test_any_number_of_images_a_class(model, images):
    chosen = np.concatenate([images[0, :5], images[1, :1], images[2, :2]])
    labels = np.repeat([30, 10, 20], [5, 1, 2])
    fitted = FewShotClassifier(model).fit(chosen, labels)
    assert fitted.classes_.tolist() == [10, 20, 30]
    assert fitted.counts_.tolist() == [1, 2, 5]
    assert fitted.predict(images[1, :1]).tolist() == [10]


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        (["a"] * 12, "found 1 class"),
        (["a", "b"], "12 images and 2 labels"),
        ([["a", "b"]] * 12, r"shape \(12, 2\)"),
        (
            ["a", "b"] * 5 + ["a", None],
            "label 11 of 0 to 11 is None",
        ),
        (["a"] * 3 + [float("nan")] + ["b"] * 8, "label 3 of 0 to 11 is NaN"),
        (np.array([1.0] * 6 + [2.0] * 5 + [np.nan]), "label 11 of 0 to 11 is NaN"),
        ([object()] * 12, "type object"),
    ],
)
def test_labels_that_cannot_be_used(model, support, labels, text):
    with pytest.raises(InputError, match=text):
        FewShotClassifier(model).fit(support[0], labels)


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"adapt": "refine"}, "none were given"),
        ({"adapt": "both"}, "none, refine, filter, gate, auto, got 'both'"),
        ({"unlabeled": []}, "holds no image"),
    ],
)
def test_adaptations_that_cannot_be(model, support, more, text):
    with pytest.raises(InputError, match=text):
        FewShotClassifier(model).fit(*support, **more)


def test_no_image_has_no_answer(fitted):
    assert fitted.predict([]).shape == (0,)
    assert fitted.predict_proba(np.zeros((0, 28, 28))).shape == (0, 3)


def test_must_be_fitted_first(model, queries):
    with pytest.raises(sklearn.exceptions.NotFittedError, match="call fit"):
        FewShotClassifier(model).predict(queries)


# --- scikit-learn


def test_far_images_belong_nowhere(model):
    # Distances of photographs, whose chances are below the smallest float32.
    generator = np.random.default_rng(0)
    means = 20 * generator.normal(size=(5, model.size)).astype(np.float32)
    near = np.repeat(means, 12, axis=0) + generator.normal(size=(60, model.size))
    far = 20 * generator.normal(size=(40, model.size))
    crowd = np.concatenate([near, far]).astype(np.float32)
    fitted = FewShotClassifier(model).fit_embeddings(means, list("abcde"), crowd)
    assert fitted.belongs_[:60].min() > 0.9
    assert np.median(fitted.belongs_[60:]) < 0.1


# --- Many at once


def test_a_hundred_threads_get_the_answers_of_one(fitted, queries):
    contents = [made.png(image) for image in queries]
    parts = [
        (contents if number % 2 else queries)[number % 7 : number % 7 + 1 + number % 20]
        for number in range(100)
    ]
    expected = [fitted.predict_proba(part) for part in parts]
    with concurrent.futures.ThreadPoolExecutor(100) as pool:
        actual = list(pool.map(fitted.predict_proba, parts))
    for one, many in zip(expected, actual, strict=True):
        np.testing.assert_allclose(many, one, rtol=1e-4, atol=1e-6)
