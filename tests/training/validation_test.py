import logging

import pytest

from prwn_tf.training.validation import Validation, read, record

FIRST, SECOND = Validation(100, 0.5, 0.01, 600), Validation(200, 0.625, 0.02, 600)


def test_a_resumed_run_has_no_step_twice(tmp_path):
    path = tmp_path / "validation.csv"
    for each in (FIRST, SECOND, FIRST, SECOND):
        record(path, each)
    assert read(path) == [FIRST, SECOND]
    record(path, FIRST)  # what came later is to come again
    assert read(path) == [FIRST]


@pytest.mark.parametrize(
    "content", [b"", b"step\n1\n", b"step,accuracy,interval,episodes\n1,2\n", b"\xff"]
)
def test_another_file_in_its_place_is_no_table(tmp_path, content):
    path = tmp_path / "validation.csv"
    path.write_bytes(content)
    assert read(path) == []
    record(path, FIRST)
    assert read(path) == [FIRST]


def test_a_table_that_cannot_be_written_ends_no_run(tmp_path, caplog):
    (tmp_path / "validation.csv").mkdir()
    with caplog.at_level(logging.WARNING):
        record(tmp_path / "validation.csv", FIRST)
    assert "validation.csv" in caplog.text
