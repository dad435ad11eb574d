"""What a notebook does with a model: fits it, looks at it, saves it, exports it."""

import keras
import numpy as np
import pytest

import prwn_tf
from prwn_tf import FewShotClassifier, FewShotModel, remembered
from prwn_tf.config import EpisodeSpec, WalkConfig
from prwn_tf.encoders.conv4 import Conv4
from prwn_tf.episodes import pipeline, pools
from prwn_tf.errors import UserError
from prwn_tf.heads.feat import Feat
from prwn_tf.heads.prototypes import PrototypeHead
from prwn_tf.regularizers.walk import Walk


def make_model(encoder: keras.Model) -> FewShotModel:
    model = FewShotModel(encoder, PrototypeHead(), [Walk(WalkConfig(0.5, steps=2))])
    model.build((None, 16, 16, 1))
    model.compile(optimizer=keras.optimizers.Adam(1e-3))
    model.build_optimizers()
    return model


@pytest.fixture
def episodes(make_store):
    store = make_store([4] * 6, shape=(16, 16, 1))["train"]
    spec = EpisodeSpec(way=3, shot=1, query=1, unlabeled=2)
    split = pools.split_labels(store, "train", ratio=0.5, seed=0)
    return pipeline.episodes(store, split, spec, seed=0, start=0, stop=2)


def images(count: int = 4) -> np.ndarray:
    random = np.random.default_rng(0)
    return random.integers(0, 256, (count, 16, 16, 1), dtype=np.uint8)


def test_the_names_of_the_package():
    assert {"FewShotClassifier", "FewShotModel"} <= {*dir(prwn_tf)}
    with pytest.raises(AttributeError, match="no attribute 'FewShotModle'"):
        prwn_tf.FewShotModle  # noqa: B018


def test_the_line_of_progress_is_short_and_the_history_is_not(episodes, capsys):
    model = make_model(Conv4(4))
    history = model.fit(episodes, shuffle=False, validation_data=episodes).history
    line = capsys.readouterr().out
    for name in ("loss", "accuracy", "val_loss", "val_accuracy"):
        assert f" {name}: " in line
    for name in ("walker", "classification", "landing/0_steps"):
        assert name in history
        assert name not in line
    model.evaluate(episodes, verbose=0)
    assert capsys.readouterr().out == ""


def dense() -> keras.Model:
    return keras.Sequential([keras.layers.Flatten(), keras.layers.Dense(3)])


@pytest.mark.parametrize("encoder", [lambda: Conv4(4, pool="max"), dense])
def test_a_saved_model_is_the_same_again(tmp_path, encoder):
    model = make_model(encoder())
    assert repr(model).endswith("PrototypeHead, [Walk])")
    model.save(tmp_path / "mine.keras")
    again = keras.saving.load_model(tmp_path / "mine.keras")
    assert repr(again) == repr(model)
    assert again.regularizers[0].config == WalkConfig(0.5, steps=2)
    np.testing.assert_array_equal(again(images()), model(images()))
    assert again.image_shape == (16, 16, 1)


def test_a_model_that_was_never_compiled_stays_so(tmp_path):
    model = FewShotModel(Conv4(4), PrototypeHead())
    model.build((None, 16, 16, 1))
    model.save(tmp_path / "mine.keras")
    assert not keras.saving.load_model(tmp_path / "mine.keras").compiled


def test_a_saved_model_goes_on_as_it_was_trained(tmp_path):
    model = FewShotModel(Conv4(4), Feat(), resplits=3, seed=7)
    model.build((None, 16, 16, 1))
    model.compile(optimizer=keras.optimizers.Adam(1e-3))
    model.head_optimizer = keras.optimizers.SGD(0.5, momentum=0.9)
    model.build_optimizers()
    model.head_optimizer.variables[-1].assign_add(
        keras.ops.ones_like(model.head_optimizer.variables[-1])
    )
    model.save(tmp_path / "mine.keras")
    again = keras.saving.load_model(tmp_path / "mine.keras")
    assert (again.resplits, again.seed) == (3, 7)
    names = [group.name for group in model.optimizer_groups]
    assert [group.name for group in again.optimizer_groups] == names
    assert again.head_optimizer.get_config() == model.head_optimizer.get_config()
    np.testing.assert_array_equal(
        again.head_optimizer.variables[-1], model.head_optimizer.variables[-1]
    )


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("nowhere:Head", "import nowhere first"),
        ("os:PathLike", "no part of a model"),
        ("prwn_tf.locks:HeldError", "no part of a model"),
    ],
)
def test_a_file_cannot_name_what_is_no_part(part, text):
    with pytest.raises(UserError, match=text):
        remembered.made_again({"part": part, "arguments": {}})


def test_a_model_that_was_trained_on_wants_its_classes_again(tmp_path):
    model = make_model(Conv4(4))
    classifier = FewShotClassifier.from_model(model).fit(images(), [0, 0, 1, 1])
    model.encoder.variables[0].assign_add(model.encoder.variables[0])
    for use in (classifier.predict, lambda _: classifier.save(tmp_path / "a.npz")):
        with pytest.raises(UserError, match="memory is not what it was"):
            use(images())
    classifier.fit(images(), [0, 0, 1, 1]).save(tmp_path / "classes.npz")
    classifier.export(tmp_path / "exported")
    again = FewShotClassifier.load(tmp_path / "classes.npz", tmp_path / "exported")
    expected = classifier.predict_proba(images())
    np.testing.assert_allclose(again.predict_proba(images()), expected, rtol=1e-5)


def test_gray_images_are_drawings_only_if_that_is_said():
    model = make_model(Conv4(4))
    bright = np.maximum(images(), 180)
    here, turned = (model(each).numpy() for each in (bright, 255 - bright))
    plain, drawings = (
        FewShotClassifier.from_model(model, drawings=each) for each in (False, True)
    )
    np.testing.assert_allclose(plain.transform(bright), here, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(drawings.transform(bright), turned, rtol=1e-4, atol=1e-5)


def test_a_model_of_a_notebook_is_kept_without_a_workdir(tmp_path):
    model = make_model(Conv4(4))
    classifier = FewShotClassifier.from_model(model).fit(images(), [0, 0, 1, 1])
    expected = classifier.predict_proba(images())
    classifier.save(tmp_path / "classes.npz")
    classifier.export(tmp_path / "exported")
    for kept in (model, tmp_path / "exported"):
        again = FewShotClassifier.load(tmp_path / "classes.npz", kept)
        np.testing.assert_allclose(again.predict_proba(images()), expected, rtol=1e-5)
    assert "FewShotModel(Conv4, PrototypeHead, [Walk])" in repr(again._open_model())
    with pytest.raises(UserError, match="an export already"):
        again.export(tmp_path / "twice")
