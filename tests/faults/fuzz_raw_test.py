"""Everything that reads raw data, given thousands of damaged files.

What holds for every answer stands in `fuzz_test.py`.
"""

import io
import os
import pathlib
import pickle
import random
import shutil
import tarfile
import zipfile

import numpy as np
import pytest

from prwn_tf.data import tree
from prwn_tf.data.formats import archives, npz
from prwn_tf.data.sets import folder, imagenet, imagenet_pickles
from tests.data import made
from tests.faults import mutation
from tests.faults.fuzzing import fuzz


def mini_pickle(protocol: int | str) -> bytes:
    pixels = np.arange(6 * 8 * 8 * 3, dtype=np.uint8).reshape(6, 8, 8, 3)
    classes = {"n01532829": [0, 1, 2], "n01558993": [3, 4, 5]}
    return made.pickled({"image_data": pixels, "class_dict": classes}, protocol)


def tiered_labels(protocol: int | str) -> bytes:
    content = {
        "label_specific": np.array([0, 0, 1, 1]),
        "label_specific_str": ["n01532829", "n01558993"],
    }
    return made.pickled(content, protocol)


def use_classes(layout) -> None:
    for found in layout.classes:
        for index in range(min(3, len(found.images))):
            found.images.load(index)
            found.images.place(index)


@pytest.mark.parametrize("protocol", ["python2", 0, 2, 4, 5])
def test_pickles_of_mini(tmp_path, protocol, cases):
    good, path = mini_pickle(protocol), tmp_path / "mini-cache-train.pkl"

    def case(chance):
        path.write_bytes(mutation.damaged_bytes(chance, good))
        use_classes(imagenet_pickles.read("mini", [path], tmp_path / "scratch"))

    assert fuzz(tmp_path, cases(2000), case) > 0.3


@pytest.mark.parametrize("protocol", ["python2", 2, 5])
def test_pickles_of_tiered(tmp_path, protocol, cases):
    encoded = [np.frombuffer(made.png(0, index), np.uint8) for index in range(4)]
    good = {
        "train_images_png.pkl": made.pickled(encoded, protocol),
        "train_labels.pkl": tiered_labels(protocol),
    }

    def case(chance):
        damaged = chance.choice(list(good))
        for name, content in good.items():
            if name == damaged:
                content = mutation.damaged_bytes(chance, content)
            (tmp_path / name).write_bytes(content)
        paths = [tmp_path / name for name in good]
        use_classes(imagenet_pickles.read("tiered", paths, tmp_path / "scratch"))

    assert fuzz(tmp_path, cases(700), case) > 0.25


class Program:
    """Pickled, it asks for a command to be run."""

    def __init__(self, marker: pathlib.Path):
        self.marker = marker

    def __reduce__(self):
        return os.system, (f"touch '{self.marker}'",)


def test_pickles_that_are_programs(tmp_path, cases):
    marker, path = tmp_path / "ran", tmp_path / "mini-cache-train.pkl"
    content = {"image_data": Program(marker), "class_dict": {}}
    good = [pickle.dumps(content, protocol) for protocol in range(6)]

    def case(chance):
        program = chance.choice(good)
        if chance.random() < 0.9:
            program = mutation.damaged_bytes(chance, program)
        path.write_bytes(program)
        use_classes(imagenet_pickles.read("mini", [path], tmp_path / "scratch"))

    fuzz(tmp_path, cases(1000), case)
    assert not marker.exists()


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_files(tmp_path, save, cases):
    file = io.BytesIO()
    save(file, images=np.arange(4 * 8 * 8 * 3, dtype=np.uint8).reshape(4, 8, 8, 3))
    good, path = file.getvalue(), tmp_path / "train_images.npz"
    labels = made.write(tmp_path / "train_labels.pkl", tiered_labels(2))

    def case(chance):
        path.write_bytes(mutation.damaged_bytes(chance, good))
        array = npz.load(path, "images", tmp_path / "scratch")
        if len(array.shape) and len(array):
            array.row(len(array) - 1)
        found = imagenet_pickles.read("tiered", [path, labels], tmp_path / "scratch")
        use_classes(found)

    assert fuzz(tmp_path, cases(700), case) > 0.5


def tar(mode: str) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as archive:
        for name in ("a/1.png", "a/2.png", "b/größe.png"):
            member = tarfile.TarInfo(name)
            member.size = len(made.png(0, 1))
            archive.addfile(member, io.BytesIO(made.png(0, 1)))
        for name, target in (("c/link", "../../evil"), ("../evil", None)):
            member = tarfile.TarInfo(name)
            member.type = tarfile.SYMTYPE if target else tarfile.REGTYPE
            member.linkname = target or ""
            archive.addfile(member)
    return file.getvalue()


def packed_zip(kind: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", kind) as archive:
        for name in ("a/1.png", "a/2.png", "b/größe.png"):
            archive.writestr(name, made.png(0, 1) + bytes(5000))
    return file.getvalue()


@pytest.mark.parametrize(
    "good",
    [tar("w"), tar("w:gz"), tar("w:xz"), packed_zip(zipfile.ZIP_STORED), packed_zip(8)],
    ids=["tar", "tar.gz", "tar.xz", "zip", "deflated zip"],
)
def test_archives(tmp_path, good, cases):
    path, target = tmp_path / "archive", tmp_path / "target"

    def case(chance):
        path.write_bytes(mutation.damaged_bytes(chance, good))
        shutil.rmtree(target, ignore_errors=True)
        try:
            list(archives.members(path))
            archives.unpack(path, target)
        finally:
            outside = {each.name for each in tmp_path.iterdir()}
            assert outside <= {"archive", "target"}, outside

    assert fuzz(tmp_path, cases(700), case) > 0.2


ODD_NAMES = (
    *("train", "val", "test", "n01532829", "n01532829_1", ".hidden", "__MACOSX"),
    *(
        "a b",
        "größe",
        "line\nbreak",
        "\x1b[2J",
        "x" * 200,
        "manifest.json",
        "-rf",
        "a.csv",
    ),
    *(os.fsdecode(b"\xff\xfe"), "~", "con", "%s{}"),
)
SUFFIXES = ("", ".png", ".jpg", ".PNG", ".txt", ".pkl", ".csv", ".npz")
CSV = b"filename,label\nn0153282900000005.jpg,n01532829\n"


def grow(chance: random.Random, place: pathlib.Path, depth: int = 0) -> None:
    """A random tree of odd folders, files, links and pipes."""
    place.mkdir(exist_ok=True)
    for _ in range(chance.randrange(5)):
        path = place / (chance.choice(ODD_NAMES) + chance.choice(SUFFIXES))
        if path.exists() or path.is_symlink():
            continue
        kind = chance.randrange(10)
        if kind < 4 and depth < 4:
            grow(chance, path, depth + 1)
        elif kind == 8:
            path.symlink_to(chance.choice((".", "..", "nowhere", place, "/dev/zero")))
        elif kind == 9:
            os.mkfifo(path)
        else:
            contents = (b"", b"<html>", made.png(0, 1), CSV, mini_pickle(2), b"\0" * 9)
            content = chance.choice(contents)
            if content and chance.random() < 0.3:
                content = mutation.damaged_bytes(chance, content)
            path.write_bytes(content)


def test_folder_trees(tmp_path, cases):
    root = tmp_path / "pictures"

    def find(chance):
        kind = chance.randrange(4)
        if kind == 0:
            hold_out = chance.choice(folder.HOLD_OUT)
            return folder.describe(tree.scan(root), hold_out=hold_out).classes
        if kind == 1:
            return [folder.unlabeled_images(tree.scan(root))]
        name, scratch = ("mini", "tiered")[kind - 2], tmp_path / "s"
        raw = tree.scan(root)
        return imagenet.describe(name, raw, scratch=scratch, allow_partial=True)

    def case(chance):
        shutil.rmtree(root, ignore_errors=True)
        grow(chance, root)
        find(chance)

    assert fuzz(tmp_path, cases(800), case) > 0.3
