import numpy as np
import pytest

from prwn_tf.data import catalog
from prwn_tf.data.sets import toy
from prwn_tf.data.store import reader


def polar(points):
    return np.hypot(*points.T), np.arctan2(points[:, 1], points[:, 0])


def test_arms_of_the_spiral_turn_as_they_grow():
    classes = toy.draw("spiral", 0, "train")
    assert classes.shape == (5, 200, 2)
    assert classes.dtype == np.float32
    for arm, points in enumerate(classes):
        radius, angle = polar(points.astype(float))
        assert 0 < radius.min() < 0.2
        assert 6.1 < radius.max() <= 2 * np.pi + 1e-6
        residual = angle - radius - 2 * np.pi * arm / 5
        np.testing.assert_allclose(np.cos(residual), 1, atol=1e-6)


def test_circles_cut_one_gaussian_at_its_terciles():
    classes = toy.draw("gaussian_circles", 0, "test")
    assert classes.shape == (3, 333, 2)
    inner, outer = np.sqrt(2 * np.log(1.5)), np.sqrt(2 * np.log(3))
    assert (round(inner, 2), round(outer, 2)) == (0.90, 1.48)  # of the paper's figure
    for points, (low, high) in zip(
        classes, [(0, inner), (inner, outer), (outer, 5)], strict=True
    ):
        radius, angle = polar(points)
        assert low <= radius.min()
        assert radius.max() <= high + 1e-6
        assert abs(np.mean(np.cos(angle))) < 0.15  # all the way round
    together = classes.reshape(-1, 2)
    np.testing.assert_allclose(np.cov(together.T), np.eye(2), atol=0.15)
    np.testing.assert_allclose(together.mean(axis=0), 0, atol=0.1)


@pytest.mark.parametrize("name", toy.NAMES)
def test_splits_and_seeds_have_points_of_their_own(name):
    drawn = [toy.draw(name, seed, split) for seed in (0, 1) for split in reader.SPLITS]
    for index, points in enumerate(drawn):
        np.testing.assert_array_equal(
            points, toy.draw(name, index // 3, reader.SPLITS[index % 3])
        )
        for other in drawn[:index]:
            assert np.abs(points - other).max() > 0.1


@pytest.mark.parametrize("name", toy.NAMES)
def test_points_survive_the_store(name, tmp_path, capsys):
    stores = catalog.open_prepared(name, tmp_path)
    assert f"drawing the {name} data set" in capsys.readouterr().out
    expected = toy.draw(name, 0, "val")
    val = stores["val"]
    assert val.image_shape == (1, 1, 2)
    assert val.dtype == np.float32
    assert val.names[0] == "class0"
    for index, points in enumerate(expected):
        read = val.read(np.array(val.rows(index)))
        assert read.dtype == np.float32
        np.testing.assert_array_equal(read.reshape(-1, 2), points)
        np.testing.assert_array_equal(val.images[val.rows(index)].squeeze(), points)
    reader.verify(tmp_path / name)
    catalog.open_prepared(name, tmp_path)
    assert capsys.readouterr().out == ""  # drawn once
