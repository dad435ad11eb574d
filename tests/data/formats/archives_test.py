"""Archives are read whatever they are called, and hostile ones are refused."""

import io
import lzma
import stat
import tarfile
import zipfile
import zlib

import pytest

from prwn_tf.data.formats import archives, compressed
from prwn_tf.errors import UserError

KINDS = ["tar", "tar.gz", "tar.xz", "zip"]
PACKED_KINDS = KINDS[1:]
FILES = {"a/one.png": b"first", "a/b/two.png": b"second" * 1000}


def write_tar(path, members, mode="w:gz"):
    with tarfile.open(path, mode) as archive:
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
        write_tar(path, members, "w" + kind.removeprefix("tar").replace(".", ":"))
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


@pytest.mark.parametrize("kind", PACKED_KINDS)
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


# The last eight bytes of gzip are its checksum; that of the index of xz ends before the
# last twelve; zip's first data lie at 40.
@pytest.mark.parametrize(
    ("kind", "place"), [("tar.gz", -8), ("tar.xz", -13), ("tar.xz", 40), ("zip", 40)]
)
def test_a_flipped_byte_is_noticed(tmp_path, kind, place):
    path = write_archive(tmp_path / "a", kind, FILES)
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)

    assert_refused(path, "damaged, cut short")


@pytest.mark.parametrize("excess", [1, 12, 13, 100])
def test_an_xz_file_that_ends_early_is_refused(tmp_path, excess):
    """Even if all members are there: the checksum of them is not."""
    path = write_archive(tmp_path / "a", "tar.xz", FILES)
    path.write_bytes(path.read_bytes()[:-excess])

    assert_refused(path, "the end is missing.*damaged, cut short")


def test_an_xz_file_may_have_several_parts_and_zeros_between_them(tmp_path):
    tar = write_archive(tmp_path / "a", "tar", FILES).read_bytes()
    parts = [lzma.compress(tar[place : place + 1000]) for place in range(0, 9999, 1000)]
    path = tmp_path / "b"
    for zeros in (0, 4, 2 * compressed.BLOCK):
        path.write_bytes(b"".join(part + bytes(zeros) for part in parts))
        assert dict(archives.members(path)) == FILES


def test_what_follows_an_xz_file_is_not_passed_over(tmp_path):
    path = write_archive(tmp_path / "a", "tar.xz", FILES)
    path.write_bytes(path.read_bytes() + b"more")

    assert_refused(path, "damaged, cut short")


def test_an_xz_file_that_asks_for_gigabytes_of_memory_is_refused(tmp_path):
    content = bytearray(write_archive(tmp_path / "a", "tar.xz", FILES).read_bytes())
    # The block header: size, flags, filter, its properties' size, the dictionary's.
    assert content[14:16] == b"\x21\x01"
    content[16] = 38  # 2**31 bytes
    header_end = 12 + 4 * content[12]
    checksum = zlib.crc32(content[12:header_end])
    content[header_end : header_end + 4] = checksum.to_bytes(4, "little")
    (tmp_path / "a").write_bytes(content)

    assert_refused(tmp_path / "a", "needs over 134,217,728 bytes of memory")


def test_xz_at_its_strongest_is_read(tmp_path):
    tar = write_archive(tmp_path / "a", "tar", FILES).read_bytes()
    (tmp_path / "b").write_bytes(lzma.compress(tar, preset=9 | lzma.PRESET_EXTREME))

    assert dict(archives.members(tmp_path / "b")) == FILES


@pytest.mark.parametrize("kind", ["tar.gz", "tar.xz"])
def test_small_files_that_are_all_alike_are_no_bomb(tmp_path, kind):
    alike = {f"n01532829/n01532829{n:08d}.jpg": b"x" * 400 for n in range(5000)}
    path = write_archive(tmp_path / "a", kind, alike)

    assert len(list(archives.members(path))) == 5000


def test_an_xz_file_of_something_else(tmp_path):
    (tmp_path / "a").write_bytes(lzma.compress(b"not a tar" * 1000))

    assert_refused(tmp_path / "a", "cannot be unpacked")


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
