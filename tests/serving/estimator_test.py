"""FewShotClassifier is an estimator of scikit-learn, by its own checks."""

import unittest

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator
from sklearn.utils.validation import validate_data

from prwn_tf.serving.classifier import FewShotClassifier

SIDE = 16


class OnRows(FewShotClassifier):
    """Takes the checks' tables of numbers, each row drawn as an image."""

    def fit(self, X, y=None):  # scikit-learn's names
        if y is None:
            return super().fit(X)
        X, y = validate_data(self, X, y)
        return super().fit(drawn(X), y)

    def predict_proba(self, X):
        return super().predict_proba(self._drawn(X))

    def transform(self, X):
        return super().transform(self._drawn(X))

    def _drawn(self, X):
        self._check_fitted()
        return drawn(validate_data(self, X, reset=False))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.three_d_array = True, False
        return tags


def drawn(table: np.ndarray) -> np.ndarray:
    """Returns rows as stripes of gray: [n, features] -> [n, SIDE, SIDE]."""
    gray = 1 / (1 + np.exp(-np.asarray(table, np.float64)))
    stripes = gray[:, np.arange(SIDE) * gray.shape[1] // SIDE]
    return np.repeat(stripes[:, None, :], SIDE, axis=1)


# An untrained network need not separate what the check draws.
EXPECTED = {"check_classifiers_train"}


@pytest.mark.slow
def test_the_checks_of_scikit_learn(model):
    failed = {}
    for estimator, check in estimator_checks_generator(OnRows(model)):
        try:
            check(estimator)
        except unittest.SkipTest:
            continue
        except Exception as error:  # of whatever kind a check raises
            failed[check.func.__name__] = repr(error)
    assert failed.keys() == EXPECTED, "\n".join(map(str, failed.items()))


def test_images_are_said_to_have_more_than_two_axes(model):
    tags = FewShotClassifier(model).__sklearn_tags__().input_tags
    assert tags.three_d_array
    assert not tags.two_d_array
