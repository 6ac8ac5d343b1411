"""What docs/report.md shows does what it says."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[2] / "docs" / "report.md").read_text("utf-8")
PYTHON = re.findall(r"^```python\n(.*?)^```", TEXT, re.M | re.S)


@pytest.mark.slow
@pytest.mark.parametrize("code", PYTHON, ids=["study", "run", "function"])
def test_python_runs(code: str, grid_store: Path, tmp_path: Path) -> None:
    shutil.copy(grid_store, tmp_path / "quick.db")
    words = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert list(tmp_path.glob("*.html"))
