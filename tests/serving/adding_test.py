"""Classes that join others later."""

import numpy as np
import pytest

from prwn_tf.serving import adding
from prwn_tf.serving.classifier import FewShotClassifier
from prwn_tf.serving.inputs import InputError


@pytest.fixture
def points() -> np.ndarray:
    """Embeddings of three classes, three points of each: [9, D]."""
    random = np.random.default_rng(0)
    centers = np.repeat(4 * random.standard_normal((3, 8)), 3, axis=0)
    return (centers + random.standard_normal((9, 8))).astype(np.float32)


LABELS = [*"bbb", *"ccc", *"aaa"]


def test_as_if_all_were_learned_at_once(calibrated, points):
    together = FewShotClassifier(calibrated).fit_embeddings(points, LABELS)
    later = FewShotClassifier(calibrated).fit_embeddings(points[:6], LABELS[:6])
    adding.add_classes(later, points[6:], LABELS[6:])
    assert later.classes_.tolist() == together.classes_.tolist() == [*"abc"]
    for name in ("prototypes", "offsets", "temperature", "novelty"):
        expected = getattr(together.served_, name)
        np.testing.assert_allclose(getattr(later.served_, name), expected, rtol=1e-5)
    np.testing.assert_array_equal(later.counts_, together.counts_)
    np.testing.assert_allclose(
        later.served_.stranger, together.served_.stranger, rtol=0.3
    )
    assert later.answer(points).best.tolist() == together.answer(points).best.tolist()


def test_a_prototype_of_few_images_is_as_noisy_as_others(calibrated, points):
    crowd = points[:6] + np.float32(0.1)
    later = FewShotClassifier(calibrated).fit_embeddings(
        points[:6], LABELS[:6], crowd, adapt="gate"
    )
    spread = np.max(later.served_.offsets * later.counts_)
    assert spread > 0
    adding.add_classes(later, points[6:8], LABELS[6:8])
    np.testing.assert_allclose(later.served_.offsets[0], spread / 2, rtol=1e-5)


def test_a_class_is_added_once(calibrated, points):
    later = FewShotClassifier(calibrated).fit_embeddings(points[:6], LABELS[:6])
    spelled = ["B"] * len(LABELS[6:8])
    with pytest.raises(InputError, match="the class 'B' is there already, as 'b'"):
        adding.add_classes(later, points[6:8], spelled)
    with pytest.raises(InputError, match="the class 'b' is there already;"):
        adding.add_classes(later, points[:3], LABELS[:3])
