"""Embeddings of a split answer the same from memory and from a file."""

import resource

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.encoders import batches
from prwn_tf.errors import StorageError
from prwn_tf.evaluation import embeddings
from prwn_tf.evaluation.embeddings import Embedder, Embeddings

VECTORS = np.arange(35, dtype=np.float32).reshape(7, 5)


@pytest.fixture(params=["memory", "file"])
def place(request, monkeypatch):
    if request.param == "file":
        monkeypatch.setattr(embeddings, "MAX_IN_MEMORY", 7 * 5 * 4 - 1)
    return request.param


def test_gathers_rows_of_any_shape(place):
    found = Embeddings.of(VECTORS)
    assert (found._file is None) == (place == "memory")
    rows = np.array([[6, 0], [3, 3]])
    np.testing.assert_array_equal(found.gather(rows), VECTORS[rows])
    assert found.gather(np.zeros([2, 0], int)).shape == (2, 0, 5)


def test_put_in_parts(place):
    found = Embeddings(7, 5)
    for start in (4, 0):
        found.put(start, VECTORS[start : start + 4])
    np.testing.assert_array_equal(found.gather(range(7)), VECTORS)


@pytest.fixture
def in_file(monkeypatch):
    monkeypatch.setattr(embeddings, "MAX_IN_MEMORY", 0)


def test_a_disk_that_fills_up_in_the_last_row(in_file):
    found = Embeddings(7, 5)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (7 * 5 * 4 - 1, hard))
    try:
        with pytest.raises(StorageError, match=r"cannot write .*bytes free there"):
            found.put(0, VECTORS)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_row_that_is_cut_short(in_file):
    found = Embeddings.of(VECTORS)
    found._file.truncate(7 * 5 * 4 - 1)
    np.testing.assert_array_equal(found.gather([5]), VECTORS[5:6])
    with pytest.raises(StorageError, match="ends before row 6"):
        found.gather([5, 6])


def test_embedder_embeds_every_image_in_its_place(place, make_store, monkeypatch):
    monkeypatch.setattr(batches, "PIXELS", 4 * 8 * 8)
    store = make_store([3, 2, 4])["test"]

    def model(images, training):
        assert not training
        return tf.cast(images[:, 0, :2, 0], tf.float32)  # class and place

    found = Embedder(model)(store)
    assert found.shape == (9, 2)
    expected = [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [2, 0], [2, 1], [2, 2], [2, 3]]
    np.testing.assert_array_equal(found.gather(range(9)), expected)
