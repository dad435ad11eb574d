"""Bars and letters as pixels."""

import numpy as np

from prwn_tf.images import chart, lettering


def test_letters_are_ink_on_paper():
    line = lettering.lettered("Ii")
    assert line.shape == (lettering.HEIGHT, 2 * 4 * lettering.SCALE, 3)
    first, second = np.split(line, 2, axis=1)
    np.testing.assert_array_equal(first, second)  # capitals alone
    assert (first[0, :6] == 0).all()  # the upper bar of an I
    assert (first[:, 6:] == 255).all()  # and the gap behind it


def test_a_line_is_cut_where_the_picture_ends():
    picture = np.full((8, 20, 3), 255, np.uint8)
    lettering.write(picture, "much too long a line", 2, 4)
    assert (picture < 255).any()
    assert (picture[:2] == 255).all()


def test_a_bar_is_as_high_as_its_value():
    picture = chart.bars([0.5, 1.0, 0.0], ["0", "1", "2"], "title", "below")
    heights = [
        (picture[:, chart.LEFT + chart.GAP + k * (chart.BAR + chart.GAP) + 1])
        for k in range(3)
    ]
    inked = [(column == chart.BLUE).all(axis=-1).sum() for column in heights]
    assert inked == [chart.HEIGHT // 2, chart.HEIGHT, 0]
