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
COMMANDS = [
    line.removeprefix("$ ").partition("#")[0].strip()
    for language, text in BLOCKS
    if language == "console"
    for line in text.splitlines()
    if line.startswith("$ ")
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
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_run(command: str) -> None:
    program, *arguments = shlex.split(command)
    if program == "make":  # not the test suite inside the test suite
        words = ["make", "--dry-run", *arguments]
    else:
        assert program == "harmonium"
        words = [sys.executable, "-c", "from harmonium.cli import main; main()", *arguments]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout
