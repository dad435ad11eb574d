"""What is said of photographs of one's own is what was measured with about as many."""

import csv

from prwn_tf import expectation, released
from prwn_tf.expectation import Row


def table() -> list[Row]:
    sizes = [(classes, images) for classes in (4, 20) for images in (5, 60)]
    return [Row("frozen", 0, 0, 5, 60.0)] + [
        Row("further", classes, images, 5, 50.0 + classes + images / 10)
        for classes, images in sizes
    ]


def test_the_nearest_size_counts_in_ratios():
    rows = expectation.nearest(table(), classes=8, images=20)
    assert [row[:3] for row in rows] == [("frozen", 0, 0), ("further", 4, 60)]
    assert expectation.nearest(table(), 9, 20)[1][1:3] == (20, 60)
    assert expectation.nearest(table(), 2, 1)[1][1:3] == (4, 5)
    assert expectation.nearest(table(), 900, 900)[1][1:3] == (20, 60)


def test_it_prints_the_digits_of_the_table():
    with released.own_photos().open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    wanted = [
        f"{float(row['accuracy']):.0f} %"
        for row in rows
        if row["way"] == "frozen"
        or (row["classes"], row["images"], row["way"]) == ("8", "20", "scratch")
    ]
    text = "\n".join(expectation.lines(8, 20))
    assert "8 classes of 20 images" in text
    assert f"photos-conv4 as it is           {wanted[0]} and {wanted[1]}" in text
    assert f"random weights, trained         {wanted[2]} and {wanted[3]}" in text
    assert max(map(len, text.splitlines())) <= 80


def test_only_colour_images_of_ones_own_are_meant():
    assert expectation.concerns("folder:pets", (84, 84, 3))
    assert expectation.concerns("tfds:flowers", (84, 84, 3))
    assert not expectation.concerns("folder", (28, 28, 1))
    assert not expectation.concerns("mini", (84, 84, 3))
