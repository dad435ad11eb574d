"""Intervals of accuracies on few classes, which more episodes do not make smaller."""

import math

import numpy as np
import pytest

from prwn_tf.evaluation import intervals


def test_queries_are_counted_for_their_classes():
    asked = np.array([[2, 0], [0, 3]])
    correct = np.array([[1, 1, 0, 1], [1, 1, 0, 0]])
    found = intervals.tested(50, 5, asked, correct)
    assert (found.classes, found.images) == (5, 50)
    np.testing.assert_allclose(found.by_class, [0.75, 1.0, 0.0])  # of 0, 2 and 3


def test_many_classes_have_the_interval_over_episodes():
    accuracies = np.array([0.5, 0.7, 0.9])
    test = intervals.Tested(20, 400, np.linspace(0, 1, 20))
    found = intervals.interval(accuracies, test)
    assert found == intervals.half_width(accuracies)


@pytest.mark.parametrize("episodes", [10, 10_000])
def test_few_classes_have_one_that_does_not_shrink_with_episodes(episodes):
    test = intervals.Tested(8, 10_000, np.linspace(0.2, 0.9, 8))
    accuracies = np.resize([0.5, 0.6], episodes)
    # The mean of 8 such classes has a deviation of 0.23 / sqrt(8).
    assert intervals.interval(accuracies, test) == pytest.approx(0.16, abs=0.015)


def test_few_images_have_at_least_the_interval_of_so_many_answers():
    test = intervals.Tested(2, 40, np.array([0.7, 0.7]))
    wilson = 0.1368  # 0.546 to 0.819, of 28 in 40
    found = intervals.interval(np.array([0.6, 0.8]), test)
    assert found == pytest.approx(wilson, abs=1e-4)


@pytest.mark.parametrize("classes", [2, 100])
def test_it_is_never_zero(classes):
    test = intervals.Tested(classes, 80, np.ones(classes))
    found = intervals.interval(np.ones(50), test)
    assert found == pytest.approx(0.0229, abs=1e-4)  # Wilson's of 80 in 80


def test_one_episode_has_none():
    test = intervals.Tested(3, 60, np.array([0.5, 0.7]))
    assert math.isnan(intervals.interval(np.array([0.6]), test))


def test_what_is_printed():
    assert intervals.plus_minus(0.004, 2) == " ± <0.01"
    assert intervals.plus_minus(0.0, 1) == " ± <0.1"
    assert intervals.plus_minus(0.006, 2) == " ± 0.01"
    assert intervals.plus_minus(math.nan, 2) == ""
