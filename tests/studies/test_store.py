"""Stores: what is appended is there, whatever ends the process; other files are refused."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harmonium import NK
from harmonium.studies.plans import Bisect, Grid, Runs
from harmonium.studies.store import SCHEMA, Store, StoreError, check_output, is_running
from harmonium.studies.trial import Record
from tests.studies.made import (
    ENVIRONMENT,
    make_case,
    make_failure,
    make_outcome,
    make_record,
    make_trace,
    make_trial,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.db"


def fill(path: Path, seeds: range = range(3)) -> None:
    """Append trials, solved in as many generations as their seed says."""
    with Store.create(path) as store:
        for seed in seeds:
            store.append(make_trial(seed), make_record(make_outcome(generations=seed)))


def check_integrity(path: Path) -> str:
    connection = sqlite3.connect(path)
    try:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])
    finally:
        connection.close()


def run_python(code: str, path: Path, expected: int = 0) -> str:
    """Run code in a process of its own; return what it prints."""
    root = Path(__file__).parents[2]  # where `tests` can be imported
    ended = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=False, cwd=root
    )
    assert (ended.returncode, ended.stderr) == (expected, "")
    return ended.stdout


def test_what_is_appended_is_read_back(path: Path) -> None:
    outcomes = [make_outcome(False, evaluations=7), make_outcome(generations=None), make_failure()]
    trials = [make_trial(seed) for seed in (5, 2**62, 3)]
    pairs = list(zip(trials, outcomes, strict=True))
    with Store.create(path) as store:
        assert [store.append(trial, make_record(one)) for trial, one in pairs] == outcomes
    with Store.open(path) as store:
        assert len(store) == 3
        assert store.outcomes() == {trial.key: one for trial, one in pairs}
        stored = list(store.records())
        assert [(one.key, one.frame, one.seed) for one in stored] == [
            (trial.key, trial.frame, trial.seed) for trial in trials
        ]
        assert stored[0].record == make_record(outcomes[0], trace={})
        assert stored[2].record.error == make_failure().error
        assert store.trace(trials[0].key) == make_trace()
        assert store.trace(trials[2].key) == store.trace("none") == store.result("none") == {}
        assert store.result(trials[0].key)["evaluations"] == 7


def test_a_store_keeps_its_study_and_cases(path: Path) -> None:
    cases = [
        make_case(Bisect(start=8, confirm=True)),
        make_case(Grid([20]), problem=NK(10, 2, instance=1), instance=1),
        make_case(Runs(), name="größe, “x”"),
    ]
    facts = {"name": "s", "seed": "7", "description": "d", "study": "{}", "definition": "text"}
    with Store.create(path) as store:
        with pytest.raises(StoreError, match="holds no study yet"):
            store.about()
        store.bind(facts, cases[:1])
        store.bind(facts, cases)
        assert store.cases() == cases
        assert store.about() == ("s", 7, "d", "text")
    with Store.open(path) as store:
        assert [case.trials(16) for case in store.cases()] == [case.trials(16) for case in cases]


def test_what_models_learned_is_kept(path: Path) -> None:
    reason = "each bit counts alone"
    with Store.create(path) as store:
        for seed, learned in ((1, reason), (2, None)):
            store.append(make_trial(seed), make_record(learned=learned))
            assert store.learned(make_trial(seed).key) == learned


def test_a_trial_that_failed_is_replaced_and_one_that_is_done_never(path: Path) -> None:
    trial = make_trial()
    with Store.create(path) as store:
        store.append(trial, make_record(make_failure()))
        before = store.version()
        store.append(trial, make_record(make_outcome(evaluations=8)))
        assert store.version() != before
        assert store.trace(trial.key) == make_trace()
        again = store.append(trial, make_record(make_outcome(evaluations=9)))
        assert again == make_outcome(evaluations=8)
        assert store.append(trial, Record("failed", error="late")) == make_outcome(evaluations=8)
        assert len(store) == 1


def test_an_overview_sums_all_trials(path: Path) -> None:
    with Store.create(path) as store:
        assert store.overview() == (0, 0, "", "", 0.0, 0.0, [], [])
        store.append(make_trial(1), make_record(make_outcome(cpu=2.0), started="2026-01-01"))
        other = {"python": "4"}
        store.append(make_trial(2), make_record(environment=other, host="there", started="2027"))
        store.append(make_trial(3), make_record(make_failure(), started="2025"))
        assert store.overview() == (
            *(3, 1, "2025", "2027", 3.0, 6.0),
            *([ENVIRONMENT, other], ["here", "there"]),
        )


def test_an_append_that_fails_leaves_nothing(path: Path) -> None:
    with Store.create(path) as store:
        with pytest.raises(TypeError):
            store.append(make_trial(1), make_record(trace={"best": [object()]}))
        assert len(store) == 0
        store.append(make_trial(1), make_record())
        assert len(store) == 1
    assert [file.name for file in path.parent.iterdir()] == ["study.db"]
    store.close()  # once more is harmless


def refuse_driver(path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        Store.create(path)
    assert str(caught.value) == (
        f"{path}: another process is running a study on this store; wait until it ends"
    )


KILLED = """
import os, sys
from pathlib import Path
from harmonium.studies.store import Store
from tests.studies.made import make_record, make_trial

store = Store.create(Path(sys.argv[1]))
store.append(make_trial(), make_record())
os._exit(9)
"""


def test_a_second_driver_is_refused_until_the_first_has_ended_or_was_killed(path: Path) -> None:
    link = path.parent / "link.db"
    assert not is_running(path)
    with Store.create(path):
        link.symlink_to(path)
        refuse_driver(path)
        refuse_driver(link)
        assert is_running(path)
    assert not is_running(path)
    run_python(KILLED, path, expected=9)
    assert path.with_name("study.db-wal").exists()
    assert not is_running(path)
    with Store.open(path) as reader:
        assert len(reader) == 1
    with Store.create(path) as store:
        assert store.outcomes() == {make_trial().key: make_outcome()}


def test_readers_see_what_is_appended_and_may_freeze_it(path: Path) -> None:
    with Store.create(path) as driver, Store.open(path) as reader:
        driver.append(make_trial(1), make_record())
        assert len(reader) == 1
        with reader.frozen():
            assert len(reader) == 1
            driver.append(make_trial(2), make_record())
            assert len(reader) == 1
        assert len(reader) == 2
        with pytest.raises(StoreError, match="is read-only"):
            reader.bind({"name": "mine"}, [])


def change(path: Path, script: str) -> None:
    """Run SQL on a file."""
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()


def set_version(path: Path, version: int) -> None:
    fill(path)
    change(path, f"PRAGMA user_version = {version}")


WRONG: dict[str, tuple[Callable[[Path], Any], str]] = {
    "text": (
        lambda path: path.write_text("name = 'study'\n" * 100, encoding="utf-8"),
        "is not an SQLite file, or a damaged one; name another file",
    ),
    "foreign": (
        lambda path: change(path, "CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)"),
        "this SQLite file is not the store of a study",
    ),
    "newer": (
        lambda path: set_version(path, SCHEMA + 1),
        f"written by a newer harmonium (schema {SCHEMA + 1}; this one reads {SCHEMA}); "
        "update harmonium",
    ),
    "older": (
        lambda path: set_version(path, 3),
        f"written by an older harmonium (schema 3; this one reads {SCHEMA}); run the study "
        "again with a new store",
    ),
    "folder": (Path.mkdir, "is not a regular file; expected the file of a store"),
}


@pytest.mark.parametrize("how", [Store.create, Store.open], ids=["create", "open"])
@pytest.mark.parametrize("what", WRONG)
def test_other_files_are_refused_and_not_changed(path: Path, what: str, how: Any) -> None:
    make, message = WRONG[what]
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(StoreError) as caught:
        how(path)
    assert str(caught.value) == f"{path}: {message}"
    assert before is None or path.read_bytes() == before


def test_a_file_that_is_not_there_is_not_opened_and_its_folder_not_made(path: Path) -> None:
    with pytest.raises(StoreError, match=r"there is no such file; expected the store of a study$"):
        Store.open(path)
    with pytest.raises(StoreError, match=r"cannot be opened; expected a file in an existing"):
        Store.create(path.parent / "nowhere" / "study.db")
    assert not list(path.parent.iterdir())


def test_a_store_locked_by_another_program_loses_one_append(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect: Any = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, **{**k, "timeout": 0.0}))
    with Store.create(path) as store:
        store.append(make_trial(1), make_record())
        other = connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="is locked by another program"):
            store.append(make_trial(2), make_record())
        other.execute("ROLLBACK")
        other.close()
        store.append(make_trial(3), make_record())
        assert set(store.outcomes()) == {make_trial(1).key, make_trial(3).key}


def test_a_store_without_write_permission_is_read(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.create(path) as driver:
        driver.append(make_trial(1), make_record())
        monkeypatch.setattr(os, "access", lambda *rest, **settings: False)
        with Store.open(path) as reader:
            driver.append(make_trial(2), make_record())
            assert len(reader) == 2
    with Store.open(path) as reader:
        assert len(reader) == 2


FULL_DISK = """
import resource, sys
from pathlib import Path
from harmonium.studies.store import Store, StoreError
from tests.studies.made import make_record, make_trial
record = make_record(trace={"best": [seed * 0.123456789 for seed in range(2000)]})
with Store.create(Path(sys.argv[1])) as store:
    store.append(make_trial(0), record)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
    for seed in range(1, 1000):
        try:
            store.append(make_trial(seed), record)
        except StoreError as error:
            print(seed, error)
            break
    print(len(store))
"""


def test_a_full_disk_loses_nothing_that_was_appended(path: Path) -> None:
    pytest.importorskip("resource")
    first, stored = run_python(FULL_DISK, path).splitlines()
    count, _, message = first.partition(" ")
    assert message.startswith(f"{path}: ")
    assert "what is stored is safe" in message
    assert stored == count
    assert int(count) > 5
    assert check_integrity(path) == "ok"
    fill(path, range(int(count), int(count) + 1))
    with Store.open(path) as reader:
        assert [one.seed for one in reader.records()] == list(range(int(count) + 1))


def test_no_output_destroys_a_store(path: Path) -> None:
    fill(path)
    check_output(path.with_name("table.csv"), path)
    for name in ("study.db", "study.db-wal", "../" + path.parent.name + "/study.db"):
        with pytest.raises(StoreError, match="choose another file"):
            check_output(path.parent / name, path)
