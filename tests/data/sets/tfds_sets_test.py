"""A set of tensorflow-datasets, made for real, becomes a data set like any other."""

import numpy as np
import pytest

from prwn_tf.data import catalog, preparation
from prwn_tf.data.sets import tfds_sets
from prwn_tf.errors import UserError

CLASSES = [f"kind {letter}" for letter in "abcdefgh"]
PER_SPLIT = 3


@pytest.fixture(scope="module")
def tfds_dir(tmp_path_factory):
    """A folder with a set of eight classes, in a train and a test split."""
    import tensorflow_datasets as tfds

    class TinyShades(tfds.core.GeneratorBasedBuilder):
        """Every image has the shade of its class."""

        VERSION = tfds.core.Version("1.0.0")

        def _info(self):
            label = tfds.features.ClassLabel(names=CLASSES)
            return self.dataset_info_from_configs(
                features=tfds.features.FeaturesDict(
                    {
                        "picture": tfds.features.Image(shape=(20, 20, 3)),
                        "shade": label,
                        "angle_label": tfds.features.ClassLabel(num_classes=2),
                        "tags": tfds.features.Sequence(label),
                    }
                ),
            )

        def _split_generators(self, manager):
            return {name: self._generate_examples() for name in ("train", "test")}

        def _generate_examples(self):
            for place in range(len(CLASSES) * PER_SPLIT):
                shade = place % len(CLASSES)
                yield (
                    place,
                    {
                        "picture": np.full((20, 20, 3), 10 * shade, np.uint8),
                        "shade": shade,
                        "angle_label": 0,
                        "tags": [shade],
                    },
                )

    folder = tmp_path_factory.mktemp("tfds")
    TinyShades(data_dir=folder).download_and_prepare()
    return folder


def test_it_is_prepared_and_opened(tmp_path, tfds_dir):
    options = preparation.Options(tfds_dir=tfds_dir, label_key="shade", image_size=16)
    preparation.prepare("tfds:tiny_shades", tmp_path, options)
    stores = catalog.open_prepared("tfds:tiny_shades", tmp_path)
    names = [name for split in ("train", "val", "test") for name in stores[split].names]
    assert sorted(names) == CLASSES  # each class in one split
    store = stores["train"]
    assert store.smallest == 2 * PER_SPLIT  # of both splits of the source
    labels = store.labels()
    for name, images in zip(
        (store.names[label] for label in labels),
        store.read(np.arange(len(labels))),
        strict=True,
    ):
        assert np.all(images == 10 * CLASSES.index(name))
    assert not (tmp_path / ".tfds-tiny_shades.scratch").exists()


def test_classes_by_a_list(tmp_path, tfds_dir):
    chosen = tmp_path / "list.csv"
    splits = ["train", "train", "val", "val", "test", "test"]
    lines = [f"{split},{name}" for split, name in zip(splits, CLASSES, strict=False)]
    chosen.write_text("\n".join(["split,class", *lines]))
    options = preparation.Options(
        tfds_dir=tfds_dir, label_key="shade", class_splits=str(chosen), image_size=16
    )
    preparation.prepare("tfds:tiny_shades", tmp_path, options)
    stores = catalog.open_prepared("tfds:tiny_shades", tmp_path)
    assert list(stores["test"].names) == CLASSES[4:6]


@pytest.mark.parametrize(
    ("name", "keys", "problem"),
    [
        ("tiny_shades", {}, "several .* the label: .*shade.* choose with label_key"),
        ("tiny_shades", {"label_key": "tags"}, "label_key=tags is not .*angle_label"),
        ("tiny_shades", {"image_key": "shade"}, "image_key=shade .* of picture"),
        ("no_such_set", {}, "has no set 'no_such_set'"),
    ],
)
def test_what_cannot_be_is_said(tmp_path, tfds_dir, name, keys, problem):
    with pytest.raises(UserError, match=problem):
        tfds_sets.unpacked(name, tmp_path, tfds_dir, **keys)
    assert not list(tmp_path.iterdir())
