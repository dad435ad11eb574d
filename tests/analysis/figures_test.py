import importlib.util
import io
import struct

import numpy as np
import pytest
from PIL import Image

from prwn_tf.analysis import figures, visit_figures
from prwn_tf.analysis.styles import METHODS
from prwn_tf.analysis.visits import Visits
from prwn_tf.errors import UserError


def empty(width, height):
    figure = figures.new_figure(width, height)
    figure.subplots().set(xlabel="steps", ylabel="share")
    return figure


def test_rendered_at_the_size_that_was_asked_for():
    drawing = figures.render(empty, figures.COLUMN, 2.5)
    content = drawing["png"]
    assert content.startswith(b"\x89PNG")
    assert struct.unpack(">II", content[16:24]) == (680, 500)
    assert len(content) < 20_000
    assert b'width="244.8pt" height="180pt"' in drawing["svg"]
    assert drawing["pdf"].startswith(b"%PDF")


def test_the_same_figure_is_the_same_file():
    assert figures.render(empty, 3, 2) == figures.render(empty, 3, 2)


def test_style_does_not_leak():
    import matplotlib

    before = dict(matplotlib.rcParams)
    figures.render(empty, 3, 2)
    assert dict(matplotlib.rcParams) == before


def test_a_missing_package_is_named_with_its_cure(monkeypatch):
    figures.require()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError, match=r"matplotlib.*pip install -e '\.\[figures\]'"):
        figures.require()


def luminance(color):
    return np.dot(figures.rgb(color), [0.299, 0.587, 0.114])


def test_clean_and_distractor_differ_without_colour():
    assert abs(luminance(figures.CLEAN) - luminance(figures.DISTRACTOR)) > 15


def test_the_band_of_a_curve_is_its_interval():
    axes = figures.new_figure(3, 2).subplots()
    mean, interval = np.array([1.0, 2.0]), np.array([0.5, 0.25])
    figures.draw_curve(axes, METHODS["PN"], "", [0, 1], mean, interval)
    [band] = axes.collections
    corners = {tuple(point) for point in band.get_paths()[0].vertices}
    assert {(0, 0.5), (0, 1.5), (1, 1.75), (1, 2.25)} <= corners


@pytest.fixture
def visited():
    """Two episodes of four clean points and four distractors."""
    scores = np.array([[9, 8, 1, 6, 5, 4, 3, 2], [1, 2, 3, 4, 5, 6, 7, 8.0]])
    kept = (scores >= np.median(scores, axis=1, keepdims=True)).astype(float)
    return Visits("PRWN", 4, np.full(2, 0.8), np.full(2, 0.7), 0.1, scores, kept, kept)


def test_episode_is_laid_out_by_score(visited):
    images = np.stack([np.full((8, 8, 1), 25 * i, np.uint8) for i in range(8)])
    figure = visit_figures.draw_episode(visited, 0, images.__getitem__)
    above, below = figure.axes
    assert above.get_title(loc="left") == "kept by the filter: 3 clean, 1 distractors"
    assert below.get_title(loc="left") == "left out: 1 clean, 3 distractors"
    sheet = above.get_images()[0].get_array()
    assert sheet.shape == (8 + 3 * 2, 16 * (8 + 3 * 2), 3)
    middles = [int(sheet[6, 14 * place + 6, 0]) for place in range(4)]
    assert middles == [0, 25, 75, 100]  # by falling score
    frames = [tuple(map(int, sheet[1, 14 * place + 5])) for place in range(4)]
    clean, distractor = figures.rgb(figures.CLEAN), figures.rgb(figures.DISTRACTOR)
    assert frames == [clean, clean, clean, distractor]


def test_of_a_large_pool_the_first_pictures_are_drawn(visited, monkeypatch):
    monkeypatch.setattr(visit_figures, "MAX_PICTURES", 2)
    read = []

    def images(places):
        read.append(list(places))
        return np.zeros((len(places), 8, 8, 1), np.uint8)

    figure = visit_figures.draw_episode(visited, 0, images)
    assert read == [[0, 1], [5, 6]]
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[0] == "kept by the filter: 3 clean, 1 distractors"


def test_histogram_counts_every_point(visited):
    figure = visit_figures.draw_histogram([visited])
    [axes] = figure.axes
    for patch in axes.patches:
        heights = patch.get_xy()[:, 1]
        assert heights.max() <= 100
    clean, distractor = axes.patches
    area = [_area(patch) for patch in (clean, distractor)]
    np.testing.assert_allclose(area, [500, 500])  # 100 % over bins 5 wide


def _area(patch) -> float:
    x, y = patch.get_xy().T
    return abs(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1])) / 2


def test_colour_pictures_are_drawn_too(visited):
    images = np.zeros((8, 12, 12, 3), np.uint8)
    images[..., 0] = 255
    read = images.__getitem__
    content = figures.render(visit_figures.draw_episode, visited, 1, read)["png"]
    pixels = np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))
    assert (pixels == [255, 0, 0]).all(axis=2).mean() > 0.02


def test_runs_stand_under_their_ceiling(visited):
    figure = visit_figures.draw_clean([visited], [visited])
    own, common, raw = figure.axes
    for axes in (own, common):
        assert axes.lines[-1].get_xdata()[0] == pytest.approx(0.95)
        assert axes.get_xlabel().endswith("at most 0.95")
    assert raw.get_title(loc="left") == "common scale, unsmoothed"
