"""benchmarks/speed: it runs, and the plain versions do what our kernels do."""

import json
import math

import numpy as np
import pytest
from benchmarks.speed.__main__ import GROUPS, main
from benchmarks.speed.boa import make_trap_rows
from benchmarks.speed.measure import Measurement, Size
from benchmarks.speed.plain import build_network
from benchmarks.speed.rbm import make_machine, make_plain, make_rows, train_numpy, train_ours
from benchmarks.speed.runner import EVALUATED
from benchmarks.speed.solve import Solving

from harmonium.models import BOA
from harmonium.problems import PBO, PROBLEMS, FileProblem


def test_a_quick_run_measures_every_group(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--quick", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert list(report) == ["setting", "measurements", "solving", "skipped"]
    rows = report["measurements"]
    alone = {"solve"} if any("gomea" in line for line in report["skipped"]) else set()
    assert {row["group"] for row in rows} == set(GROUPS) - alone
    assert all(math.isfinite(row["ratio"]) and row["ratio"] > 0 for row in rows)
    main(["--quick", "--only", "fitness"])
    assert "onemax" in capsys.readouterr().out


def test_ratios_above_one_mean_that_ours_is_better() -> None:
    assert Measurement("g", "w", "a", ours=6.0, peer=2.0, unit="u", bound=3.0).kept
    assert not Measurement("g", "w", "a", ours=6.0, peer=2.0, unit="s", better="less", bound=1).kept
    half = Solving("p", "rbm", 100, 4, 2, evaluations=9, cpu_seconds=0.5, fitness_seconds=0.0)
    assert half.cpu_per_solved == 1.0


def test_every_registered_problem_is_evaluated() -> None:
    elsewhere = {FileProblem, PBO}  # benchmarks/instances.py; the library itself
    assert {type(problem) for problem, _ in EVALUATED} == set(PROBLEMS) - elsewhere


def test_the_plain_search_finds_our_network() -> None:
    rows = make_trap_rows(Size(300, 20))
    ours = set(BOA().fit(rows, np.random.default_rng(1)).edges)
    network = build_network(rows, BOA().max_parents, preferred=ours)
    assert {(parent, child) for child, known in enumerate(network) for parent in known} == ours


def test_the_plain_rbm_learns_what_ours_learns() -> None:
    size = Size(300, 12)
    rows, ours, plain = make_rows(size), make_machine(size), make_plain(size)
    rows[:, 6:] = rows[:, :6]  # each bit has a copy
    for train in (train_ours(rows, ours), train_numpy(rows, plain)):
        for _ in range(300):
            train()
    for weights in (ours.W, plain.weights):
        alike = [np.corrcoef(weights[bit], weights[bit + 6])[0, 1] for bit in range(6)]
        assert min(alike) > 0.5
