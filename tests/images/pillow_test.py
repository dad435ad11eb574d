"""Formats that Pillow reads or writes: through the same decoder as all others."""

import io
import sys

import numpy as np
import pytest
from PIL import Image, features

from prwn_tf.images.decoder import Decoder
from tests.images.decoder_test import small

SIZE = 20  # as `small` makes it
AVIF = pytest.mark.skipif(not features.check("avif"), reason="a Pillow without AVIF")


@pytest.fixture(scope="module")
def scene():
    """A photograph with a bright corner: [40, 60, 3]."""
    image = np.zeros((40, 60, 3), np.uint8)
    image[..., 0] = np.arange(60) * 4
    image[:12, :16] = 250
    return image


def encoded(image, form, **options):
    file = io.BytesIO()
    Image.fromarray(image).save(file, form, **options)
    return file.getvalue()


def decoded(content, **options):
    [pixels], problems = Decoder(SIZE, **options)([content])
    assert not problems
    return pixels


@pytest.mark.parametrize(
    ("form", "options", "tolerance"),
    [
        ("WEBP", {"lossless": True}, 1),
        ("WEBP", {"quality": 98}, 12),
        ("TIFF", {}, 1),
        ("TIFF", {"compression": "tiff_lzw"}, 1),
        pytest.param("AVIF", {"quality": 98}, 12, marks=AVIF),
    ],
)
def test_photographs(scene, form, options, tolerance):
    pixels = decoded(encoded(scene, form, **options))
    np.testing.assert_allclose(pixels, small(scene), atol=tolerance)


@pytest.mark.parametrize(
    ("form", "options"), [("WEBP", {"lossless": True, "exact": True}), ("TIFF", {})]
)
def test_alpha_lies_over_a_background(scene, form, options):
    alpha = np.zeros_like(scene[..., :1])
    alpha[:20] = 255
    content = encoded(np.concatenate([scene, alpha], axis=-1), form, **options)
    np.testing.assert_allclose(decoded(content), small(scene), atol=1)
    over = decoded(content, background=255)
    assert (over[SIZE // 2 + 1 :] == 255).all()
    np.testing.assert_allclose(over[:8], small(scene)[:8], atol=1)


def test_photographs_are_turned_upright(scene):
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned to the right
    pixels = decoded(encoded(scene, "TIFF", exif=exif))
    np.testing.assert_allclose(pixels, small(np.rot90(scene, -1)), atol=1)


def test_shades_of_sixteen_bits(scene):
    shades = scene[..., 0].astype(np.uint16) * 257
    pixels = decoded(encoded(shades, "TIFF"))
    gray = np.repeat(scene[..., :1], 3, axis=-1)
    np.testing.assert_allclose(pixels, small(gray), atol=1)


def test_what_cannot_be_read(scene, monkeypatch):
    tiff, webp = encoded(scene, "TIFF"), encoded(scene, "WEBP")
    heic = b"\0\0\0\x18ftypheic" + bytes(12)
    frames = {"save_all": True, "append_images": [Image.fromarray(scene[::-1])]}
    animated = encoded(scene, "WEBP", **frames)
    monkeypatch.setitem(sys.modules, "pillow_heif", None)  # as if it were not there
    _, problems = Decoder(SIZE)([tiff[:-300], webp[:60], heic, animated])
    assert problems == {
        0: problems[0],
        1: "is a damaged or incomplete WebP image",
        2: "is a HEIC image, which pillow-heif reads; pip install pillow-heif, or save "
        "it as JPEG",
        3: "is an animated WebP; save its first picture as PNG",
    }
    assert "TIFF image" in problems[0]
    monkeypatch.setitem(sys.modules, "PIL", None)
    _, problems = Decoder(SIZE)([tiff])
    assert "pip install pillow, or save it as JPEG" in problems[0]
