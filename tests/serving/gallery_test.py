"""The page of a prediction: complete, bounded, harmless, and alive in a browser."""

import base64
import dataclasses
import re
import urllib.parse

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.serving.gallery import cards, choice, thumbnails
from prwn_tf.serving.predictions import Prediction, Predictions
from tests.serving import made
from tests.serving.pages import Reader


def test_everything_is_shown(shown):
    read = Reader(shown.read_text(encoding="utf-8"))
    names = [card["data-name"] for card in read.of("figure")]
    for name in ("ant", "<b>bee<b>", "cat"):
        queries = {f"{name}/{index:02}.png" for index in range(7)}
        assert queries <= set(names)
    examples = [image for image in read.of("img") if image["alt"] == "example"]
    assert len(examples) == 6
    headings = re.findall(r"<h3>(.*?)</h3>", shown.read_text(encoding="utf-8"))
    assert headings == ["Trusted (6)", "Set aside (6)"]
    assert "is a web page" in shown.read_text(encoding="utf-8")
    assert shown.read_text(encoding="utf-8").count("<b>Outside</b> means") == 1
    rows = [each for each in read.of("li") if "data-row" in each]
    assert [int(each["data-row"]) for each in rows] == list(range(21))


def test_names_are_text_and_nothing_else(shown):
    text = shown.read_text(encoding="utf-8")
    read = Reader(text)
    assert len(read.of("script")) == 1
    assert "alert(1)" in text
    assert "<script>alert(1)" not in text
    assert "<b>bee" not in text


def test_nothing_comes_from_elsewhere(shown):
    text = shown.read_text(encoding="utf-8")
    for _, attributes in Reader(text).tags:
        for name in ("src", "href", "action", "srcset"):
            value = attributes.get(name, "#")
            # Within the page, or files on the way from it, of no other scheme.
            assert value.startswith(("#", "./", "data:image/jpeg;base64,"))
    assert not re.search(r"url\(|@import|https?://", text)
    [policy] = [each for each in Reader(text).of("meta") if "http-equiv" in each]
    assert policy["content"].startswith(
        "default-src 'none'; img-src 'self' data: file:;"
    )


def test_images_lead_to_their_files(shown):
    links = [each["href"] for each in Reader(shown.read_text()).of("a")]
    ways = [link for link in links if not link.startswith("#")]
    assert len(ways) >= 6 + 2 * 21 + 12  # examples, a card and a row each, unlabelled
    for way in ways:
        assert (shown.parent / urllib.parse.unquote(way)).is_file()


def some(count: int, label: str = "ant", **more) -> list[Prediction]:
    """Predictions of growing certainty."""
    return [
        Prediction(
            path=f"/{label}/{index}",
            file=f"{label}/{index}",
            label=label,
            probability=(index + 1) / (count + 1),
            runner_up="bee",
            margin=index,
            none_of_these=1 - index / count,
            novel=index <= count / 2,
            **more,
        )
        for index in range(count)
    ]


def predictions_of(
    queries, unlabeled=(), trusted=(), classes=("ant", "bee")
) -> Predictions:
    support = {name: [f"/{name}/x"] for name in classes}
    crowd = list(unlabeled)
    return Predictions(
        None, support, list(queries), crowd, frozenset(trusted), "filter"
    )


def test_the_ends_of_a_large_class_are_chosen():
    chosen = choice.choose(predictions_of(some(1000)))
    ant, bee = chosen.classes
    _, few = choice.ANSWERS_RANGE
    assert [each.margin for each in ant.most] == list(range(999, 999 - few, -1))
    assert [each.margin for each in ant.least] == list(range(few))
    assert (ant.predicted, bee.predicted) == (1000, 0)
    assert bee.most == bee.least == []
    # The least like any class come first, and none that is like one.
    assert [each.margin for each in chosen.doubted] == list(range(choice.MAX_DOUBTED))


def test_a_small_class_is_shown_once():
    chosen = choice.choose(predictions_of(some(5)))
    assert [each.margin for each in chosen.classes[0].most] == [4, 3, 2, 1, 0]
    assert not chosen.classes[0].least
    assert len(chosen.doubted) == 3


def test_doubt_is_compared_across_classes():
    queries = [
        Prediction("/a", "a", "ant", 0.9, "bee", 3, 0.1),
        Prediction("/b", "b", "bee", 0.95, "ant", 4, 0.9),
        Prediction("/c", "c", "ant", 0.5, "bee", 0.1, 0.1),
        Prediction("/d", "d", problem="is empty"),
    ]
    chosen = choice.choose(predictions_of(queries))
    assert [each.file for each in chosen.by_doubt] == ["b", "c", "a"]
    unknown = [
        dataclasses.replace(each, probability=np.nan, none_of_these=np.nan)
        for each in queries[:3]
    ]
    chosen = choice.choose(predictions_of(unknown))
    assert [each.file for each in chosen.by_doubt] == ["c", "a", "b"]


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a.png", ["", "a.png"]),
        ("IMG_20260101_000123.jpg", ["IMG_20260101_0", "00123.jpg"]),
        ("cafe\u0301-1234567", ["caf", "e\u0301-1234567"]),
    ],
)
def test_the_middle_of_a_name_makes_way(name, parts):
    assert re.findall("<bdi>(.*?)</bdi>", cards.cut(name)) == parts


def test_the_filter_decides_what_is_trusted():
    crowd = [*some(100), Prediction("/bad", "bad", problem="is empty")]
    trusted = {f"/ant/{index}" for index in range(50, 100)}
    chosen = choice.choose(predictions_of([], crowd, trusted))
    assert {each.path for each in chosen.trusted} == trusted
    assert [each.file for each in chosen.aside] == [f"ant/{i}" for i in range(50)]


def test_pages_are_bounded_however_many_images_there_are():
    names = [f"class{index}" for index in range(400)]
    queries = [each for name in names for each in some(40, name)]
    chosen = choice.choose(predictions_of(queries, some(5000), (), names))
    assert len(chosen.paths()) < 400 * (2 + 2 * 3) + 200 + choice.MAX_PICTURED
    assert len(chosen.by_doubt) == 16_000
    chosen = choice.choose(predictions_of(some(choice.MAX_LISTED + 7)))
    assert (len(chosen.by_doubt), chosen.unlisted) == (choice.MAX_LISTED, 7)


def test_thumbnails_keep_their_shape(tmp_path):
    images = {"wide": (30, 60), "tall": (400, 100), "dot": (1, 1)}
    paths = []
    for name, shape in images.items():
        paths.append(str(tmp_path / f"{name}.png"))
        image = np.full((*shape, 3), (200, 30, 60), np.uint8)
        (tmp_path / f"{name}.png").write_bytes(made.png(image))
    # A wide photograph of a camera that was held upright.
    photo = tf.io.encode_jpeg(np.full((30, 60, 3), (200, 30, 60), np.uint8)).numpy()
    exif = b"Exif\0\0MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0\6\0\0\0\0\0\0"
    photo = photo[:2] + b"\xff\xe1\0" + bytes([2 + len(exif)]) + exif + photo[2:]
    paths.append(str(tmp_path / "photo.jpg"))
    (tmp_path / "photo.jpg").write_bytes(photo)
    actual = thumbnails.thumbnails([*paths, str(tmp_path / "gone.png")])
    size = thumbnails.SIZE
    shapes = [(size // 2, size), (size, size // 4), (size, size), (size, size // 2)]
    expected = [(*shape, 3) for shape in shapes]
    assert list(actual) == paths
    for source, shape in zip(actual.values(), expected, strict=True):
        content = base64.b64decode(source.removeprefix("data:image/jpeg;base64,"))
        pixels = tf.io.decode_jpeg(content).numpy()
        assert pixels.shape == shape
        np.testing.assert_allclose(pixels.mean(axis=(0, 1)), (200, 30, 60), atol=6)
