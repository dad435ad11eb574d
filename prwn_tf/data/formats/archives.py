"""The files inside a tar or zip archive, read in memory or unpacked to a folder.

An archive from a mirror is a stranger's input: a member may try to leave its folder,
link elsewhere, or unpack to more than the machine holds. All of these are refused.
"""

import contextlib
import gzip
import math
import os
import pathlib
import stat
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from prwn_tf import files
from prwn_tf.errors import UserError
from prwn_tf.images import header

MEMBER_LIMIT = 64 * 2**20
# Deflate packs zeros 1000:1 and images hardly at all, but the padding and headers of a
# tar of small files that are all alike reach 130:1. A small archive is harmless.
RATIO_LIMIT = 300
ALWAYS_ALLOWED = 2**20
SUFFIXES = (".tar", ".tar.gz", ".tgz", ".zip")
DEPTH = 3  # of archives in archives


def is_archive(path: pathlib.Path) -> bool:
    """Whether the file begins like an archive that `members` reads."""
    return _kind(_beginning(path)) is not None


def members(path: pathlib.Path) -> Iterator[tuple[str, bytes]]:
    """The name and content of every file in a tar, tar.gz or zip, hidden ones apart.

    Names have forward slashes and no leading `./`. The kind of archive is read from
    the content, whatever the file is called.

    Example:
        >>> for name, content in members(pathlib.Path("images_background.zip")): ...
    """
    with _damage(path):
        for name, stream in _streams(path, MEMBER_LIMIT):
            yield name, stream.read()


def unpack(path: pathlib.Path, folder: pathlib.Path, called: str = "") -> None:
    """Writes every file that `members` would give into `folder`, however large.

    A tar inside becomes the folder that it is called after: ILSVRC-2012 is one tar of a
    tar for each class. Of two files of one name the later is kept, as tar does it.

    Args:
        called: the archive's own name, where it is one of several in a folder.
    """
    with files.storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with _damage(path):
        for name, stream in _with_inner(path, _streams(path)):
            target = folder / _inside(called, name)
            above = () if target.parent.is_dir() else target.parents
            if target.is_dir() or any(each.is_file() for each in above):
                raise UserError(
                    f"{path}: member {name!r} is a file and a folder at once; get the "
                    "archive again"
                )
            write(stream, target, path)


def write(stream: BinaryIO, target: pathlib.Path, origin: pathlib.Path) -> None:
    """Writes what is left of a stream to a file, as old as the file it comes from.

    By its age, a program that continues an import knows it again. Failing to read is no
    storage error.
    """
    with files.storage_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        file = target.open("wb", buffering=0)  # or closing it would write as well
    with file:
        while block := memoryview(stream.read(2**20)):
            while block:
                with files.storage_errors(target):
                    block = block[file.write(block) :]
    with files.storage_errors(target):
        os.utime(target, ns=(time := origin.stat().st_mtime_ns, time))


def _inside(archive: str, name: str) -> str:
    """A member's name under the archive's, unless it begins with that already."""
    for suffix in SUFFIXES:
        if archive.lower().endswith(suffix):
            archive = archive[: -len(suffix)]
    above, _, folder = archive.rpartition("/")
    parts = [above, "" if name.startswith(f"{folder}/") else folder, name]
    return "/".join(part for part in parts if part)


def _with_inner(
    path: pathlib.Path, streams: Iterable[tuple[str, BinaryIO]], depth: int = 1
) -> Iterator[tuple[str, BinaryIO]]:
    """Members, with those of a tar among them in its place."""
    for name, stream in streams:
        beginning = stream.read(512)
        whole = _Rejoined(beginning, stream)
        # Packed ones are left alone: they could unpack to any size.
        if depth <= DEPTH and _is_plain_tar(beginning):
            inner = _tar_members(path, whole, math.inf)
            named = ((_inside(name, each), content) for each, content in inner)
            yield from _with_inner(path, named, depth + 1)
        else:
            yield name, whole


class _Rejoined:
    """A stream whose beginning was read already."""

    def __init__(self, beginning: bytes, rest: BinaryIO):
        self._beginning = beginning
        self._rest = rest

    def read(self, size: int) -> bytes:
        some, self._beginning = self._beginning[:size], self._beginning[size:]
        return some or self._rest.read(size)


def _streams(
    path: pathlib.Path, limit: float = math.inf
) -> Iterator[tuple[str, BinaryIO]]:
    """The name and content of every file of at most `limit` bytes, one at a time."""
    beginning = _beginning(path)
    kind = _kind(beginning)
    if kind is None:
        raise UserError(_not_an_archive(path, beginning))
    yield from (_zip_streams if kind == "zip" else _tar_streams)(path, limit)


@contextlib.contextmanager
def _damage(path: pathlib.Path) -> Iterator[None]:
    """Turns whatever a damaged archive leads to into one line."""
    try:
        yield
    except UserError:
        raise
    # Everything else, because tarfile and zipfile meet damaged bytes with errors of a
    # dozen types.
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UserError(
            f"{path} cannot be unpacked ({reason}): it is damaged, cut short or "
            "encrypted; download it again"
        ) from error


def _beginning(path: pathlib.Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(512)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error


def _kind(beginning: bytes) -> str | None:
    if beginning.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "zip"
    if beginning.startswith(b"\x1f\x8b") or _is_plain_tar(beginning):
        return "tar"
    return None


def _is_plain_tar(beginning: bytes) -> bool:
    return beginning[257:262] == b"ustar"


def _not_an_archive(path: pathlib.Path, beginning: bytes) -> str:
    if not beginning:
        return f"{path} is empty: the download failed; get it again"
    if header.is_web_page(beginning):
        return (
            f"{path} is a web page, not an archive: the download was refused; "
            "open it to see why, and get the archive again"
        )
    return (
        f"{path} is neither a tar nor a zip archive (it begins with "
        f"{beginning[:8]!r}); get the archive again"
    )


def _tar_streams(path: pathlib.Path, limit: float) -> Iterator[tuple[str, BinaryIO]]:
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        stream = _BoundedStream(gzip.GzipFile(fileobj=file) if packed else file, path)
        yield from _tar_members(path, stream, limit)
        # tarfile stops at its end mark; the checksum of gzip comes after it.
        while stream.read(2**16):
            pass


def _tar_members(
    path: pathlib.Path, stream: BinaryIO, limit: float
) -> Iterator[tuple[str, BinaryIO]]:
    with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Member) as archive:
        for member in archive:
            if member.isdir():
                continue
            if not member.isreg() or member.issparse():
                raise UserError(_not_a_plain_file(path, member.name))
            name = _safe_name(path, member.name, member.size, limit)
            if not _is_hidden(name):
                yield name, archive.extractfile(member)


class _Member(tarfile.TarInfo):
    """A member of an archive that ends at its end mark, and nowhere else.

    To tarfile, a header that is damaged or missing is the end as well, and what comes
    after it was never there.
    """

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> tarfile.TarInfo:
        try:
            return super().fromtarfile(tarfile_)
        except tarfile.EOFHeaderError:
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(str(error)) from error


class _BoundedStream:
    """A stream that refuses to unpack to many times the size of its archive."""

    def __init__(self, stream: BinaryIO, path: pathlib.Path):
        self._stream = stream
        self._path = path
        self._unpacked = 0

    def read(self, size: int) -> bytes:
        content = self._stream.read(size)
        self._unpacked += len(content)
        _check_ratio(self._path, self._unpacked)
        return content


def _zip_streams(path: pathlib.Path, limit: float) -> Iterator[tuple[str, BinaryIO]]:
    with zipfile.ZipFile(path) as archive:
        entries = [entry for entry in archive.infolist() if not entry.is_dir()]
        names = [_checked_entry(path, entry, limit) for entry in entries]
        # zipfile never reads more of a member than its entry announces.
        _check_ratio(path, sum(entry.file_size for entry in entries))
        for name, entry in zip(names, entries, strict=True):
            if not _is_hidden(name):
                with archive.open(entry) as stream:
                    yield name, stream


def _checked_entry(path: pathlib.Path, entry: zipfile.ZipInfo, limit: float) -> str:
    # The upper half holds the Unix mode, which is 0 in archives made on Windows.
    mode = entry.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        raise UserError(_not_a_plain_file(path, entry.filename))
    return _safe_name(path, entry.filename, entry.file_size, limit)


def _safe_name(path: pathlib.Path, name: str, size: int, limit: float) -> str:
    # Windows' rules know both slashes and drive letters, so they are the stricter.
    parsed = pathlib.PureWindowsPath(name)
    if parsed.anchor or ".." in parsed.parts:
        raise UserError(
            f"{path}: member {name!r} points outside the archive; do not trust this "
            "file, get it from its publisher"
        )
    if size > limit:
        raise UserError(
            f"{path}: member {name!r} has {size:,} bytes, at most {limit:,} are read; "
            "get the archive from its publisher"
        )
    return parsed.as_posix()


def _not_a_plain_file(path: pathlib.Path, name: str) -> str:
    return (
        f"{path}: member {name!r} is a link or a device, not a file; do not trust this "
        "file, get it from its publisher"
    )


def _check_ratio(path: pathlib.Path, unpacked: int) -> None:
    packed = path.stat().st_size
    if unpacked > max(ALWAYS_ALLOWED, RATIO_LIMIT * packed):
        raise UserError(
            f"{path} unpacks to over {RATIO_LIMIT} times its {packed:,} bytes, as a "
            "decompression bomb does; get the archive from its publisher"
        )


def _is_hidden(name: str) -> bool:
    parts = name.split("/")
    return any(part.startswith(".") or part == "__MACOSX" for part in parts)
