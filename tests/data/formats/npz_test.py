"""Arrays of npz files are read row by row, packed or not."""

import io
import zipfile

import numpy as np
import pytest

from prwn_tf.data.formats import npz
from prwn_tf.errors import UserError

IMAGES = np.random.default_rng(0).integers(0, 256, (30, 8, 8, 3), np.uint8)


def refused(tmp_path, message):
    with pytest.raises(UserError, match=message) as caught:
        npz.load(tmp_path / "a.npz", "images", tmp_path / "scratch")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("order", ["C", "F"])
def test_rows(tmp_path, save, order):
    save(tmp_path / "a.npz", other=np.arange(3), images=np.array(IMAGES, order=order))
    array = npz.load(tmp_path / "a.npz", "images", tmp_path / "scratch")

    assert array.shape == IMAGES.shape
    for row in (0, 17, 29):
        np.testing.assert_array_equal(array.row(row), IMAGES[row])
    assert (tmp_path / "scratch").exists() == (save is np.savez_compressed)


def test_another_key_is_named(tmp_path):
    np.savez(tmp_path / "a.npz", pictures=IMAGES)
    refused(tmp_path, r"no array 'images', found pictures")


def test_objects_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", images=np.array([{}, {}], object))
    refused(tmp_path, "damaged")


def test_a_web_page(tmp_path):
    (tmp_path / "a.npz").write_bytes(b"<!DOCTYPE html>")
    refused(tmp_path, "is a web page, not an npz file: the download was refused")


@pytest.mark.parametrize("keep", [10, 3000])
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_cut_file(tmp_path, save, keep):
    save(tmp_path / "a.npz", images=IMAGES)
    content = (tmp_path / "a.npz").read_bytes()
    (tmp_path / "a.npz").write_bytes(content[:keep])
    refused(tmp_path, "damaged, cut short or encrypted")


def test_a_bomb(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", images=np.zeros((2**24,), np.uint8))
    refused(tmp_path, "decompression bomb")
    assert not (tmp_path / "scratch").exists()


def test_a_bomb_that_lies_about_its_packed_size(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, images=np.zeros((2**24,), np.uint8))
    content = bytearray(path.read_bytes())
    for mark, place in ((b"PK\3\4", 18), (b"PK\1\2", 20)):
        start = content.index(mark) + place
        content[start : start + 4] = (2**24).to_bytes(4, "little")
    path.write_bytes(content)
    refused(tmp_path, "decompression bomb")
    assert not (tmp_path / "scratch").exists()


def test_an_array_that_claims_more_than_there_is(tmp_path):
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "|u1", "fortran_order": False, "shape": (10**12, 8, 8, 3)}
    )
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("images.npy", head.getvalue() + bytes(100))
    refused(tmp_path, "damaged, cut short .*100 bytes for an array")


def packed(path, method):
    npy = io.BytesIO()
    np.save(npy, IMAGES)
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("images.npy", npy.getvalue())
    return bytearray(path.read_bytes())


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (zipfile.ZIP_LZMA, "a.npz is damaged, cut short or encrypted"),
        (zipfile.ZIP_BZIP2, r"cannot read .*a.npz: Invalid data stream"),
    ],
)
def test_damage_in_other_packings(tmp_path, method, message):
    content = packed(tmp_path / "a.npz", method)
    npz.load(tmp_path / "a.npz", "images", tmp_path / "scratch")
    content[60:90] = bytes(30)
    (tmp_path / "a.npz").write_bytes(content)
    refused(tmp_path, message)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_an_encrypted_file(tmp_path, method):
    content = packed(tmp_path / "a.npz", method)
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "a.npz").write_bytes(content)
    refused(tmp_path, "encrypted")
