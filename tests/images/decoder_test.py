"""Images of every kind become RGB pixels of one size."""

import struct
import zlib

import numpy as np
import pytest
import tensorflow as tf

from prwn_tf.images import decoder as decoder_lib
from prwn_tf.images import decoding
from tests.data import made
from tests.images.encoded import jpeg, png, small


def palette_png(numbers, palette):
    height, width = numbers.shape
    rows = b"".join(b"\0" + row.tobytes() for row in numbers)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        [
            made.chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            made.chunk(b"PLTE", palette.tobytes()),
            made.chunk(b"IDAT", zlib.compress(rows)),
            made.chunk(b"IEND", b""),
        ]
    )


def bmp(image):
    height, width, channels = image.shape
    rows = image[::-1, :, [2, 1, 0, *range(3, channels)]]
    padded = np.pad(rows.reshape(height, -1), [(0, 0), (0, -width * channels % 4)])
    head = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 8 * channels, *[0] * 6)
    size = 54 + padded.size
    return b"BM" + struct.pack("<IHHI", size, 0, 0, 54) + head + padded.tobytes()


def rgba(image):
    return np.concatenate([image, np.full_like(image[..., :1], 90)], axis=-1)


@pytest.mark.parametrize(
    ("encode", "tolerance"),
    [
        (jpeg, 3),
        (lambda image: jpeg(image, progressive=True), 3),
        (png, 1),
        (lambda image: png(rgba(image)), 1),
        (lambda image: png(image.astype(np.uint16) * 257), 1),
        (bmp, 1),
        (lambda image: bmp(rgba(image)), 1),
        (lambda image: image, 1),  # pixels of another size
    ],
)
def test_color_images(decoder, scene, encode, tolerance):
    pixels, problems = decoder([encode(scene)])

    assert not problems
    assert pixels.dtype == np.uint8
    np.testing.assert_allclose(pixels[0], small(scene), atol=tolerance)


def test_palettes_of_bmp_images_are_refused_by_exports_too(scene):
    indexes = np.repeat(scene[..., :1] % 2, 4, axis=-1)
    content = bytearray(bmp(indexes)[: 54 + indexes.size // 4])
    content[28:30] = struct.pack("<H", 8)  # bits of a pixel

    with pytest.raises(tf.errors.InvalidArgumentError, match="BMP image with a pal"):
        decoding.squares(tf.constant([bytes(content)]), 28, 28)


def test_files_are_read_as_many_as_memory_should_hold(decoder, scene, monkeypatch):
    contents = [png(scene), b"", png(scene[::-1])]
    monkeypatch.setattr(decoder_lib, "LOADED_BYTES", len(contents[0]) - 1)
    groups = decoder_lib.loaded(contents.__getitem__, range(3), {})
    assert [group for group, _ in groups] == [[0], [1, 2]]

    pixels, problems = decoder.load(contents.__getitem__, range(3))
    np.testing.assert_array_equal(pixels, decoder([contents[0], contents[2]])[0])
    assert problems == {1: "is empty"}


@pytest.mark.parametrize("encode", [jpeg, png])
def test_gray_images_get_three_equal_channels(decoder, scene, encode):
    gray = scene[..., :1]
    pixels, _ = decoder([encode(gray)])

    np.testing.assert_array_equal(pixels[..., 0], pixels[..., 1])
    np.testing.assert_allclose(pixels[0, ..., :1], small(gray), atol=3)


def test_palettes_are_resolved(decoder):
    palette = np.array([[250, 10, 20], [30, 240, 40]], np.uint8)
    pixels, _ = decoder([palette_png(np.ones((20, 20), np.uint8), palette)])

    assert (pixels == palette[1]).all()


def test_the_first_picture_of_an_animation_is_taken(decoder):
    # Two frames of one pixel, red and then blue.
    frame = b",\0\0\0\0\1\0\1\0\0\2\2%c\1\0"
    content = (
        b"GIF89a\1\0\1\0\x80\0\0\xff\0\0\0\0\xff" + frame % b"D" + frame % b"L" + b";"
    )
    pixels, problems = decoder([content])

    assert not problems
    assert pixels.shape == (1, 20, 20, 3)
    assert (pixels == [255, 0, 0]).all()


def test_large_photographs_are_decoded_small_and_alike(decoder, scene):
    large = tf.image.resize(scene, [700, 900], "bicubic")
    large = tf.saturate_cast(large, tf.uint8).numpy()
    assert decoding.ratio(700, 20) == 8
    pixels, _ = decoder([jpeg(large)])
    np.testing.assert_allclose(pixels[0], small(large), atol=4)


def test_images_of_the_right_size_keep_their_pixels(decoder):
    image = np.random.default_rng(0).integers(0, 256, (20, 20, 3), np.uint8)
    pixels, _ = decoder([made.encode_png(image), image])

    np.testing.assert_array_equal(pixels, [image, image])


def test_order_is_kept_over_many_batches(decoder):
    contents = [
        made.pixels(number, 0) if number % 3 else made.png(number, 0)
        for number in range(250)
    ]
    pixels, _ = decoder(contents)

    np.testing.assert_array_equal(pixels[:, 0, 0, 0], range(250))


def test_batches_are_bounded_by_their_pixels():
    def header(side):
        return decoder_lib.Header("png", side, side)

    encoded = [(place, b"", header(3000)) for place in range(5)]
    assert [len(batch) for batch in decoder_lib._batches(encoded, 20)] == [1] * 5
    encoded = [(place, b"", header(30)) for place in range(130)]
    assert [len(batch) for batch in decoder_lib._batches(encoded, 20)] == [64, 64, 2]


def test_nothing_gives_nothing(decoder):
    pixels, problems = decoder([])
    assert pixels.shape == (0, 20, 20, 3)
    assert problems == {}


def test_transparent_images_over_a_background(scene):
    alpha = np.zeros_like(scene[..., :1])
    alpha[:, :20] = 255
    content = png(np.concatenate([scene, alpha], axis=-1))
    over = np.where(alpha == 255, scene, 200)
    pixels, problems = decoder_lib.Decoder(20, background=200)([content, jpeg(scene)])

    assert not problems
    np.testing.assert_allclose(pixels[0], small(over), atol=1)
    np.testing.assert_allclose(pixels[1], small(scene), atol=3)


def test_a_canvas_is_larger_than_the_image(scene):
    [image], _ = decoder_lib.Decoder(10, canvas=60)([png(scene)])
    np.testing.assert_allclose(image, tf.image.resize(scene, [10, 10]), atol=1)
    [image], _ = decoder_lib.Decoder(10, canvas=20)([png(scene)])
    np.testing.assert_allclose(image, tf.image.resize(small(scene), [10, 10]), atol=1)


@pytest.mark.parametrize("content", ["png", "pixels"])
@pytest.mark.parametrize("upright", [False, True])
def test_shapes_are_kept_if_asked(content, upright):
    image = np.full((30, 50, 3), 200, np.uint8)
    image[:, :10] = image[:, 40:] = 90  # beside the middle
    image = np.swapaxes(image, 0, 1) if upright else image
    content = png(image) if content == "png" else image
    [cropped], _ = decoder_lib.Decoder(20, fit="crop")([content])
    assert (cropped == 200).all()
    [padded], _ = decoder_lib.Decoder(20, fit="pad")([content])
    padded = np.swapaxes(padded, 0, 1) if upright else padded
    assert (padded[:4] == 0).all()
    assert (padded[16:] == 0).all()
    np.testing.assert_allclose(padded[4:16, :3], 90, atol=1)
    np.testing.assert_allclose(padded[4:16, 6:14], 200, atol=1)


def test_a_line_is_padded_too():
    line = np.full((1, 500, 3), 200, np.uint8)
    [padded], _ = decoder_lib.Decoder(20, fit="pad")([png(line)])
    assert (padded[9] == 200).all()
    assert (np.delete(padded, 9, axis=0) == 0).all()


def gif_of_one_pixel(flags: int, own_table: bool, left: int) -> bytes:
    """A blue pixel, the second colour of two, on a screen of 8 x 8."""
    table = b"\xff\0\0\0\0\xff"
    screen = b"GIF89a\x08\0\x08\0" + (b"\0\0\0" if own_table else b"\x80\0\0" + table)
    control = b"!\xf9\x04%c\x07\0\1\0" % flags  # after 7 hundredths, colour 1
    place = struct.pack("<HHHH", left, left, 1, 1)
    frame = b"," + place + (b"\x80" + table if own_table else b"\0")
    return screen + control + frame + b"\2\2L\1\0;"


@pytest.mark.parametrize("own_table", [False, True])
def test_what_is_transparent_in_a_gif_is_background(own_table):
    contents = [
        gif_of_one_pixel(flags, own_table, left) for flags in (1, 0) for left in (0, 3)
    ]
    pixels, problems = decoder_lib.Decoder(20, background=200)(contents)
    assert not problems
    np.testing.assert_array_equal(pixels[:2], 200)
    assert (pixels[2:] == [0, 0, 255]).all()


def bmp_of_two_pixels(packing: int) -> bytes:
    """Black pixels of four bytes, of which the fourth is 0 and 255."""
    masks = (0xFF0000, 0xFF00, 0xFF, 0xFF000000)
    info = struct.pack("<IiiHHI", 108, 2, 1, 1, 32, packing) + bytes(20)
    info += struct.pack("<IIII", *masks) + bytes(52)
    head = b"BM" + struct.pack("<IHHI", 14 + 108 + 8, 0, 0, 14 + 108)
    return head + info + b"\0\0\0\0" + b"\0\0\0\xff"


def test_what_is_transparent_in_a_bmp_is_background():
    packed, plain = map(bmp_of_two_pixels, (3, 0))
    pixels, problems = decoder_lib.Decoder(20, background=200)([packed, plain])
    assert not problems
    np.testing.assert_array_equal(pixels[0, :, 0], 200)
    np.testing.assert_array_equal(pixels[0, :, -1], 0)
    np.testing.assert_array_equal(pixels[1], 0)  # the byte means nothing


def test_images_without_alpha_have_no_background():
    # One bit a pixel, as Omniglot is stored: black with a white corner.
    rows = (b"\0" + b"\xff" * 2 + b"\0") * 10 + (b"\0" * 4) * 10
    content = b"\x89PNG\r\n\x1a\n" + b"".join(
        [
            made.chunk(b"IHDR", struct.pack(">IIBBBBB", 20, 20, 1, 0, 0, 0, 0)),
            made.chunk(b"IDAT", zlib.compress(rows)),
            made.chunk(b"IEND", b""),
        ]
    )
    [image], problems = decoder_lib.Decoder(20, background=200)([content])
    assert not problems
    assert (image[:10, :16] == 255).all()
    assert (image[10:] == 0).all()
