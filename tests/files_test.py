import os
import resource

import pytest

from prwn_tf import files
from prwn_tf.errors import StorageError, UserError


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "new folder" / "a.json"
    files.write_json(path, {"größe": [1, 2]})
    files.write_json(path, {"größe": [3]})
    assert files.read_json(path) == {"größe": [3]}
    assert [each.name for each in path.parent.iterdir()] == ["a.json"]


def test_a_full_disk_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    files.write_text(path, "old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(StorageError, match=r"cannot write .*a.txt.*bytes free"):
            files.write_text(path, "new" * 1000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_unreadable_json(tmp_path):
    with pytest.raises(UserError, match="cannot read"):
        files.read_json(tmp_path / "missing.json")
    (tmp_path / "broken.json").write_bytes(b"\xff{")
    with pytest.raises(UserError, match="not valid JSON"):
        files.read_json(tmp_path / "broken.json")


def test_a_table(tmp_path):
    files.write_csv(tmp_path / "t.csv", ["näme", "value"], [["a,b", 1], ["c", 2]])
    text = (tmp_path / "t.csv").read_text(encoding="utf-8")
    assert text == 'näme,value\n"a,b",1\nc,2\n'


@pytest.mark.parametrize("name", ["run[1]", "r?", "*", "a\\b"])
def test_names_that_are_patterns_to_tensorflow(tmp_path, name):
    with pytest.raises(UserError, match="in its name; choose another"):
        files.check_name(tmp_path / name / "model")
    files.check_name(tmp_path / "run (1), ü]" / "model")
