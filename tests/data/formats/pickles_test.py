"""Pickles of data are read whatever their age, and programs in them are not run."""

import collections
import os
import pickle

import numpy as np
import pytest

from prwn_tf.data.formats import lazy_array, pickles
from prwn_tf.data.formats.lazy_array import LazyArray
from prwn_tf.errors import UserError
from tests.data import made

PROTOCOLS = [0, 1, 2, 3, 4, 5, "python2"]
IMAGES = np.random.default_rng(0).integers(0, 256, (30, 8, 8, 3), np.uint8)


def objects(*items):
    array = np.empty(len(items), object)
    array[:] = items
    return array


VALUES = {
    "images": IMAGES,
    "few": IMAGES[0, 0],
    "fortran": np.asfortranarray(IMAGES),
    "slice": IMAGES[::2, 1:],
    "foreign": np.arange(400, dtype=">i4"),
    "text": np.array(["ab", "c"]),
    "objects": objects(IMAGES[0], IMAGES[1]),
    "none": np.zeros((0, 3)),
    "numbers": [None, True, False, 1.5, -5, 300, 70_000, -(10**12), 10**30],
    "scalar": np.int64(3),
    "half": np.float32(0.5),
    "nested": {"a": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)], "b": []},
    "ordered": collections.OrderedDict([("z", 1), ("a", 2)]),
    "lists": collections.defaultdict(list, {"a": [1]}),
    "range": range(3, 9),
    "set": {1, 2},
    "fixed": frozenset([1, 2]),
    "long": "x" * 300,
    "name": "Zürich",
    "same": [IMAGES, IMAGES],
}


def plain(value):
    """Arrays and tuples as lists, bytes as text, so that all can be compared."""
    if isinstance(value, LazyArray):
        return plain(value.objects if value.objects is not None else value.read())
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.tolist()
    if isinstance(value, list | tuple | range | np.ndarray):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {plain(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.generic):
        return value.item()
    return value.decode() if isinstance(value, bytes) else value


def read(path, content):
    path.write_bytes(content)
    return pickles.load(path)


def assert_refused(path, content, message):
    with pytest.raises(UserError, match=message) as caught:
        read(path, content)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_data_is_read(tmp_path, protocol):
    content = made.pickled(VALUES, protocol)

    assert pickles.looks_like_one(content[:512])
    assert plain(read(tmp_path / "a", content)) == plain(VALUES)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_rows_are_read_alone(tmp_path, protocol):
    for array in (IMAGES, np.asfortranarray(IMAGES)):
        loaded = read(tmp_path / "a", made.pickled([array], protocol))[0]
        np.testing.assert_array_equal(loaded.row(17), IMAGES[17])


@pytest.mark.parametrize("protocol", [2, 3, 4, 5, "python2"])
def test_large_arrays_stay_in_the_file(tmp_path, protocol):
    [loaded] = read(tmp_path / "a", made.pickled([IMAGES], protocol))
    (tmp_path / "a").write_bytes(b"")

    with pytest.raises(UserError, match="cut short"):
        loaded.read()


def test_a_row_costs_no_more_than_a_row(tmp_path):
    [loaded] = read(tmp_path / "a", made.pickled([IMAGES], "python2"))

    loaded.row(3)
    assert loaded._whole is None


def test_text_is_read_from_any_place(tmp_path, monkeypatch):
    monkeypatch.setattr(lazy_array, "BLOCK", 7)  # most characters of two bytes straddle
    for offset in range(3):
        array = np.roll(IMAGES, offset)
        [loaded] = read(tmp_path / "a", pickle.dumps([array], 2))
        assert loaded._data.text
        for row in (0, 1, 13, 29):
            np.testing.assert_array_equal(loaded.row(row), array[row])
        assert loaded.content() == array.tobytes()


class Evil:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return os.system, (f"touch {self.marker}",)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("place", [lambda x: x, lambda x: {"image_data": [x]}])
def test_a_program_is_named_and_not_run(tmp_path, protocol, place):
    content = made.pickled(place(Evil(tmp_path / "marker")), protocol)

    assert_refused(tmp_path / "a", content, "asks for posix.system")
    assert not (tmp_path / "marker").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"cbuiltins\neval\n(S'1'\ntR.", "asks for builtins.eval"),
        (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", "asks for os.system"),
        (b"\x80\x04\x8c\x05numpy\x8c\x09f2py.diag\x93.", "asks for numpy.f2py.diag"),
        (b"cnumpy\nload\n(S'x'\ntR.", "asks for numpy.load"),
        (b"cnumpy.core.multiarray\n__loader__\n.", "asks for numpy.core.multiarray.__"),
        (b"(ios\nsystem\n.", "asks for operation b'i'"),
        (b"(cos\nsystem\no.", "asks for os.system"),
        (b"(I1\no.", "asks for operation b'o'"),
        (b"Pid\n.", "asks for operation b'P'"),
        (b"I1\nQ.", "asks for operation b'Q'"),
        (b"\x80\x02\x82\x01.", r"asks for operation b'\\x82'"),
        (b"I1\n(I2\ntR.", "asks for a call of 1"),
        (b"]}(S'x'\nI1\nub.", "asks for the state of a list"),
        (b"cbuiltins\nlist\n(cbuiltins\nrange\n(L999999999999L\ntRtR.", "of .range"),
        (b"cnumpy\nndarray\n(I1\ntR.", "asks for a call of numpy.ndarray"),
        (b"cnumpy\ndtype\n(S'V8'\ntR.", "asks for an array of"),
        (b"cnumpy\nndarray\nI1\nI2\ns.", "asks for a .* as a dict"),
    ],
)
def test_what_else_is_forbidden(tmp_path, content, message):
    assert_refused(tmp_path / "a", content, message)


NESTED = b"]" * 5000 + b"a" * 4999  # a list in a list in a list ...
TUPLES = b")" + b"\x85" * 1_000_000  # to hash them would end the process


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"cbuiltins\nlist\n" + NESTED + b"I1\n\x86R.", r"a list of \(\[\[.*, 1\)"),
        (NESTED + b")R.", r"asks for a call of \[\["),
        (NESTED + b"\x8c\x01x\x93.", r"asks for a name that is \[\["),
        (b"cnumpy\ndtype\n" + NESTED + b"\x85R.", r"asks for an array of \[\["),
        (b"}" + TUPLES + b"I1\ns.", "asks for a tuple as a key"),
        (b"(" + TUPLES + b"I1\nd.", "asks for a tuple as a key"),
        (b"\x8f(" + TUPLES + b"\x90.", "asks for a tuple as a key"),
        (b"(" + TUPLES + b"\x91.", "asks for a tuple as a key"),
        (b"cbuiltins\nset\n](" + TUPLES + b"e\x85R.", "asks for a tuple as a key"),
        (
            b"ccollections\nOrderedDict\n](" + TUPLES + b"I1\n\x86e\x85R.",
            "asks for a tuple as a key",
        ),
        (
            # A tuple times a billion is a billion tuples.
            b"cnumpy.core.numeric\n_frombuffer\n(C\x01xcnumpy\ndtype\n(S'u1'\ntR"
            b"((I1\nI2\ntI999999999\nt\x8c\x01CtR.",
            r"asks for an array of shape \(\(1, 2\), 999999999\)",
        ),
    ],
)
def test_what_is_too_deep(tmp_path, content, message):
    assert_refused(tmp_path / "a", content, message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty: the download failed"),
        (b"<!DOCTYPE html><title>Quota exceeded", "is a web page, not a pickle"),
        (b"\n<html>", "the download was refused"),
        (pickle.dumps(VALUES)[:3000], "damaged or cut short"),
        (pickle.dumps(VALUES, 2)[:-1], "damaged or cut short"),
        (b"\x80\x04\x8e" + b"\xff" * 8, "damaged or cut short"),
        (b"\x80\x02T\xff\xff\xff\xff.", "damaged or cut short"),
        (b"I" + b"9" * 5000 + b"\n.", "damaged or cut short"),
        (b"\x80\x02}q\x00]q\x01K\x01s.", "asks for a list as a key"),
        (b"h\x05.", "damaged or cut short"),
    ],
)
def test_what_is_no_pickle(tmp_path, content, message):
    assert_refused(tmp_path / "a", content, message)


def test_a_missing_file(tmp_path):
    with pytest.raises(UserError, match="No such file"):
        pickles.load(tmp_path / "a")


def test_an_array_that_claims_more_than_there_is(tmp_path):
    shape, larger = b"K\x1eK\x08K\x08K\x03", b"K\x1fK\x08K\x08K\x03"
    negative = b"J\xff\xff\xff\xffK\x08K\x08K\x03"
    content = pickle.dumps(IMAGES, 3)
    assert content.count(shape) == 1
    for claim in (larger, negative):
        assert_refused(tmp_path / "a", content.replace(shape, claim), "damaged")

    as_text = read(tmp_path / "a", pickle.dumps(IMAGES, 2).replace(shape, larger))
    with pytest.raises(UserError, match="5760 bytes for an array of 5952"):
        as_text.read()


def test_random_damage_never_ends_in_a_traceback(tmp_path):
    random = np.random.default_rng(0)
    good = [made.pickled(VALUES, protocol) for protocol in PROTOCOLS]
    refused = 0
    for number in range(700):
        content = bytearray(good[number % len(good)])
        for place in random.integers(0, len(content), 1 + number % 4):
            content[place] = random.integers(256)
        try:
            read(tmp_path / "a", content)
        except UserError:
            refused += 1
    assert refused > 50
