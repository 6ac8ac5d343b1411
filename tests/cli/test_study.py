"""`harmonium study run | status | export` as processes of their own, on stores in real files."""

import csv
import io
import json
import os
import pty
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from harmonium.studies.driver import bind
from harmonium.studies.store import SCHEMA, Store
from harmonium.studies.study import load_study
from harmonium.studies.trial import execute, read_record

RUN = "from harmonium.cli import main; main()"
# A shell lets what it runs in the background ignore SIGINT, and children inherit that.
LISTEN = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "

needs_dask = pytest.mark.skipif(find_spec("distributed") is None, reason="needs distributed")

SMALL = """
name = "small"
models = ["umda", "boa"]
[[problems]]
problem = "onemax"
sizes = [10, 20]
runs = 3
[[problems]]
problem = "trap:order=4"
sizes = [8, 12]
runs = 3
models = ["boa"]
[[problems]]
problem = "nk:k=2"
sizes = [8, 10]
instances = 2
runs = 2
models = ["boa"]
"""

# OneMax that takes its time, notes in a diary which process begins a trial, and waits while there
# is a file `hold`, which it tells by a file of its own. Workers make it anew for every trial.
SLOW = """
import os
import time
from pathlib import Path

HERE = Path(__file__).parent


class Slow:
    def __init__(self, length):
        self.length, self.optimum, self.begun = length, float(length), False

    def __call__(self, bits):
        if not self.begun:
            self.begun = True
            with (HERE / "diary").open("a") as diary:
                diary.write(f"{os.getpid()}\\n")
        time.sleep(0.005)
        while (HERE / "hold").exists():
            (HERE / f"held by {os.getpid()}").touch()
            time.sleep(0.01)
        return bits.sum(axis=1).astype(float)
"""
SLOW_STUDY = """
name = "slow"
models = ["umda"]
[[problems]]
problem = "slow:Slow"
sizes = [10, 14, 18]
runs = 4
[stop]
patience = 3
"""


def call(
    *arguments: str, cwd: Path | None = None, before: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run the command to its end; `before` is Python to run in its process first."""
    return subprocess.run(
        [sys.executable, "-c", before + RUN, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        cwd=cwd,
    )


@contextmanager
def running(cwd: Path, *arguments: str, before: str = LISTEN) -> Iterator[subprocess.Popen[str]]:
    """Start the command in a process group of its own; leave nothing of it behind."""
    with subprocess.Popen(
        [sys.executable, "-c", before + RUN, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def wait_until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        if time.monotonic() > deadline:
            pytest.fail(f"waited in vain until {what}")
        time.sleep(0.01)


def read_trials(store: Path) -> dict[str, dict[str, Any]]:
    """Return the trials of a store by key, in the order in which they ended."""
    if not store.exists():
        return {}
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=60)) as connection:
        connection.row_factory = sqlite3.Row
        with suppress(sqlite3.OperationalError):  # the tables are about to be made
            rows = connection.execute(
                "SELECT trials.*, traces.columns AS trace FROM trials JOIN traces USING (key) "
                "ORDER BY trials.rowid"
            )
            return {row["key"]: dict(row) for row in rows}
    return {}


def check_integrity(store: Path) -> str:
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])


def read_starts(store: Path) -> dict[str, str]:
    return {key: row["started"] for key, row in read_trials(store).items()}


def read_results(store: Path) -> dict[str, Any]:
    """Return what each trial came to, apart from times and memory."""
    return {
        key: (
            row["spec"],
            row["status"],
            {
                field: value
                for field, value in json.loads(row["result"]).items()
                if not field.endswith("_seconds")
            },
            json.loads(zlib.decompress(row["trace"])),
        )
        for key, row in read_trials(store).items()
    }


def export(store: Path, *arguments: str) -> list[dict[str, Any]]:
    done = call("study", "export", str(store), "--format", "json", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


def summarize(store: Path) -> list[dict[str, Any]]:
    """Return the summary of a store, apart from times and memory."""
    return [
        {
            name: value
            for name, value in row.items()
            if not name.startswith("cpu_") and "peak_memory" not in name
        }
        for row in export(store, "--what", "summary")
    ]


def write_slow(folder: Path) -> Path:
    (folder / "slow.py").write_text(SLOW, encoding="utf-8")
    (folder / "diary").touch()
    file = folder / "slow.toml"
    file.write_text(SLOW_STUDY, encoding="utf-8")
    return file


def read_diary(folder: Path) -> list[int]:
    """Return the process of each trial that was begun, in order."""
    return [int(line) for line in (folder / "diary").read_text(encoding="ascii").splitlines()]


def hold(folder: Path, workers: int) -> None:
    """Make all workers wait in the middle of a trial; what they ran before is stored."""
    (folder / "hold").touch()
    wait_until(lambda: len(list(folder.glob("held by *"))) == workers, "all workers wait")


def release(folder: Path) -> None:
    (folder / "hold").unlink()


def assert_refused(done: subprocess.CompletedProcess[str], message: str) -> None:
    assert done.stderr.startswith("harmonium: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert (done.returncode, done.stdout) == (2, "")


class Small(NamedTuple):
    """The small study, run in series."""

    file: Path
    store: Path
    done: subprocess.CompletedProcess[str]
    summary: list[dict[str, Any]]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Small:
    folder = tmp_path_factory.mktemp("small")
    file, store = folder / "small.toml", folder / "serial.db"
    file.write_text(SMALL, encoding="utf-8")
    done = call("study", "run", str(file), "--store", str(store), "--engine", "serial")
    assert done.returncode == 0, done.stderr
    return Small(file, store, done, summarize(store))


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


def test_the_summary_has_a_row_for_each_size_and_model(small: Small) -> None:
    assert [(row["problem"], row["size"], row["model"]) for row in small.summary] == [
        *(("onemax", 10, "umda"), ("onemax", 10, "boa")),
        *(("onemax", 20, "umda"), ("onemax", 20, "boa")),
        *(("trap:order=4", 8, "boa"), ("trap:order=4", 12, "boa")),
        *(("nk:k=2", 8, "boa"), ("nk:k=2", 10, "boa")),
    ]
    for row in small.summary:
        assert row["state"] == "done"
        assert row["solved"] == row["runs"] == (4 if row["problem"] == "nk:k=2" else 3)
        if row["instances"] == 1:  # of two there is no interval
            assert row["evaluations_low"] is row["evaluations_high"] is None  # of three runs
        assert row["unique_evaluations"] <= row["evaluations"]


def test_a_finished_study_runs_no_trial_again(small: Small, tmp_path: Path) -> None:
    store = tmp_path / "small.db"
    shutil.copy(small.store, store)
    before = read_trials(store)
    shutil.copy(small.file, tmp_path / "small.toml")
    again = call("study", "run", "small.toml", "--engine", "serial", cwd=tmp_path)
    assert (again.returncode, again.stdout) == (0, small.done.stdout)
    words = f"harmonium: nothing is left to run: {len(before)} trials are stored in small.db\n"
    assert again.stderr == words
    assert sorted(path.name for path in tmp_path.iterdir()) == ["small.db", "small.toml"]
    assert read_trials(store) == before


def test_status_shows_the_tables_of_a_store(small: Small) -> None:
    done = call("study", "status", str(small.store))
    assert (done.returncode, done.stderr) == (0, "")
    head, _, rest = done.stdout.partition("\n")
    count = len(read_trials(small.store))
    assert head == f"small: seed 1, finished 8 of 8 rows: 8 solved; {count} trials stored"
    assert rest == small.done.stdout.partition("\n")[2]


def test_export_writes_trials_summary_and_laws_as_csv_and_json(
    small: Small, tmp_path: Path
) -> None:
    trials = export(small.store)
    stored = read_trials(small.store)
    assert [row["key"] for row in trials] == list(stored)
    assert {row["problem"] for row in trials if row["model"] == "umda"} == {
        *("onemax:length=10", "onemax:length=20")
    }
    for row in trials:
        result = json.loads(stored[row["key"]]["result"])
        assert row["solved"] is result["solved"]
        assert row["best_bits"] == f"b{result['best_bits']}"
        assert row["current"] is True
        assert row["cpu_total"] == result["cpu_seconds"]["total"]
    laws = export(small.store, "--what", "scaling")
    assert laws[0]["sizes"] == "10 20"
    papers = {(row["problem"], row["model"], row["metric"]): row["paper_exponent"] for row in laws}
    assert papers["onemax", "boa", "evaluations"] == 1.3
    assert papers["onemax", "umda", "evaluations"] is None
    assert papers["trap:order=4", "boa", "cpu_total"] == 3.9
    file = tmp_path / "trials.csv"
    done = call("study", "export", str(small.store), "-o", str(file))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with file.open(encoding="utf-8", newline="") as lines:
        for texts, row in zip(csv.DictReader(lines), trials, strict=True):
            assert list(texts) == list(row)
            assert [texts[name] for name in ("key", "name", "counted", "best_bits")] == [
                str(row[name]) for name in ("key", "name", "counted", "best_bits")
            ]
            assert float(texts["cpu_total"]) == row["cpu_total"]
    done = call("study", "export", str(small.store), "--what", "summary")
    names = next(csv.reader(io.StringIO(done.stdout)))
    assert {"cpu_building_low", "peak_memory", *small.summary[0]} <= set(names)
    assert len(done.stdout.splitlines()) == 1 + len(small.summary)


def test_export_says_which_runs_counted(small: Small) -> None:
    trials = export(small.store)
    for row in small.summary:
        counted = [
            trial["evaluations"]
            for trial in trials
            if trial["counted"]
            and (trial["family"], trial["length"], trial["name"])
            == (row["problem"], row["size"], row["model"])
        ]
        assert len(counted) == row["runs"]
        assert sum(counted) / len(counted) == pytest.approx(row["evaluations"], rel=1e-12)
    assert not all(trial["counted"] for trial in trials)


def test_export_gives_each_case_and_each_generation(small: Small) -> None:
    cases = export(small.store, "--what", "cases")
    assert [(row["size"], row["instance"]) for row in cases if row["family"] == "nk:k=2"] == [
        *((8, 0), (8, 1), (10, 0), (10, 1))
    ]
    for row in small.summary:
        found = [
            case["population"]
            for case in cases
            if (case["family"], case["size"], case["name"])
            == (row["problem"], row["size"], row["model"])
        ]
        assert sum(found) / len(found) == row["population"]
    for case in cases:
        assert case["population_high"] == case["population"]
        assert (case["population_low"] or 0) < case["population"]
    traces = export(small.store, "--what", "traces")
    stored = read_trials(small.store)
    lengths = [len(json.loads(zlib.decompress(row["trace"]))["best"]) for row in stored.values()]
    assert len(traces) == sum(lengths)
    last = {row["key"]: row for row in traces}
    for trial in export(small.store):
        assert last[trial["key"]]["evaluations"] == trial["evaluations"]
        assert last[trial["key"]]["best"] == trial["best_fitness"]
        assert last[trial["key"]]["name"] == trial["name"]


OWN = """
class Own:
    def __init__(self, length):
        self.length, self.optimum = length, float(length)

    def __call__(self, bits):
        return bits.sum(axis=1).astype(float)
"""


def test_trials_of_an_edited_module_are_left_out_unless_asked(tmp_path: Path) -> None:
    module, text = tmp_path / "own.py", TINY.replace("onemax", "own:Own")
    module.write_text(OWN, encoding="utf-8")
    (tmp_path / "tiny.toml").write_text(text, encoding="utf-8")
    run = ("study", "run", "tiny.toml", "--engine", "serial")
    store = tmp_path / "tiny.db"
    assert call(*run, cwd=tmp_path).returncode == 0
    before = export(store)
    module.write_text(OWN + "# edited\n", encoding="utf-8")
    assert call(*run, cwd=tmp_path).returncode == 0
    done = call("study", "export", str(store), "--format", "json")
    assert done.stderr == (
        f"harmonium: {len(before)} trials are not of the study as it is now, and left out; "
        "--all keeps them\n"
    )
    after = json.loads(done.stdout)
    assert not {row["key"] for row in after} & {row["key"] for row in before}
    everything = export(store, "--all")
    assert [row["key"] for row in everything] == [row["key"] for row in before + after]
    assert [row["current"] for row in everything] == [False] * len(before) + [True] * len(after)
    assert {row["family"] for row in everything} == {"own:Own"}
    module.unlink()  # what is stored can still be had
    shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
    done = call("study", "export", str(store), "--format", "json")
    assert done.returncode == 0
    assert "there is no module 'own'" in done.stderr
    assert "so all trials are written, without name, family, counted and current" in done.stderr
    assert done.stderr.count("\n") == 1
    rows = json.loads(done.stdout)
    assert [row["key"] for row in rows] == [row["key"] for row in everything]
    assert {(row["name"], row["current"]) for row in rows} == {(None, None)}


@pytest.mark.parametrize(
    "engine",
    [
        pytest.param("processes --workers 1", marks=pytest.mark.slow),
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
    mine, theirs = read_results(store), read_results(small.store)
    common = mine.keys() & theirs.keys()
    assert len(common) >= 8 * 3
    for key in common:
        assert mine[key] == theirs[key]


@pytest.mark.slow
def test_a_running_study_can_be_read_but_not_run_twice(tmp_path: Path) -> None:
    file, store = write_slow(tmp_path), tmp_path / "slow.db"
    with running(tmp_path, "study", "run", str(file), "--workers", "2") as process:
        wait_until(lambda: len(read_trials(store)) >= 3, "three trials are stored")
        hold(tmp_path, 2)
        stored = read_trials(store)
        status = call("study", "status", str(store))
        assert (status.returncode, status.stderr) == (0, "")
        assert re.search(rf"finished \d of 3 rows.*; {len(stored)} trials stored", status.stdout)
        assert "unfinished" not in status.stdout
        assert re.search(r"\d umda +– +(running|waiting)\n", re.sub(" +\n", "\n", status.stdout))
        assert [row["key"] for row in export(store)] == list(stored)
        second = call("study", "run", str(file), "--store", str(store))
        assert_refused(second, "slow.db: another process is running a study on this store; wait")
        release(tmp_path)
        shown, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert "slow: seed 1, finished 3 of 3 rows: 3 solved" in shown
    assert read_trials(store).keys() > stored.keys()
    assert len(read_diary(tmp_path)) == len(read_trials(store))  # each trial was run once


# A study of three problems of which the second has a fault; `fault` is Python with `here` and bits.
FAULTY = """
import os
from pathlib import Path


class Faulty:
    def __init__(self, length):
        self.length, self.optimum = length, float(length)

    def __call__(self, bits):
        here = Path(__file__).parent
        if self.length == 11 and not (here / "mended").exists():
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
    return call("study", "run", "faulty.toml", *arguments, cwd=folder)


def count_faults(folder: Path) -> int:
    return (folder / "faults").stat().st_size


COMPLAINT = (
    "harmonium: 1 of 3 rows failed; see harmonium study status --failures faulty.db; "
    "mend the problem or model, run with --retry-failed\n"
)


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced_and_its_trial_run_again(tmp_path: Path) -> None:
    write_faulty(tmp_path, '(here / "mended").touch(); os._exit(1)')
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
    assert failed["error"] == ("WorkerDied: the worker died 3 times, at last with exit code 7")
    (tmp_path / "mended").touch()  # without --retry-failed nobody looks
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
    status = call("study", "status", "--failures", "faulty.db", cwd=tmp_path)
    assert status.returncode == 0
    assert status.stderr == COMPLAINT
    assert "Traceback (most recent call last)" in status.stdout
    assert re.search(r"faulty.py\", line \d+, in __call__", status.stdout.replace("\n", ""))
    assert "ValueError: out of [bold]fuel" in status.stdout
    (failed,) = [row for row in export(tmp_path / "faulty.db") if row["status"] == "failed"]
    assert failed["error"].rstrip().endswith("ValueError: out of [bold]fuel")
    assert failed["evaluations"] is None


UNSOLVABLE = """
name = "unsolvable"
models = ["umda"]
[bisect]
max_population = 16
[[problems]]
problem = "trap:order=5"
sizes = [30]
runs = 2
[[problems]]
problem = "onemax"
sizes = [8]
runs = 2
[[problems]]
problem = "nk:k=4"
sizes = [30]
instances = 2
runs = 2
"""


def test_rows_that_cannot_be_solved_are_finished(tmp_path: Path) -> None:
    (tmp_path / "hard.toml").write_text(UNSOLVABLE, encoding="utf-8")
    done = call("study", "run", "hard.toml", "--engine", "serial", cwd=tmp_path)
    assert done.returncode == 0
    words = "unsolvable: seed 1, finished 3 of 3 rows: 1 solved, 2 not solved"
    assert done.stdout.startswith(f"{words}\n")
    assert "trap:order=5 30 umda: not solved within population 16\n" in done.stderr
    reason = "not solved within population 16 in 2 of 2 instances"
    assert f"nk:k=4 30 umda: {reason}\n" in done.stderr
    assert f"- nk:k=4, n = 30, umda: {reason}.\n" in done.stdout
    status = call("study", "status", "hard.db", cwd=tmp_path)
    assert status.stdout.startswith(f"{words}; ")


def test_nothing_runs_where_nobody_drives(small: Small, tmp_path: Path) -> None:
    store, file = tmp_path / "part.db", small.file
    study = load_study(file)
    with Store.open(small.store) as full, Store.create(store) as part:
        bind(study, part)
        outcome = full.outcomes()
        for trial in study.cases[0].trials(16)[:1] + study.cases[4].trials(16)[:1]:
            assert trial.key in outcome
            part.append(trial, read_record(execute(trial.spec, None)))
        during = call("study", "status", str(store)).stdout
    after = call("study", "status", str(store)).stdout
    head = "small: seed 1, finished 0 of 8 rows; 2 trials stored\n"
    assert during.startswith(head)
    assert after.startswith(head)
    assert (during.count("running"), during.count("unfinished")) == (2, 0)
    assert (after.count("running"), after.count("unfinished")) == (0, 2)
    assert after.count("waiting") == during.count("waiting") == 6
    states = [row["state"] for row in export(store, "--what", "summary")]
    assert (states.count("unfinished"), states.count("waiting")) == (2, 6)


def test_a_file_that_cannot_be_written_is_named(small: Small, tmp_path: Path) -> None:
    out = tmp_path / "nowhere" / "trials.csv"
    done = call("study", "export", str(small.store), "-o", str(out))
    assert_refused(done, f"{out}: cannot be written: No such file or directory")


def test_a_study_file_is_no_store_but_may_have_one(small: Small, tmp_path: Path) -> None:
    shutil.copy(small.file, tmp_path / "small.toml")
    shutil.copy(small.store, tmp_path / "small.db")
    for words in (("study", "status"), ("study", "export"), ("study", "watch"), ("report",)):
        done = call(*words, "small.toml", cwd=tmp_path)
        assert_refused(done, "`harmonium study run` writes (here small.db?)")


def test_a_long_reason_leaves_the_table_readable(tmp_path: Path) -> None:
    write_faulty(tmp_path, 'raise ValueError("out of " + "very " * 20 + "good fuel")')
    done = run_faulty(tmp_path, "--engine", "serial")
    assert done.returncode == 3
    assert re.search(r"^ *11 umda +–", done.stdout, re.M)
    assert "ValueError: out of very" in done.stdout
    assert re.search(r"10 umda +≤ 8 +[\d,]+ +[\d,]+ +[\d.]+ +2/2", done.stdout)
    assert max(map(len, done.stdout.splitlines())) <= 80


TINY = """
name = "tiny"
models = ["umda"]
[[problems]]
problem = "onemax"
sizes = [10]
runs = 2
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name =", "study.toml: is no TOML: "),
        (TINY.replace('"tiny"', "3"), "study.toml: name: Expected str, got int"),
        (TINY.replace("runs = 2", 'runs = "2"'), "study.toml: problems[0].runs: Expected int, got"),
        (TINY.replace("runs", "tuns"), "study.toml: problems[0]: unknown key 'tuns'; known: probl"),
        (TINY.replace("onemax", "trap:order=4"), "problems[0].sizes[0]: trap: length is 10; exp"),
        (TINY.replace("onemax", "no.such:thing"), "no.such:thing: there is no module 'no'"),
    ],
)
def test_a_bad_study_file_gets_one_clear_line(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    assert_refused(call("study", "run", "study.toml", cwd=tmp_path), message)
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("run none.toml", "none.toml: cannot be read: No such file or directory"),
        ("run tiny.toml --engine threads", "unknown engine 'threads'; known: serial, processes"),
        ("run tiny.toml --engine serial --scheduler tcp://127.0.0.1:1", "--scheduler needs --en"),
        ("run tiny.toml --store tiny.toml", "tiny.toml: is no SQLite file, or a damaged one"),
        ("status none.db", "none.db: there is no such store; `harmonium study run` makes one"),
        ("status tiny.toml", "tiny.toml: is no store; STORE is the .db file that `harmonium study"),
        ("export tiny.toml", "tiny.toml: is no store; STORE is the .db file that `harmonium study"),
        ("export none.db --what cases --all", "--all is for --what trials and traces; cases has"),
    ],
)
def test_bad_arguments_get_one_clear_line(arguments: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "tiny.toml"
    file.write_text(TINY, encoding="utf-8")
    assert_refused(call("study", *arguments.split(), cwd=tmp_path), message)
    assert file.read_text(encoding="utf-8") == TINY
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.slow
@needs_dask
def test_a_scheduler_that_does_not_answer_gets_one_line(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(TINY, encoding="utf-8")
    addresses = {
        "tcp://127.0.0.1:1": "no Dask scheduler answers at tcp://127.0.0.1:1: ",
        "nowhere": "--scheduler is 'nowhere'; expected tcp://host:port",
    }
    with ExitStack() as stack:
        processes = [
            stack.enter_context(
                running(
                    tmp_path,
                    *("study", "run", "tiny.toml", "--scheduler", address),
                    *("--store", f"{number}.db"),
                )
            )
            for number, address in enumerate(addresses)
        ]
        for process, message in zip(processes, addresses.values(), strict=True):
            shown, errors = process.communicate(timeout=120)
            done = subprocess.CompletedProcess([], process.returncode, shown, errors)
            assert_refused(done, message)


def run_tiny(folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "tiny.toml").write_text(TINY, encoding="utf-8")
    return call("study", "run", "tiny.toml", "--store", "tiny.db", cwd=folder)


def test_the_store_of_another_study_is_refused(tmp_path: Path) -> None:
    with Store.create(tmp_path / "tiny.db") as store:
        store.note(name="huge", seed="1", file="", folder="")
        before = store.describe()
    assert_refused(run_tiny(tmp_path), "tiny.db: holds the study 'huge', not 'tiny'; name another")
    with Store.open(tmp_path / "tiny.db") as store:
        assert store.describe() == before


def test_a_store_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tiny.db"
    Store.create(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    message = f"tiny.db: written by a newer harmonium (schema 99; this one reads {SCHEMA})"
    assert_refused(run_tiny(tmp_path), message)


@pytest.mark.slow
def test_a_store_that_another_program_locks_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tiny.db"
    Store.create(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        assert_refused(run_tiny(tmp_path), "tiny.db: is locked by another program; close it")
        connection.execute("ROLLBACK")
    assert check_integrity(path) == "ok"


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
    assert call(*run, "--engine", "serial").returncode == 0
    after = read_trials(store)
    assert {key: after[key] for key in before} == before
    assert summarize(store) == small.summary


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_a_terminal_sees_the_rows_under_way(tmp_path: Path) -> None:
    file = write_slow(tmp_path)
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, "study", "run", str(file), "--workers", "2"],
        stdout=subprocess.DEVNULL,
        stderr=follower,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
        cwd=tmp_path,
    )
    os.close(follower)
    seen = b""
    while True:
        try:
            chunk = os.read(leader, 65536)
        except OSError:  # Linux says so when the other end is closed
            break
        if not chunk:
            break
        seen += chunk
    os.close(leader)
    assert process.wait() == 0
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", seen.decode())
    assert "preparing: kernels are compiled on first use" in shown
    assert re.search(r"slow: finished \d of 3 rows", shown)
    assert re.search(r"\d+ trials run in (< 1|\d+) s", shown)
    assert re.search(r"bounds +pop\. +runs +evals +left", shown)
    assert re.search(r"slow:Slow 10 umda +6…∞ +16 +\d/4 +[\d,]+ +\?", shown)
    assert re.search(r"slow:Slow \d+ umda +\d+…\d+ +\d+ +\d/4 +[\d,]+ +(~\d+|< 1) s", shown)
    assert max(len(line.rstrip()) for line in re.split(r"[\r\n]+", shown)) <= 80


def test_an_export_never_writes_over_its_store(small: Small, tmp_path: Path) -> None:
    store, out = tmp_path / "small.db", tmp_path / "rows.csv"
    shutil.copy(small.store, store)
    before = store.read_bytes()
    assert_refused(
        call("study", "export", "small.db", "-o", "small.db", cwd=tmp_path),
        "small.db: is the store itself; name another file with -o",
    )
    assert store.read_bytes() == before
    out.write_text("older", encoding="utf-8")
    done = call("study", "export", "small.db", "-o", "rows.csv", cwd=tmp_path)
    assert done.returncode == 0
    assert out.read_text("utf-8").startswith("key,")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.csv", "small.db"]
