import pytest

from prwn_tf import files
from prwn_tf.errors import UserError
from prwn_tf.serving import folders
from tests.data import made


def test_classes_and_their_files(tmp_path):
    made.class_folders(tmp_path, ["ant", "bee"], images=2)
    (tmp_path / "ant" / "notes.txt").write_text("")
    actual = folders.support(tmp_path)
    assert list(actual) == ["ant", "bee"]
    assert [path.rsplit("/", 2)[1:] for path in actual["ant"]] == [
        ["ant", "0.png"],
        ["ant", "1.png"],
    ]


@pytest.mark.parametrize(
    "names", [["Cat", "cat"], ["caf\u00e9", "cafe\u0301"], ["cat", "cat "]]
)
def test_names_that_are_the_same_for_people(tmp_path, names):
    made.class_folders(tmp_path, names, images=1)
    with pytest.raises(UserError, match="two folders for one class"):
        folders.support(tmp_path)


def test_a_table_of_labels(tmp_path):
    made.class_folders(tmp_path / "pile", ["x", "y"], images=2)
    rows = [("x/0.png", "ant"), ("x/1.png", "bee"), ("y/0.png", ""), ("y/1.png", "ant")]
    files.write_csv(tmp_path / "pile" / "t.csv", ("file", "label"), rows)
    beside = folders.labelled(tmp_path / "pile" / "t.csv", None)
    assert {name: len(paths) for name, paths in beside.items()} == {"ant": 2, "bee": 1}
    (tmp_path / "pile" / "t.csv").rename(tmp_path / "t.csv")
    assert folders.labelled(tmp_path / "t.csv", tmp_path / "pile") == beside
    with pytest.raises(UserError, match=r"3 of the 3 files .* start from as support"):
        folders.labelled(tmp_path / "t.csv", None)


def test_images_come_in_the_order_of_their_paths(tmp_path):
    for name in ("b.png", "a/1.png", "a.png", "c/x/0.png", "c/y.png"):
        made.write(tmp_path / name, made.png(0, 0))
    paths = folders.images(tmp_path, "query").paths
    assert paths == [str(path) for path in sorted(tmp_path.rglob("*.png"))]


def test_splits_are_no_classes(tmp_path):
    made.class_folders(tmp_path / "train", ["ant", "bee"])
    made.class_folders(tmp_path / "val", ["cat", "dog"])
    with pytest.raises(UserError, match="has train, val where classes are expected"):
        folders.support(tmp_path)


def test_images_beside_the_classes_are_told(tmp_path, caplog):
    made.class_folders(tmp_path, ["ant", "bee/young"])
    made.write(tmp_path / "bee" / "old.png", made.png(0, 0))
    made.write(tmp_path / "cat_1.png", made.png(0, 0))
    assert list(folders.support(tmp_path)) == ["ant", "bee"]
    told = [record.getMessage() for record in caplog.records]
    assert ["bee (young)" in text for text in told] == [True, False]
    assert told[1].endswith("images that lie in no class folder: 1")


def test_one_image(tmp_path):
    path = tmp_path / "photo.png"
    path.write_bytes(b"")
    actual = folders.images(path, "query")
    assert [actual.name(each) for each in actual.paths] == ["photo.png"]


def test_one_class(tmp_path):
    made.class_folders(tmp_path, ["ant"], images=3)
    with pytest.raises(UserError, match="one class, 'ant'"):
        folders.support(tmp_path)


def test_a_class_without_images(tmp_path):
    made.class_folders(tmp_path, ["ant", "bee"], images=1)
    (tmp_path / "cat").mkdir()
    with pytest.raises(UserError, match=r"without JPEG, .* images: cat"):
        folders.support(tmp_path)


def test_folders_inside_of_a_class(tmp_path):
    made.class_folders(tmp_path, ["ant", "bee/young", "bee/old"], images=1)
    classes = folders.support(tmp_path)
    assert {name: len(paths) for name, paths in classes.items()} == {"ant": 1, "bee": 2}


def test_images_outside_of_class_folders(tmp_path):
    made.write(tmp_path / "a.png", made.png(0, 0))
    with pytest.raises(UserError, match="holds 1 images but no folders"):
        folders.support(tmp_path)


def test_images_of_any_folder(tmp_path):
    made.write(tmp_path / "b.png", made.png(0, 0))
    made.write(tmp_path / "deep" / "er" / "ä.png", made.png(0, 0))
    made.write(tmp_path / "a.HEIC", b"")
    made.write(tmp_path / "a.psd", b"8BPS")
    made.write(tmp_path / ".hidden.png", b"")
    actual = folders.images(tmp_path, "query")
    names = [actual.name(path) for path in actual.paths]
    assert names == ["a.HEIC", "b.png", "deep/er/ä.png"]
    assert [actual.name(path) for path in actual.others] == ["a.psd"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("empty", "holds (no|0)"),
        ("nowhere", "does not exist"),
        ("file", "not a folder"),
    ],
)
def test_a_folder_that_cannot_be_used(tmp_path, name, text):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=text):
        folders.support(tmp_path / name)
    if name != "file":
        with pytest.raises(UserError, match=text):
            folders.images(tmp_path / name, "query")


def test_prepared_data_is_no_support_set(tmp_path, make_store):
    make_store([2, 2])
    with pytest.raises(UserError, match="holds 0 images but no folders"):
        folders.support(tmp_path / "made")
