"""Small copies of mini- and tiered-ImageNet, and what the tests ask of them."""

import csv
import itertools
import tarfile
import zipfile

import numpy as np
import pytest

from prwn_tf.data import preparation
from prwn_tf.data.sets import wnids
from prwn_tf.data.store import reader
from prwn_tf.errors import UserError
from tests.data import made

# Two classes of each split, out of order.
MINI = {split: names[1::-1] for split, names in wnids.mini().items()}
TIERED = {split: names[1::-1] for split, names in wnids.tiered().items()}
IMAGES = 3


def labels(splits):
    """Class -> its label, which its colors tell."""
    return {name: label for label, name in enumerate(itertools.chain(*splits.values()))}


def prepare(name, tmp_path, source, **options):
    options = {"image_size": made.SIZE, "allow_partial": True} | options
    preparation.prepare(name, tmp_path, preparation.Options(source=source, **options))
    reader.verify(tmp_path / name)
    return reader.open_dataset(tmp_path / name)


def refused(name, tmp_path, source, message, **options):
    with pytest.raises(UserError, match=message) as caught:
        prepare(name, tmp_path / "out", source, **options)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").iterdir())


def assert_right(stores, splits):
    """Every class is where it belongs, with its images in order and in RGB."""
    label_of = labels(splits)
    for split, names in splits.items():
        assert sorted(stores[split].names) == sorted(names)
        for place, name in enumerate(stores[split].names):
            images = stores[split].read(stores[split].rows(place))
            expected = [made.pixels(label_of[name], index) for index in range(IMAGES)]
            np.testing.assert_array_equal(images, expected)


# --- mini


def mini_pickles(folder, protocol="python2"):
    label_of = labels(MINI)
    for split, names in MINI.items():
        rows = [(name, index) for index in range(IMAGES) for name in names]
        content = {
            "image_data": np.stack([made.pixels(label_of[n], i) for n, i in rows]),
            "class_dict": {
                name: [row for row, (other, _) in enumerate(rows) if other == name]
                for name in names
            },
        }
        path = folder / f"mini-imagenet-cache-{split}.pkl"
        made.write(path, made.pickled(content, protocol))
    split = {name: {"lbl": [0], "unlbl": [1]} for name in MINI["train"]}
    path = folder / "mini-imagenet-labelsplit-train-40-0.pkl"
    made.write(path, made.pickled(split, protocol))
    return folder


def ravi_files(folder, *, lists=False):
    for name, label in labels(MINI).items():
        for index in range(IMAGES):
            file = f"{name}{7 * index + 5:08d}.jpg"
            made.write(folder / "images" / file, made.png(label, index))
    if lists:
        for split, names in MINI.items():
            rows = [
                (f"{n}{7 * i + 5:08d}.jpg", n) for n in names for i in range(IMAGES)
            ]
            with open(folder / f"{split}.csv", "w", newline="") as file:
                csv.writer(file).writerows([("filename", "label"), *rows])
    return folder


def wnid_folders(folder, splits=MINI):
    return made.class_folders(folder, [*labels(splits)], IMAGES)


def misplaced_folders(folder):
    """Under train, val and test, but not those that the classes belong to."""
    wnid_folders(folder)
    for name, split in zip(labels(MINI), itertools.cycle(MINI), strict=False):
        (folder / split).mkdir(exist_ok=True)
        (folder / name).rename(folder / split / name)
    return folder


def named_folders(folder):
    for path in list(wnid_folders(folder).iterdir()):
        path.rename(path.with_name(f"{path.name}-some_bird"))
    return folder


def zipped_folders(folder):
    wnid_folders(folder / "raw")
    with zipfile.ZipFile(folder / "mini.zip", "w") as archive:
        for path in (folder / "raw").rglob("*.png"):
            archive.write(path, path.relative_to(folder))
    return folder / "mini.zip"


def packed_folders(folder):
    """As the whole data set is passed around: one tar, packed by xz."""
    wnid_folders(folder / "raw")
    with tarfile.open(folder / "mini_imagenet.tar.xz", "w:xz") as archive:
        archive.add(folder / "raw", "mini-imagenet")
    return folder / "mini_imagenet.tar.xz"


def packed_pickles(folder):
    mini_pickles(folder / "raw")
    with tarfile.open(folder / "mini-imagenet.tar.gz", "w:gz") as archive:
        archive.add(folder / "raw", "mini-imagenet")
    return folder / "mini-imagenet.tar.gz"


# --- tiered


def tiered_rows(split):
    """The images of a split in an order of their own, and their labels."""
    label_of = labels(TIERED)
    rows = [(n, i) for i in range(IMAGES) for n in range(len(TIERED[split]))]
    names = TIERED[split]
    images = [made.pixels(label_of[names[number]], index) for number, index in rows]
    return images, np.array([number for number, _ in rows], np.int32)


def tiered_labels(folder, split, protocol, names=None):
    content = {
        "label_specific": tiered_rows(split)[1],
        "label_general": tiered_rows(split)[1],
        "label_specific_str": names or TIERED[split],
        "label_general_str": {0: "bird", 1: "dog"},
    }
    made.write(folder / f"{split}_labels.pkl", made.pickled(content, protocol))


def png_pickles(folder, protocol="python2"):
    for split in TIERED:
        images = [
            np.frombuffer(made.encode_png(image), np.uint8).reshape(-1, 1)
            for image in tiered_rows(split)[0]
        ]
        path = folder / f"{split}_images_png.pkl"
        made.write(path, made.pickled(images, protocol))
        tiered_labels(folder, split, protocol)
    return folder


def arrays(folder, save=np.savez):
    for split in TIERED:
        tiered_labels(folder, split, 4)
        blue_first = np.stack(tiered_rows(split)[0])[..., ::-1]
        save(folder / f"{split}_images.npz", images=blue_first)
    return folder


def pickles_beside_arrays(folder):
    """As Ren's program leaves them: the PNGs are used."""
    arrays(folder)
    for split in TIERED:
        np.savez(
            folder / f"{split}_images.npz", images=np.zeros((6, 8, 8, 3), np.uint8)
        )
    return png_pickles(folder)


def ilsvrc(folder):
    wnid_folders(folder / "train", TIERED)
    made.class_folders(folder / "train", ["n99999999"])
    made.write(folder / "val/ILSVRC2012_val_00000001.JPEG", made.png(1, 1))
    name = TIERED["train"][0]
    made.write(folder / f"val/{name}/ILSVRC2012_val_00000002.JPEG", made.png(1, 1))
    return folder


def ilsvrc_tar(folder):
    """A tar of a tar for each class, as it is published."""
    wnid_folders(folder / "raw", TIERED)
    with tarfile.open(folder / "ILSVRC2012_img_train.tar", "w") as outer:
        for path in (folder / "raw").iterdir():
            with tarfile.open(folder / f"{path.name}.tar", "w") as inner:
                for image in path.iterdir():
                    inner.add(image, f"{path.name}_{image.stem}.JPEG")
            outer.add(folder / f"{path.name}.tar", f"{path.name}.tar")
    return folder / "ILSVRC2012_img_train.tar"


def folder_of_tars(folder):
    path = ilsvrc_tar(folder / "made")
    (folder / "in").mkdir()
    return path.rename(folder / "in" / path.name).parent


def named_in_words(folder):
    png_pickles(folder)
    words = {name: f"bird {name[-3:]}, Avis" for name in labels(TIERED)}
    for split, names in TIERED.items():
        tiered_labels(folder, split, 2, [words[name] for name in names])
    # The name of a class that tiered-ImageNet does not have is that of one it has.
    synsets, names = [*words, "n03126707"], [*words.values(), *list(words.values())[:1]]
    made.write(folder / "synsets.txt", "\n".join(synsets).encode())
    made.write(folder / "class_names.txt", "\r\n".join(names).encode())
    return folder
