"""Every number in prose stands in a file that its section links to."""

import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

from paper_tables import mini, omniglot  # noqa: E402

# Prose with numbers in it; other pages of results are made from files, and tested so.
WRITTEN = {
    ROOT / "README.md": ROOT,
    **{page: page.parent for page in sorted((ROOT / "docs").glob("*.md"))},
    **{
        ROOT / "tools/paper_tables" / f"{name}_notes.md": ROOT / place
        for name, place in {"omniglot": "results", "mini": "results/mini"}.items()
    },
}
MADE = (  # in results/
    *("README.md", "toy/toy.md", "toy/tuning.md"),
    *("mini/README.md", "photos/README.md", "own_photos/README.md"),
)
# Their numbers are settings; and times, for which a benchmark wants an idle machine.
NOT_MEASURED = ("Differences from the paper", "Speed", "Parts of your own")
PUBLISHED = {
    f"{number:.2f}"
    for tables in (omniglot.TABLES, mini.TABLES)
    for cell in tables.cells
    for numbers in cell.paper.values()
    for number in numbers
}
HELD = (".json", ".csv", ".md")
DECIMAL = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.]*\d|e-)")


def sections(text):
    """Yields the title and text of each part, without code but with what it prints."""
    for part in re.split(r"^#+ ", text, flags=re.MULTILINE):
        title, _, body = part.partition("\n")
        body = re.sub(r"```.*?```", "", body, flags=re.DOTALL)
        body = re.sub(r"`[^`]*`|(Python|TensorFlow|PyTorch) [\d.]+", "", body)
        yield title, body


def held(path):
    """Returns the numbers that a file holds, or all files of a folder, as texts."""
    if path.is_dir():
        return " ".join(held(each) for each in path.glob("*.*"))
    return path.read_text(encoding="utf-8") if path.suffix in HELD else ""


def is_held(number, text):
    """Returns whether a number stands in a text, or one that is rounded to it."""
    digits = len(number.partition(".")[2])
    shown, margin = float(number), 0.5 * 10.0**-digits + 1e-9
    for found in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", text):
        value = abs(float(found))
        if min(abs(value - shown), abs(100 * value - shown)) <= margin:
            return True
    return False


def links(path, text):
    """Returns the files and folders that a text of a page links to."""
    names = re.findall(r"\]\(([^)#:]+)\)", text)
    return [(WRITTEN[path] / name).resolve() for name in names]


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.name)
def test_every_number_is_in_a_file_that_its_section_links_to(path):
    lost = []
    for title, body in sections(path.read_text(encoding="utf-8")):
        known = " ".join(held(link) for link in links(path, body) if link.exists())
        prose = re.sub(r"\]\([^)]*\)", "]", body)
        if title not in NOT_MEASURED:
            lost += [
                (title, number)
                for number in DECIMAL.findall(prose)
                if number not in PUBLISHED and not is_held(number, known)
            ]
    assert not lost


def test_links_of_the_prose_lead_somewhere():
    for path in WRITTEN:
        for _, body in sections(path.read_text(encoding="utf-8")):
            for link in links(path, body):
                assert link.exists(), link


def test_a_number_of_nowhere_is_noticed():
    text = '{"accuracy": 0.98339, "paper": 98.28}'
    assert is_held("98.34", text)
    assert is_held("98.28", text)
    assert is_held("0.983", text)
    assert not is_held("98.35", text)


def test_other_pages_of_results_are_made_from_files():
    pages = (ROOT / "results").rglob("*.md")
    assert {page.relative_to(ROOT / "results").as_posix() for page in pages} <= {*MADE}
