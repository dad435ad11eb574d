"""One message for two readers: flags on the command line, settings in Python."""

import pytest

from prwn_tf import cli
from prwn_tf.errors import UserError


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
