"""The notebook runs from a fresh folder, and its stored outputs are of such a run."""

import pathlib

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

PATH = pathlib.Path(__file__).parents[2] / "tools/notebooks/first_steps.ipynb"


@pytest.fixture
def notebook():
    return nbformat.read(PATH, as_version=4)


def cells(notebook) -> list:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_its_outputs_are_stored(notebook):
    counts = [cell.execution_count for cell in cells(notebook)]
    assert counts == list(range(1, len(counts) + 1))
    kinds = {out.output_type for cell in cells(notebook) for out in cell.outputs}
    assert kinds == {"stream", "display_data"}
    assert PATH.stat().st_size < 400_000


@pytest.mark.slow
def test_it_runs(notebook, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(PATH.parents[2]))
    training = next(cell for cell in cells(notebook) if "stop=300" in cell.source)
    training.source = training.source.replace("stop=300", "stop=20")  # is enough
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources=resources
    ).execute()  # raises at the first cell that does
    printed = "".join(
        out.text
        for cell in cells(notebook)
        for out in cell.outputs
        if out.output_type == "stream" and out.name == "stdout"
    )
    assert "of 5 classes: fish, house, star, tree, umbrella" in printed
    assert "['fish']" in printed
