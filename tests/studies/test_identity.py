"""The file of a store: moved, linked, forked, or no file at all."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harmonium.studies.store import Store, StoreError, is_running
from tests.modules import write_module
from tests.studies.made import make_record, make_trial

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "study.db"


def count(path: Path) -> int:
    with Store.open(path) as store:
        return len(store.outcomes())


def test_the_folder_may_change(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    with Store.create(Path(path.name)) as store:
        monkeypatch.chdir("/")
        store.append(make_trial(1), make_record())
    assert count(path) == 1


def test_a_trial_that_closes_all_files_loses_nothing(tmp_path: Path) -> None:
    """In a process of its own, and with the number of a file that is used again."""
    closer = """
import os
class Problem:
    optimum = None
    def __init__(self, length):
        self.length = length
    def __call__(self, bits):
        if os.path.exists("close"):
            os.closerange(3, 100)
            self.files = [open(f"other{number}", "w") for number in range(20)]
        return bits.sum(axis=1)
"""
    program = f"""
import sys, harmonium as hm
family = hm.Family("{write_module(tmp_path, closer)}:Problem", sizes=[5], runs=int(sys.argv[1]))
study = hm.Study("s", [family], {{"umda": hm.EDA("umda", population=10)}}, hm.Runs())
try:
    study.run("study.db", engine="serial")
except ValueError as error:
    print(error)
"""

    def run(runs: int) -> str:
        words = [sys.executable, "-c", program, str(runs)]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    run(2)
    (tmp_path / "close").touch()
    said = run(4)
    assert said.startswith(f"{tmp_path / 'study.db'}: a trial has closed the files of this process")
    assert said.count("\n") == 1
    assert all((tmp_path / f"other{number}").stat().st_size == 0 for number in range(20))
    assert count(tmp_path / "study.db") == 2
    (tmp_path / "close").unlink()
    run(4)
    assert count(tmp_path / "study.db") == 4


MOVED = (
    "was moved, replaced or deleted while the study was running; a file that was moved has all "
    "trials: move it back and run again"
)


def test_a_store_that_is_moved_ends_the_driver_and_takes_all_trials_along(path: Path) -> None:
    other = path.with_name("other.db")
    store = Store.create(path)
    store.append(make_trial(1), make_record())
    path.rename(other)
    with pytest.raises(StoreError) as caught, store:
        store.append(make_trial(2), make_record())
    assert str(caught.value) == f"{path}: {MOVED}"
    assert count(other) == 2
    assert not path.exists()


def test_a_store_that_is_moved_after_the_last_trial_is_noticed(path: Path) -> None:
    other = path.with_name("other.db")
    store = Store.create(path)
    store.append(make_trial(1), make_record())
    path.rename(other)
    with pytest.raises(StoreError) as caught:
        store.close()
    assert str(caught.value) == f"{path}: {MOVED}"
    assert count(other) == 1


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_a_store_that_is_deleted_or_replaced_ends_the_driver(how: str, path: Path) -> None:
    store = Store.create(path)
    path.unlink()
    if how == "replaced":
        path.write_bytes(b"")
    with pytest.raises(StoreError, match="was moved, replaced or deleted"), store:
        store.append(make_trial(1), make_record())


def test_an_error_in_the_block_is_not_hidden_by_a_move(path: Path) -> None:
    store = Store.create(path)
    path.rename(path.with_name("other.db"))
    with pytest.raises(KeyError), store:
        raise KeyError


def test_a_store_moved_away_and_back_is_in_place(path: Path) -> None:
    other = path.with_name("other.db")
    with Store.create(path) as store:
        path.rename(other)
        other.rename(path)
        store.append(make_trial(1), make_record())
    assert count(path) == 1


def refuse_driver(path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        Store.create(path)
    assert str(caught.value) == (
        f"{path}: another process is running a study on this store; wait until it ends"
    )


def test_a_second_driver_is_refused_by_a_hard_link_and_by_a_new_name(path: Path) -> None:
    folder = path.parent / "folder"
    folder.mkdir()
    link, moved = folder / "link.db", path.with_name("moved.db")
    store = Store.create(path)
    os.link(path, link)
    refuse_driver(link)
    assert is_running(link)
    path.rename(moved)
    refuse_driver(moved)
    moved.rename(path)
    store.close()
    assert not is_running(link)
    link.unlink()
    with Store.create(path):
        pass


def test_another_process_is_refused_by_a_hard_link(path: Path) -> None:
    link = path.with_name("link.db")
    program = (
        "import sys\nfrom pathlib import Path\nfrom harmonium.studies.store import Store\n"
        "Store.create(Path(sys.argv[1]))\n"
    )
    with Store.create(path):
        os.link(path, link)
        words = [sys.executable, "-c", program, str(link)]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1
    assert "another process is running a study on this store" in done.stderr


def test_memory_is_no_place_for_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError) as caught:
        Store.create(Path(":memory:"))
    assert str(caught.value) == ":memory:: would keep nothing; expected the name of a file"
    with Store.create(Path("file:study?mode=memory")) as store:  # a name like any other
        store.append(make_trial(1), make_record())
    assert count(Path("file:study?mode=memory")) == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_a_pipe_is_no_store(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(StoreError, match="is not a regular file; expected the file of a store"):
        Store.create(path)


def test_a_new_store_does_not_take_the_log_of_one_that_was_moved_away(path: Path) -> None:
    log = path.with_name("study.db-wal")
    log.write_bytes(b"of another store")
    with pytest.raises(StoreError) as caught:
        Store.create(path)
    assert str(caught.value) == (
        f"{log}: is the log of a store that was moved away; move it there first"
    )
    assert not path.exists()


@needs_fork
def test_a_forked_process_writes_nothing_and_releases_nothing(path: Path) -> None:
    with Store.create(path) as store:
        store.append(make_trial(1), make_record())
        child = os.fork()
        if child == 0:
            code = 0
            try:
                store.append(make_trial(2), make_record())
            except StoreError as error:
                code = 3 if "was opened by another process" in str(error) else 4
            finally:
                store.close()
                os._exit(code)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 3
        refuse_driver(path)
        store.append(make_trial(3), make_record())
    assert count(path) == 2
