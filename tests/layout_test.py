"""The layout is the architecture: imports point backwards along the flow of data."""

import ast
import pathlib
import subprocess
import sys

import pytest

from prwn_tf import __main__

ROOT = pathlib.Path(__file__).parents[1]
PACKAGE = ROOT / "prwn_tf"

# Each room may import the rooms before it, and itself.
FLOW = (
    ("errors", "files", "released", "dataset_names"),
    ("locks", "replacing", "expectation"),
    ("settings", "imports"),
    ("backbones",),
    ("parts", "head_parts", "spec", "optimizer", "own", "origin", "precision"),
    ("config", "config_json"),
    ("remembered",),
    ("methods",),
    ("task",),
    ("authors",),
    ("own_images",),
    ("protocols",),
    ("images",),
    ("data",),
    ("episodes",),
    ("encoders",),
    ("walk",),
    ("heads", "regularizers"),
    ("notebook", "logs"),
    ("model",),
    ("build",),
    ("training",),
    ("evaluation",),
    ("analysis",),
    ("experiment", "runs"),
    ("serving",),
    ("cli",),
)
RANK = {room: rank for rank, rooms in enumerate(FLOW) for room in rooms}
MODULES = sorted(PACKAGE.rglob("*.py"))
TOOLS = sorted((ROOT / "tools").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))


def room(path: pathlib.Path) -> str:
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imported_rooms(path: pathlib.Path) -> set[str]:
    """Returns the rooms that a module imports, in functions too, but not for types."""
    rooms = set()
    waiting = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom) and node.module == "prwn_tf":
            rooms |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module.startswith("prwn_tf."):
            rooms.add(node.module.split(".")[1])
        waiting += ast.iter_child_nodes(node)
    return rooms - {"__version__"}


@pytest.mark.parametrize(
    "path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_imports_point_backwards(path):
    rank = RANK.get(room(path), len(FLOW))  # a main may import everything
    for other in imported_rooms(path):
        assert other in RANK, f"nothing imports the program {other}"
        assert RANK[other] <= rank, f"{room(path)} imports {other}, which comes later"


@pytest.mark.parametrize(
    "path", [*MODULES, *TOOLS, *TESTS], ids=lambda path: str(path.relative_to(ROOT))
)
def test_a_file_holds_one_idea_and_a_function_fits_on_a_screen(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 300
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno - node.lineno + 1 < 50, node.name


def test_the_walk_imports_tensorflow_alone():
    for path in (PACKAGE / "walk").glob("*.py"):
        assert imported_rooms(path) <= {"walk"}


def test_only_the_command_line_reads_flags():
    readers = {path for path in MODULES if "absl import" in path.read_text()}
    mains = {path for path in PACKAGE.glob("*.py") if "cli.run(" in path.read_text()}
    assert readers <= mains | {*(PACKAGE / "cli").glob("*.py")}


@pytest.mark.parametrize(
    "program",
    __main__.PROGRAMS,
)
def test_help_is_answered_without_tensorflow(program):
    code = f"import sys, prwn_tf.{program}; sys.exit('tensorflow' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_allocator_is_set_before_tensorflow_loads():
    check = "import os, prwn_tf; print(os.environ['TF_CPU_ALLOCATOR_USE_BFC'])"
    found = subprocess.run(
        [sys.executable, "-W", "error", "-c", check],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": ""},
    )
    assert found.stdout == "true\n"


def test_a_late_import_warns_once():
    check = "import sys; sys.modules['tensorflow'] = sys; import prwn_tf"
    found = subprocess.run(
        [sys.executable, "-c", check],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": ""},
    )
    assert found.stderr.count("import prwn_tf first") == 1
