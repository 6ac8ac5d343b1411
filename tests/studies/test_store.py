import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harmonium.studies import store as database
from harmonium.studies.store import Store, StoreError, is_running
from harmonium.studies.trial import fail
from tests.studies.made import (
    ENVIRONMENT,
    make_failure,
    make_outcome,
    make_record,
    make_trial,
)

SCHEMA_1 = Path(__file__).parent / "assets" / "schema1.db"

ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


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


def pretend(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    """Let the store connect to files in another way."""
    connect: Any = sqlite3.connect

    def connect_so(*names: Any, **settings: Any) -> Any:
        return connect(*names, **settings | changes)

    monkeypatch.setattr(sqlite3, "connect", connect_so)


def test_a_new_store_is_empty(path: Path) -> None:
    with Store.create(path) as store:
        assert len(store) == 0
        assert store.outcomes() == {}
        assert list(store.rows()) == []
        assert store.describe() == {}
        assert store.trace("nobody") == {}


def test_outcomes_are_as_appended(path: Path) -> None:
    outcomes = {
        make_trial(1): make_outcome(evaluations=7, cpu=0.25, memory=12_345),
        make_trial(2): make_outcome(False, generations=100),
        make_trial(3): make_failure("Traceback:\n  …\nValueError: “no”\n"),
    }
    with Store.create(path) as store:
        for trial, outcome in outcomes.items():
            assert store.append(trial, make_record(outcome)) == outcome
        expected = {trial.key: outcome for trial, outcome in outcomes.items()}
        assert store.outcomes() == expected
        assert len(store) == 3
    with Store.open(path) as reader:
        assert reader.outcomes() == expected
        assert len(reader) == 3


def test_rows_are_whole_and_in_the_order_in_which_trials_ended(path: Path) -> None:
    records = [
        make_record(make_outcome(evaluations=5), host="one"),
        make_record(make_failure(), host="two", environment={"harmonium": "0.2.0"}),
        make_record(make_outcome(evaluations=6), host="three"),
    ]
    trials = [make_trial(seed) for seed in (3, 1, 2)]
    with Store.create(path) as store:
        for trial, record in zip(trials, records, strict=True):
            store.append(trial, record)
    with Store.open(path) as store:
        rows = list(store.rows())
    assert [row.key for row in rows] == [trial.key for trial in trials]
    for row, trial, record in zip(rows, trials, records, strict=True):
        assert json.loads(row.frame) == {
            "algorithm": trial.algorithm.to_dict(),
            "problem": trial.problem.to_dict(),
            "stop": trial.stop.to_dict(),
            "version": 4,
        }
        assert row.seed == trial.seed
        for name in ("status", "result", "error", "environment", "host", "started"):
            assert getattr(row, name) == getattr(record, name)
        assert (row.wall_seconds, row.peak_memory) == (record.wall_seconds, record.peak_memory)


def test_environments_and_frames_are_written_once(path: Path) -> None:
    fill(path)
    fill(path, range(3, 6))
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) FROM environments").fetchone() == (1,)
    assert connection.execute("SELECT spec FROM frames").fetchall() == [(make_trial(0).frame,)]
    seeds = connection.execute("SELECT seed FROM trials ORDER BY rowid").fetchall()
    assert seeds == [(seed,) for seed in range(6)]
    connection.close()


def test_the_largest_seed_of_a_study_is_stored(path: Path) -> None:
    with Store.create(path) as store:
        store.append(make_trial(2**62), make_record())
        assert [row.seed for row in store.rows()] == [2**62]


def test_a_trace_is_as_appended(path: Path) -> None:
    trace = {"generation": [0, 1, 2], "best": [1.5, 2.0, 1e300], "edges": [None, 3.0, 0.1]}
    with Store.create(path) as store:
        store.append(make_trial(1), make_record(trace=trace))
        store.append(make_trial(2), make_record(make_failure()))
        assert store.trace(make_trial(1).key) == trace
        assert store.trace(make_trial(2).key) == {}
        assert store.trace(make_trial(3).key) == {}


def test_notes_are_kept_and_may_change(path: Path) -> None:
    with Store.create(path) as store:
        store.note(name="größe", text='a = "b"\n')
        store.note(text="", folder="3")
    with Store.open(path) as reader:
        assert reader.describe() == {"name": "größe", "text": "", "folder": "3"}


def test_a_trial_that_failed_is_replaced_with_its_trace(path: Path) -> None:
    trial = make_trial()
    with Store.create(path) as store:
        store.append(trial, fail("WorkerDied: three times"))
        assert store.outcomes()[trial.key].status == "failed"
        store.append(trial, make_record(make_outcome(evaluations=9), host="there"))
        assert store.outcomes() == {trial.key: make_outcome(evaluations=9)}
        assert store.trace(trial.key)["best"] == [12.0, 20.0]
        (row,) = store.rows()
        assert (row.status, row.host, row.error) == ("done", "there", "")
        assert row.environment == ENVIRONMENT


@pytest.mark.parametrize(
    "second",
    [
        make_record(make_outcome(False, evaluations=1), trace={"best": [0.0]}),
        make_record(make_failure()),
    ],
    ids=["done", "failed"],
)
def test_a_trial_that_is_done_is_never_replaced(path: Path, second: Any) -> None:
    trial = make_trial()
    with Store.create(path) as store:
        store.append(trial, make_record())
        before = list(store.rows())
        store.append(trial, second)
        assert list(store.rows()) == before
        assert store.outcomes() == {trial.key: make_outcome()}
        assert store.trace(trial.key) == make_record().trace


def test_what_an_append_returns_is_what_is_stored(path: Path) -> None:
    trial = make_trial()
    with Store.create(path) as store:
        store.append(trial, make_record())
        assert store.append(trial, make_record(make_failure())) == store.outcomes()[trial.key]


def test_an_append_that_fails_leaves_nothing(path: Path) -> None:
    with Store.create(path) as store:
        with pytest.raises(StoreError):
            store.append(make_trial(1), make_record(peak_memory=None, environment={"new": "1"}))
        assert len(store) == 0
        store.append(make_trial(1), make_record(environment={"new": "1"}))
        (row,) = store.rows()
        assert row.environment == {"new": "1"}


def test_a_store_is_continued(path: Path) -> None:
    fill(path, range(2))
    fill(path, range(2, 4))
    with Store.open(path) as store:
        assert [row.seed for row in store.rows()] == [0, 1, 2, 3]


def test_a_closed_store_is_one_file(path: Path) -> None:
    fill(path)
    assert [file.name for file in path.parent.iterdir()] == ["study.db"]
    with Store.open(path):
        pass
    assert [file.name for file in path.parent.iterdir()] == ["study.db"]


def test_closing_twice_is_harmless(path: Path) -> None:
    store = Store.create(path)
    store.close()
    with Store.create(path):
        store.close()  # the lock is now that of another driver
        refuse_driver(path)
    fill(path)


def test_a_name_may_have_any_characters(tmp_path: Path) -> None:
    path = tmp_path / "a b?c#d%20é.db"
    fill(path)
    with Store.open(path) as store:
        assert len(store) == 3


def test_a_store_may_be_named_from_here(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    fill(Path("study.db"))
    with Store.open(Path("study.db")) as store:
        assert len(store) == 3


def refuse_driver(path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        Store.create(path)
    assert str(caught.value) == (
        f"{path}: another process is running a study on this store; wait until it ends"
    )


def test_a_second_driver_is_refused_until_the_first_has_ended(path: Path) -> None:
    with Store.create(path) as store:
        refuse_driver(path)
        store.append(make_trial(), make_record())
        refuse_driver(path)
    with Store.create(path) as store:
        assert len(store) == 1


def test_a_second_driver_is_refused_by_any_name_of_the_store(path: Path) -> None:
    folder = path.parent / "folder"
    folder.mkdir()
    link = folder / "link.db"
    with Store.create(path):
        link.symlink_to(path)
        refuse_driver(folder / ".." / path.name)
        refuse_driver(link)


KILLED = """
import os, sys
from pathlib import Path
from harmonium.studies.store import Store
from tests.studies.made import make_record, make_trial

store = Store.create(Path(sys.argv[1]))
store.append(make_trial(), make_record())
os._exit(9)
"""


def test_a_driver_that_was_killed_does_not_keep_the_next_one_away(path: Path) -> None:
    run_python(KILLED, path, expected=9)
    assert {file.name for file in path.parent.iterdir()} >= {"study.db", "study.db-wal"}
    with Store.open(path) as reader:
        assert len(reader) == 1
    with Store.create(path) as store:
        assert len(store) == 1
        assert store.outcomes() == {make_trial().key: make_outcome()}


def test_readers_see_what_is_appended_while_a_driver_writes(path: Path) -> None:
    with Store.create(path) as driver:
        with Store.open(path) as reader:
            assert len(reader) == 0
            for seed in range(3):
                driver.append(make_trial(seed), make_record())
                assert len(reader) == seed + 1
        with Store.open(path) as reader, Store.open(path) as other:
            assert reader.outcomes() == other.outcomes() == driver.outcomes()
        driver.append(make_trial(3), make_record())
        assert len(driver) == 4


def test_a_reader_sees_trials_of_an_environment_that_is_new(path: Path) -> None:
    with Store.create(path) as driver, Store.open(path) as reader:
        driver.append(make_trial(0), make_record())

        def write_meanwhile(statement: str) -> None:
            if "FROM trials" in statement and len(driver) == 1:
                driver.append(make_trial(1), make_record(environment={"harmonium": "9"}))

        reader._connection.set_trace_callback(write_meanwhile)
        shown = [row.environment["harmonium"] for row in reader.rows()]
        reader._connection.set_trace_callback(None)
        assert len(driver) == 2
        assert shown in (["0.1.0"], ["0.1.0", "9"])


def test_a_reader_does_not_write(path: Path) -> None:
    fill(path)
    before = path.read_bytes()
    with Store.open(path) as reader:
        with pytest.raises(StoreError, match="is read-only; a study has to write its store"):
            reader.append(make_trial(9), make_record())
        with pytest.raises(StoreError, match="is read-only"):
            reader.note(name="mine")
    assert path.read_bytes() == before


# What may be at the path of a store and is none: what it is called, and what it makes.
def make_text(path: Path) -> None:
    path.write_text("name = 'study'\n" * 100, encoding="utf-8")


def make_foreign(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.executescript("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1);")
    connection.close()


def make_newer(path: Path) -> None:
    fill(path)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 7")
    connection.close()


def make_older(path: Path) -> None:
    shutil.copy(SCHEMA_1, path)


def make_damaged(path: Path) -> None:
    fill(path)
    whole = path.read_bytes()
    path.write_bytes(b"garbage!" + whole[8:])


WRONG = {
    make_text: "is not an SQLite file, or a damaged one; name another file",
    make_foreign: "this SQLite file is not the store of a study",
    make_newer: "written by a newer harmonium (schema 7; this one reads 3); update harmonium",
    make_older: "written by an older harmonium (schema 1; this one reads 3); run the study again "
    "with a new store",
    make_damaged: "is not an SQLite file, or a damaged one; name another file",
}


@pytest.mark.parametrize("how", [Store.create, Store.open], ids=["create", "open"])
@pytest.mark.parametrize("make", WRONG, ids=lambda make: make.__name__)
def test_other_files_are_refused_and_not_changed(path: Path, make: Any, how: Any) -> None:
    make(path)
    before = path.read_bytes()
    with pytest.raises(StoreError) as caught:
        how(path)
    assert str(caught.value) == f"{path}: {WRONG[make]}"
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["study.db"]


def test_an_empty_file_becomes_a_store(path: Path) -> None:
    path.touch()
    with pytest.raises(StoreError, match="this SQLite file is not the store of a study"):
        Store.open(path)
    fill(path)
    with Store.open(path) as store:
        assert len(store) == 3


def test_a_missing_file_is_not_opened(path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        Store.open(path)
    assert str(caught.value) == f"{path}: there is no such file; expected the store of a study"
    assert not path.exists()


CANNOT_BE_OPENED = "cannot be opened; expected a file in an existing, writable folder"


def test_a_store_in_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "study.db"
    with pytest.raises(StoreError) as caught:
        Store.create(path)
    assert str(caught.value) == f"{path}: {CANNOT_BE_OPENED}"


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    with pytest.raises(StoreError) as caught:
        Store.create(path)
    assert str(caught.value) == f"{path}: is a folder; expected the file of a store"
    with pytest.raises(StoreError, match="is a folder; expected the file of a store"):
        Store.open(path)
    assert list(tmp_path.iterdir()) == [path], "nothing is left beside it"


def test_a_store_locked_by_another_program_is_refused(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    pretend(monkeypatch, timeout=0.0)  # not the seconds it waits for the other to be done
    with pytest.raises(StoreError) as caught:
        Store.create(path)
    assert str(caught.value) == f"{path}: is locked by another program; close it and run again"
    with Store.open(path) as reader:
        assert len(reader) == 3
    other.execute("ROLLBACK")
    other.close()
    fill(path, range(3, 4))


def test_a_store_locked_in_the_middle_loses_one_append(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, timeout=0.0)
    with Store.create(path) as store:
        store.append(make_trial(1), make_record())
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="is locked by another program"):
            store.append(make_trial(2), make_record())
        other.execute("ROLLBACK")
        other.close()
        store.append(make_trial(3), make_record())
        assert set(store.outcomes()) == {make_trial(1).key, make_trial(3).key}


def test_a_store_that_cannot_be_written_is_refused_at_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class ReadOnly(sqlite3.Connection):
        def __init__(self, name: Path, *rest: Any, **settings: Any) -> None:
            super().__init__(name, *rest, **settings)
            if Path(name) == path:
                self.execute("PRAGMA query_only = ON")

    fill(path)
    pretend(monkeypatch, factory=ReadOnly)
    with pytest.raises(StoreError) as caught:
        Store.create(path)
    assert str(caught.value) == f"{path}: is read-only; a study has to write its store"


READ_ONLY = """
import ctypes, os, sys
from pathlib import Path
from harmonium.studies.store import Store, StoreError
from tests.studies.made import make_record, make_trial

if os.geteuid() == 0:  # root without capabilities is bound by the modes of its files
    header, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert ctypes.CDLL(None).capset(header, none) == 0

def try_both():
    try:
        Store.create(path)
    except StoreError as error:
        print(error)
    with Store.open(path) as reader:
        print(len(reader))

path = Path(sys.argv[1])
with Store.create(path) as store:
    store.append(make_trial(), make_record())
path.parent.chmod(0o500)
try_both()
path.parent.chmod(0o700)
path.chmod(0o400)
try_both()
"""


@pytest.mark.skipif(
    ROOT and not sys.platform.startswith("linux"), reason="root may write everywhere"
)
def test_what_may_not_be_written_can_be_read(path: Path) -> None:
    assert run_python(READ_ONLY, path).splitlines() == [
        f"{path}: {CANNOT_BE_OPENED}",
        "1",
        f"{path}: is read-only; a study has to write its store",
        "1",
    ]


def test_readers_without_write_permission_see_what_a_driver_appends(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.create(path) as driver:
        driver.append(make_trial(1), make_record())
        monkeypatch.setattr(os, "access", lambda *rest, **settings: False)
        with Store.open(path) as reader:
            assert len(reader) == 1
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
    try:
        store.append(make_trial(seed), record)
    except StoreError:
        print(len(store))
"""


def test_a_full_disk_loses_nothing_that_was_appended(path: Path) -> None:
    pytest.importorskip("resource")
    first, again = run_python(FULL_DISK, path).splitlines()
    count, _, message = first.partition(" ")
    assert message.startswith(f"{path}: ")
    assert "what is stored is safe" in message
    assert again == count
    assert int(count) > 5
    with Store.open(path) as reader:
        assert [row.seed for row in reader.rows()] == list(range(int(count)))
    assert check_integrity(path) == "ok"
    fill(path, range(int(count), int(count) + 1))
    with Store.open(path) as reader:
        assert len(reader) == int(count) + 1
        assert all(len(reader.trace(row.key)["best"]) == 2000 for row in list(reader.rows())[:-1])


def test_sqlite_s_errors_are_one_line(path: Path) -> None:
    for code in database.REMEDIES:
        error = sqlite3.OperationalError("low-level words")
        error.sqlite_errorcode = code | 0x300  # with an extended code
        with pytest.raises(StoreError) as caught, database.explain_errors(path):
            raise error
        assert str(caught.value) == f"{path}: {database.REMEDIES[code]}"
    with pytest.raises(StoreError) as caught, database.explain_errors(path):
        raise sqlite3.OperationalError("low-level words")
    assert str(caught.value) == f"{path}: low-level words"


def test_a_running_driver_is_detected(path: Path) -> None:
    assert not is_running(path)
    with Store.create(path):
        assert is_running(path)
        assert is_running(path.parent / ".." / path.parent.name / path.name)
    assert not is_running(path)
    run_python(KILLED, path, expected=9)
    assert path.with_name("study.db-wal").exists()
    assert not is_running(path)
