"""The page of a prediction: complete, bounded, harmless, and alive in a browser."""

import base64
import dataclasses
import html.parser
import json
import re
import shutil
import subprocess
import urllib.parse

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.data import label_table
from prwn_tf.serving import folders, predictions
from prwn_tf.serving.gallery import cards, choice, page, thumbnails
from prwn_tf.serving.predictions import Prediction, Predictions
from tests.serving import made

HOSTILE = "<script>alert(1)</script>&\"'.png"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


class Reader(html.parser.HTMLParser):
    """The tags of a page, and the attributes of each."""

    def __init__(self, text: str):
        super().__init__()
        self.tags = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def of(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def shown(calibrated, tmp_path_factory):
    """The page of three classes, one of them with a hostile name, as `predict` does."""
    folder = tmp_path_factory.mktemp("shown")
    names = ("ant", "<b>bee<b>", "cat")
    drawn = {name: 255 - made.drawings(index) for index, name in enumerate(names)}
    made.write_folders(folder / "support", {k: v[:2] for k, v in drawn.items()})
    made.write_folders(folder / "query", {k: v[2:9] for k, v in drawn.items()})
    made.write_folders(folder / "unlabeled", {k: v[9:13] for k, v in drawn.items()})
    (folder / "query" / HOSTILE.replace("/", "_")).write_bytes(b"<html>")
    made_predictions = predictions.predict(
        calibrated,
        folders.support(folder / "support"),
        folders.images(folder / "query", "query"),
        folders.images(folder / "unlabeled", "unlabeled"),
        adapt="filter",
    )
    page.write(folder / "gallery.html", made_predictions, calibrated, HOSTILE)
    return folder / "gallery.html"


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
    assert policy["content"].startswith("default-src 'none'; img-src data: file:;")


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


# --- In a browser


def browse(path, tmp_path) -> tuple[str, str]:
    """The page as Chromium has it once its script has run, and what it complained of.

    A profile of its own, so that it meets no other Chromium.
    """
    result = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            f"--user-data-dir={tmp_path / 'profile'}",
            "--enable-logging=stderr",
            "--dump-dom",
            path.as_uri(),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    said = [line for line in result.stderr.splitlines() if "CONSOLE" in line]
    return result.stdout, "\n".join(said)


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_a_browser_has_nothing_to_complain_of(shown, tmp_path):
    dom, said = browse(shown, tmp_path)
    assert said == ""
    assert dom.count("<figure") == shown.read_text(encoding="utf-8").count("<figure")


DRIVER = """<script>
const names = () => [...document.querySelectorAll("#unlabeled .grid")[0].children]
  .filter((card) => getComputedStyle(card).display !== "none")
  .map((card) => card.dataset.name);
const log = {before: names()};
for (const order of ["name", "certain", "doubtful", "given"]) {
  sort.value = order;
  sort.dispatchEvent(new Event("change"));
  log[order] = names();
}
// A wrong label, a new class with a name like a formula, and none of them.
const rows = [...document.querySelectorAll(".row")];
for (const [row, right] of [[0, "cat"], [1, '=ne,w "class"'], [2, ""]]) {
  rows[row].querySelector(".thumb").click();
  log.large = large.open && picture.src;
  const known = right !== '=ne,w "class"';
  const field = document.getElementById(known ? "right" : "fresh");
  field.value = right;
  field.dispatchEvent(new Event("change"));
}
log.corrected = rows.slice(0, 3).map((row) => row.dataset.name);
log.stepped = [document.getElementById("which").textContent];
document.getElementById("previous").click();
log.stepped.push(document.getElementById("which").textContent);
large.close();
log.table = table();
unsaved = false;
find.value = " CAT/0 ";
find.dispatchEvent(new Event("input"));
log.found = names();
log.wide = document.documentElement.scrollWidth > window.innerWidth;
document.title = JSON.stringify(log);
</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_sorting_finding_and_correcting_in_a_browser(shown, tmp_path):
    # The page forbids foreign scripts, so the driver needs a page that does not.
    text = re.sub("<meta http-equiv.*?>", "", shown.read_text(encoding="utf-8"))
    (tmp_path / "driven.html").write_text(
        text.replace("</html>", f"{DRIVER}</html>"), encoding="utf-8"
    )
    dom, said = browse(tmp_path / "driven.html", tmp_path)
    assert said == ""
    log = json.loads(html.unescape(re.search("<title>(.*?)</title>", dom).group(1)))
    figures = Reader(text).of("figure")
    sure = {
        card["data-name"]: (float(card["data-right"]), float(card["data-margin"]))
        for card in figures
    }
    assert log["name"] == sorted(log["before"])
    assert log["certain"] == sorted(log["before"], key=sure.get)[::-1]
    assert log["doubtful"] == log["certain"][::-1]
    assert log["given"] == log["before"]
    assert log["found"] == [name for name in log["before"] if name.startswith("cat/0")]
    assert not log["wide"]
    assert log["large"].startswith("file:///")
    assert log["stepped"] == log["corrected"][2:0:-1]
    # The table is what `predict --support_table` and `prepare --labels` read.
    (tmp_path / "corrected.csv").write_text(log["table"], encoding="utf-8")
    labels = label_table.read(tmp_path / "corrected.csv", "--labels")
    listed = {each["data-name"]: each for each in Reader(text).of("li") if each}
    expected = {
        name: each["data-label"]
        for name, each in listed.items()
        if "data-row" in each and "data-novel" not in each
    }
    first, second, third = log["corrected"]
    expected |= {first: "cat", second: '=ne,w "class"'}
    expected.pop(third, None)
    assert labels == expected
    assert log["table"].count(",you") == 3
