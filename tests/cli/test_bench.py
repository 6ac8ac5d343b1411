"""`harmonium bench --quick`; no test says how fast anything is."""

import json
import math
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

import pytest

from harmonium.bench import GROUPS, QUICK, Skipped
from harmonium.bench.peers import PEERS
from harmonium.cli import execute
from tests.cli.commands import Command, call, call_here

ROOTS = {name: peer.module.split(".")[0] for name, peer in PEERS.items()}
PRESENT = {name for name, root in ROOTS.items() if find_spec(root)}


@pytest.fixture
def no_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide all peers, whether they are installed or not."""
    for name, peer in PEERS.items():
        monkeypatch.setitem(sys.modules, ROOTS[name], None)
        monkeypatch.setitem(sys.modules, peer.module, None)


def report(run: Command) -> dict[str, Any]:
    done = run("bench", "--quick", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def rivals(found: dict[str, Any], group: str) -> set[str]:
    return {row["against"] for row in found["measurements"] if row["group"] == group}


def test_the_json_has_every_row() -> None:
    found = report(call)
    rows = found["measurements"]
    alone = set() if "gomea" in PRESENT else {"solve"}  # nobody to compare the solvers with
    assert {row["group"] for row in rows} == set(GROUPS) - alone
    assert all(math.isfinite(row["ratio"]) and row["ratio"] > 0 for row in rows)
    assert list(rows[0]) == [
        *("group", "what", "against", "ours", "peer", "unit", "better", "bound", "ratio", "kept")
    ]
    sklearn = {"scikit-learn float32", "scikit-learn float64"} if "scikit-learn" in PRESENT else {}
    torch = {"torch"} & PRESENT
    assert rivals(found, "rbm") == {"NumPy", "sgemm 100×100", *sklearn, *torch}
    assert rivals(found, "gibbs") == {"NumPy"}
    assert rivals(found, "boa") == {"Python", "bound of 60 ms", *({"pgmpy"} & PRESENT)}
    evaluated = [row["what"] for row in rows if row["group"] == "fitness"]
    assert evaluated == [str(problem) for problem in QUICK.evaluated]
    solvers = ["rbm", "boa", *(["gomea, row by row"] if "gomea" in PRESENT else [])]
    assert [(row["problem"], row["solver"]) for row in found["solving"]] == [
        (str(task.problem), solver) for task in QUICK.tasks for solver in solvers
    ]
    assert all(row["evaluations"] > 0 for row in found["solving"])
    assert {line.partition(":")[0] for line in found["skipped"]} == set(PEERS) - PRESENT


@pytest.mark.usefixtures("no_peers")
def test_absent_peers_are_skipped_with_a_line_each() -> None:
    found = report(call_here)
    assert found["skipped"] == [
        "scikit-learn: not installed; pip install 'harmonium[bench]'",
        "torch: not installed; pip install torch",
        "pgmpy: not installed; pip install 'harmonium[bench]'",
        "gomea: not installed; pip install 'harmonium[bench]'",
    ]
    assert rivals(found, "rbm") == {"NumPy", "sgemm 100×100"}
    assert rivals(found, "boa") == {"Python", "bound of 60 ms"}
    assert rivals(found, "solve") == set()
    assert {row["solver"] for row in found["solving"]} == {"rbm", "boa"}


@pytest.mark.usefixtures("no_peers")
def test_the_table_shows_the_chosen_groups_and_fits_a_terminal() -> None:
    done = call_here("bench", "--quick", "--only", "fitness", "--only", "solve")
    assert (done.returncode, done.stderr) == (0, "")
    assert "onemax:length=20, million bits/s" in done.stdout
    assert "CPU s" in done.stdout
    assert "CD-1" not in done.stdout
    assert "gomea: not installed; pip install 'harmonium[bench]'" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_an_unknown_group_gets_one_line_and_exit_code_2() -> None:
    done = call_here("bench", "--quick", "--only", "gpu")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "harmonium: unknown group 'gpu'; known: rbm, gibbs, boa, fitness, solve, runner\n"
    )


def test_an_interrupted_bench_prints_what_it_has_and_exits_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run_groups(*_: object) -> Iterator[Skipped]:
        yield Skipped("pgmpy", "not installed")
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["harmonium.cli.bench"], "run_groups", run_groups)
    assert execute(["bench", "--json"]) == 1
    printed = capsys.readouterr()
    assert json.loads(printed.out)["skipped"] == ["pgmpy: not installed"]
    assert "interrupted" in printed.err
