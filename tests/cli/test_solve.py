"""`harmonium solve` as a process: what it prints, and its exit codes."""

import json
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.commands import COMMAND, assert_refused, call, call_here, running, watch_terminal

QUICK = ("onemax:length=20", "--model", "umda", "--population", "100")


def solve(*arguments: str) -> list[dict[str, Any]]:
    done = call_here("solve", *arguments, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_json_has_one_object_a_run_with_every_field() -> None:
    runs = solve("nk:length=12,k=2,instance=3", "--population", "200", "--runs", "2", "--seed", "7")
    assert [run["seed"] for run in runs] == [7, 8]
    run = runs[0]
    assert list(run) == [
        *(
            "x",
            "fun",
            "noisy",
            "fun_error",
            "solutions",
            "success",
            "message",
            "stopped_by",
            "problem",
            "algorithm",
            "label",
            "seed",
        ),
        *("minimized", "solved", "optimum", "evaluations", "calls", "unique_evaluations"),
        *("best_found_at", "best_found_by", "generations", "failures", "repairs", "cpu_seconds"),
        *("seconds", "learned"),
    ]
    assert run["problem"] == "nk:length=12,k=2,instance=3"
    assert run["algorithm"] == "eda:model=rbm,population=200,replacement=rtr"
    assert (run["label"], run["best_found_by"]) == ("rbm", 200)
    assert run["solved"] is True
    assert run["fun"] == run["optimum"]
    assert run["calls"] == run["evaluations"]
    assert re.fullmatch("[01]{12}", run["x"])
    assert list(run["cpu_seconds"]) == ["total", "fitness", "selection", "building", "sampling"]
    phases = dict(run["cpu_seconds"])
    assert phases.pop("total") == pytest.approx(sum(phases.values()))


def test_algorithms_are_compared_in_a_table() -> None:
    done = call_here("solve", *QUICK, "--model", "boa", "--runs", "3")
    assert done.returncode == 0
    assert done.stdout.startswith("onemax:length=20: 20 bits, optimum 20\n")
    heads = re.findall(r"^ *algorithm (.*)", done.stdout, re.M)
    assert [head.split() for head in heads] == [
        ["seed", "population", "best", "evaluations", "generations", "CPU", "s", "ended", "by"],
        ["solved", "evaluations", "CPU", "s", "mostly"],
    ]
    assert re.search(r"umda +3 of 3", done.stdout)
    assert re.search(r"boa +\d of 3", done.stdout)
    assert "umda: eda:model=umda,population=100,replacement=keep-parents\n" in done.stdout
    assert "best bits" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("given", "label"),
    [((), "structure"), (("--population", "40"), "rbm"), (("--model", "umda"), "umda")],
)
def test_the_default_is_that_of_maximize_unless_an_eda_is_meant(
    given: tuple[str, ...], label: str
) -> None:
    (run,) = solve("onemax:length=12", "--max-evaluations", "400", *given)
    assert run["label"] == label


def test_stopping_rules_are_taken_from_the_command_line() -> None:
    trap = ("trap:length=60,order=5", "--model", "umda")
    (run,) = solve(*trap, "--max-evaluations", "4321")
    assert (run["evaluations"], run["stopped_by"], run["solved"]) == (4321, "evaluations", False)
    (run,) = solve(*trap, "--population", "100", "--max-generations", "7")
    assert (run["generations"], run["stopped_by"]) == (7, "generations")
    (run,) = solve(*trap, "--population", "100", "--patience", "2")
    assert run["stopped_by"] == "patience"
    (run,) = solve(*trap, "--stagnation", "0.01")
    assert run["stopped_by"] == "stagnation"


def test_settings_of_the_eda_are_taken_from_the_command_line() -> None:
    (run,) = solve(*QUICK, "--replacement", "worst", "--tournament", "4", "--max-generations", "2")
    assert run["algorithm"] == "eda:model=umda,population=100,tournament=4,replacement=worst"
    (run,) = solve(*QUICK, "--pairing", "parent-offspring", "--max-generations", "2")
    assert "pairing=parent-offspring" in run["algorithm"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("", "no problem is given; see `harmonium list problems`"),
        ("sphere:length=3", "unknown problem 'sphere'; known: onemax, trap, nk, hiff"),
        ("onemax", "onemax: length is missing; write onemax:length=…"),
        ("onemax:size=3", "onemax: unknown field 'size'; known: length"),
        ("onemax:length=three", "length is 'three'; expected an integer ≥ 1"),
        ("onemax:length", "'length' is not a setting; write field=value"),
        ("trap:length=61,order=5", "length is 61; expected a multiple of order=5"),
        ("trap:length=60,order=1", "order is 1; expected an integer ≥ 2"),
        ("nk:length=5,k=5", "k is 5; expected less than length=5"),
        ("hiff:length=48", "length is 48; expected a power of 2"),
        ("onemax:length=9 --model cnn", "unknown model 'cnn'; known: rbm, rbm-paper, boa"),
        ("onemax:length=9 --model rbm:depth=3", "rbm: unknown field 'depth'; known: hidden"),
        ("onemax:length=9 --model boa:max_parents=0", "max_parents is 0; expected"),
        ("onemax:length=9 --model umda:x=1", "umda: unknown field 'x'; known: none"),
        ("onemax:length=9 --model rbm --model rbm", "the same algorithm is given twice; --runs"),
        ("onemax:length=1000000 --model tree --population 16", "out of memory"),
        ("onemax:length=9 --population 101", "population is 101; expected an even number"),
        ("onemax:length=9 --population 2", "population is 2; expected an integer ≥ 8"),
        ("onemax:length=9 --replacement all", "replacement is 'all'; expected one of"),
        ("onemax:length=9 --algorithm ga", "unknown algorithm 'ga'; known: eda, "),
        ("onemax:length=9 --algorithm eda", "eda: model is missing; write eda:model=…"),
        ("onemax:length=9 --algorithm eda:model=cnn", "unknown model 'cnn'; known: rbm"),
        ("onemax:length=9 --algorithm eda:model=(rbm", "the parentheses in 'model=(rbm' do not"),
        ("onemax:length=9 --algorithm numpy:sum", "numpy:sum: is not an algorithm; expected a su"),
        (
            "onemax:length=9 --algorithm eda:model=rbm --population 40",
            "--population is for --model; with --algorithm write it as a setting, such as",
        ),
        ("onemax:length=9 --seed one", "Invalid value for '--seed'"),
        ("onemax:length=9 --seed -1", "Invalid value for '--seed'"),
        ("onemax:length=9 --runs 0", "Invalid value for '--runs'"),
        ("onemax:length=9 --patience 0", "patience is 0; expected an integer ≥ 1"),
        ("onemax:length=9 --max-seconds 0", "max_seconds is 0.0; expected a number > 0"),
        (f"onemax:length=8 --runs {10**12}", "there are 1,000,000,000,000 runs; expected at most"),
        ("onemax:length=9 --colour", "No such option"),
        ("onemax:length=9 --report no/where.html", "--report is no/where.html; expected a file"),
        (
            "onemax:length=9 --minimize",
            "--minimize is an option of `harmonium optimize`, which is for custom functions and p",
        ),
        ("numpy:sum --length 20", "--length is an option of `harmonium optimize`, which is for"),
        ("--command x{bits}", "--command is an option of `harmonium optimize`, which is for cus"),
        ("numpy:sum", "to optimise the function itself, use `harmonium optimize numpy:sum --len"),
        ("numpy:nothing", "numpy:nothing: numpy has no function or class 'nothing'"),
    ],
)
def test_bad_input_gets_one_clear_line_and_exit_code_2(arguments: str, message: str) -> None:
    assert_refused(call_here("solve", *arguments.split()), message)


def test_a_wrong_optimum_gets_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(WRONG, encoding="utf-8")
    done = call_here("solve", "wrong:Wrong:length=9", "--model", "umda", cwd=tmp_path)
    assert_refused(done, "exceeds the optimum 1, the largest possible fitness; correct problem.opt")


def test_an_error_of_the_problem_keeps_its_traceback(tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(WRONG, encoding="utf-8")
    done = call("solve", "wrong:Broken:length=9", "--model", "umda", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.search(r'wrong.py", line \d+, in __call__', done.stderr)
    assert done.stderr.endswith("ValueError: no fuel\n")


WRONG = """
class Wrong:
    def __init__(self, length):
        self.length, self.optimum = length, 1.0

    def __call__(self, bits):
        return bits.sum(axis=1).astype(float)


class Broken(Wrong):
    def __call__(self, bits):
        raise ValueError("no fuel")
"""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_gets_one_line() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [*COMMAND, "solve", *QUICK, "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "harmonium: cannot write the output: No space left on device\n"


def test_an_interrupted_command_keeps_what_is_finished_and_exits_1() -> None:
    with running(None, "solve", *QUICK, "--runs", "100000", "--json") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        # Not `communicate`: it leaves out lines that `readline` has buffered.
        rest, errors = process.stdout.read(), process.stderr.read()
    assert process.wait(timeout=60) == 1
    finished = [json.loads(line) for line in (first + rest).splitlines()]
    told = re.search(r"interrupted after (\d+) of 100000 runs", errors)
    assert told
    assert int(told[1]) - len(finished) in (0, 1)  # the last may be done and not yet printed


def test_a_terminal_sees_a_live_line(tmp_path: Path) -> None:
    hard = ("solve", "trap:length=30,order=5", "--population", "2000")
    shown = watch_terminal(tmp_path, *hard, columns=150)
    assert re.search(
        r"rbm, run 1 of 1 · best \d+ of 30 · [\d,]+ evaluations · generation \d+ · [\d,]+/s"
        r" · mean [\d.]+ · population 2,000",
        shown,
    )
