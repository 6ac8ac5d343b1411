"""A custom algorithm, a (1+1) EA in a module of the user, through every command that runs one."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import call_here
from tests.search.one_plus_one import BLOCK, PAGE

EA = "ea:OnePlusOne"
MORE = """
@dataclass(frozen=True)
class Broken(hm.Algorithm):
    def start(self, space, seed):
        raise ValueError("not written yet")


def count(bits):
    return int(bits.sum())
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    documented = BLOCK.findall(PAGE.read_text("utf-8"))[0]
    (tmp_path / "ea.py").write_text(documented + MORE, "utf-8")
    return tmp_path


def read(folder: Path, *arguments: str) -> list[dict[str, Any]]:
    done = call_here(*arguments, "--json", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_solve_compares_it_with_an_eda(folder: Path) -> None:
    solve = ("solve", "onemax:length=30", "--algorithm")
    mine, theirs = read(folder, *solve, f"{EA}:rate=0.5", "--model", "umda")
    assert mine["algorithm"] == f"{EA}:rate=0.5"
    assert mine["label"] == "OnePlusOne:rate=0.5"
    assert theirs["label"] == "umda"
    assert (mine["solved"], mine["generations"], mine["best_found_by"]) == (True, None, None)
    assert mine["best_found_at"] == mine["evaluations"]
    shown = call_here(*solve, EA, "--runs", "2", cwd=folder).stdout
    head = "algorithm seed best evaluations CPU s ended by"
    assert head in " ".join(shown.split())  # no column of which it has nothing
    assert re.search("OnePlusOne +2 of 2 ", shown)


def test_optimize_continues_from_its_checkpoint(folder: Path) -> None:
    search = ("optimize", "ea:count", "--length", "40", "--algorithm", EA)
    (whole,) = read(folder, *search, "--max-calls", "400")
    (first,) = read(folder, *search, "--max-calls", "50", "--checkpoint", "ea.ckpt")
    assert (first["calls"], first["stopped_by"]) == (50, "calls")
    assert first["fun"] < 40
    (resumed,) = read(folder, *search[:2], "--resume", "ea.ckpt", "--max-calls", "400")
    for times in ("seconds", "cpu_seconds"):
        del whole[times], resumed[times]
    assert resumed == whole
    assert resumed["algorithm"] == EA


@pytest.mark.parametrize("command", ["solve onemax:length=9", "optimize ea:count --length 9"])
def test_an_error_of_the_algorithm_keeps_its_traceback(command: str, folder: Path) -> None:
    with pytest.raises(ValueError, match="not written yet") as caught:
        call_here(*command.split(), "--algorithm", "ea:Broken", cwd=folder)
    assert Path(caught.traceback[-1].path).name == "ea.py"
