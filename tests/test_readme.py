"""Every code block of README does what it says."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```", (ROOT / "README.md").read_text("utf-8"), re.M | re.S)
PYTHON = [text for language, text in BLOCKS if language == "python"]
SESSIONS = [
    [line[2:].partition("#")[0].strip() for line in text.splitlines() if line.startswith("$ ")]
    for language, text in BLOCKS
    if language == "console"
]


def test_there_are_blocks_of_both_kinds_and_no_others() -> None:
    assert {language for language, _ in BLOCKS} == {"python", "console"}


@pytest.mark.slow
@pytest.mark.parametrize("code", PYTHON, ids=lambda code: code.splitlines()[-1][:40])
def test_python_runs(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session[0])
def test_commands_run(session: list[str], tmp_path: Path) -> None:
    shrink_study(ROOT / "studies" / "quick.toml", tmp_path / "studies" / "quick.toml")
    for command in session:
        program, *arguments = shlex.split(command)
        if program == "make":  # not the test suite inside the test suite
            words = ["make", "--dry-run", "-C", str(ROOT), *arguments]
        else:
            assert program == "harmonium"
            words = [sys.executable, "-c", "from harmonium.cli import main; main()", *arguments]
        done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stdout or "-o" in arguments


def shrink_study(source: Path, target: Path) -> None:
    """Copy a study with fewer sizes, runs and instances, so that it takes seconds."""
    text = re.sub(r"sizes = \[(\d+), (\d+).*\]", r"sizes = [\1, \2]", source.read_text("utf-8"))
    text = re.sub(r"(runs|instances) = \d+", r"\1 = 2", text)
    target.parent.mkdir()
    target.write_text(text, "utf-8")
