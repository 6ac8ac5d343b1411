"""`harmonium optimize`: custom functions and programs."""

import json
import os
import re
import signal
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import pytest

from harmonium.cli import execute
from tests.cli.commands import (
    Command,
    FullDisk,
    assert_refused,
    call,
    call_here,
    running,
    wait_until,
    watch_terminal,
)
from tests.modules import write_module

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

def rows(bits):
    return bits.sum(axis=1)

def hopeless(bits):
    return None
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(MODULE, "utf-8")
    return tmp_path


def optimize(folder: Path, *arguments: str, run: Command = call_here) -> dict[str, Any]:
    done = run("optimize", *arguments, "--json", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


DIFFERENCE = ("mine:difference", "--length", "12")


def test_a_function_is_maximised_or_minimised(folder: Path) -> None:
    done = call_here("optimize", *DIFFERENCE, cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("mine:difference: 12 bits\n")
    assert "algorithm seed best evaluations calls CPU s" in " ".join(done.stdout.split())
    assert re.search(r"^ *structure +1 +6 ", done.stdout, re.M)
    assert done.stdout.endswith("best bits: 111111000000\n")
    assert max(map(len, done.stdout.splitlines())) <= 80
    lowest = optimize(folder, *DIFFERENCE, "--minimize", "--target", "-6")
    assert (lowest["x"], lowest["fun"], lowest["stopped_by"]) == ("000000111111", -6.0, "optimum")
    assert lowest["minimized"] is True
    shown = call_here("optimize", *DIFFERENCE, "--minimize", "--target", "-6", cwd=folder).stdout
    assert shown.startswith("mine:difference: 12 bits, target -6\n")


def test_constraints_and_known_solutions_are_kept_to(folder: Path) -> None:
    result = optimize(
        folder,
        *DIFFERENCE,
        *("--subset-size", "3-4", "--fixed", "0=0,11=1", "--initial", "011100000001"),
    )
    assert (result["x"], result["fun"]) == ("011100000001", 2.0)
    exact = optimize(folder, *DIFFERENCE, "--subset-size", "2", "--seed", "3")
    assert exact["x"].count("1") == 2
    subset = ("--subset-size", "2", "--model", "umda")
    shown = call_here("optimize", *DIFFERENCE, *subset, cwd=folder).stdout
    assert re.search(r"; [\d,]+ rows were repaired$", shown, re.M)


def test_model_population_and_algorithm_are_chosen(folder: Path) -> None:
    few = ("--max-calls", "100")
    model = optimize(folder, *DIFFERENCE, "--model", "umda", "--population", "40", *few)
    assert model["algorithm"].startswith("eda:model=umda,population=40")
    text = "eda:model=(boa:max_parents=2),population=40,replacement=rtr"
    whole = optimize(folder, *DIFFERENCE, "--algorithm", text, *few)
    assert whole["algorithm"] == text


def test_evaluations_and_calls_have_budgets_of_their_own(folder: Path) -> None:
    umda = (*DIFFERENCE, "--model", "umda")
    called = optimize(folder, *umda, "--max-calls", "100")
    assert (called["calls"], called["stopped_by"]) == (100, "calls")
    assert called["evaluations"] > 100
    asked = optimize(folder, *umda, "--max-evaluations", "100")
    assert (asked["evaluations"], asked["stopped_by"]) == (100, "evaluations")
    uncached = optimize(folder, *umda, "--max-evaluations", "300", "--no-cache")
    assert uncached["calls"] == uncached["evaluations"] == 300
    short = optimize(folder, *umda, "--no-cache", "--stagnation", "0.01")
    assert (short["stopped_by"], short["evaluations"] < 1000) == ("stagnation", True)


@pytest.mark.slow
def test_workers_change_nothing(folder: Path) -> None:
    slow = ("mine:slow", "--length", "12", "--model", "umda", "--max-calls", "150")
    one, two = optimize(folder, *slow), optimize(folder, *slow, "--workers", "2", run=call)
    assert (one["x"], one["calls"]) == (two["x"], two["calls"])


def test_a_program_answers_with_a_number(folder: Path) -> None:
    program = ("--command", "expr {bits} % 97 + 1", "--length", "12", "--target", "97")
    result = optimize(folder, *program)
    assert int(result["x"]) % 97 + 1 == result["fun"] == 97


def test_a_failure_is_told_with_its_bits_and_the_best_so_far(folder: Path) -> None:
    done = call_here("optimize", "mine:picky", "--length", "12", "--initial", "0" * 12, cwd=folder)
    assert done.returncode == 2
    assert re.fullmatch(
        r"harmonium: the function raised ValueError: too much, mine\.py line 9 \(row \d+( of \d+)?,"
        r" the bits 1[01]{11}\); expected a finite number; use --on-error worst to continue\n",
        done.stderr,
    )
    assert "the function failed; this is the best found so far\n" in done.stdout
    assert re.search(r"^best bits: 0[01]{11}$", done.stdout, re.M)
    lenient = ("--on-error", "worst", "--model", "boa")
    result = optimize(folder, "mine:picky", "--length", "8", *lenient)
    assert (result["fun"], result["failures"]) == (5.0, 2**7)
    assert result["message"] == "every valid solution was evaluated; 128 evaluations failed"


def test_a_function_that_fails_at_once_may_want_all_rows(folder: Path) -> None:
    done = call_here("optimize", "mine:rows", "--length", "12", cwd=folder)
    assert_refused(done, "; use --batch if the function takes all rows at once")
    assert "--on-error" not in done.stderr
    program = call_here("optimize", "--command", "false {bits}", "--length", "5", cwd=folder)
    assert_refused(program, "ended with code 1: ")
    assert program.stderr.endswith("; use --on-error worst to continue\n")


def test_an_unfinished_checkpoint_is_continued_not_replaced(folder: Path) -> None:
    search = ("mine:slow", "--length", "12", "--model", "umda", "--checkpoint", "run.ckpt")
    with running(folder, "optimize", *search) as process:
        wait_until((folder / "run.ckpt").exists, "a checkpoint is saved")
        process.send_signal(signal.SIGINT)
        shown, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (1, "")
    assert "interrupted; this is the best found so far\n" in shown
    before = (folder / "run.ckpt").read_bytes()
    assert_refused(
        call_here("optimize", *search, cwd=folder),
        "harmonium: run.ckpt: holds a search that has not ended; continue with --resume run.ckpt, "
        "delete the file, or choose another\n",
    )
    assert (folder / "run.ckpt").read_bytes() == before


def test_an_interrupt_before_the_first_value_is_one_line(tmp_path: Path) -> None:
    module = """
import pathlib, time

def stuck(bits):
    pathlib.Path("called").touch()
    time.sleep(60)
"""
    (tmp_path / "waiting.py").write_text(module, "utf-8")
    with running(tmp_path, "optimize", "waiting:stuck", "--length", "8") as process:
        wait_until((tmp_path / "called").exists, "the function is called")
        process.send_signal(signal.SIGINT)
        shown, told = process.communicate(timeout=30)
    assert (process.returncode, shown, told) == (1, "", "harmonium: interrupted\n")


def test_a_resumed_program_keeps_its_time_limit(folder: Path) -> None:
    script = "test -e slow && sleep 60 || echo $1 | tr -d 0 | wc -m"
    (folder / "count").write_text(script, "utf-8")
    program = ("--command", "sh count {bits}")
    start = ("--length", "12", "--timeout", "5", "--max-calls", "20", "--checkpoint", "run.ckpt")
    optimize(folder, *program, *start)
    (folder / "slow").touch()
    done = call_here("optimize", *program, "--resume", "run.ckpt", cwd=folder)
    assert_refused(done, "sh took longer than 5 s")


def test_a_terminal_sees_a_live_line_unless_it_is_not_wanted(folder: Path) -> None:
    slow = ("optimize", "mine:slow", "--length", "12", "--model", "umda", "--max-calls", "60")
    shown = watch_terminal(folder, *slow, columns=150)
    assert re.search(r"best -?\d · \d+ of 60 calls · at most (\d+|< 1) s left · ", shown)
    quiet = watch_terminal(folder, *slow, "--no-progress")
    assert quiet == ""


def test_noise_and_plain_lines(tmp_path: Path) -> None:
    search = ("optimize", "numpy:sum", "--length", "8", "--max-calls", "200", "--json")
    done = call_here(*search, "--noise", "--progress-lines", cwd=tmp_path)
    result = json.loads(done.stdout)
    assert (result["noisy"], result["fun"], result["fun_error"]) == (True, 8.0, 0.0)
    assert result["evaluations"] < result["calls"] <= 200
    assert result["solutions"][0]["x"] == "1" * 8
    assert " of 200 calls · " in done.stderr.partition("\n")[0]


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
    assert function in (tmp_path / "run.html").read_text("utf-8")
    assert os.listdir(other) == ["run.ckpt"]
    assert (other / "run.ckpt").read_text() == "precious"
    options = "--resume run.ckpt --max-calls 70 --log more.log --json"
    resumed = call_here("optimize", function, *options.split(), cwd=tmp_path)
    assert json.loads(resumed.stdout)["calls"] == 70
    assert (tmp_path / "more.log").is_file()
    assert os.listdir(other) == ["run.ckpt"]


def test_messages_that_cannot_be_written_are_dropped(capsys: pytest.CaptureFixture[str]) -> None:
    search = "optimize numpy:sum --length 8 --max-calls 50 --progress-lines --json"
    with redirect_stderr(FullDisk()):
        assert execute(search.split()) == 0
    assert json.loads(capsys.readouterr().out)["calls"] == 50
