"""What docs/studies.md and docs/models.md show does what it says."""

import re
import shlex
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


MODELS = (Path(__file__).parent.parent / "docs" / "models.md").read_text("utf-8")


def find_blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", MODELS, re.M | re.S)


@pytest.mark.slow
def test_a_model_of_ones_own_runs_everywhere(tmp_path: Path) -> None:
    module, script = find_blocks("python")
    (study,), (session,) = find_blocks("toml"), find_blocks("console")
    (tmp_path / "pbil.py").write_text(module, "utf-8")
    (tmp_path / "mine.toml").write_text(study, "utf-8")
    harmonium = [sys.executable, "-c", "from harmonium.cli import main; main()"]
    lines = [shlex.split(line.removeprefix("$ harmonium ")) for line in session.splitlines()]
    lines.append(["study", "run", "mine.toml", "--engine", "serial"])
    for words in (
        [sys.executable, "-W", "error", "-c", script],
        *(harmonium + line for line in lines),
    ):
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "pbil" in done.stdout
