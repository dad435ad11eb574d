"""FewShotClassifier: what it learns, what it takes, and how it is kept."""

import concurrent.futures
import pickle

import numpy as np
import pytest
import sklearn.base
import sklearn.exceptions
import sklearn.linear_model
import sklearn.model_selection
import sklearn.pipeline
import tensorflow as tf

from prwn_tf.errors import UserError
from prwn_tf.serving import inputs
from prwn_tf.serving.classifier import FewShotClassifier
from prwn_tf.serving.inputs import InputError
from tests.oracle import gate as gate_oracle
from tests.oracle import prototypes as oracle
from tests.oracle import walk as walk_oracle
from tests.serving import made

NAMES = np.array(["ant", "bee", "cat"])
SHOTS = 4


@pytest.fixture(scope="module")
def images():
    """[3, 20, 28, 28, 1]"""
    return np.stack([made.drawings(index) for index in range(3)])


@pytest.fixture(scope="module")
def support(images):
    return np.concatenate(images[:, :SHOTS]), np.repeat(NAMES, SHOTS)


@pytest.fixture(scope="module")
def queries(images):
    return np.concatenate(images[:, 10:])


@pytest.fixture(scope="module")
def unlabeled(images):
    """8 drawings of the classes, and 4 of others."""
    others = np.concatenate([made.drawings(index)[:2] for index in (8, 9)])
    return np.concatenate([*images[:, 5:8], others])[:12]


@pytest.fixture
def fitted(model, support):
    return FewShotClassifier(model).fit(*support)


def test_learns_from_a_few(fitted, queries):
    assert fitted.classes_.tolist() == NAMES.tolist()
    # By chance it would be a third; the encoder was not trained.
    assert fitted.score(queries, np.repeat(NAMES, 10)) > 0.6


def test_prototypes_and_probabilities_match_the_oracle(fitted, model, support, queries):
    embedded = model.embed(support[0]).reshape(3, SHOTS, -1)
    means = oracle.prototypes(embedded)
    np.testing.assert_allclose(fitted.prototypes_, means, atol=1e-5)
    scores = oracle.scores(means, model.embed(queries))
    expected = np.stack([oracle.softmax(row) for row in scores])
    actual = fitted.predict_proba(queries)
    np.testing.assert_allclose(actual, expected, atol=1e-4)
    assert fitted.predict(queries).tolist() == NAMES[expected.argmax(1)].tolist()


@pytest.mark.parametrize("adapt", ["none", "refine", "filter"])
def test_adaptations_match_the_oracle(model, support, unlabeled, adapt):
    actual = FewShotClassifier(model).fit(*support, unlabeled, adapt)
    embedded = model.embed(support[0]).reshape(3, SHOTS, -1).astype(float)
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
    codes = np.repeat(np.arange(3), SHOTS)
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
    temperature = 3.0 * SHOTS  # between 3 at one shot and 15 at five
    assert actual.served_.temperature == pytest.approx(temperature, rel=1e-5)
    scores = oracle.scores(plain.prototypes_, model.embed(queries))
    expected = [oracle.softmax(row / temperature) for row in scores]
    np.testing.assert_allclose(actual.predict_proba(queries), expected, atol=1e-4)


def test_novelty_is_the_distance_in_the_unit_of_a_strangers(
    calibrated, support, queries
):
    fitted = FewShotClassifier(calibrated).fit(*support)
    points, labels = calibrated.embed(support[0]), np.repeat(np.arange(3), SHOTS)
    means, nothing = fitted.prototypes_.astype(float), np.zeros(3)
    stranger = gate_oracle.stranger_distance(points, labels, means, nothing)
    nearest = -oracle.scores(means, calibrated.embed(queries)).max(axis=1) / stranger
    expected = 1 / (1 + np.exp(-2.0 * (np.log(nearest) + 1.0)))
    np.testing.assert_allclose(fitted.novelty(queries), expected, rtol=1e-3)
    assert fitted.threshold_ == pytest.approx(0.9)
    far = fitted.answer(fitted.prototypes_ + 1e3).none_of_these
    assert (far > fitted.threshold_).all()


def test_novelty_is_not_known_of_an_uncalibrated_model(fitted, queries):
    with pytest.raises(InputError, match="this model has none stored"):
        fitted.novelty(queries)
    assert np.isnan(fitted.threshold_)


def test_any_number_of_images_a_class(model, images):
    chosen = np.concatenate([images[0, :5], images[1, :1], images[2, :2]])
    labels = np.repeat([30, 10, 20], [5, 1, 2])
    fitted = FewShotClassifier(model).fit(chosen, labels)
    assert fitted.classes_.tolist() == [10, 20, 30]
    assert fitted.counts_.tolist() == [1, 2, 5]
    assert fitted.predict(images[1, :1]).tolist() == [10]


def test_arrays_files_and_bytes_are_the_same(model, fitted, queries, tmp_path):
    contents = [made.png(image) for image in queries]
    paths = []
    for index, content in enumerate(contents):
        paths.append(tmp_path / f"{index}.png")
        paths[-1].write_bytes(content)
    expected = fitted.transform(queries)
    for form in (
        queries[..., 0],
        queries.astype(np.int64),
        queries / 255,
        list(queries),
        tf.constant(queries),
        [tf.constant(image) for image in queries],
        [image / np.float32(255) for image in queries],
        np.repeat(queries, 3, axis=-1),
        contents,
        paths,
        [str(path) for path in paths],
        np.array(paths, dtype=object),
    ):
        np.testing.assert_allclose(fitted.transform(form), expected, atol=1e-5)


@pytest.mark.parametrize("mode", ["RGBA", "P", "CMYK", "YCbCr", "HSV"])
def test_images_of_pillow(color_model, mode):
    pillow = pytest.importorskip("PIL.Image")
    pixels = np.zeros((32, 32, 3), np.uint8)
    pixels[:, :16], pixels[:, 16:] = (250, 10, 10), (10, 10, 250)
    image = pillow.fromarray(pixels).convert(mode)
    [actual] = inputs.batches([image], color_model)
    expected = np.asarray(image.convert("RGB"))
    np.testing.assert_allclose(actual.pixels[0].astype(int), expected, atol=3)


def test_dark_ink_on_white_is_turned_around(fitted, queries):
    expected = fitted.transform(queries)
    np.testing.assert_allclose(fitted.transform(255 - queries), expected, atol=1e-5)


def test_ink_on_a_transparent_ground(fitted, queries):
    # Black ink whose opacity is the drawing, and black under what cannot be seen.
    alpha = np.concatenate([np.zeros((*queries.shape[:3], 3), np.uint8), queries], -1)
    expected = fitted.transform(queries)
    for form in (alpha, list(alpha), [made.png(image) for image in alpha]):
        np.testing.assert_allclose(fitted.transform(form), expected, atol=1e-4)


def test_one_image_and_a_folder(model, images, tmp_path):
    folders = {name: images[index][:2] for index, name in enumerate(NAMES)}
    made.write_folders(tmp_path / "examples", folders)
    made.write_folders(tmp_path, {"new": images[1][3:5]})
    classifier = FewShotClassifier(model).fit(
        tmp_path / "examples", unlabeled=images[0]
    )
    assert repr(classifier).endswith(" of 3 classes: ant, bee, cat")
    assert len(classifier.predict(str(tmp_path / "new"))) == 2
    path = tmp_path / "new" / "00.png"
    expected = classifier.predict([path]).tolist()
    for one in (path, str(path), path.read_bytes()):
        assert classifier.predict(one).tolist() == expected
    with pytest.raises(InputError, match=r"image 0 \(none.png\) cannot be read"):
        classifier.predict("none.png")
    with pytest.raises(InputError, match="requires y to be passed"):
        FewShotClassifier(model).fit(images[0])


def test_many_classes_are_not_all_named(model, images):
    labels = np.arange(len(images[0]))
    classifier = FewShotClassifier(model).fit(images[0], labels)
    assert repr(classifier).endswith(" of 20 classes: 0, 1, 2, 3, 4, 5, 6, 7, 12 more")


def test_images_of_different_sizes(fitted, queries):
    wide = np.repeat(queries[:2], 3, axis=2)
    small, first, second = fitted.transform([queries[0], *wide])
    np.testing.assert_allclose(fitted.transform(wide), [first, second], atol=1e-4)
    np.testing.assert_allclose(fitted.transform(queries[:1]), [small], atol=1e-5)


def test_colour_stays_colour(color_model):
    gray = np.full((1, 32, 32, 3), 90, np.uint8)
    red = gray * np.array([2, 1, 0], np.uint8)
    actual = color_model.embed(np.concatenate([gray, red, 255 - gray]))
    assert np.abs(actual[0] - actual[1]).max() > 1e-3
    assert np.abs(actual[0] - actual[2]).max() > 1e-3


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("cat.png", r"image 0 \(cat.png\) cannot be read"),
        (b"\x89PNG", "image 0 is not a JPEG"),
        (7, "found int"),
        (np.zeros((28, 28)), r"shape \(28, 28\)"),
        (np.zeros((28, 28, 3)), r"shape \(28, 28, 3\)"),
        (np.zeros((2, 28, 28, 2)), r"shape \(2, 28, 28, 2\)"),
        (np.full((2, 28, 28), 7.0), "must be from 0 to 1, found 7.0"),
        (np.full((2, 28, 28), np.nan), "must be from 0 to 1"),
        (np.full((2, 28, 28), 256), "must be from 0 to 255"),
        (np.full((2, 28, 28), -1), "must be from 0 to 255"),
        ([b"\x89PNG\r\n\x1a\n", b""], "image 0 is cut short"),
        (["/nowhere/a.png"], r"image 0 \(/nowhere/a.png\) cannot be read"),
        ([b"<html>"], "image 0 is a web page"),
        ([3], "image 0 is a int"),
        ([np.zeros((0, 3))], r"image 0 is an array of shape \(0, 3, 1\)"),
    ],
)
def test_images_that_cannot_be_used(fitted, given, text):
    with pytest.raises(InputError, match=text) as caught:
        fitted.predict(given)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, UserError)


def test_an_image_is_named_by_its_place_among_all(fitted, model, queries):
    place = model.batch_size + 3
    given = [queries[0]] * place + [b"<html>"]
    for ask in (fitted.predict, fitted.transform):
        with pytest.raises(InputError, match=f"image {place} is a web page"):
            ask(given)


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        (["a"] * 12, "found 1 class"),
        (["a", "b"], "12 images and 2 labels"),
        ([["a", "b"]] * 12, r"shape \(12, 2\)"),
        ([None] * 12, "type object"),
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


def test_works_under_cross_validation(model, images):
    labels = np.repeat(NAMES, 20)
    actual = sklearn.model_selection.cross_val_score(
        FewShotClassifier(model), np.concatenate(images), labels, cv=4
    )
    assert actual.shape == (4,)
    assert actual.mean() > 0.6


def test_works_in_a_pipeline(model, support, queries):
    classifier = sklearn.pipeline.make_pipeline(
        FewShotClassifier(model), sklearn.linear_model.LogisticRegression()
    )
    classifier.fit(*support)
    assert classifier.score(queries, np.repeat(NAMES, 10)) > 0.6


def test_settings_are_scikit_learns(model):
    classifier = FewShotClassifier(model, adapt="refine")
    assert classifier.get_params() == {"model": model, "adapt": "refine"}
    copy = sklearn.base.clone(classifier.set_params(adapt="none"))
    assert copy.get_params() == {"model": model, "adapt": "none"}
    assert sklearn.base.is_classifier(classifier)


def test_can_be_sent_to_another_process(fitted, queries):
    copy = pickle.loads(pickle.dumps(fitted))
    assert copy.predict(queries).tolist() == fitted.predict(queries).tolist()


# --- Kept in a file


def test_save_and_load(
    calibrated, calibrated_workdir, support, unlabeled, queries, tmp_path
):
    fitted = FewShotClassifier(calibrated).fit(*support, unlabeled)
    fitted.save(tmp_path / "mine.npz")
    for other in (calibrated, calibrated_workdir):
        loaded = FewShotClassifier.load(tmp_path / "mine.npz", other)
        assert loaded.classes_.tolist() == NAMES.tolist()
        for ask in ("predict_proba", "novelty"):
            expected = getattr(fitted, ask)(queries)
            np.testing.assert_allclose(getattr(loaded, ask)(queries), expected, 1e-5)


def test_what_was_saved_belongs_to_its_model(fitted, color_model, tmp_path):
    fitted.save(tmp_path / "mine.npz")
    with pytest.raises(UserError, match="fitted with another model"):
        FewShotClassifier.load(tmp_path / "mine.npz", color_model)


def test_a_file_that_is_no_classifier(model, fitted, tmp_path):
    path = tmp_path / "mine.npz"
    with pytest.raises(UserError, match="cannot read"):
        FewShotClassifier.load(path, model)
    np.savez(path, format="other")
    with pytest.raises(UserError, match="not a saved classifier"):
        FewShotClassifier.load(path, model)
    np.savez(path, evil=np.array([object()]))
    with pytest.raises(UserError, match="not a saved classifier"):
        FewShotClassifier.load(path, model)
    fitted.save(path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(UserError, match="not a saved classifier"):
        FewShotClassifier.load(path, model)


@pytest.mark.parametrize(
    "changes",
    [
        {"prototypes": np.zeros((2, 64), np.float32)},
        {"prototypes": np.full((3, 64), "a")},
        {"counts": np.zeros(4, np.float32)},
        {"offsets": np.zeros(2, np.float32)},
        {"offsets": None},
        {"novelty": np.array(["a", "b", "c", "d"])},
        {"temperature": np.zeros(1, np.float32)},
    ],
    ids=str,
)
def test_a_file_whose_arrays_do_not_fit(model, support, unlabeled, changes, tmp_path):
    path = tmp_path / "mine.npz"
    FewShotClassifier(model).fit(*support, unlabeled).save(path)
    arrays = dict(np.load(path)) | changes
    np.savez(path, **{k: v for k, v in arrays.items() if v is not None})
    with pytest.raises(UserError, match="damaged"):
        FewShotClassifier.load(path, model)


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
