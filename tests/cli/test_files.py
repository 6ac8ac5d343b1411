"""Instance files on the command line: `solve FILE`, `bisect FILE`, and `generate`."""

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.commands import assert_refused, call_here
from tests.problems.formats import ASSETS

QUICK = ("--model", "umda", "--population", "40", "--json")


def test_a_file_is_solved_by_its_name(tmp_path: Path) -> None:
    shutil.copy(ASSETS / "small.cnf", tmp_path / "a, b (c.cnf")
    done = call_here("solve", "a, b (c.cnf", *QUICK, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    run = json.loads(done.stdout)
    assert (run["fun"], run["optimum"], run["solved"]) == (12, 12, True)
    assert run["problem"] == "file:path=(a, b \\(c.cnf)"
    again = call_here("solve", run["problem"], *QUICK, cwd=tmp_path)
    assert json.loads(again.stdout)["x"] == run["x"]


def test_a_file_is_bisected(tmp_path: Path) -> None:
    shutil.copy(ASSETS / "small.cnf", tmp_path / "x, y.cnf")
    words = ("bisect", "x, y.cnf", "--model", "umda", "--runs", "2", "--engine", "serial", "--json")
    done = call_here(*words, cwd=tmp_path)
    assert done.returncode == 0
    row = json.loads(done.stdout)
    assert (row["family"], row["size"]) == ("file:path=(x, y.cnf)", 9)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("solve", "missing.cnf"), "missing.cnf: cannot be read: No such file or directory"),
        (("solve", "."), ".: cannot be read: Is a directory"),
        (("solve", "x.cnf"), "x.cnf, line 1: there is no clause; expected CNF or WCNF"),
        (("solve", "x.cnf", "--as", "tsp"), "file: format is 'tsp'; expected auto or one of cnf,"),
        (("solve", "nobody"), "unknown problem 'nobody'; known: onemax, "),
        (("generate",), "expected an instance and a file, such as maxsat:length=50,clauses=200 -o"),
        (
            ("generate", "trap:length=8", "-o", "y"),
            "cannot generate 'trap'; expected one of maxsat",
        ),
        (("generate", "nk:length=8", "-o", "y"), "nk: k is missing; write nk:k=…"),
        (("generate", "nk:length=8,k=1", "-o", "no/y"), "--output is no/y; expected a file in an"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    words: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    (tmp_path / "x.cnf").touch()
    assert_refused(call_here(*words, cwd=tmp_path), message)


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
