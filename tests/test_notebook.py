"""The example notebook runs, and shows the answer."""

import json
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parent.parent / "docs" / "example.ipynb"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the kernel's own parts
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_example_notebook_runs() -> None:
    client = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    book = nbformat.read(NOTEBOOK, as_version=4)
    client.NotebookClient(book, timeout=300, kernel_name="python3").execute()
    shown = json.dumps(book)
    assert shown.count("<th>north</th>") == 1  # drawn in its place, again and again
    assert "<td>8 of 8 trials</td>" in shown
    assert "refit on the pooled rows of 3 parties" in shown
    assert "Expected gain" in shown


def test_it_is_kept_without_outputs() -> None:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in cells if cell["cell_type"] == "code")
