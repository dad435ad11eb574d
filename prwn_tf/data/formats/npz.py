"""The array of images in an npz file, left there until its rows are asked for."""

import pathlib
import struct
import zipfile

import numpy as np

from prwn_tf.data import tree
from prwn_tf.data.formats import compressed, streams
from prwn_tf.data.formats.lazy_array import LazyArray, Source, Span
from prwn_tf.errors import UserError, first_line
from prwn_tf.images import header as header_lib


def load(path: pathlib.Path, key: str, scratch: pathlib.Path) -> LazyArray:
    """Returns an array of an npz file.

    Args:
        key: its name.
        scratch: folder for the array, if the file is compressed.
    """
    if header_lib.is_web_page(tree.beginning(path)):
        raise UserError(header_lib.refused_download(path, "an npz file"))
    try:
        with zipfile.ZipFile(path) as archive:
            return _load(path, archive, key, scratch)
    except (UserError, MemoryError):
        raise
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror or error}") from error
    # Everything else: zipfile and its packers meet damaged bytes with errors of a dozen
    # types.
    except Exception as error:
        raise UserError(
            f"{path} is damaged, cut short or encrypted ({first_line(error)}); get it "
            "again"
        ) from error


def _load(
    path: pathlib.Path, archive: zipfile.ZipFile, key: str, scratch: pathlib.Path
) -> LazyArray:
    """Returns an array of an open npz file, as `load` does."""
    if f"{key}.npy" not in archive.namelist():
        keys = ", ".join(name.removesuffix(".npy") for name in archive.namelist())
        raise UserError(f"{path} has no array {key!r}, found {keys or 'none'}")
    entry = archive.getinfo(f"{key}.npy")
    if entry.compress_type == zipfile.ZIP_STORED:
        source, start = Source(path), _content_start(path, entry)
    else:
        source, start = Source(_unpacked(path, archive, entry, scratch)), 0
    with archive.open(entry) as stream:
        version = np.lib.format.read_magic(stream)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }.get(version)
        if read is None:
            raise ValueError(f"version {version} of its array")
        shape, fortran, dtype = read(stream)
        header = stream.tell()
    array = LazyArray(source)
    span = Span(start + header, entry.file_size - header)
    array.fill(dtype, shape, span, fortran=fortran)
    return array


def _content_start(path: pathlib.Path, entry: zipfile.ZipInfo) -> int:
    """Returns where the bytes of a member that is not compressed begin in the file."""
    with path.open("rb") as file:
        file.seek(entry.header_offset)
        header = file.read(30)
    name, extra = struct.unpack_from("<HH", header, 26)
    return entry.header_offset + 30 + name + extra


def _unpacked(
    path: pathlib.Path,
    archive: zipfile.ZipFile,
    entry: zipfile.ZipInfo,
    scratch: pathlib.Path,
) -> pathlib.Path:
    """Unpacks a member to a file, and returns its path."""
    # By what the file really has; what an entry says of its packed size may be false.
    compressed.check_ratio(path, entry.file_size, compressed.GZIP_RATIO_LIMIT)
    target = scratch / f"{path.stem}.npy"
    with archive.open(entry) as stream:
        streams.save(stream, target, path)
    return target
