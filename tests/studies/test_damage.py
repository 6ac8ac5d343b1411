"""Stores with damaged rows: readers name, count and skip them, drivers run their trials again."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from harmonium.studies import Study, parse_study
from harmonium.studies.driver import Driver, bind, read_rows, read_walks
from harmonium.studies.engines import open_engine
from harmonium.studies.store import Store, StoreError
from harmonium.studies.summary import list_traces, read_trajectories
from harmonium.studies.trial import Outcome
from tests.studies.made import make_outcome, make_record, make_trial

TRIALS = 12

STUDY = """
name = "damaged"
algorithms = ["eda:model=umda,population=20"]
plan = "runs"
[[problems]]
problem = "onemax"
sizes = [6, 8]
runs = 3
"""


def expect(seed: int) -> Outcome:
    return make_outcome(seed % 2 == 0, evaluations=100 + seed)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "study.db"
    with Store.create(path) as store:
        store.note(name="made", study="{}", text="", folder="")
        for seed in range(TRIALS):
            store.append(make_trial(seed), make_record(expect(seed)))
    return path


def edit(path: Path, *statements: str) -> None:
    """Change a store as a user might with the program sqlite3."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def read_everything(store: Store) -> dict[str, Outcome]:
    """Read all that can be read; return the outcomes."""
    outcomes = store.outcomes()
    assert [row.key for row in store.rows()] == list(outcomes)
    assert store.overview().trials == len(outcomes)
    store.version()
    store.describe()
    for key in outcomes:
        store.trace(key)
        assert store.result(key)
    return outcomes


ROW_EDITS = {
    "result": "UPDATE trials SET result = replace(result, 'true', 'false') WHERE rowid = 3",
    "empty": "UPDATE trials SET result = '{}' WHERE rowid = 3",
    "json": "UPDATE trials SET result = 'x' WHERE rowid = 3",
    "status": "UPDATE trials SET status = 'failed' WHERE rowid = 3",
    "seed": "UPDATE trials SET seed = seed + 100 WHERE rowid = 3",
    "seed type": "UPDATE trials SET seed = 'two' WHERE rowid = 3",
    "key": "UPDATE trials SET key = 'none' WHERE rowid = 3",
    "key type": "UPDATE trials SET key = CAST(key AS BLOB) WHERE rowid = 3",
    "bytes": "UPDATE trials SET error = x'ff' WHERE rowid = 3",
    "no text": "UPDATE trials SET host = CAST(x'fffe' AS TEXT) WHERE rowid = 3",
    "seconds": "UPDATE trials SET wall_seconds = 'long' WHERE rowid = 3",
    "memory": "UPDATE trials SET peak_memory = 7 WHERE rowid = 3",
    "frame": "UPDATE trials SET frame = 99 WHERE rowid = 3",
    "environment": "UPDATE trials SET environment = 99 WHERE rowid = 3",
    "checksum": "UPDATE trials SET checksum = checksum + 1 WHERE rowid = 3",
}


@pytest.mark.parametrize("statement", ROW_EDITS.values(), ids=ROW_EDITS)
def test_an_edited_row_is_named_and_left_out_and_can_be_run_again(
    statement: str, path: Path
) -> None:
    edit(path, statement)
    with Store.open(path) as store:
        assert store.damage == ""  # nothing is read yet
        outcomes = read_everything(store)
        assert store.damage == "1 row is damaged and left out (trials 3)"
        assert store.count_intact() == TRIALS - 1
    assert outcomes == {make_trial(seed).key: expect(seed) for seed in range(TRIALS) if seed != 2}
    repair(path, "trials 3")


def repair(path: Path, name: str) -> None:
    """Run again what is damaged, by hand; the store is as before, and sound."""
    with Store.create(path) as store:
        assert name in store.remove_damaged()
        for seed in range(TRIALS):
            if make_trial(seed).key not in store.outcomes():
                store.append(make_trial(seed), make_record(expect(seed)))
        assert read_everything(store) == {
            make_trial(seed).key: expect(seed) for seed in range(TRIALS)
        }
        assert store.remove_damaged() == store.damage == ""
        assert all(store.trace(make_trial(seed).key) for seed in range(TRIALS))
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.mark.parametrize(
    "statement",
    ["UPDATE frames SET spec = '{}'", "DELETE FROM frames", "DELETE FROM environments"],
)
def test_rows_whose_frame_or_environment_is_damaged_are_left_out(
    statement: str, path: Path
) -> None:
    edit(path, statement)
    with Store.open(path) as store:
        assert read_everything(store) == {}
        names = ", ".join(f"trials {number}" for number in range(1, 11))
        assert store.damage == f"12 rows are damaged and left out ({names}, …)"
    repair(path, "12 rows")


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("UPDATE traces SET columns = x'00' WHERE rowid = 3", "traces 3"),
        ("UPDATE traces SET columns = 'text' WHERE rowid = 3", "traces 3"),
        ("UPDATE traces SET key = 'none' WHERE rowid = 3", "traces 3"),
        ("DELETE FROM traces WHERE rowid = 3", "trials 3"),
    ],
)
def test_a_trial_whose_trace_is_lost_is_run_again(statement: str, name: str, path: Path) -> None:
    edit(path, statement)
    with Store.open(path) as store:
        assert len(read_everything(store)) == TRIALS
        assert store.trace(make_trial(2).key) == {}
    repair(path, name)


def test_flipped_bits_change_no_outcome_and_raise_nothing_but_one_line(path: Path) -> None:
    whole = path.read_bytes()
    expected = {make_trial(seed).key: expect(seed) for seed in range(TRIALS)}
    draws = random.Random(13)  # noqa: S311  # to be repeated
    lines: list[str] = []
    for _ in range(200):
        flipped = bytearray(whole)
        flipped[draws.randrange(len(whole))] ^= 1 << draws.randrange(8)
        path.write_bytes(flipped)
        try:
            with Store.open(path) as store:
                outcomes = read_everything(store)
                assert outcomes.items() <= expected.items()
                assert outcomes == expected or store.damage
        except StoreError as error:
            lines.append(str(error))
    assert 0 < len(lines) < 50
    assert all(line.startswith(f"{path}: ") and "\n" not in line for line in lines)


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return parse_study(STUDY, "damaged.toml", tmp_path)


def run(study: Study, path: Path) -> Driver:
    with Store.create(path) as store, open_engine("serial", None, None) as engine:
        bind(study, store)
        driver = Driver(study, store)
        driver.run(engine)
    return driver


def test_a_driver_runs_damaged_trials_again_and_no_others(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "run.db"
    first = run(study, path)
    assert (first.ran, first.reused, first.damage) == (6, 0, "")
    with Store.open(path) as store:
        before = store.outcomes()
        starts = {row.key: row.started for row in store.rows()}
    edit(path, "UPDATE trials SET result = replace(result, 'true', 'false') WHERE rowid IN (2, 5)")
    again = run(study, path)
    assert (again.ran, again.reused) == (2, 4)
    assert again.damage == "2 rows are damaged and left out (trials 2, trials 5)"
    with Store.open(path) as store:
        after = {row.key: row.started for row in store.rows()}
        assert {key: one.figures.evaluations for key, one in store.outcomes().items()} == {
            key: one.figures.evaluations for key, one in before.items()
        }
    assert sum(starts[key] == after[key] for key in starts) == 4
    assert run(study, path).damage == ""


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE study SET value = '{' WHERE field = 'study'",
        "UPDATE study SET field = 'other' WHERE field = 'folder'",
        "DELETE FROM study WHERE field = 'text'",
    ],
)
def test_a_damaged_description_of_the_study_is_written_anew(
    statement: str, study: Study, tmp_path: Path
) -> None:
    path = tmp_path / "run.db"
    run(study, path)
    edit(path, statement)
    with Store.open(path) as store, pytest.raises(StoreError) as caught:
        read_rows(store)
    assert str(caught.value) == (
        f"{path}: what it says of its study is damaged; run the study again"
    )
    assert run(study, path).ran == 0
    with Store.open(path) as store:
        assert len(read_rows(store)[1]) == 2


def test_a_damaged_schema_of_frames_is_named(path: Path) -> None:
    data = path.read_bytes()
    whole, damaged = b"frames (id INTEGER PRIMARY KEY", b"frames (id INTEGER PPIMARY KEY"
    assert data.count(whole) == 1
    path.write_bytes(data.replace(whole, damaged))
    with Store.create(path) as store, pytest.raises(StoreError) as caught:
        store.append(make_trial(99), make_record(expect(99)))
    assert str(caught.value).startswith(f"{path}: ")
    assert "damaged" in str(caught.value)


def test_a_row_that_breaks_a_constraint_is_run_again(path: Path) -> None:
    """A flipped bit in a status: SQLite finds the file not in order, because of the row alone."""
    edit(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(path.read_bytes())
    content[content.index(b"done{")] ^= 1
    path.write_bytes(content)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]
    with Store.open(path) as store:
        assert len(read_everything(store)) == TRIALS - 1
        (number,) = [int(word) for word in store.damage.strip(")").split() if word.isdigit()][1:]
    repair(path, f"trials {number}")


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("UPDATE traces SET columns = x'00' WHERE rowid = 2", "traces 2"),
        ("DELETE FROM traces WHERE rowid = 2", "the trace of "),
        ("UPDATE trials SET key = CAST(key AS BLOB) WHERE rowid = 2", "trials 2"),
    ],
)
def test_a_run_without_its_trace_is_in_no_table(
    statement: str, name: str, study: Study, tmp_path: Path
) -> None:
    path = tmp_path / "study.db"
    run(study, path)
    edit(path, statement)
    with Store.open(path) as store:
        _, walks = read_walks(store)
        runs = list(read_trajectories(walks, store))
        # A damaged trial leaves its row undone, and a row that is not done has no runs.
        assert [run.size for run in runs] == ([8] * 3 if "trials" in name else [6] * 2 + [8] * 3)
        list(list_traces(store))
        assert store.damage.startswith(f"1 row is damaged and left out ({name}")
