"""The tutorials as notebooks: all cells run, in one kernel, and show what they should."""

import json
import os
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest
from sphinx_gallery.gen_gallery import DEFAULT_GALLERY_CONF
from sphinx_gallery.notebook import jupyter_notebook
from sphinx_gallery.py_source_parser import split_code_and_text_blocks

from tests.pages import ROOT

TUTORIALS = sorted((ROOT / "tutorials").glob("*.py"))
SAYS = {
    "custom_model": "chain: 12 after",
    "digits": "the 12 that vary most: 0.800; found: 0.8",
    "first_study": "24 bits, pyramid: 6 of 6 solved",
    "spin_glass": "pyramid: 94 after",
}
PICTURES = {"custom_model": 1, "digits": 1, "first_study": 1, "spin_glass": 2}


def make_notebook(tutorial: Path) -> Any:
    """Return the notebook that the site offers for a tutorial."""
    _, blocks = split_code_and_text_blocks(tutorial)
    made = jupyter_notebook(blocks, DEFAULT_GALLERY_CONF, tutorial.parent)
    return nbformat.reads(json.dumps(made), as_version=4)  # type: ignore[no-untyped-call]


def test_all_tutorials_are_here() -> None:
    assert {tutorial.stem for tutorial in TUTORIALS} == set(SAYS) == set(PICTURES)


@pytest.mark.slow
def test_notebooks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One kernel for all, cleared in between: starting it takes longer than a tutorial."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src")]))
    whole = nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]
    for tutorial in TUTORIALS:
        for cell in make_notebook(tutorial).cells:
            cell.metadata["tutorial"] = tutorial.stem
            whole.cells.append(cell)
        whole.cells.append(nbformat.v4.new_code_cell("%reset -f"))  # type: ignore[no-untyped-call]
    folder = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(whole, timeout=300, kernel_name="python3", resources=folder).execute()
    for name, words in SAYS.items():
        outputs = [
            output
            for cell in whole.cells
            if cell.metadata.get("tutorial") == name
            for output in cell.get("outputs", ())
        ]
        printed = "".join(output.get("text", "") for output in outputs)
        assert words in printed, f"{name}: {printed}"
        pictures = [output for output in outputs if "image/png" in output.get("data", {})]
        assert len(pictures) == PICTURES[name]
        if name == "digits":  # a result is a table, and its progress left no line behind
            tables = [output for output in outputs if "text/html" in output.get("data", {})]
            assert "<table>" in tables[-1]["data"]["text/html"]
