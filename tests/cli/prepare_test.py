"""prepare as users run it: own images to a tested model, and everything that fails."""

import json
import os
import pathlib
import pickle
import signal
import tarfile
import time
import zipfile

import numpy as np
import pytest

from prwn_tf.data.sets import wnids
from prwn_tf.data.store import reader
from tests.children import child
from tests.cli import program
from tests.data import made

ROOT = pathlib.Path(__file__).parents[2]
NAMES = [f"Art {letter}, größer" for letter in "abcdefghijkl"]


def prepare(tmp_path, *flags, **environment):
    return program.run(
        "prepare", f"--data_dir={tmp_path / 'data'}", *flags, **environment
    )


def failed(tmp_path, code, *texts, flags):
    """The program failed as promised and left nothing behind."""
    result = prepare(tmp_path, *flags)
    program.assert_one_line(result, code, *texts)
    left = tmp_path / "data"
    assert not left.exists() or not any(left.iterdir())


# --- From own images to a tested model


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """12 classes of 20 images, each class a cross of its own colors."""
    folder = tmp_path_factory.mktemp("meine Bilder") / "Fotos é"
    random = np.random.default_rng(0)
    for label, name in enumerate(NAMES):
        for index in range(20):
            image = random.integers(0, 60, (30, 40, 3), np.uint8)
            image[5 + label : 9 + label] += np.uint8(80 + 9 * label)
            image[:, 3 * label : 3 * label + 4, label % 3] += np.uint8(100)
            made.write(folder / name / f"Bild {index}.png", made.encode_png(image))
    return folder


def prepare_pictures(tmp_path, pictures, plain):
    """Prepares the pictures and two loose ones, and checks what is said of it."""
    made.write(pictures.parent / "lose/x.png", made.png(1, 1))
    made.write(pictures.parent / "lose/y.png", made.png(1, 2))
    prepared = program.run(
        "prepare",
        "--dataset=folder",
        f"--source={pictures}",
        "--image_size=32",
        "--fit=crop",
        f"--unlabeled_source={pictures.parent / 'lose'}",
        **plain,
    )
    assert prepared.returncode == 0, prepared.stderr
    assert prepared.stderr == ""
    first, *splits, last, val, test, following = prepared.stdout.splitlines()
    assert first.startswith("found own images in class folders in ")
    assert splits == [
        "train: 7 classes, 140 images",
        "val: 2 classes, 40 images",
        "test: 3 classes, 60 images",
        "without a class: 2 images",
        "all of 32x32x3 by --fit=crop, 743,424 bytes",
    ]
    assert last == f"folder is prepared and verified in {tmp_path / 'data/folder'}"
    held_out = reader.open_dataset(tmp_path / "data/folder")
    for line, split in ((val, "val"), (test, "test")):
        names = ", ".join(held_out[split].names)
        assert line == f"{split} classes, held out: {names}"
    assert following == "next: python -m prwn_tf.train --dataset=folder"


def test_three_commands_from_a_folder_to_a_tested_model(tmp_path, pictures):
    plain = {"LC_ALL": "C", "PRWN_DATA_DIR": str(tmp_path / "data")}
    prepare_pictures(tmp_path, pictures, plain)

    workdir = tmp_path / "run"
    trained = program.run(
        "train",
        "--dataset=folder",
        f"--workdir={workdir}",
        *("--episodes=6", "--encoder=mlp", "--validation_episodes=20"),
        "--eval_episodes=50",
        **plain,
    )
    assert trained.returncode == 0, trained.stderr
    assert "2 unlabelled of no class" in trained.stdout
    assert "labelled images:   all; further ones of an episode's" in trained.stdout
    tested = program.run(
        "evaluate", f"--workdir={workdir}", "--eval_episodes=50", **plain
    )
    assert tested.returncode == 0, tested.stderr
    result = json.loads((workdir / "result.json").read_text(encoding="utf-8"))
    assert result["dataset"] == "folder"
    assert result["test"][0]["way"] == 2
    assert result["test"][0]["interval_over"] == "classes"
    config = json.loads((workdir / "config.json").read_text(encoding="utf-8"))
    assert (config["fit"], config["label_ratio"]) == ("crop", 1)

    picture = tmp_path / "episode.png"
    drawn = child.run(
        *("tools/inspect_episode.py", "--dataset=folder"),
        *("--split=train", "--train_distractors=1", f"--output={picture}"),
        cwd=ROOT,
        env=os.environ | plain,
    )
    assert drawn.returncode == 0, drawn.stderr
    assert drawn.stdout.splitlines()[-1] == f"drawn to {picture}"
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_two_classes_and_sixty_images(tmp_path):
    made.class_folders(tmp_path / "in", ["cat", "dog"], images=30)
    flags = ("--dataset=folder", f"--source={tmp_path / 'in'}")
    failed(
        tmp_path,
        2,
        "2 classes are too few to hold some out",
        "--hold_out=images",
        "prwn_tf.predict",
        flags=flags,
    )


# --- What can be wrong


def test_usage_errors_exit_with_1(tmp_path):
    for flag in ("--dataset=imagenet", "--image_size=8", "--hold_out=all"):
        result = prepare(tmp_path, flag)
        assert result.returncode == 1
        assert "Traceback" not in result.stderr


def test_a_web_page_saved_as_the_archive(tmp_path):
    page = made.write(tmp_path / "mini.tar.gz", b"<!DOCTYPE html><title>Quota exceeded")
    texts = ("is a web page", "the download was refused")
    failed(tmp_path, 2, *texts, flags=("--dataset=mini", f"--source={page}"))


class Evil:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.system, (f"touch {self.marker}",)


def test_a_pickle_that_is_a_program(tmp_path):
    content = pickle.dumps({"image_data": Evil(tmp_path / "marker")}, 2)
    made.write(tmp_path / "in/mini-imagenet-cache-train.pkl", content)
    flags = ("--dataset=mini", f"--source={tmp_path / 'in'}")
    failed(tmp_path, 2, "asks for posix.system", "its publisher", flags=flags)
    assert not (tmp_path / "marker").exists()


def test_an_archive_that_leaves_its_folder(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("n01532829/1.jpg", b"x")
        archive.writestr("../../evil", b"x")
    flags = ("--dataset=mini", f"--source={tmp_path / 'a.zip'}")
    failed(tmp_path, 2, "'../../evil' points outside", flags=flags)
    assert [path.name for path in tmp_path.iterdir() if path.name != "data"] == [
        "a.zip"
    ]


def test_no_archive_at_all(tmp_path):
    nowhere = tmp_path / "mini_imagenet.tar.xz"
    failed(
        tmp_path, 2, "does not exist", flags=("--dataset=mini", f"--source={nowhere}")
    )
    failed(tmp_path, 2, "give them as --source", flags=("--dataset=mini",))


def test_an_archive_that_was_cut_short(tmp_path):
    path = tmp_path / "mini_imagenet.tar.xz"
    with tarfile.open(path, "w:xz") as archive:
        archive.add(made.class_folders(tmp_path / "raw", wnids.mini()["train"]), "mini")
    path.write_bytes(path.read_bytes()[:-1000])
    texts = ("mini_imagenet.tar.xz cannot be unpacked", "cut short")
    failed(tmp_path, 2, *texts, flags=("--dataset=mini", f"--source={path}"))


def test_mini_with_the_training_classes_alone(tmp_path):
    path = tmp_path / "mini_imagenet.tar.xz"
    with tarfile.open(path, "w:xz") as archive:
        archive.add(made.class_folders(tmp_path / "raw", wnids.mini()["train"]), "mini")
    texts = (f"{path} lacks 36 of the 100 classes", "--allow_partial")
    failed(tmp_path, 2, *texts, flags=("--dataset=mini", f"--source={path}"))


def test_a_bomb(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(20):
            archive.writestr(f"n01532829/{number}.jpg", bytes(2**20))
    flags = ("--dataset=mini", f"--source={tmp_path / 'a.zip'}")
    failed(tmp_path, 2, "decompression bomb", flags=flags)


def test_verification_prepares_nothing(tmp_path):
    flags = ["--dataset=folder", "--source=new", "--replace", "--verify"]
    result = prepare(tmp_path, *flags)
    program.assert_one_line(result, 2, "--verify only checks", "--source, --replace")


def test_nothing_to_verify(tmp_path):
    result = prepare(tmp_path, "--dataset=mini", "--verify")
    program.assert_one_line(result, 2, "nothing to verify", "not a prepared data set")


# --- A kill, a second run, a check


def many_images(folder):
    """300 images a class, as links to a few files."""
    files = [made.write(folder / f"../pool/{i}.png", made.png(i, i)) for i in range(3)]
    for name in wnids.mini()["train"][:12]:
        (folder / name).mkdir(parents=True)
        for index in range(300):
            os.link(files[index % 3], folder / name / f"{index}.png")
    return folder


def stop_in_the_middle(tmp_path, flags, number):
    """Starts an import and sends it a signal after a few classes."""
    journal = tmp_path / "data/.mini.incomplete/journal.jsonl"
    process = program.start("prepare", *flags)
    while not journal.exists() or journal.read_text().count("\n") < 4:
        assert process.poll() is None, process.communicate()
        time.sleep(0.002)
    process.send_signal(number)
    _, errors = process.communicate()
    return process.returncode, errors


def test_a_terminated_import_keeps_what_it_decoded_and_nothing_else(tmp_path):
    archive = tmp_path / "mini.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        for path in many_images(tmp_path / "in").rglob("*.png"):
            packed.write(path, path.relative_to(tmp_path))
    flags = [
        *("--dataset=mini", f"--source={archive}", f"--data_dir={tmp_path / 'data'}"),
        *("--allow_partial", "--image_size=64"),
    ]
    assert stop_in_the_middle(tmp_path, flags, signal.SIGTERM) == (143, "")
    left = [path.name for path in (tmp_path / "data").iterdir()]
    assert left == [".mini.incomplete"]

    again = program.run("prepare", *flags)
    assert again.returncode == 0, again.stderr
    assert "continuing where an earlier run was stopped" in again.stdout
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["mini"]


def test_a_killed_import_is_completed_by_the_next(tmp_path):
    source = many_images(tmp_path / "in")
    flags = [
        *("--dataset=mini", f"--source={source}", f"--data_dir={tmp_path / 'data'}"),
        *("--allow_partial", "--image_size=64"),
    ]
    stop_in_the_middle(tmp_path, flags, signal.SIGKILL)
    not_prepared = program.run("train", "--dataset=mini", flags[2])
    program.assert_one_line(not_prepared, 2, "mini is not prepared")

    again = program.run("prepare", *flags)
    assert again.returncode == 0, again.stderr
    assert "continuing where an earlier run was stopped" in again.stdout
    assert "train: 12 classes, 3,600 images" in again.stdout
    assert "partial: 88 of 100 classes are missing" in again.stdout
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["mini"]
    stores = reader.open_dataset(tmp_path / "data/mini")
    np.testing.assert_array_equal(
        stores["train"].images[::300, 0, 0], [made.color(0, 0)] * 12
    )

    path = tmp_path / "data/mini/train.bin"
    with path.open("r+b") as file:
        file.seek(1000)
        file.write(b"\xff\xfe\xfd")
    checked = program.run("prepare", "--dataset=mini", flags[2], "--verify")
    program.assert_one_line(checked, 2, "train.bin was altered", "expected sha256")
