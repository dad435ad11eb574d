import numpy as np

from prwn_tf.config import EpisodeSpec
from prwn_tf.episodes import picture
from prwn_tf.episodes.pipeline import Episode
from prwn_tf.images import lettering

SPEC = EpisodeSpec(way=2, shot=1, query=3, unlabeled=2, distractors=1)
LINE = 2 * lettering.HEIGHT  # of the legend, in a narrow picture
CELL = picture.MIN_PIXELS + 4 * picture.FRAME


def images(value, *shape):
    return np.full((*shape, 14, 14, 1), value, np.uint8)


def cell(found, row, column):
    """The color of a frame, and of the middle of the image in it."""
    top, left = row * CELL, column * CELL
    frame = found[top + picture.FRAME, left + CELL // 2]
    return tuple(frame.tolist()), found[top + CELL // 2, left + CELL // 2, 0]


def test_every_image_has_its_place_and_frame():
    episode = Episode(images(1, 2, 1), images(2, 2, 3), images(3, 6))
    found = picture.picture(episode, SPEC)
    assert found.shape == (3 * CELL + 4 * LINE, 6 * CELL, 3)
    assert cell(found, 0, 0) == (picture.GREEN, 1)
    assert cell(found, 1, 3) == (picture.BLUE, 2)
    assert cell(found, 1, 5) == (picture.GRAY, 3)
    assert cell(found, 2, 0) == ((255, 255, 255), 255)  # distractors have no support
    assert cell(found, 2, 4) == (picture.RED, 3)


def test_a_tall_picture_is_widened_for_large_letters():
    way, high = 20, lettering.DOTS * (20 * CELL // picture.LEGEND_DOTS)
    episode = Episode(images(1, way, 1), images(2, way, 1), images(3, 0))
    found = picture.picture(episode, EpisodeSpec(way=way, shot=1, query=1))
    text = lettering.lettered("labelled", high // lettering.DOTS)
    assert found.shape == (way * CELL + 4 * high, 2 * high + text.shape[1], 3)
    assert (found[: way * CELL, 2 * CELL :] == 255).all()


def test_no_unlabelled_images():
    episode = Episode(images(1, 2, 1), images(2, 2, 3), images(3, 0))
    spec = EpisodeSpec(way=2, shot=1, query=3)
    found = picture.picture(episode, spec)
    assert found.shape == (2 * CELL + 2 * LINE, 4 * CELL, 3)
    marks = [found[2 * CELL + k * LINE + LINE // 2, 5].tolist() for k in range(2)]
    assert marks == [[*picture.GREEN], [*picture.BLUE]]  # the legend


def test_drawn_images_stand_beside_real_ones():
    episode = Episode(images(1, 2, 1), images(2, 2, 3), images(3, 6))
    drawn = np.full((8, 14, 14, 1), 0.2, np.float32)
    found = picture.beside_drawn(episode, drawn)
    assert found.shape == (2 * CELL, 12 * CELL, 3)
    assert cell(found, 0, 1) == (picture.GREEN, 1)
    assert cell(found, 0, 2) == cell(found, 1, 1) == (picture.GRAY, 3)
    assert cell(found, 0, 6) == cell(found, 1, 7) == (picture.PURPLE, 51)
    assert cell(found, 1, 8) == ((255, 255, 255), 255)
    many = picture.beside_drawn(episode, np.repeat(drawn, 99, axis=0))
    assert many.shape == (picture.MAX_ROWS * CELL, 12 * CELL, 3)


def test_color_images_keep_their_colors():
    colored = np.broadcast_to(np.uint8([9, 8, 7]), (2, 1, 60, 60, 3))
    episode = Episode(colored, colored, colored[:0, 0])
    found = picture.picture(episode, EpisodeSpec(way=2, shot=1, query=1))
    assert found[30, 30].tolist() == [9, 8, 7]
