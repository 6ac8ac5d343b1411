"""`harmonium bisect` as a process of its own: a study of one problem at one size."""

import json
import os
import re
import signal
from pathlib import Path

import pytest

from tests.cli.commands import call_here
from tests.cli.studies import BROKEN, export, read_starts, read_trials
from tests.modules import write_module

QUICK = ("bisect", "onemax:length=20", "--model", "umda", "--model", "boa", "--runs", "3")
SERIAL = ("--engine", "serial")


def test_a_kept_bisection_is_continued(tmp_path: Path) -> None:
    store = tmp_path / "kept.db"
    run = (*QUICK, *SERIAL, "--store", "kept.db")
    first = call_here(*run, cwd=tmp_path)
    assert first.returncode == 0
    before = read_trials(store)
    again = call_here(*run, cwd=tmp_path)
    assert (again.returncode, again.stdout) == (0, first.stdout)
    words = f"harmonium: nothing is left to run: {len(before)} trials are stored in kept.db\n"
    assert again.stderr == words
    assert read_trials(store) == before
    as_json = call_here(*run, "--json", cwd=tmp_path).stdout
    rows = [json.loads(line) for line in as_json.splitlines()]
    assert [(row["name"], row["state"], row["solved"]) for row in rows] == [
        *(("umda", "done", 3), ("boa", "done", 3))
    ]
    assert rows == export(store, "--what", "summary")
    finer = call_here(*run, "--tolerance", "0.01", "--runs", "4", cwd=tmp_path)
    assert finer.returncode == 0
    assert finer.stderr.startswith("harmonium: the study has changed; stored trials that still fit")
    starts = read_starts(store)
    assert {key: starts[key] for key in before} == {
        key: row["started"] for key, row in before.items()
    }
    assert len(starts) > len(before)


def test_a_ceiling_is_told(tmp_path: Path) -> None:
    trap = ("bisect", "trap:length=20,order=5", "--model", "umda", "--runs", "2", *SERIAL)
    done = call_here(*trap, "--max-population", "32", "--store", "trap.db", cwd=tmp_path)
    assert done.returncode == 0
    assert "finished 1 of 1 rows: 1 not solved\n" in done.stdout
    assert re.search(r"^ *20 umda +–", done.stdout, re.M)
    assert "not solved within population 32" in done.stdout
    assert done.stderr == "trap:order=5 20 umda: not solved within population 32\n"
    (row,) = export(tmp_path / "trap.db", "--what", "summary")
    assert (row["state"], row["reason"]) == ("not solved", "not solved within population 32")
    assert row["population"] is None
    assert {trial["population"] for trial in export(tmp_path / "trap.db")} == {16, 32}


def test_a_problem_that_raises_is_told_by_the_exit_code(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(BROKEN, encoding="utf-8")
    done = call_here("bisect", "broken:Broken:length=8", "--model", "umda", *SERIAL, cwd=tmp_path)
    assert done.returncode == 3
    assert "finished 1 of 1 rows: 1 failed\n" in done.stdout
    assert done.stderr == (
        "broken:Broken 8 umda: failed: ValueError: no fuel\n"
        "harmonium: 1 of 1 rows failed; fix the problem or algorithm\n"
    )


END_AT_THIRD = """
import os, signal


class Own:
    calls = 0

    def __init__(self, length):
        self.length, self.optimum = length, float(length)

    def __call__(self, bits):
        Own.calls += 1
        if Own.calls == 30:
            os.kill(os.getpid(), signal.SIGTERM)
        return bits.sum(axis=1).astype(float)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_a_bisection_without_a_store_can_be_continued_after_sigterm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = signal.getsignal(signal.SIGTERM)
    problem = f"{write_module(tmp_path, END_AT_THIRD)}:Own"
    bisect = ("bisect", f"{problem}:length=8", "--model", "umda", "--engine", "serial")
    done = call_here(*bisect, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    (store,) = tmp_path.glob("harmonium-*/study.db")
    stored = len(read_trials(store))
    assert stored > 0
    assert f"stopped; {stored} trials were run and are stored in {store}; " in done.stderr
    assert done.stderr.endswith(f"To continue: the same command with --store {store}\n")
    again = call_here(*bisect, "--store", str(store), cwd=tmp_path)
    assert again.returncode == 0
    assert f"continuing: {stored} trials are already stored" in again.stderr
    assert signal.getsignal(signal.SIGTERM) == before
    assert len(list(tmp_path.glob("harmonium-*"))) == 1
