"""Killed again and again and resumed each time: the result of the undisturbed run, bit for bit."""

import multiprocessing
import random
import signal
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


@pytest.fixture(scope="module")
def context() -> Any:
    """Processes that begin at once: their server has imported everything."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.optimize.warm"])
    return context


def read_time(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0


def wait_for_a_save(process: Any, checkpoint: Path) -> None:
    """Wait until the process has saved, so that each goes further than the one before."""
    before = read_time(checkpoint)
    while process.is_alive() and read_time(checkpoint) == before:
        time.sleep(0.001)


@pytest.mark.parametrize("population", [200, "auto"])
@pytest.mark.parametrize("model", ["boa", "rbm"])
def test_ten_kills_change_nothing(
    model: str, population: Any, context: Any, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"model": model, "population": population}
    options |= {"seed": 3, "max_evaluations": 4000}
    checkpoint, answer = tmp_path / "run.ckpt", tmp_path / "answer.json"
    rng = random.Random(f"{model} {population}")  # noqa: S311
    for kill in range(KILLS):
        process = context.Process(target=killed.run, args=(checkpoint, answer, options))
        process.start()
        if kill:  # the first may die before it has saved anything
            wait_for_a_save(process, checkpoint)
        time.sleep(rng.random() * 0.08)
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        assert not answer.exists()
    process = context.Process(target=killed.run, args=(checkpoint, answer, options))
    process.start()
    process.join()
    assert process.exitcode == 0
    undisturbed = hm.maximize(killed.evaluate, killed.LENGTH, **options)
    assert answer.read_text() == killed.describe(undisturbed)
