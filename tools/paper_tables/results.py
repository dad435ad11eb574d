"""The released rows of a data set, read from their folders."""

import os
import pathlib
from typing import Any

from paper_tables import analyses
from paper_tables.description import DatasetTables

from prwn_tf import files


class Results:
    """The released rows in a folder, and the analyses of them."""

    def __init__(self, tables: DatasetTables, output: pathlib.Path):
        self.tables = tables
        self.output = output

    def result(self, row: str) -> dict[str, Any] | None:
        """Returns the result of a row, if it is there."""
        path = self.output / row / "result.json"
        return files.read_json(path) if path.exists() else None

    def test(
        self, row: str, adapt: str, distractors: int, shot: int
    ) -> dict[str, Any] | None:
        """Returns one entry of a row's tests, if it is there."""
        result = self.result(row)
        asked = {"adapt": adapt, "distractors": distractors, "shot": shot}
        for entry in result["test"] if result else []:
            if asked.items() <= entry.items():
                return entry
        return None

    def distractors(self, row: str) -> int:
        """Returns the distractor classes of a row's own tests."""
        result = self.result(row)
        return result["test"][0]["distractors"] if result else 0

    def analysis(self, name: str) -> list[dict[str, Any]]:
        """Returns the rows of an analysis, none if it was not made."""
        return self.numbers(name)["rows"]

    def numbers(self, name: str) -> dict[str, Any]:
        """Returns everything that an analysis has stored."""
        path = self.output / analyses.FOLDER / f"{name}.json"
        return files.read_json(path) if path.exists() else {"rows": []}

    def link(self, *names: str) -> str:
        """Returns the way from the page to something in the folder of the rows."""
        place = self.tables.page(self.output).parent
        return pathlib.PurePath(
            os.path.relpath(self.output.joinpath(*names), place)
        ).as_posix()
