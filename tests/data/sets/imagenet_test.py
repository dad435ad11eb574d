"""mini- and tiered-ImageNet, from every layout that users have, into the same store."""

import csv
import itertools
import shutil
import tarfile
import zipfile

import numpy as np
import pytest

from prwn_tf.data import catalog
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
    catalog.prepare(name, tmp_path, catalog.Options(source=source, **options))
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


def packed_pickles(folder):
    mini_pickles(folder / "raw")
    with tarfile.open(folder / "mini-imagenet.tar.gz", "w:gz") as archive:
        archive.add(folder / "raw", "mini-imagenet")
    return folder / "mini-imagenet.tar.gz"


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        (mini_pickles, "pickles of pixels"),
        (lambda folder: mini_pickles(folder, 2), "pickles of pixels"),
        (lambda folder: mini_pickles(folder, 4), "pickles of pixels"),
        (ravi_files, "files named by their wnid"),
        (lambda folder: ravi_files(folder, lists=True), "and csv files"),
        (wnid_folders, "class folders"),
        (misplaced_folders, "class folders"),
        (named_folders, "class folders"),
        (zipped_folders, "class folders"),
        (packed_pickles, "pickles of pixels"),
    ],
)
def test_every_layout_of_mini(tmp_path, capsys, layout, words):
    stores = prepare("mini", tmp_path, layout(tmp_path / "in"))

    assert_right(stores, MINI)
    assert words in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "mini"]


def test_all_classes_of_mini_need_no_permission(tmp_path):
    names = [*itertools.chain(*wnids.mini().values())]
    made.class_folders(tmp_path / "in", names, images=2)
    stores = prepare("mini", tmp_path, tmp_path / "in", allow_partial=None)

    assert [len(part.names) for part in stores.values()] == [64, 16, 20]
    assert "partial" not in reader.read_manifest(tmp_path / "mini")
    assert stores["val"].names == tuple(wnids.mini()["val"])


def test_missing_classes_are_counted_and_named(tmp_path):
    source = wnid_folders(tmp_path / "in")
    refused(
        "mini",
        tmp_path,
        source,
        "lacks 94 of the 100 classes of mini-ImageNet: n01704323, .* --allow_partial",
        allow_partial=None,
    )


def test_a_partial_copy_is_recorded(tmp_path):
    prepare("mini", tmp_path, wnid_folders(tmp_path / "in"))
    partial = reader.read_manifest(tmp_path / "mini")["partial"]

    assert partial["missing"] == len(partial["classes"]) == 94
    assert "n01532829" not in partial["classes"]


def test_uneven_classes_are_recorded(tmp_path):
    prepare("mini", tmp_path, wnid_folders(tmp_path / "in"))
    uneven = reader.read_manifest(tmp_path / "mini")["uneven"]

    assert uneven["published"] == 600
    assert uneven["classes"]["n01532829"] == IMAGES


@pytest.mark.parametrize(
    "written", [str.encode, lambda text: text.replace(",", ";").encode("utf-8-sig")]
)
def test_csv_files_choose_among_more_images(tmp_path, written):
    wnid_folders(tmp_path / "in")
    name = MINI["train"][0]
    text = f"class_name,image_name\n{name},1.JPEG\n{name},2.JPEG\n"
    made.write(tmp_path / "in/train.csv", written(text))
    stores = prepare("mini", tmp_path, tmp_path / "in")

    counts = dict(zip(stores["train"].names, stores["train"].counts, strict=True))
    assert counts == {MINI["train"][0]: 2, MINI["train"][1]: IMAGES}
    skipped = reader.read_manifest(tmp_path / "mini")["skipped"]
    assert skipped["images that the csv files do not list"] == 1


def test_a_file_in_two_folders_counts_once(tmp_path):
    source = wnid_folders(tmp_path / "in")
    name = MINI["test"][0]
    shutil.copytree(source / name, source / "train" / name)

    assert_right(prepare("mini", tmp_path, source), MINI)
    skipped = reader.read_manifest(tmp_path / "mini")["skipped"]
    assert skipped["copies of another file"] == IMAGES


def test_two_files_of_one_name_in_different_folders(tmp_path):
    source = wnid_folders(tmp_path / "in")
    name = MINI["test"][0]
    made.write(source / "train" / name / "0.png", made.png(77, 0))

    message = f"class {name} has two different images of the same name: .*train"
    refused("mini", tmp_path, source, message)


def test_a_class_in_two_pickles(tmp_path):
    source = mini_pickles(tmp_path / "in")
    path = source / "mini-imagenet-cache-val.pkl"
    path.write_bytes((source / "mini-imagenet-cache-test.pkl").read_bytes())
    refused(
        "mini", tmp_path, source, r"class n\d+ is in image 0 of mini-.* and in image"
    )


def test_images_of_another_size(tmp_path):
    stores = prepare("mini", tmp_path, mini_pickles(tmp_path / "in"), image_size=20)
    assert stores["train"].image_shape == (20, 20, 3)
    assert (
        stores["val"].images[:, :, :, 0] == stores["val"].images[:, :1, :1, 0]
    ).all()


def spoiled(folder, **changes):
    """A pickle of mini-ImageNet with other values."""
    content = {
        "image_data": np.zeros((4, 8, 8, 3), np.uint8),
        "class_dict": {"n01532829": [0, 1], "n01558993": [2, 3]},
    }
    content |= changes
    content = {key: value for key, value in content.items() if value is not None}
    made.write(folder / "mini-imagenet-cache-train.pkl", made.pickled(content, 2))
    return folder


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"image_data": None},
            r"cache-train.pkl has no key 'image_data', found 'class_di",
        ),
        ({"class_dict": None}, "has no key 'class_dict', found 'image_data'"),
        (
            {"image_data": None, "class_dict": None, "data": 1},
            "no keys .*, found 'data'; get",
        ),
        (
            {"image_data": np.zeros((4, 8, 8), np.uint8)},
            "found an array of .4, 8, 8. u",
        ),
        ({"image_data": np.zeros((4, 8, 8, 3))}, "'image_data' should be .* float64"),
        (
            {"image_data": [np.zeros((8, 8, 3))]},
            "'image_data' should be .*found a list",
        ),
        ({"class_dict": [1, 2]}, "'class_dict' should be a dictionary .* found a list"),
        (
            {"class_dict": {"n01532829": [0, 4]}},
            r"class_dict\[n01532829\].* has row 4, b",
        ),
        ({"class_dict": {"n01532829": [-1, 2]}}, "has row -1, but 'image_data' has 4"),
        ({"class_dict": {"n01532829": [1, 1]}}, "has a row twice"),
        ({"class_dict": {"n01532829": [[1], [2, 3]]}}, "should be a list of whole num"),
        ({"class_dict": {"n01532829": "abc"}}, "whole numbers, found a str"),
        ({"class_dict": {"n01532829": range(10**15)}}, "has row 4"),
        ({"class_dict": {"n01532829": [10**30]}}, "whole numbers"),
        (
            {"class_dict": {"n01532829": [1]}},
            "class 'n01532829' .* has 1 image, at leas",
        ),
        ({"class_dict": {"cat": [0, 1]}}, "holds no class of mini-ImageNet; accepted"),
    ],
)
def test_wrong_pickles_of_mini(tmp_path, changes, message):
    refused("mini", tmp_path, spoiled(tmp_path / "in", **changes), message)


@pytest.mark.parametrize("as_file", [False, True])
def test_a_web_page_for_a_pickle(tmp_path, as_file):
    path = made.write(tmp_path / "in/mini-imagenet-cache-train.pkl", b"<!DOCTYPE html>")
    message = "is a web page.*the download was refused"
    refused("mini", tmp_path, path if as_file else path.parent, message)


def test_one_pickle_is_a_source_too(tmp_path):
    source = mini_pickles(tmp_path / "in") / "mini-imagenet-cache-val.pkl"
    stores = prepare("mini", tmp_path, source)
    assert [len(part.names) for part in stores.values()] == [0, 2, 0]


def test_other_sources(tmp_path):
    refused("mini", tmp_path, tmp_path / "nowhere", "nowhere does not exist")
    refused(
        "mini", tmp_path, made.write(tmp_path / "in/a.txt", b"hi").parent, "no class"
    )
    refused("mini", tmp_path, tmp_path / "in/a.txt", "neither a tar nor a zip archive")
    refused("mini", tmp_path, None, "made from files of yours")


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


@pytest.mark.parametrize(
    ("layout", "words"),
    [
        (png_pickles, "pickles of PNG images"),
        (lambda folder: png_pickles(folder, 3), "pickles of PNG images"),
        (arrays, "arrays of pixels, blue first"),
        (lambda folder: arrays(folder, np.savez_compressed), "arrays of pixels"),
        (pickles_beside_arrays, "pickles of PNG images"),
        (ilsvrc, "class folders"),
        (ilsvrc_tar, "class folders"),
        (folder_of_tars, "class folders"),
        (named_in_words, "pickles of PNG images"),
    ],
)
def test_every_layout_of_tiered(tmp_path, capsys, layout, words):
    (tmp_path / "in").mkdir()
    stores = prepare("tiered", tmp_path, layout(tmp_path / "in"))

    assert_right(stores, TIERED)
    assert words in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "tiered"]


def test_classes_and_images_of_others_are_counted(tmp_path):
    prepare("tiered", tmp_path, ilsvrc(tmp_path / "in"))
    assert reader.read_manifest(tmp_path / "tiered")["skipped"] == {
        "validation images of ILSVRC-2012": 2,
        "classes that tiered-ImageNet does not have": 1,
    }


def test_names_in_words_keep_the_split_of_their_file(tmp_path):
    source = named_in_words(tmp_path / "in")
    (source / "synsets.txt").unlink()
    refused("tiered", tmp_path, source, "lacks 602 of the 608", allow_partial=None)

    stores = prepare("tiered", tmp_path, source)
    assert [len(part.names) for part in stores.values()] == [2, 2, 2]
    assert all("Avis" in name for part in stores.values() for name in part.names)
    assert reader.read_manifest(tmp_path / "tiered")["partial"] == {
        "missing": 602,
        "of": 608,
        "classes": [],  # which ones cannot be told
    }


def test_labels_that_do_not_fit(tmp_path):
    source = png_pickles(tmp_path / "in")
    content = {"label_specific": [0, 1], "label_specific_str": ["n1", "n2"]}
    path = made.write(source / "val_labels.pkl", made.pickled(content, 2))
    refused("tiered", tmp_path, source, "6 images but val_labels.pkl has 2 labels")

    content["label_specific"] = np.array([0, 1, 0, 7, 1, 0])
    path.write_bytes(made.pickled(content, 2))
    refused("tiered", tmp_path, source, "image 3 has label 7, but .* names 2 classes")

    path.write_bytes(made.pickled({"labels": [0, 1]}, 2))
    message = r"val_images_png.pkl was given without its labels; .* val_labels.pkl"
    refused("tiered", tmp_path, source, message)
    refused("tiered", tmp_path, source / "val_images_png.pkl", message)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({0: "n1", "a": "n2"}, "should be a list, or number -> name, found a dict"),
        ([["n1"], "n2"], "'label_specific_str' should be of names, found a list"),
        (3, "should be a list, or number -> name, found a int"),
    ],
)
def test_names_that_are_none(tmp_path, names, message):
    source = png_pickles(tmp_path / "in")
    tiered_labels(source, "val", 2, names)
    refused("tiered", tmp_path, source, message)


def test_names_by_number(tmp_path):
    source = png_pickles(tmp_path / "in")
    tiered_labels(source, "val", 2, dict(enumerate(TIERED["val"])))
    assert_right(prepare("tiered", tmp_path, source), TIERED)


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (
            np.zeros((4, 4), np.uint8),
            "image 6 should be .* found an array of .4, 4. uint8",
        ),
        (np.zeros(9), "image 6 should be .* found an array of .9,. float64"),
        ("text", "image 6 should be an array .* found a str"),
    ],
)
def test_wrong_lists_of_images(tmp_path, item, message):
    source = png_pickles(tmp_path / "in")
    images = [np.zeros(9, np.uint8)] * 6
    path = source / "test_images_png.pkl"
    path.write_bytes(made.pickled([*images, item], 4))
    refused("tiered", tmp_path, source, message)


def test_an_image_of_a_pickle_that_cannot_be_decoded(tmp_path):
    source = png_pickles(tmp_path / "in")
    path = source / "test_images_png.pkl"
    path.write_bytes(made.pickled([np.zeros(9, np.uint8)] * 6, 4))
    refused(
        "tiered", tmp_path, source, "6 images cannot be .* image 0 of test_images_png"
    )


def test_a_file_without_a_split_in_its_name(tmp_path):
    source = png_pickles(tmp_path / "in")
    (source / "test_labels.pkl").rename(source / "labels.pkl")
    refused(
        "tiered", tmp_path, source, "labels.pkl should have train, val or test in it"
    )
