"""Archives are read whatever they are called, and hostile ones are refused."""

import io
import stat
import tarfile
import zipfile

import pytest

from prwn_tf.data.formats import archives
from prwn_tf.errors import UserError

KINDS = ["tar", "tar.gz", "zip"]
FILES = {"a/one.png": b"first", "a/b/two.png": b"second" * 1000}


def write_tar(path, members, *, packed=True):
    with tarfile.open(path, "w:gz" if packed else "w") as archive:
        for member, content in members:
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def write_archive(path, kind, contents):
    if kind == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in contents.items():
                archive.writestr(name, content)
    else:
        members = [(tarfile.TarInfo(name), text) for name, text in contents.items()]
        write_tar(path, members, packed=kind == "tar.gz")
    return path


def assert_refused(path, message):
    with pytest.raises(UserError, match=message) as caught:
        list(archives.members(path))
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_members_are_read_whatever_the_file_is_called(tmp_path, kind):
    path = write_archive(tmp_path / "download.bin", kind, FILES)

    assert archives.is_archive(path)
    assert dict(archives.members(path)) == FILES


@pytest.mark.parametrize("kind", KINDS)
def test_hidden_files_are_skipped(tmp_path, kind):
    hidden = {"__MACOSX/a/._one.png": b"", "a/.DS_Store": b"", ".git/config": b""}
    path = write_archive(tmp_path / "a", kind, FILES | hidden)

    assert dict(archives.members(path)) == FILES


def test_folders_are_no_members(tmp_path):
    (tmp_path / "root/a").mkdir(parents=True)
    (tmp_path / "root/a/one.png").write_bytes(b"first")
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "root", ".")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.mkdir("a")
        archive.write(tmp_path / "root/a/one.png", "a/one.png")

    for name in ("a.tar.gz", "a.zip"):
        assert dict(archives.members(tmp_path / name)) == {"a/one.png": b"first"}


def test_backslashes_of_windows_are_folders(tmp_path):
    path = write_archive(tmp_path / "a.zip", "zip", {"a\\one.png": b"first"})

    assert dict(archives.members(path)) == {"a/one.png": b"first"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name", ["../evil", "a/../../evil", "/etc/evil", "..\\evil", "C:\\evil"]
)
def test_members_outside_the_archive_are_refused(tmp_path, kind, name):
    path = write_archive(tmp_path / "a", kind, {name: b"evil"})

    assert_refused(path, "points outside the archive")


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE]
)
def test_links_and_devices_in_a_tar_are_refused(tmp_path, kind):
    member = tarfile.TarInfo("a/one.png")
    member.type = kind
    member.linkname = "/etc/passwd"
    write_tar(tmp_path / "a", [(member, b"")])

    assert_refused(tmp_path / "a", "'a/one.png' is a link or a device")


def test_links_in_a_zip_are_refused(tmp_path):
    entry = zipfile.ZipInfo("a/one.png")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a", "w") as archive:
        archive.writestr(entry, "/etc/passwd")

    assert_refused(tmp_path / "a", "'a/one.png' is a link or a device")


@pytest.mark.parametrize("kind", KINDS)
def test_a_huge_member_is_refused(tmp_path, kind):
    path = write_archive(
        tmp_path / "a", kind, {"big": bytes(archives.MEMBER_LIMIT + 1)}
    )

    assert_refused(path, "member 'big' has 67,108,865 bytes")


@pytest.mark.parametrize("kind", ["tar.gz", "zip"])
def test_a_bomb_of_many_members_is_refused(tmp_path, kind):
    bomb = {f"{number}.png": bytes(2**20) for number in range(20)}
    path = write_archive(tmp_path / "a", kind, bomb)

    assert path.stat().st_size < 2**20 / 40
    assert_refused(path, "decompression bomb")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("keep", [0.3, 0.6])
def test_a_cut_archive_is_refused(tmp_path, kind, keep):
    noise = {str(number): bytes([number]) * 3000 for number in range(5)}
    path = write_archive(tmp_path / "a", kind, noise)
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content))])

    assert_refused(path, "damaged, cut short")


@pytest.mark.parametrize("kind", ["tar.gz", "zip"])
def test_a_flipped_byte_is_noticed(tmp_path, kind):
    path = write_archive(tmp_path / "a", kind, FILES)
    content = bytearray(path.read_bytes())
    # The last eight bytes of gzip are its checksum; zip's first data lie at 40.
    content[-8 if kind == "tar.gz" else 40] ^= 1
    path.write_bytes(content)

    assert_refused(path, "damaged, cut short")


def test_what_follows_a_damaged_header_of_a_tar_is_missed(tmp_path):
    path = write_archive(tmp_path / "a", "tar", {str(n): b"x" * 512 for n in range(9)})
    content = bytearray(path.read_bytes())
    content[5 * 1024] ^= 1  # the name of the sixth
    path.write_bytes(content)

    assert_refused(path, "bad checksum.*damaged, cut short")


@pytest.mark.parametrize("excess", [0, 100])
def test_a_tar_that_ends_between_its_members_is_refused(tmp_path, excess):
    path = write_archive(tmp_path / "a", "tar", {str(n): b"x" * 512 for n in range(9)})
    path.write_bytes(path.read_bytes()[: 5 * 1024 + excess])

    assert_refused(path, "header.*damaged, cut short")


def test_an_encrypted_zip_is_refused(tmp_path):
    path = write_archive(tmp_path / "a", "zip", {"one.png": b"first"})
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)

    assert_refused(path, "encrypted")


@pytest.mark.parametrize(
    "page",
    [b"<!DOCTYPE html><html>", b"\n <html>", b"\xef\xbb\xbf<?xml version='1.0'?>"],
)
def test_a_web_page_is_told_apart(tmp_path, page):
    path = tmp_path / "images_background.zip"
    path.write_bytes(page)

    assert not archives.is_archive(path)
    assert_refused(path, "is a web page, not an archive: the download was refused")


def test_other_files_are_told_apart(tmp_path):
    (tmp_path / "empty.zip").write_bytes(b"")
    (tmp_path / "text.zip").write_bytes(b"version https://git-lfs")

    assert_refused(tmp_path / "empty.zip", "is empty")
    assert_refused(tmp_path / "text.zip", "neither a tar nor a zip")
    assert_refused(tmp_path / "absent.zip", "No such file")
