"""`harmonium solve` for functions and programs of one's own."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

COMMAND = [sys.executable, "-c", "from harmonium.cli import main; main()"]

MODULE = """
import time

def difference(bits):
    return float(bits[:6].sum() - bits[6:].sum())

def picky(bits):
    if bits[0]:
        raise ValueError("too much")
    return difference(bits)

def slow(bits):
    time.sleep(0.02)
    return difference(bits)

number = 3
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MODULE, "utf-8")
    return tmp_path


def call(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, "solve", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def solve(folder: Path, *arguments: str) -> dict[str, Any]:
    done = call(folder, *arguments, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


DIFFERENCE = ("mine:difference", "--length", "12")


def test_a_function_is_maximised_or_minimised(folder: Path) -> None:
    done = call(folder, *DIFFERENCE)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("mine:difference: 12 bits\n")
    assert done.stdout.endswith("best bits: 111111000000\n")
    lowest = solve(folder, *DIFFERENCE, "--minimize", "--target", "-6")
    assert (lowest["x"], lowest["fun"], lowest["stopped_by"]) == ("000000111111", -6.0, "optimum")


def test_constraints_and_known_solutions_are_kept_to(folder: Path) -> None:
    result = solve(
        folder,
        *DIFFERENCE,
        *("--subset-size", "3-4", "--fixed", "0=0,11=1", "--initial", "011100000001"),
    )
    assert (result["x"], result["fun"]) == ("011100000001", 2.0)
    exact = solve(folder, *DIFFERENCE, "--subset-size", "2", "--seed", "3")
    assert exact["x"].count("1") == 2


@pytest.mark.slow
def test_workers_change_nothing(folder: Path) -> None:
    slow = ("mine:slow", "--length", "12", "--model", "umda", "--max-evaluations", "150")
    one, two = solve(folder, *slow), solve(folder, *slow, "--workers", "2")
    assert (one["x"], one["nfev"]) == (two["x"], two["nfev"])


def test_a_program_answers_with_a_number(folder: Path) -> None:
    result = solve(folder, "--command", "expr {bits} % 97 + 1", "--length", "12", "--target", "97")
    assert int(result["x"]) % 97 + 1 == result["fun"] == 97


def test_a_report_is_written(folder: Path) -> None:
    done = call(folder, *DIFFERENCE, "--report", "run.html")
    assert (done.returncode, done.stderr) == (0, "report: run.html\n")
    assert "mine:difference" in (folder / "run.html").read_text("utf-8")


def test_a_failure_is_told_with_its_bits_and_the_best_so_far(folder: Path) -> None:
    done = call(folder, "mine:picky", "--length", "12")
    assert done.returncode == 2
    assert done.stderr.startswith(
        "harmonium: the function raised ValueError: too much, mine.py line 9 (row "
    )
    assert "; expected a finite number, or take --on-error worst to go on" in done.stderr
    assert done.stderr.count("\n") == 1
    result = solve(folder, "mine:picky", "--length", "8", "--on-error", "worst")
    assert (result["fun"], result["failures"]) == (5.0, 2**7)
    assert result["message"] == "every solution there is was tried; 128 evaluations failed"


@pytest.mark.slow
def test_a_killed_search_is_gone_on_with(folder: Path) -> None:
    options = ("--model", "umda", "--max-evaluations", "150")
    slow = ("mine:slow", "--length", "12", *options)
    undisturbed = solve(folder, *slow)
    with subprocess.Popen(
        [*COMMAND, "solve", *slow, "--checkpoint", "run.ckpt"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
    ) as process:
        deadline = time.monotonic() + 100
        while not (folder / "run.ckpt").exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
    again = call(folder, *slow, "--checkpoint", "run.ckpt")
    assert again.returncode == 2
    assert again.stderr == (
        "harmonium: run.ckpt: holds a search that has not ended; --resume run.ckpt goes on with "
        "it, or delete the file\n"
    )
    resumed = solve(folder, "mine:slow", "--resume", "run.ckpt")
    for field in ("x", "fun", "nfev", "requested", "best_at", "generations", "seed", "message"):
        assert resumed[field] == undisturbed[field]
    longer = solve(folder, "mine:slow", "--resume", "run.ckpt", "--max-evaluations", "200")
    assert longer["nfev"] == 200


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("mine:difference", "mine:difference: called with {}, it raised TypeError: "),
        ("mine.py:difference --length 5", "mine.py:difference: there is no module 'mine.py'; "),
        ("mine:number --length 5", "mine:number: mine has no function or class 'number'"),
        ("mine:difference --length 5 --runs 3", "--runs is for named problems, not for functions"),
        ("mine:difference --length 5 --patience 3", "--patience is for named problems, not for"),
        ("mine:difference --length 5 --timeout 3", "--timeout is for programs, with --command"),
        ("mine:difference --length 5 --model rbm --model boa", "--model is given twice; a functio"),
        ("mine:difference --length 5 --max-wall-seconds 0", "--max-wall-seconds is 0.0; expected "),
        ("mine:difference --length 5 --fixed 3:1", "--fixed is '3:1'; expected bits and values, "),
        ("mine:difference --length 5 --fixed 3=1,3=0", "--fixed is '3=1,3=0', which names a bit "),
        ("mine:difference --length 5 --subset-size few", "--subset-size is 'few'; expected a num"),
        ("mine:difference --length 5 --initial 012", "--initial is '012'; expected zeros and ones"),
        ("mine:difference --length 5 --initial 01", "initial: bits have shape (1, 2); expected "),
        ("mine:difference --length 5 --checkpoint mine.py", "mine.py: is no checkpoint of harmon"),
        ("mine:difference --resume mine.py", "mine.py: is no checkpoint of harmonium"),
        ("mine:difference --resume mine.py --seed 2", "--seed is for the start of a search; "),
        ("mine:difference --command x{bits} --length 5", "expected a function, module:function, o"),
        ("--length 5", "expected a function, module:function, or --command; neither is given"),
        ("--command x{bits}", "--command needs --length, the number of bits"),
        ("--command x --length 5", "--command 'x': write {bits} where the bits belong"),
        ("trap:length=10,order=5 --length 10", "'trap:length=10,order=5' is a named problem; "),
        ("onemax:length=10 --minimize", "--minimize is for functions and programs, with --length"),
        ("onemax:length=10 --target 5", "--target is for functions and programs, with --length"),
        ("onemax:length=10 --checkpoint a", "--checkpoint is for functions and programs, with"),
    ],
)
def test_what_cannot_be_gets_one_clear_line(arguments: str, message: str, folder: Path) -> None:
    done = call(folder, *arguments.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"harmonium: {message}")
    assert done.stderr.count("\n") == 1
