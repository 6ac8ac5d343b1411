"""Studies whose problems raise errors or kill their workers."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.cli.commands import call, call_here
from tests.cli.studies import export, read_starts, read_trials

FAULTY = """
import os
from pathlib import Path


class Faulty:
    def __init__(self, length):
        self.length, self.optimum = length, float(length)

    def __call__(self, bits):
        here = Path(__file__).parent
        if self.length == 11 and not (here / "fixed").exists():
            with (here / "faults").open("a") as faults:
                faults.write("x")
            {fault}
        return bits.sum(axis=1).astype(float)
"""


FAULTY_STUDY = """
name = "faulty"
models = ["umda"]
[[problems]]
problem = "faulty:Faulty"
sizes = [10, 11, 12]
runs = 2
"""


def write_faulty(folder: Path, fault: str) -> None:
    (folder / "faulty.py").write_text(FAULTY.format(fault=fault), encoding="utf-8")
    (folder / "faulty.toml").write_text(FAULTY_STUDY, encoding="utf-8")


def run_faulty(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    run = call_here if "serial" in arguments else call
    return run("study", "run", "faulty.toml", *arguments, cwd=folder)


def count_faults(folder: Path) -> int:
    return (folder / "faults").stat().st_size


COMPLAINT = (
    "harmonium: 1 of 3 rows failed; see harmonium study status --failures faulty.db; "
    "fix the problem or algorithm, run with --retry-failed\n"
)


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced_and_its_trial_run_again(tmp_path: Path) -> None:
    write_faulty(tmp_path, '(here / "fixed").touch(); os._exit(1)')
    done = run_faulty(tmp_path, "--workers", "1")
    assert done.returncode == 0
    assert "harmonium: " not in done.stderr
    assert "Traceback" not in done.stderr
    assert "finished 3 of 3 rows: 3 solved\n" in done.stdout
    assert count_faults(tmp_path) == 1
    assert {row["status"] for row in read_trials(tmp_path / "faulty.db").values()} == {"done"}


@pytest.mark.slow
def test_a_trial_that_always_kills_its_worker_fails_and_the_study_goes_on(tmp_path: Path) -> None:
    write_faulty(tmp_path, "os._exit(7)")
    store = tmp_path / "faulty.db"
    done = run_faulty(tmp_path, "--workers", "1")
    assert done.returncode == 3
    assert done.stderr.endswith(COMPLAINT)
    assert "faulty:Faulty 11 umda: failed: WorkerDied: the worker died 3 times" in done.stderr
    assert "finished 3 of 3 rows: 2 solved, 1 failed\n" in done.stdout
    assert count_faults(tmp_path) == 3
    before = read_starts(store)
    (failed,) = [row for row in read_trials(store).values() if row["status"] == "failed"]
    words = "WorkerDied: the worker died 3 times, the last time with exit code 7"
    assert failed["error"] == words
    (tmp_path / "fixed").touch()  # without --retry-failed nobody looks
    again = run_faulty(tmp_path, "--engine", "serial")
    assert (again.returncode, again.stdout) == (3, done.stdout)
    assert again.stderr.endswith(COMPLAINT)
    assert read_starts(store) == before
    retried = run_faulty(tmp_path, "--engine", "serial", "--retry-failed")
    assert retried.returncode == 0
    assert "harmonium: " not in retried.stderr
    assert "finished 3 of 3 rows: 3 solved\n" in retried.stdout
    assert count_faults(tmp_path) == 3
    after = read_starts(store)
    assert {key for key in before if before[key] != after[key]} == {failed["key"]}


@pytest.mark.slow
def test_a_problem_that_raises_fails_and_the_study_goes_on(tmp_path: Path) -> None:
    write_faulty(tmp_path, 'raise ValueError("out of [bold]fuel")')
    done = run_faulty(tmp_path, "--workers", "1")
    assert done.returncode == 3
    assert done.stderr.endswith(COMPLAINT)
    assert "faulty:Faulty 11 umda: failed: ValueError: out of [bold]fuel\n" in done.stderr
    assert "Traceback" not in done.stderr
    assert "finished 3 of 3 rows: 2 solved, 1 failed\n" in done.stdout
    assert "ValueError: out of" in done.stdout
    status = call_here("study", "status", "--failures", "faulty.db", cwd=tmp_path)
    assert status.returncode == 0
    assert status.stderr == COMPLAINT
    assert "Traceback (most recent call last)" in status.stdout
    unwrapped = "".join(status.stdout.split())  # the folder decides where lines are broken
    assert re.search(r"faulty\.py\",line\d+,in__call__", unwrapped)
    assert "ValueError: out of [bold]fuel" in status.stdout
    (failed,) = [row for row in export(tmp_path / "faulty.db") if row["status"] == "failed"]
    assert failed["error"].rstrip().endswith("ValueError: out of [bold]fuel")
    assert failed["evaluations"] is None
