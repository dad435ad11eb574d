"""Damaged images are named, and nobody else hears of them."""

import concurrent.futures

import numpy as np
import pytest
import tensorflow as tf

from tests.faults import watch
from tests.images.encoded import jpeg, png, small
from tests.images.header_test import gif


def test_bad_images_are_named_among_good_ones(decoder, scene):
    good = png(scene)
    contents = [good, b"", good, jpeg(scene)[:300], good[:-200], b"<html>", scene]
    pixels, problems = decoder(contents)

    assert problems == {
        1: "is empty",
        3: "is a damaged or incomplete JPEG image",
        4: "is a damaged or incomplete PNG image",
        5: "is a web page",
    }
    assert len(pixels) == 3
    np.testing.assert_allclose(pixels, [small(scene)] * 3, atol=1)


def test_lack_of_memory_is_no_damage(decoder, scene, monkeypatch):
    def exhausted(contents):
        raise tf.errors.ResourceExhaustedError(None, None, "no room")

    monkeypatch.setattr(decoder, "_graph", exhausted)
    with pytest.raises(tf.errors.ResourceExhaustedError):
        decoder([png(scene), png(scene)])


def broken_jpegs(scene):
    """Files with a beginning and an end that libjpeg decodes with a complaint."""
    whole = jpeg(scene)
    middle = len(whole) // 2
    return {
        "premature end": whole[:middle] + b"\xff\xd9",
        "extraneous bytes": whole[:-2] + bytes(30) + b"\xff\xd9",
    }


def test_damage_that_the_decoder_only_complains_of(decoder, scene, capfd):
    good, broken = jpeg(scene), broken_jpegs(scene)
    pixels, problems = decoder([good, *broken.values(), good, good + b"more"])

    for place, words in enumerate(broken, 1):
        assert "is a damaged JPEG image (" in problems.pop(place)
        assert words in decoder([broken[words]])[1][0]
    assert not problems
    np.testing.assert_allclose(pixels, [small(scene)] * 3, atol=3)
    assert "Corrupt" not in capfd.readouterr().err  # as TensorFlow's own log may be


def test_the_decoder_does_not_speak_to_the_user(decoder, scene, capfd):
    whole = jpeg(scene)
    table = whole.index(b"\xff\xc4") + 5  # its counts: 255 codes of one bit
    broken = whole[:table] + b"\xff" + whole[table + 1 :]
    version = whole.index(b"JFIF\0") + 5
    newer = whole[:version] + b"\x07" + whole[version + 1 :]
    pixels, problems = decoder([whole, broken, newer])

    assert problems == {1: "is a damaged or incomplete JPEG image"}
    assert len(pixels) == 2
    said = capfd.readouterr().err  # TensorFlow's own log may be in it
    assert "Huffman" not in said
    assert "JFIF" not in said


def test_threads_do_not_hear_of_the_damage_of_others(decoder, scene):
    good, broken = jpeg(scene), broken_jpegs(scene)["premature end"]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = list(pool.map(decoder, [[good] * 4, [broken]] * 40))
    assert [len(problems) for _, problems in found] == [0, 1] * 40
    assert [len(pixels) for pixels, _ in found] == [4, 0] * 40


def test_of_an_animation_the_first_picture_alone_is_decoded(decoder):
    # Were all of them decoded, it would take gigabytes.
    large = gif((1, 1), *[(12000, 12000)] * 20, tables=True)
    with watch.memory_below(2**26):
        pixels, problems = decoder([large])
    assert not problems
    assert pixels.shape == (1, 20, 20, 3)
