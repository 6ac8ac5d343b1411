"""Outputs: never written over what is read, nor over each other, nor into another folder."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import harmonium as hm
from harmonium.state import Snapshot
from tests.cli.commands import assert_refused, call_here
from tests.modules import write_module
from tests.reports.stores import ONE_SIZE, fill_store


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill_store(tmp_path_factory.mktemp("outputs") / "one.db", ONE_SIZE)


@pytest.fixture
def store(filled: Path, tmp_path: Path) -> Path:
    """Return a store in its own folder, with a symbolic and a hard link to it."""
    path = tmp_path / "one.db"
    shutil.copy(filled, path)
    (tmp_path / "symbolic").symlink_to(path)
    (tmp_path / "hard").hardlink_to(path)
    return path


@pytest.mark.parametrize("command", ["report", "study export"])
@pytest.mark.parametrize(
    ("read", "written", "what"),
    [
        ("one.db", "one.db", "the store itself"),
        ("one.db", "symbolic", "the store itself"),
        ("symbolic", "one.db", "the store itself"),
        ("one.db", "hard", "the store itself"),
        ("one.db", "one.db-wal", "a part of the store"),
        ("symbolic", "one.db-wal", "a part of the store"),
    ],
)
def test_a_store_is_not_written_over(
    command: str, read: str, written: str, what: str, store: Path, tmp_path: Path
) -> None:
    before = store.read_bytes()
    done = call_here(*command.split(), read, "-o", written, cwd=tmp_path)
    assert done.returncode == 2
    assert_refused(done, f"harmonium: {written}: is {what}; choose another file")
    assert store.read_bytes() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--checkpoint same --report same", "checkpoint is same, the same file as report"),
        ("--checkpoint same --log same", "checkpoint is same, the same file as log"),
        ("--log same --report ./same", "log is same, the same file as report"),
        (
            "--checkpoint same.part --report same",
            "checkpoint is same.part, the same file as report",
        ),
    ],
)
def test_two_outputs_are_two_files(options: str, message: str, tmp_path: Path) -> None:
    words = f"optimize numpy:sum --length 8 --max-calls 20 {options}"
    assert_refused(call_here(*words.split(), cwd=tmp_path), f"harmonium: {message}; choose another")
    assert os.listdir(tmp_path) == []


def test_a_checkpoint_that_is_resumed_is_no_log_and_no_page(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    hm.maximize(np.sum, 8, seed=1, max_calls=5, checkpoint=path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"checkpoint is .*, the same file as log; choose another"):
        hm.resume(path, np.sum, log=path)
    words = "optimize numpy:sum --resume run.ckpt --report run.ckpt"
    assert_refused(call_here(*words.split(), cwd=tmp_path), "resume is run.ckpt, the same file as")
    assert path.read_bytes() == before
    with pytest.raises(ValueError, match="checkpoint is a, the same file as log; choose another"):
        hm.maximize(np.sum, 8, checkpoint="a", log="a")


def test_the_page_of_a_run_is_not_the_file_of_its_problem(tmp_path: Path) -> None:
    file = tmp_path / "two.cnf"
    file.write_text("p cnf 2 2\n1 -2 0\n2 0\n")
    done = call_here("solve", "two.cnf", "--report", "two.cnf", cwd=tmp_path)
    assert_refused(done, "--report is two.cnf, the file of the problem; choose another")
    assert file.read_text().startswith("p cnf")


WANDERER = """
import os

def value(bits):
    os.chdir("elsewhere") if os.path.isdir("elsewhere") else None
    return float(bits.sum())
"""


def test_a_function_that_changes_the_folder_moves_no_file(tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "run.ckpt").write_text("precious")
    function = f"{write_module(tmp_path, WANDERER)}:value"
    options = "--length 12 --max-calls 60 --checkpoint run.ckpt --log run.log --report run.html"
    done = call_here("optimize", function, *options.split(), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "report: run.html\n")
    assert Snapshot.load(tmp_path / "run.ckpt").facts["ended"] == "calls"
    assert (tmp_path / "run.html").is_file()
    assert os.listdir(other) == ["run.ckpt"]
    assert (other / "run.ckpt").read_text() == "precious"
    options = "--resume run.ckpt --max-calls 70 --log more.log"
    assert call_here("optimize", function, *options.split(), cwd=tmp_path).returncode == 0
    assert Snapshot.load(tmp_path / "run.ckpt").facts["counts"]["calls"] == 70
    assert (tmp_path / "more.log").is_file()
    assert os.listdir(other) == ["run.ckpt"]


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs /proc")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("study status /proc/self/mem", "/proc/self/mem: cannot be read: Input/output error"),
        ("study status /dev/zero", "/dev/zero: is not a regular file; expected the file of a st"),
        ("study status pipe", "pipe: is not a regular file; expected the file of a store"),
        ("study status folder", "folder: is a folder; expected the file of a store"),
        ("generate maxsat:length=5,clauses=9 -o /proc/x", "/proc/x: its folder takes no files"),
        (
            "optimize numpy:sum --length 8 --max-calls 9 --report /proc/x",
            "/proc/x: its folder takes no files",
        ),
    ],
)
def test_a_message_is_about_the_path_that_was_given(
    words: str, message: str, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    done = call_here(*words.split(), cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith(f"harmonium: {message}")


@pytest.mark.parametrize("kind", ["GeneratorExit", "BaseException"])
def test_whatever_a_function_raises_the_best_is_shown(kind: str, tmp_path: Path) -> None:
    (tmp_path / "odd.py").write_text(
        "calls = 0\n\ndef function(x):\n    global calls\n    calls += 1\n    if calls > 20:\n"
        f"        raise {kind}('a\\x1b[31mb')\n    return int(x.sum())\n",
        "utf-8",
    )
    done = call_here("optimize", "odd:function", "--length", "12", cwd=tmp_path)
    assert done.returncode == 2
    assert f"raised {kind}: a\\x1b[31mb, odd.py line 7" in done.stderr
    assert "best" in done.stdout
