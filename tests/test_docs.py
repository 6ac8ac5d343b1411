"""What docs/studies.md shows does what it says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from harmonium.studies import read_study

TEXT = (Path(__file__).parent.parent / "docs" / "studies.md").read_text("utf-8")
STUDIES = re.findall(r"^```toml\n(.*?)^```", TEXT, re.M | re.S)
PYTHON = re.findall(r"^```python\n(.*?)^```", TEXT, re.M | re.S)
MODULE = next(code for code in PYTHON if code.startswith("# graphs.py"))
SCRIPT = next(code for code in PYTHON if "run_study(" in code)


@pytest.mark.parametrize("text", STUDIES, ids=lambda text: text.split('"')[1])
def test_studies_are_valid(text: str, tmp_path: Path) -> None:
    (tmp_path / "graphs.py").write_text(MODULE, "utf-8")
    assert read_study(text, "study.toml", tmp_path).cases


@pytest.mark.slow
def test_study_of_a_problem_of_ones_own_runs_from_python(tmp_path: Path) -> None:
    own = next(text for text in STUDIES if "graphs:Bipartition" in text)
    (tmp_path / "graphs.py").write_text(MODULE, "utf-8")
    (tmp_path / "my-study.toml").write_text(own, "utf-8")
    (tmp_path / "script.py").write_text(SCRIPT, "utf-8")
    done = subprocess.run(
        [sys.executable, "-W", "error", "script.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "graphs:Bipartition:chords=10 rbm evaluations" in done.stdout
