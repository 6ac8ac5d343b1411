"""A run that is killed six times and resumed each time has the result of an undisturbed run."""

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

KILLS = 6


@pytest.fixture(scope="module")
def context() -> Any:
    """Processes that start fast: their server has imported everything."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.optimize.warm"])
    return context


def read_time(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0


def wait_for_a_save(process: Any, checkpoint: Path) -> None:
    """Wait until the process has saved, so that each gets further than the one before."""
    before = read_time(checkpoint)
    while process.is_alive() and read_time(checkpoint) == before:
        time.sleep(0.001)


WAYS: dict[str, dict[str, Any]] = {
    "pyramid": {"confirmations": 1000},
    "boa": {"model": "boa"},
    "rbm 200": {"model": "rbm", "population": 200},
    "one-plus-one": {"algorithm": "tests.search.one_plus_one:OnePlusOne", "cache": False},
}


@pytest.mark.parametrize("name", WAYS)
def test_kills_change_nothing(name: str, context: Any, tmp_path: Path) -> None:
    options = {"seed": 3, "max_calls": 2500, **WAYS[name]}
    checkpoint, answer = tmp_path / "run.ckpt", tmp_path / "answer.json"
    rng = random.Random(name)  # noqa: S311
    for kill in range(KILLS):
        process = context.Process(target=killed.run, args=(checkpoint, answer, options))
        process.start()
        if kill:  # the first may be killed before it has saved anything
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
