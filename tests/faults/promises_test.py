"""The table of promises in BUILD.md names tests that exist."""

import ast
import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
SECTION = re.search(
    r"^## Promises\n(.*?)^## ", (ROOT / "BUILD.md").read_text("utf-8"), re.M | re.S
).group(1)
NAME = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def test_every_row_of_the_table_of_faults_has_a_test():
    rows = re.findall(r"^\| (\d+) \| .* \| .* \| (.*) \|$", SECTION, re.M)
    assert [int(number) for number, _ in rows] == list(range(1, len(rows) + 1))
    assert len(rows) >= 65
    assert all(NAME.search(tests) for _, tests in rows)


def test_every_exit_code_has_a_test():
    codes = re.findall(r"^\| ([\d, ]+) \| `tests[^|]*\|$", SECTION, re.M)
    assert codes == ["0", "1", "2", "3", "4", "5", "129, 130, 143"]


def test_all_tests_that_are_named_exist():
    named = NAME.findall(SECTION)
    assert len(named) > 60
    for path, name in named:
        tree = ast.parse((ROOT / path).read_text("utf-8"))
        functions = [each.name for each in tree.body if hasattr(each, "name")]
        assert name in functions, f"{path} has no {name}"
