"""Killed again and again and resumed each time: the result of the undisturbed run, bit for bit."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import harmonium as hm
from tests.optimize import killed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL"),
]

KILLS = 10
ROOT = Path(__file__).parent.parent.parent


def begin(folder: Path, options: dict[str, Any]) -> subprocess.Popen[str]:
    command = [
        *(sys.executable, "-m", "tests.optimize.killed"),
        *(str(folder / "run.ckpt"), str(folder / "answer.json"), json.dumps(options)),
    ]
    return subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)


def wait_for_a_save(process: subprocess.Popen[str], checkpoint: Path) -> None:
    """Wait until the process has saved, so that each goes further than the one before."""
    before = read_time(checkpoint)
    while process.poll() is None and read_time(checkpoint) == before:
        time.sleep(0.001)


def read_time(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0


@pytest.mark.parametrize("population", [200, "auto"])
@pytest.mark.parametrize("model", ["boa", "rbm"])
def test_ten_kills_change_nothing(model: str, population: int | str, tmp_path: Path) -> None:
    options = {"model": model, "population": population, "seed": 3, "max_evaluations": 4000}
    rng = random.Random(f"{model} {population}")  # noqa: S311
    answer = tmp_path / "answer.json"
    kills = 0
    while kills < KILLS:
        process = begin(tmp_path, options)
        wait_for_a_save(process, tmp_path / "run.ckpt")
        time.sleep(rng.random() * 0.1)
        if process.poll() is not None:
            break
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert not answer.exists()
        kills += 1
    assert kills == KILLS, process.communicate()[1]
    process = begin(tmp_path, options)
    assert process.wait() == 0, process.communicate()[1]
    undisturbed = hm.maximize(killed.evaluate, killed.LENGTH, **options)  # type: ignore[arg-type]
    assert json.loads(answer.read_text()) == json.loads(json.dumps(killed.describe(undisturbed)))
