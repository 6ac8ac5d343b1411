"""Studies whose problems fail, whose disk is full, or whose scheduler is lost."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harmonium.cli import study
from harmonium.studies.engines import EngineLost
from tests.cli.commands import assert_refused, call, call_here
from tests.cli.studies import (
    TINY,
    Small,
    check_integrity,
    export,
    needs_dask,
    read_starts,
    read_trials,
    summarize,
)

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


def run_faulty(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    run = call_here if "serial" in arguments else call
    return run("study", "run", "faulty.toml", *arguments, cwd=folder)


COMPLAINT = (
    "harmonium: 1 of 3 rows failed; see harmonium study status --failures faulty.db; "
    "fix the problem or algorithm, run with --retry-failed\n"
)
SERIAL = ("--engine", "serial")


@pytest.mark.parametrize(
    ("fault", "options", "error", "times"),
    [
        pytest.param(
            *("os._exit(7)", ("--workers", "1"), "WorkerDied: the worker died 3 times", 3),
            marks=pytest.mark.slow,
        ),
        ('raise ValueError("out of [bold]fuel")', SERIAL, "ValueError: out of [bold]fuel", 1),
    ],
)
def test_a_trial_that_fails_is_kept_until_it_is_retried(
    fault: str, options: tuple[str, ...], error: str, times: int, tmp_path: Path
) -> None:
    (tmp_path / "faulty.py").write_text(FAULTY.format(fault=fault), encoding="utf-8")
    (tmp_path / "faulty.toml").write_text(FAULTY_STUDY, encoding="utf-8")
    store = tmp_path / "faulty.db"
    done = run_faulty(tmp_path, *options)
    assert done.returncode == 3
    assert done.stderr.endswith(COMPLAINT)
    assert f"faulty:Faulty 11 umda: failed: {error}" in done.stderr
    assert "Traceback" not in done.stderr
    assert "finished 3 of 3 rows: 2 solved, 1 failed\n" in done.stdout
    assert (tmp_path / "faults").stat().st_size == times
    before = read_starts(store)
    (failed,) = [row for row in export(store) if row["status"] == "failed"]
    assert error in failed["error"]
    assert failed["evaluations"] is None
    status = call_here("study", "status", "--failures", "faulty.db", cwd=tmp_path)
    assert (status.returncode, status.stderr) == (0, COMPLAINT)
    assert ("Traceback (most recent call last)" in status.stdout) is (times == 1)
    assert error in status.stdout
    (tmp_path / "fixed").touch()  # without --retry-failed nobody looks
    again = run_faulty(tmp_path, *SERIAL)
    assert (again.returncode, again.stdout) == (3, done.stdout)
    assert again.stderr.endswith(COMPLAINT)
    assert read_starts(store) == before
    retried = run_faulty(tmp_path, *SERIAL, "--retry-failed")
    assert retried.returncode == 0
    assert "harmonium: " not in retried.stderr
    assert "finished 3 of 3 rows: 3 solved\n" in retried.stdout
    after = read_starts(store)
    assert {key for key in before if before[key] != after[key]} == {failed["key"]}


@pytest.mark.slow
@needs_dask
@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("tcp://127.0.0.1:1", "no Dask scheduler answers at tcp://127.0.0.1:1: "),
        ("nowhere", "scheduler is 'nowhere'; expected tcp://host:port"),
    ],
)
def test_a_scheduler_that_does_not_answer_gets_one_line(
    address: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "tiny.toml").write_text(TINY, encoding="utf-8")
    assert_refused(call("study", "run", "tiny.toml", "--scheduler", address, cwd=tmp_path), message)


@pytest.mark.slow
def test_a_full_disk_gets_one_line_and_loses_nothing(small: Small, tmp_path: Path) -> None:
    store = tmp_path / "small.db"
    run = ("study", "run", str(small.file), "--store", str(store))
    cramped = "import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (120_000, r.RLIM_INFINITY)); "
    before: dict[str, dict[str, Any]] = {}
    for engine in ("processes --workers 1", "serial"):
        done = call(*run, "--engine", *engine.split(), before=cramped)
        assert (done.returncode, done.stdout) == (2, "")
        *told, last = done.stderr.splitlines()
        assert re.match(r"harmonium: .*small\.db: .*what is stored is safe.*disk", last)
        assert not any("harmonium" in line or "Traceback" in line for line in told)
        assert check_integrity(store) == "ok"
        after = read_trials(store)
        assert len(after) > len(before)
        assert {key: after[key] for key in before} == before
        before = after
    assert call_here(*run, "--engine", "serial").returncode == 0
    after = read_trials(store)
    assert {key: after[key] for key in before} == before
    assert summarize(store) == small.summary


def test_a_lost_scheduler_has_an_exit_code_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(*_: object, **__: object) -> None:
        raise EngineLost("the Dask scheduler is gone")

    monkeypatch.setattr(study, "drive", lose)
    (tmp_path / "tiny.toml").write_text(TINY, encoding="utf-8")
    done = call_here("study", "run", "tiny.toml", cwd=tmp_path)
    told = "harmonium: the Dask scheduler is gone\n"
    assert (done.returncode, done.stdout, done.stderr) == (4, "", told)
