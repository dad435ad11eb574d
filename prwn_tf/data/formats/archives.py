"""Reads the files inside a tar or zip archive, or unpacks them to a folder.

An archive from a mirror is a stranger's input: a member may try to leave its folder,
link elsewhere, or unpack to more than the machine holds. All of these are refused.
"""

import contextlib
import math
import pathlib
import stat
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from prwn_tf import files
from prwn_tf.data.formats import compressed, streams
from prwn_tf.data.formats.streams import Stream
from prwn_tf.errors import UserError, first_line
from prwn_tf.images import header

MEMBER_LIMIT = 64 * 2**20
ZIP_RATIO_LIMIT = compressed.GZIP_RATIO_LIMIT  # both pack alike
SUFFIXES = (".tar.gz", ".tar.xz", ".tar", ".tgz", ".txz", ".xz", ".zip")
MAX_DEPTH = 3  # of tars inside of an archive


def is_archive(path: pathlib.Path) -> bool:
    """Returns whether a file begins like an archive that `members` reads."""
    return _kind(_beginning(path)) is not None


def members(path: pathlib.Path) -> Iterator[tuple[str, bytes]]:
    """Yields the name and content of every file of an archive, hidden ones apart.

    An archive is a tar, packed by gzip, by xz or not at all, or a zip. It is told by
    its content. Names have forward slashes and no leading `./`.

    Example:
        >>> for name, content in members(pathlib.Path("images_background.zip")): ...
    """
    with _damage_errors(path):
        for name, stream in _member_streams(path, MEMBER_LIMIT):
            yield name, stream.read()


def unpack(path: pathlib.Path, folder: pathlib.Path, archive_name: str = "") -> None:
    """Writes every file that `members` would yield into a folder, however large.

    A tar inside of it becomes a folder of the same name: ILSVRC-2012 is one tar of a
    tar for each class. Of two files of one name the later is kept, as tar does it.

    Args:
        archive_name: becomes a folder around the files, where the archive is one of
            several.
    """
    with files.storage_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with _damage_errors(path):
        for name, stream in _with_inner_tars(path, _member_streams(path)):
            target = folder / _name_inside(archive_name, name)
            parents = () if target.parent.is_dir() else target.parents
            if target.is_dir() or any(parent.is_file() for parent in parents):
                raise UserError(
                    f"{path}: member {name!r} is a file and a folder at once; get the "
                    "archive again"
                )
            streams.save(stream, target, path)


def _name_inside(archive_name: str, name: str) -> str:
    """Returns a member's name with the archive's before it, unless it is there."""
    for suffix in SUFFIXES:
        if archive_name.lower().endswith(suffix):
            archive_name = archive_name[: -len(suffix)]
            break
    parent, _, folder = archive_name.rpartition("/")
    parts = [parent, "" if name.startswith(f"{folder}/") else folder, name]
    return "/".join(part for part in parts if part)


def _with_inner_tars(
    path: pathlib.Path, members: Iterable[tuple[str, Stream]], depth: int = 1
) -> Iterator[tuple[str, Stream]]:
    """Yields the members, and in place of a tar among them the members of the tar."""
    for name, stream in members:
        beginning = stream.read(512)
        whole = _RejoinedStream(beginning, stream)
        # Packed ones are left alone: they could unpack to any size.
        if depth <= MAX_DEPTH and _is_plain_tar(beginning):
            inner = (
                (_name_inside(name, inner_name), content)
                for inner_name, content in _tar_members(path, whole, math.inf)
            )
            yield from _with_inner_tars(path, inner, depth + 1)
        else:
            yield name, whole


class _RejoinedStream:
    """A stream whose beginning was read already."""

    def __init__(self, beginning: bytes, rest: Stream):
        self._beginning = beginning
        self._rest = rest

    def read(self, size: int, /) -> bytes:
        """Returns at most `size` bytes; none only at the end."""
        content, self._beginning = self._beginning[:size], self._beginning[size:]
        return content or self._rest.read(size)


def _member_streams(
    path: pathlib.Path, limit: float = math.inf
) -> Iterator[tuple[str, BinaryIO]]:
    """Yields the name and content of every file, to be read before the next.

    Raises:
        UserError: a file has over `limit` bytes.
    """
    beginning = _beginning(path)
    kind = _kind(beginning)
    if kind is None:
        raise UserError(_not_an_archive(path, beginning))
    yield from (_zip_members if kind == "zip" else _tar_file_members)(path, limit)


@contextlib.contextmanager
def _damage_errors(path: pathlib.Path) -> Iterator[None]:
    """Turns whatever a damaged archive leads to into a UserError."""
    try:
        yield
    except (UserError, MemoryError):
        raise
    # Everything else, because tarfile, lzma and zipfile meet damaged bytes with errors
    # of a dozen types.
    except Exception as error:
        raise UserError(
            f"{path} cannot be unpacked ({first_line(error)}): it is damaged, cut "
            "short or encrypted; download it again"
        ) from error


def _beginning(path: pathlib.Path) -> bytes:
    """Returns the first bytes of a file, enough to tell its kind."""
    try:
        with path.open("rb") as file:
            return file.read(512)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error


def _kind(beginning: bytes) -> str | None:
    """Returns "zip" or "tar", or None for other files.

    What gzip or xz has packed counts as a tar.
    """
    if beginning.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "zip"
    if compressed.is_compressed(beginning) or _is_plain_tar(beginning):
        return "tar"
    return None


def _is_plain_tar(beginning: bytes) -> bool:
    """Returns whether a file that begins so is a tar that is not packed."""
    return beginning[257:262] == b"ustar"


def _not_an_archive(path: pathlib.Path, beginning: bytes) -> str:
    """Returns the message on a file that is no archive."""
    if not beginning:
        return f"{path} is empty: the download failed; get it again"
    if header.is_web_page(beginning):
        return header.refused_download(path, "an archive")
    return (
        f"{path} is neither a tar nor a zip archive (it begins with "
        f"{beginning[:8]!r}); get the archive again"
    )


def _tar_file_members(
    path: pathlib.Path, limit: float
) -> Iterator[tuple[str, BinaryIO]]:
    """Yields the name and content of every file in a tar, packed or not."""
    with path.open("rb") as file:
        stream = compressed.unpacked(file, path)
        yield from _tar_members(path, stream, limit)
        # tarfile stops at its end mark; the checksums of gzip and xz come after it.
        while stream.read(2**16):
            pass


def _tar_members(
    path: pathlib.Path, stream: Stream, limit: float
) -> Iterator[tuple[str, BinaryIO]]:
    """Yields the name and content of every file in an unpacked tar."""
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
    """A member of a tar that ends at its end mark, and nowhere else.

    Python's tarfile takes a header that is damaged or missing for the end as well.
    """

    @classmethod
    def fromtarfile(cls, tarfile_: tarfile.TarFile) -> tarfile.TarInfo:
        """Returns the next member, or raises ReadError where its header is bad."""
        try:
            return super().fromtarfile(tarfile_)
        except tarfile.EOFHeaderError:
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(str(error)) from error


def _zip_members(path: pathlib.Path, limit: float) -> Iterator[tuple[str, BinaryIO]]:
    """Yields the name and content of every file in a zip."""
    with zipfile.ZipFile(path) as archive:
        entries = [entry for entry in archive.infolist() if not entry.is_dir()]
        names = [_checked_entry(path, entry, limit) for entry in entries]
        # zipfile never reads more of a member than its entry announces.
        unpacked_size = sum(entry.file_size for entry in entries)
        compressed.check_ratio(path, unpacked_size, ZIP_RATIO_LIMIT)
        for name, entry in zip(names, entries, strict=True):
            if not _is_hidden(name):
                with archive.open(entry) as stream:
                    yield name, stream


def _checked_entry(path: pathlib.Path, entry: zipfile.ZipInfo, limit: float) -> str:
    """Returns the safe name of a file in a zip, or raises if it is no plain file."""
    # The upper half holds the Unix mode, which is 0 in archives made on Windows.
    mode = entry.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        raise UserError(_not_a_plain_file(path, entry.filename))
    return _safe_name(path, entry.filename, entry.file_size, limit)


def _safe_name(path: pathlib.Path, name: str, size: int, limit: float) -> str:
    """Returns a member's name with forward slashes.

    Raises:
        UserError: the name leads outside, or the member has over `limit` bytes.
    """
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
    """Returns the message on a member that is a link or a device."""
    return (
        f"{path}: member {name!r} is a link or a device, not a file; do not trust this "
        "file, get it from its publisher"
    )


def _is_hidden(name: str) -> bool:
    """Returns whether a file or one of its folders is hidden."""
    parts = name.split("/")
    return any(part.startswith(".") or part == "__MACOSX" for part in parts)
