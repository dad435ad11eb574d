"""FewShotClassifier: an estimator of scikit-learn, and how it is kept."""

import pickle
import shutil

import numpy as np
import pytest
import sklearn.base
import sklearn.exceptions
import sklearn.linear_model
import sklearn.model_selection
import sklearn.pipeline

from prwn_tf.errors import UserError
from prwn_tf.serving.classifier import FewShotClassifier
from tests.serving import made


def test_works_under_cross_validation(model, images):
    labels = np.repeat(made.NAMES, 20)
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
    assert classifier.score(queries, np.repeat(made.NAMES, 10)) > 0.6


def test_settings_are_scikit_learns(model):
    classifier = FewShotClassifier(model, adapt="refine")
    assert classifier.get_params() == {"model": model, "adapt": "refine"}
    copy = sklearn.base.clone(classifier.set_params(adapt="none"))
    assert copy.get_params() == {"model": model, "adapt": "none"}
    assert sklearn.base.is_classifier(classifier)


def test_can_be_sent_to_another_process(fitted, queries):
    copy = pickle.loads(pickle.dumps(fitted))
    assert copy.predict(queries).tolist() == fitted.predict(queries).tolist()


def test_another_model_in_its_folder_is_noticed(
    model, exported, color_model, support, queries, tmp_path
):
    folder = shutil.copytree(exported, tmp_path / "model")
    fitted = FewShotClassifier(str(folder)).fit(*support)
    kept = pickle.dumps(fitted)
    shutil.rmtree(folder)
    shutil.copytree(color_model.path, folder)
    with pytest.raises(UserError, match=r"is not what it was .* call fit again"):
        pickle.loads(kept).predict(queries)
    assert fitted.predict(queries).shape == (len(queries),)  # which had it opened


# --- Kept in a file


def test_save_and_load(
    calibrated, calibrated_workdir, support, unlabeled, queries, tmp_path
):
    fitted = FewShotClassifier(calibrated).fit(*support, unlabeled)
    fitted.save(tmp_path / "mine.npz")
    for other in (calibrated, calibrated_workdir):
        loaded = FewShotClassifier.load(tmp_path / "mine.npz", other)
        assert loaded.classes_.tolist() == made.NAMES.tolist()
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
