"""One message for two readers: flags on the command line, settings in Python."""

import pytest
import tensorflow as tf

from prwn_tf import cli
from prwn_tf.errors import UserError, first_line


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("lower --train_way or --shot=5", "lower train_way or shot=5"),
        ("nothing--here is -- a flag", "nothing--here is -- a flag"),
        (
            "lower --way, or run python -m prwn_tf.prepare --dataset=mini",
            "lower way, or run python -m prwn_tf.prepare --dataset=mini",
        ),
    ],
)
def test_settings_have_dashes_on_the_command_line_alone(message, told, capsys):
    error = UserError(message)
    assert str(error) == told
    assert cli.failed(error) == 2
    assert capsys.readouterr().err == f"error: {message}\n"


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("  one\t word \nand a page"), "one word"),
        (ValueError("\n\n after an empty line"), "after an empty line"),
        (MemoryError(), "MemoryError"),
        (tf.errors.DataLossError(None, None, "cut\nshort"), "cut"),
    ],
)
def test_a_reason_is_one_line(error, line):
    assert first_line(error) == line
