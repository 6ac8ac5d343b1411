"""Studies that are killed, interrupted or lose their workers: nothing stored is lost or run again.

Trials are steered by the problem of `SLOW`: its diary says which were begun, `hold` holds them.
"""

import os
import random
import re
import shlex
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import call, call_here, find_group, running, wait_until
from tests.cli.studies import (
    check_integrity,
    hold,
    read_diary,
    read_starts,
    read_trials,
    summarize,
    write_slow,
)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc"),
]

WORKERS = 2


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The summary of the slow study, run in series."""
    folder = tmp_path_factory.mktemp("undisturbed")
    file, store = write_slow(folder), folder / "serial.db"
    done = call_here("study", "run", str(file), "--store", str(store), "--engine", "serial")
    assert done.returncode == 0, done.stderr
    assert len(read_diary(folder)) == len(read_trials(store))
    return summarize(store)


def test_kills_of_the_driver_change_nothing(
    undisturbed: list[dict[str, Any]], tmp_path: Path
) -> None:
    file, store = write_slow(tmp_path), tmp_path / "slow.db"
    run = ("study", "run", str(file), "--store", str(store), "--workers")
    rng = random.Random(20)  # noqa: S311
    hits = 0
    for number in range(3):
        begun, starts = len(read_diary(tmp_path)), read_starts(store)
        workers = 1 + number % WORKERS
        with running(tmp_path, *run, str(workers)) as process:
            if number == 2:  # anywhere, likely before the first trial
                time.sleep(rng.uniform(0.5, 3.0))
            else:
                aim = begun + rng.randint(1, 6)
                wait_until(lambda: len(read_diary(tmp_path)) >= aim, "trials are begun")  # noqa: B023
                time.sleep(rng.uniform(0.0, 0.1))
            process.kill()
            assert process.wait() == -signal.SIGKILL  # it was still at it
            wait_until(lambda: not find_group(process.pid), "its workers end")
        now = read_starts(store)
        assert {key: now[key] for key in starts} == starts
        again, stored = len(read_diary(tmp_path)) - begun, len(now) - len(starts)
        assert 0 <= again - stored <= workers  # only what was under way is run again
        hits += again > stored
        assert check_integrity(store) == "ok"
    assert hits >= 1
    begun, starts = len(read_diary(tmp_path)), read_starts(store)
    assert starts
    done = call(*run, str(WORKERS))
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.glob("slow.db-*"))
    assert done.stderr.startswith(f"continuing: {len(starts)} trials are already stored\n")
    now = read_starts(store)
    assert {key: now[key] for key in starts} == starts
    assert len(read_diary(tmp_path)) - begun == len(now) - len(starts) > 0
    assert summarize(store) == undisturbed
    assert check_integrity(store) == "ok"


@pytest.mark.parametrize("whom", ["process", "group"])
def test_an_interrupt_finishes_what_is_running_and_says_how_to_continue(
    whom: str, undisturbed: list[dict[str, Any]], tmp_path: Path
) -> None:
    file, store = write_slow(tmp_path), tmp_path / "slow.db"
    run = ("study", "run", file.name, "--store", store.name, "--workers", "2")
    with running(tmp_path, *run) as process:
        wait_until(lambda: len(read_trials(store)) >= 3, "three trials are stored")
        if whom == "group":
            os.killpg(process.pid, signal.SIGINT)
        else:
            process.send_signal(signal.SIGINT)
        shown, errors = process.communicate(timeout=120)
        wait_until(lambda: not find_group(process.pid), "its workers end")
    assert (process.returncode, shown) == (1, "")
    told = re.fullmatch(
        r"(?:slow:Slow .*\n)*harmonium: stopped; (\d+) trials were run and are stored in slow.db; "
        r"(finished \d of 3 rows(?:: \d solved)?). To continue: harmonium (.*)\n",
        errors,
    )
    assert told, errors
    starts = read_starts(store)
    assert int(told[1]) == len(starts)
    assert len(read_diary(tmp_path)) == len(starts)  # what was begun was finished
    assert check_integrity(store) == "ok"
    status = call_here("study", "status", str(store)).stdout
    assert status.startswith(f"slow: seed 1, {told[2]}; {told[1]} trials stored\n")
    assert "running" not in status
    command = shlex.split(told[3])
    assert {*run} <= {*command}
    if whom == "process":
        done = call_here(*command, cwd=tmp_path)
    else:  # in series, which is cheaper and comes to the same
        done = call_here(*run[:5], "--engine", "serial", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    now = read_starts(store)
    assert {key: now[key] for key in starts} == starts
    assert len(read_diary(tmp_path)) == len(now)
    assert summarize(store) == undisturbed


def test_a_second_interrupt_abandons_what_is_running(tmp_path: Path) -> None:
    file, store = write_slow(tmp_path), tmp_path / "slow.db"
    with running(tmp_path, "study", "run", str(file), "--workers", str(WORKERS)) as process:
        wait_until(lambda: len(read_trials(store)) >= 3, "three trials are stored")
        hold(tmp_path, WORKERS)  # for ever
        starts = read_starts(store)
        process.send_signal(signal.SIGINT)
        time.sleep(1.0)
        assert process.poll() is None  # it waits for what is running
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        wait_until(lambda: not find_group(process.pid), "its workers end")
    assert process.returncode == 1
    assert f"harmonium: stopped; {len(starts)} trials were run and are stored in" in errors
    assert "Traceback" not in errors
    assert read_starts(store) == starts
    assert check_integrity(store) == "ok"
