"""Outputs: never written over what is read, nor over each other, nor into another folder."""

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.cli.commands import assert_refused, call_here
from tests.modules import write_module
from tests.reports.stores import ONE_SIZE, fill_store


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill_store(tmp_path_factory.mktemp("outputs") / "one.db", ONE_SIZE)


@pytest.fixture
def store(filled: Path, tmp_path: Path) -> Path:
    """Return a store in its own folder, with a symbolic link to it."""
    path = tmp_path / "one.db"
    shutil.copy(filled, path)
    (tmp_path / "symbolic").symlink_to(path)
    return path


@pytest.mark.parametrize("command", ["report", "study export"])
@pytest.mark.parametrize(
    ("read", "written", "what"),
    [
        ("one.db", "one.db", "the store itself"),
        ("one.db", "symbolic", "the store itself"),
        ("symbolic", "one.db", "the store itself"),
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
    ],
)
def test_two_outputs_are_two_files(options: str, message: str, tmp_path: Path) -> None:
    words = f"optimize numpy:sum --length 8 --max-calls 20 {options}"
    assert_refused(call_here(*words.split(), cwd=tmp_path), f"harmonium: {message}; choose another")
    assert os.listdir(tmp_path) == []


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
    assert (tmp_path / "run.ckpt").is_file()
    assert (tmp_path / "run.html").is_file()
    assert os.listdir(other) == ["run.ckpt"]
    assert (other / "run.ckpt").read_text() == "precious"
    options = "--resume run.ckpt --max-calls 70 --log more.log --json"
    resumed = call_here("optimize", function, *options.split(), cwd=tmp_path)
    assert json.loads(resumed.stdout)["calls"] == 70
    assert (tmp_path / "more.log").is_file()
    assert os.listdir(other) == ["run.ckpt"]
