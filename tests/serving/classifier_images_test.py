"""FewShotClassifier: the images that it takes, in which form they ever come."""

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.errors import UserError
from prwn_tf.serving import inputs
from prwn_tf.serving.classifier import FewShotClassifier
from prwn_tf.serving.inputs import InputError
from tests.serving import made


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


def test_one_array_is_one_image(fitted, queries):
    [expected] = fitted.predict(queries[:1])
    color = np.repeat(queries[0], 3, axis=-1)
    for form in (queries[0], tf.constant(queries[0]), color):
        assert list(fitted.predict(form)) == [expected]
    with pytest.raises(InputError, match="images must be an array"):
        fitted.predict(queries[0].reshape(1, -1))  # numbers of an image in a row


@pytest.mark.parametrize(
    ("form", "name"),
    [
        (tf.data.Dataset.from_tensors(0), r"Dataset; give list\(images.as_numpy_it"),
        ({"a.png"}, "found set$"),
        ({"a.png": "cat"}, "found dict$"),
    ],
)
def test_what_has_no_order_is_refused(fitted, form, name):
    with pytest.raises(InputError, match=f"images must be an array .*{name}"):
        fitted.predict(form)


@pytest.mark.parametrize("mode", ["RGBA", "P", "CMYK", "YCbCr", "HSV"])
def test_images_of_pillow(color_model, mode):
    pillow = pytest.importorskip("PIL.Image")
    pixels = np.zeros((32, 32, 3), np.uint8)
    pixels[:, :16], pixels[:, 16:] = (250, 10, 10), (10, 10, 250)
    image = pillow.fromarray(pixels).convert(mode)
    [actual] = inputs.batches([image], color_model)
    expected = np.asarray(image.convert("RGB"))
    np.testing.assert_allclose(actual.pixels[0].astype(int), expected, atol=3)


def test_images_of_pillow_stand_upright_as_their_files_do(color_model, tmp_path):
    pillow = pytest.importorskip("PIL.Image")
    pixels = np.zeros((32, 32, 3), np.uint8)
    pixels[:8] = 250
    image = pillow.fromarray(pixels)
    image.getexif()[0x0112] = 6  # to be turned by a quarter
    image.save(tmp_path / "a.png", exif=image.getexif())
    [opened], [named] = (
        [batch.pixels[0] for batch in inputs.batches([each], color_model)]
        for each in (pillow.open(tmp_path / "a.png"), image)
    )
    expected = np.rot90(pixels, -1)
    np.testing.assert_array_equal(opened, expected)
    np.testing.assert_array_equal(named, expected)


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
    folders = {name: images[index][:2] for index, name in enumerate(made.NAMES)}
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
        (np.zeros((1, 28, 28, 3, 1)), r"shape \(1, 28, 28, 3, 1\)"),
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
