"""`harmonium study run`, `status` and `export`: tables, engines and running studies."""

import csv
import re
import shutil
import socket
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.cli.commands import assert_refused, call, call_here, running, wait_until, watch_terminal
from tests.cli.studies import (
    Small,
    export,
    hold,
    needs_dask,
    read_diary,
    read_trials,
    release,
    summarize,
    write_slow,
)


def test_a_study_ends_with_its_tables(small: Small) -> None:
    shown = small.done.stdout
    assert "small: seed 1, finished 8 of 8 rows: 8 solved\n" in shown
    assert re.search(r"20 umda +[\d,]+ \(>\d+\) +[\d,]+ +[\d,]+ +[\d.]+ +3/3", shown)
    assert re.search(r"10 boa .* 4/4", shown)
    assert re.search(r"boa +-?\d\.\d\d(±\d\.\d\d)? \(1\.3\)", shown)
    assert "nan" not in shown
    assert max(map(len, shown.splitlines())) <= 80
    told = small.done.stderr.splitlines()
    assert len(told) == 8
    assert re.fullmatch(r"onemax 10 umda: population [\d,]+, [\d,]+ evaluations", told[0])


def test_a_finished_study_runs_no_trial_again(small: Small, tmp_path: Path) -> None:
    store = tmp_path / "small.db"
    shutil.copy(small.store, store)
    before = read_trials(store)
    shutil.copy(small.file, tmp_path / "small.toml")
    again = call_here("study", "run", "small.toml", "--engine", "serial", cwd=tmp_path)
    assert (again.returncode, again.stdout) == (0, small.done.stdout)
    words = f"harmonium: nothing is left to run: {len(before)} trials are stored in small.db\n"
    assert again.stderr == words
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small.db", "small.toml"]
    assert read_trials(store) == before


def test_status_shows_the_tables_of_a_store(small: Small) -> None:
    done = call_here("study", "status", str(small.store))
    assert (done.returncode, done.stderr) == (0, "")
    head, _, rest = done.stdout.partition("\n")
    count = len(read_trials(small.store))
    assert head == f"small: seed 1, finished 8 of 8 rows: 8 solved; {count} trials stored"
    assert rest == small.done.stdout.partition("\n")[2]


def test_exports_are_csv_or_json(small: Small, tmp_path: Path) -> None:
    trials = export(small.store)
    assert [row["key"] for row in trials] == list(read_trials(small.store))
    file = tmp_path / "trials.csv"
    done = call_here("study", "export", str(small.store), "-o", str(file))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with file.open(encoding="utf-8", newline="") as lines:
        texts = list(csv.DictReader(lines))
    assert list(texts[0]) == list(trials[0])
    assert [row["key"] for row in texts] == [row["key"] for row in trials]
    done = call_here("study", "export", str(small.store), "--what", "summary")
    assert len(done.stdout.splitlines()) == 1 + len(small.summary)
    laws = export(small.store, "--what", "scaling")
    papers = {(row["family"], row["name"], row["metric"]): row["paper_exponent"] for row in laws}
    assert papers["onemax", "boa", "evaluations"] == 1.3


@pytest.mark.parametrize(
    "engine",
    [
        pytest.param("processes --workers 2", marks=pytest.mark.slow),
        pytest.param("dask --workers 2", marks=[pytest.mark.slow, needs_dask]),
    ],
)
def test_every_engine_comes_to_the_same(engine: str, small: Small, tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    run = ("study", "run", str(small.file), "--store", str(store), "--engine", *engine.split())
    with ExitStack() as stack:
        with suppress(OSError):  # Dask's usual port is taken, as by another cluster
            stack.enter_context(socket.create_server(("", 8787)))
        done = call(*run, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert set(done.stderr.splitlines()) == set(small.done.stderr.splitlines())  # in any order
    assert not list(tmp_path.glob("store.db-*"))
    assert summarize(store) == small.summary


@pytest.mark.slow
def test_a_running_study_can_be_read_but_not_run_twice(tmp_path: Path) -> None:
    file, store = write_slow(tmp_path), tmp_path / "slow.db"
    with running(tmp_path, "study", "run", str(file), "--workers", "2") as process:
        wait_until(lambda: len(read_trials(store)) >= 3, "three trials are stored")
        hold(tmp_path, 2)
        stored = read_trials(store)
        status = call_here("study", "status", str(store))
        assert (status.returncode, status.stderr) == (0, "")
        assert re.search(rf"finished \d of 3 rows.*; {len(stored)} trials stored", status.stdout)
        assert "unfinished" not in status.stdout
        assert re.search(r"\d umda +– +(running|waiting)\n", re.sub(" +\n", "\n", status.stdout))
        assert [row["key"] for row in export(store)] == list(stored)
        second = call_here("study", "run", str(file), "--store", str(store))
        assert_refused(second, "slow.db: another process is running a study on this store; wait")
        release(tmp_path)
        shown, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert "slow: seed 1, finished 3 of 3 rows: 3 solved" in shown
    assert read_trials(store).keys() > stored.keys()
    assert len(read_diary(tmp_path)) == len(read_trials(store))  # each trial was run once


@pytest.mark.slow
def test_a_terminal_sees_the_rows_under_way(tmp_path: Path) -> None:
    file = write_slow(tmp_path)
    shown = watch_terminal(tmp_path, "study", "run", str(file), "--workers", "2")
    assert "preparing: kernels are compiled on first use" in shown
    assert re.search(r"finished \d of 3 rows.*; slow", shown)
    assert re.search(r"\d+ trials run in (< 1|\d+) s", shown)
    assert re.search(r"inst\. +population +runs +evals +left", shown)
    assert re.search(r"slow:Slow 10 umda +0/1 +16 +\d/4 +[\d,]+ +\?", shown)
    assert re.search(r"slow:Slow \d+ umda +0/1 +\d+…\d+ +\d/4 +[\d,]+ +(~\d+|< 1) s", shown)
    assert max(len(line.rstrip()) for line in re.split(r"[\r\n]+", shown)) <= 80
