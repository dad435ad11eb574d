"""What many tests share: small stores, prepared glyphs, the real Omniglot."""

import pathlib

import numpy as np
import pytest

import prwn_tf  # noqa: F401  (sets the allocator before any test loads TensorFlow)
from prwn_tf.data.sets import glyphs
from prwn_tf.data.store import reader
from prwn_tf.data.store import writer as writer_lib

SHARED = pathlib.Path(__file__).parents[2] / "shared"


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory) -> pathlib.Path:
    """A data folder with the glyphs drawn."""
    directory = tmp_path_factory.mktemp("data")
    glyphs.build(directory / "glyphs")
    return directory


@pytest.fixture(scope="session")
def omniglot_archive() -> pathlib.Path:
    """The real Omniglot, where it lies beside the project."""
    path = SHARED / "data" / "omniglot" / "omniglot_png.tar.gz"
    if not path.exists():
        pytest.skip("the real Omniglot is not beside this checkout")
    return path


@pytest.fixture
def make_store(tmp_path):
    """Writes a store whose every image tells its split, class and place."""

    def make(counts: list[int], shape=(8, 8, 1), name="made") -> dict:
        with writer_lib.StoreWriter(
            tmp_path / name, image_shape=shape, about={}
        ) as writer:
            for split in reader.SPLITS:
                for index, count in enumerate(counts):
                    images = np.zeros((count, *shape), np.uint8)
                    images[:, 0, 0, 0] = index
                    images[:, 0, 1, 0] = np.arange(count)
                    writer.add(split, f"class{index}", images)
        return reader.open_dataset(tmp_path / name)

    return make
