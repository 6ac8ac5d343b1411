"""Studies and their stores in real files, for the tests of `harmonium study`."""

import json
import sqlite3
import subprocess
from contextlib import closing, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.cli.commands import call_here, wait_until

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

TINY = """
name = "tiny"
models = ["umda"]
[[problems]]
problem = "onemax"
sizes = [10]
runs = 2
"""

BROKEN = """
class Broken:
    def __init__(self, length):
        self.length, self.optimum = length, float(length)

    def __call__(self, bits):
        raise ValueError("no fuel")
"""

# A slow OneMax. It notes in a diary which process begins a trial. While there is a file `hold` it
# waits, and says so by a file of its own. Workers make it anew for every trial.
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


class Small(NamedTuple):
    """The small study, run in series."""

    file: Path
    store: Path
    done: subprocess.CompletedProcess[str]
    summary: list[dict[str, Any]]


def run_small(folder: Path) -> Small:
    file, store = folder / "small.toml", folder / "serial.db"
    file.write_text(SMALL, encoding="utf-8")
    done = call_here("study", "run", str(file), "--store", str(store), "--engine", "serial")
    assert done.returncode == 0, done.stderr
    return Small(file, store, done, summarize(store))


def read_trials(store: Path) -> dict[str, dict[str, Any]]:
    """Return the trials of a store by key, in the order in which they ended."""
    if not store.exists():
        return {}
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=60)) as connection:
        connection.row_factory = sqlite3.Row
        with suppress(sqlite3.OperationalError):  # the tables are not made yet
            rows = connection.execute("SELECT * FROM trials ORDER BY rowid")
            return {row["key"]: dict(row) for row in rows}
    return {}


def check_integrity(store: Path) -> str:
    with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])


def read_starts(store: Path) -> dict[str, str]:
    return {key: row["started"] for key, row in read_trials(store).items()}


def export(store: Path, *arguments: str) -> list[dict[str, Any]]:
    done = call_here("study", "export", str(store), "--format", "json", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


def summarize(store: Path) -> list[dict[str, Any]]:
    """Return the summary of a store, without times and memory."""
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
    """Make all workers wait in the middle of a trial; trials that ended before are stored."""
    (folder / "hold").touch()
    wait_until(lambda: len(list(folder.glob("held by *"))) == workers, "all workers wait")


def release(folder: Path) -> None:
    (folder / "hold").unlink()
