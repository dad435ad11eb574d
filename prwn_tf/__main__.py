"""Lists the programs, or runs one: `prwn train` is `python -m prwn_tf.train`."""

import ast
import difflib
import os
import pathlib
import runpy
import sys

import prwn_tf

# In the order in which one meets them.
PROGRAMS = (
    *("sketch", "predict", "prepare", "train", "evaluate", "export"),
    *("analyze", "distractors"),
)


def main() -> None:
    """Runs the program that the first argument names, with the others as its flags."""
    name, *arguments = sys.argv[1:] or ["--help"]
    if name in PROGRAMS:
        # As `python -m` does it, so that parts of the user's are found here.
        sys.path.insert(0, os.getcwd())
        sys.argv[1:] = arguments
        runpy.run_module(f"prwn_tf.{name}", run_name="__main__", alter_sys=True)
    elif name.lstrip("-") in ("help", "h"):
        print(listing())
    elif name == "--version":
        print(f"prwn_tf {prwn_tf.__version__}")
    else:
        near = difflib.get_close_matches(name, PROGRAMS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"take {', '.join(PROGRAMS)}"
        print(f"there is no program {name!r}; {hint}", file=sys.stderr)
        sys.exit(1)


def listing() -> str:
    """Returns all programs, each with the first sentence of its help."""
    lines = [f"  {name:12} {_first_line(name)}" for name in PROGRAMS]
    return "\n".join(
        [
            f"prwn_tf {prwn_tf.__version__}: semi-supervised few-shot learning",
            "",
            "prwn PROGRAM --help, or python -m prwn_tf.PROGRAM --help, of these:",
            *lines,
        ]
    )


def _first_line(name: str) -> str:
    """Returns what a program says of itself, without running it."""
    source = (pathlib.Path(__file__).parent / f"{name}.py").read_text(encoding="utf-8")
    return ast.get_docstring(ast.parse(source)).splitlines()[0]


if __name__ == "__main__":
    main()
