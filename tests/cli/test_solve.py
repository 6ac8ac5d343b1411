"""`harmonium solve` as a process: what it prints, and its exit codes."""

import json
import re
import shutil
import signal
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from harmonium.cli import execute
from tests.cli.commands import FullDisk, call_here, running, watch_terminal
from tests.cli.studies import BROKEN
from tests.problems.formats import ASSETS

QUICK = ("onemax:length=20", "--model", "umda", "--population", "100")
MODEL = ("--model", "umda", "--population", "40", "--json")


def solve(*arguments: str) -> list[dict[str, Any]]:
    done = call_here("solve", *arguments, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_json_has_one_object_a_run_with_every_field() -> None:
    runs = solve("nk:length=12,k=2,instance=3", "--population", "200", "--runs", "2", "--seed", "7")
    assert [run["seed"] for run in runs] == [7, 8]
    run = runs[0]
    names = (
        "x fun noisy fun_error solutions success message stopped_by problem algorithm label seed "
        "minimized solved optimum evaluations calls unique_evaluations best_found_at best_found_by "
        "generations failures repairs cpu_seconds seconds learned"
    )
    assert list(run) == names.split()
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


def test_an_error_of_the_problem_keeps_its_traceback(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(BROKEN, "utf-8")
    with pytest.raises(ValueError, match="no fuel") as caught:
        call_here("solve", "broken:Broken:length=9", "--model", "umda", cwd=tmp_path)
    assert Path(caught.traceback[-1].path).name == "broken.py"


def test_a_full_disk_gets_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with redirect_stdout(FullDisk()):
        assert execute(["solve", *QUICK, "--json"]) == 2
    told = "harmonium: cannot write the output: No space left on device\n"
    assert capsys.readouterr().err == told


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


def test_a_file_is_solved_by_its_name(tmp_path: Path) -> None:
    shutil.copy(ASSETS / "small.cnf", tmp_path / "a, b (c.cnf")
    done = call_here("solve", "a, b (c.cnf", *MODEL, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    run = json.loads(done.stdout)
    assert (run["fun"], run["optimum"], run["solved"]) == (12, 12, True)
    assert run["problem"] == "file:path=(a, b \\(c.cnf)"
    again = call_here("solve", run["problem"], *MODEL, cwd=tmp_path)
    assert json.loads(again.stdout)["x"] == run["x"]


@pytest.mark.parametrize(
    ("instance", "name", "message"),
    [
        ("maxsat:length=20,clauses=80", "a, b.cnf", "20 bits, optimum 80, format cnf"),
        ("nk:length=10,k=2", "x.nk", "10 bits, optimum 7.66271437421, format nk"),
        ("ising:side=4", "x.ising", "16 bits, optimum 20, format ising"),
        ("ising:side=20", "x.ising", "400 bits, optimum unknown, format ising"),
        ("qubo:length=20", "x.qubo", "20 bits, optimum "),
        ("knapsack:length=20,constraints=2", "x.mknap", "20 bits, optimum "),
    ],
)
def test_an_instance_is_generated_and_solved(
    instance: str, name: str, message: str, tmp_path: Path
) -> None:
    done = call_here("generate", instance, "-o", name, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{name}: {message}")
    run = call_here(
        "solve", name, "--algorithm", "pyramid", "--max-evaluations", "500", "--json", cwd=tmp_path
    )
    assert run.returncode == 0
    assert json.loads(run.stdout)["evaluations"] <= 500
