"""Tables that users write or correct: csv files whose first line names the columns."""

import csv
import io
import pathlib
from collections.abc import Iterator, Sequence

from prwn_tf.errors import UserError

MAX_BYTES = 2**28


def rows(
    path: pathlib.Path, flag: str, columns: Sequence[str], remedy: str = "csv file"
) -> Iterator[tuple[int, list[str]]]:
    """Yields the number of each line, and what stands in the columns, spaces apart.

    Args:
        flag: what the user wrote, for messages.
        columns: which there must be, in whatever order and among others.
        remedy: what may be given instead.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UserError(f"{flag} has more than {MAX_BYTES:,} bytes; divide it")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UserError(
            f"cannot read {flag}: {error.strerror}; give a {remedy}"
        ) from error
    except UnicodeDecodeError as error:
        raise UserError(f"{flag} is not text; save it as csv in UTF-8") from error
    table = csv.DictReader(io.StringIO(text, newline=""), restval="")
    try:
        if not set(columns) <= set(table.fieldnames or ()):
            raise UserError(
                f"{flag} must begin with the line {','.join(columns)}, and begins "
                f"with {text.partition(chr(10))[0][:80]!r}"
            )
        for row in table:
            yield table.line_num, [row[column].strip() for column in columns]
    except csv.Error as error:
        raise UserError(f"{flag} is no csv: {error}; save it again") from error
