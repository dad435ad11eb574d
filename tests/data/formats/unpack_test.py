"""Archives are unpacked into their folder and nowhere else."""

import os

import pytest

from prwn_tf.data.formats import archives
from prwn_tf.errors import UserError
from tests.data.packing import KINDS, appended, content_of, packed

FILES = {"a/one.png": b"first", "a/b/two.png": b"second" * 1000, "c": b""}


@pytest.mark.parametrize("kind", KINDS)
def test_files_come_out_as_they_went_in(tmp_path, kind):
    archives.unpack(packed(tmp_path / "a", FILES, kind), tmp_path / "out")
    assert content_of(tmp_path / "out") == FILES


@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_a_large_file_is_unpacked(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(archives, "MEMBER_LIMIT", 100)
    archives.unpack(packed(tmp_path / "a", FILES, kind), tmp_path / "out")
    assert content_of(tmp_path / "out") == FILES


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["../evil", "/tmp/evil", "a/../../evil"])
def test_nothing_is_written_outside(tmp_path, kind, name):
    path = packed(tmp_path / "a", FILES | {name: b"evil"}, kind)
    with pytest.raises(UserError, match="points outside"):
        archives.unpack(path, tmp_path / "in" / "out")
    assert not (tmp_path / "evil").exists()
    assert not (tmp_path / "in/evil").exists()


def test_of_two_files_of_one_name_the_later_is_kept(tmp_path):
    path = packed(tmp_path / "a.tar", FILES, "tar")
    appended(path, {"a/one.png": b"second thoughts"})
    archives.unpack(path, tmp_path / "out")
    assert content_of(tmp_path / "out") == FILES | {"a/one.png": b"second thoughts"}


@pytest.mark.parametrize("name", ["a", "a/one.png/x", "a/one.png/x/y"])
def test_a_name_for_a_file_and_a_folder(tmp_path, name):
    path = appended(packed(tmp_path / "a.tar", FILES, "tar"), {name: b"x"})
    with pytest.raises(UserError, match=f"'{name}' is a file and a folder at once"):
        archives.unpack(path, tmp_path / "out")


def tar_bytes(tmp_path, contents):
    return packed(tmp_path / "inner", contents, "tar").read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_tars_in_an_archive_become_folders(tmp_path, kind):
    inner = {
        "n01.tar": tar_bytes(tmp_path, {"1.JPEG": b"one", "2.JPEG": b"two" * 9999}),
        "train.tar": tar_bytes(tmp_path, {"train/n02/1.JPEG": b"three"}),
        "deep/n04.tar": tar_bytes(
            tmp_path, {"n05.tar": tar_bytes(tmp_path, {"1.JPEG": b"four"})}
        ),
        "last.png": b"five",
    }
    archives.unpack(packed(tmp_path / "a", inner, kind), tmp_path / "out")
    assert content_of(tmp_path / "out") == {
        "n01/1.JPEG": b"one",
        "n01/2.JPEG": b"two" * 9999,
        "train/n02/1.JPEG": b"three",
        "deep/n04/n05/1.JPEG": b"four",
        "last.png": b"five",
    }


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil"])
def test_inner_tars_do_not_leave_the_folder_either(tmp_path, name):
    inner = {"n01.tar": tar_bytes(tmp_path, {name: b"evil"})}
    path = packed(tmp_path / "a", inner, "tar")
    with pytest.raises(UserError, match="points outside"):
        archives.unpack(path, tmp_path / "in/out")


def test_packed_archives_in_an_archive_are_files(tmp_path):
    inner = packed(tmp_path / "inner", {"zeros": bytes(2**20)}, "tar.gz").read_bytes()
    path = packed(tmp_path / "a", {"x.tar.gz": inner}, "tar")
    archives.unpack(path, tmp_path / "out")
    assert content_of(tmp_path / "out") == {"x.tar.gz": inner}


def test_unpacked_files_are_as_old_as_their_archive(tmp_path):
    path = packed(tmp_path / "a", FILES, "tar")
    os.utime(path, ns=(5, 1234567890123456789))
    archives.unpack(path, tmp_path / "out")
    assert (tmp_path / "out/a/one.png").stat().st_mtime_ns == 1234567890123456789


@pytest.mark.parametrize("kind", KINDS[1:])
def test_a_damaged_archive(tmp_path, kind):
    path = packed(tmp_path / "a", FILES, kind)
    content = bytearray(path.read_bytes())
    # zip's first data lie at 39; all of gzip and of xz is one stream.
    content[41 if kind == "zip" else len(content) // 2] ^= 255
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"cannot be unpacked .* download it again"):
        archives.unpack(path, tmp_path / "out")
