"""What is said of photographs of one's own is what was measured with about as many."""

from prwn_tf import expectation, released
from prwn_tf.expectation import Row


def table() -> list[Row]:
    sizes = [(classes, images) for classes in (4, 20) for images in (5, 60)]
    return [Row("frozen", 0, 0, 5, 60.0, 2.0)] + [
        Row("further", classes, images, 5, 50.0 + classes + images / 10, 2.0)
        for classes, images in sizes
    ]


def test_the_nearest_size_counts_in_ratios():
    rows = expectation.nearest(table(), classes=8, images=20)
    assert [row[:3] for row in rows] == [("frozen", 0, 0), ("further", 4, 60)]
    assert expectation.nearest(table(), 9, 20)[1][1:3] == (20, 60)
    assert expectation.nearest(table(), 2, 1)[1][1:3] == (4, 5)
    assert expectation.nearest(table(), 900, 900)[1][1:3] == (20, 60)


TABLE = """way,classes,images,shot,accuracy,interval
frozen,,,1,38.0,2
frozen,,,5,51.6,2
further,8,20,1,37.2,2
further,8,20,5,52.7,2
scratch,8,20,1,30.4,2
scratch,8,20,5,39.1,2
further,64,60,5,50.0,2
scratch,64,60,5,56.0,2
"""


def test_it_prints_the_digits_of_the_table(tmp_path, monkeypatch):
    path = tmp_path / "table.csv"
    path.write_text(TABLE, encoding="utf-8")
    monkeypatch.setattr(released, "own_photos", lambda: path)
    assert expectation.lines(9, 21) == [
        "photographs, by results/own_photos: 8 classes of 20 images taught this of",
        "five new classes, 1 and 5 examples of each:",
        "  encoder of photos-conv4, as is 38 % and 52 %",
        "  the same, trained further      37 % and 53 %",
        "  random weights, trained        30 % and 39 %",
        "so: no training taught more: prwn predict --model=photos-resnet",
    ]
    path.write_text(TABLE.replace("52.7", "55.7"), encoding="utf-8")
    assert expectation.lines(9, 21)[-1] == "so: add --flagfile=photos/finetune.flags"


def test_the_released_table_speaks_of_every_size():
    for size in ((2, 1), (8, 20), (20, 60), (64, 60), (900, 900)):
        text = expectation.lines(*size)
        assert len(text) == 6
        assert max(map(len, text)) <= 80
        assert text[-1].endswith("prwn predict --model=photos-resnet")


def test_only_colour_images_of_ones_own_are_meant():
    assert expectation.concerns("folder:pets", (84, 84, 3))
    assert expectation.concerns("tfds:flowers", (84, 84, 3))
    assert not expectation.concerns("folder", (28, 28, 1))
    assert not expectation.concerns("mini", (84, 84, 3))
