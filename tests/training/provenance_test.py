import dataclasses

import numpy as np
import pytest

from prwn_tf import protocols
from prwn_tf.data.store import reader
from prwn_tf.data.store import writer as writer_lib
from prwn_tf.training import provenance


@pytest.fixture
def config():
    return protocols.protocol(protocols.Task("glyphs", "prwn"))


def test_images_and_classes_tell_data_sets_apart(make_store, config):
    first = provenance.of(config, make_store([3, 2], name="first"))
    assert (first.images, first.source) == (15, "null")
    assert str(first) == f"null (15 images, sha256 {first.sha256[:12]})"
    assert provenance.of(config, make_store([3, 2], name="second")) == first
    assert provenance.of(config, make_store([2, 3], name="third")) != first


def test_images_of_no_class_count_for_runs_that_learn_from_them(tmp_path, config):
    found = {}
    for shade in (1, 2):
        with writer_lib.StoreWriter(
            tmp_path / str(shade), image_shape=(2, 2, 1), about={"source": "here"}
        ) as writer:
            for split in reader.SPLITS:
                writer.add(split, "only", image(7))
            writer.add(reader.UNLABELED, reader.UNLABELED, image(shade))
        found[shade] = reader.open_dataset(tmp_path / str(shade))
    assert provenance.of(config, found[1]) == provenance.of(config, found[2])
    train = dataclasses.replace(config.train, extra=1)
    learning = dataclasses.replace(config, train=train)
    first, second = (provenance.of(learning, found[shade]) for shade in (1, 2))
    assert first.sha256 != second.sha256
    assert (first.images, first.source) == (4, "here")


def image(shade: int) -> np.ndarray:
    return np.full((1, 2, 2, 1), shade, np.uint8)
