"""Runtimes, ERT, ECDF and fixed targets: by hand, and as iohinspector has them.

Of the hand-made runs A, B and C of one algorithm on one problem (optimum 10, budget 100):

    run   evaluations: best        ended after
    A     1: 2   4: 6   20: 10     24 evaluations, solved in its last batch
    B     1: 0   10: 5  60: 8      100
    C     2: 5   30: 8  50: 10     50
"""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harmonium.analysis.performance import (
    QUALITIES,
    FixedTarget,
    Range,
    find_ranges,
    group_trajectories,
    tabulate_targets,
    trace_ecdfs,
)
from harmonium.studies import Trajectory, expected_running_time

A = [(1, 2.0), (4, 6.0), (20, 10.0)]
B = [(1, 0.0), (10, 5.0), (60, 8.0)]
C = [(1, 1.0), (2, 5.0), (30, 8.0), (50, 10.0)]


def make_run(
    improvements: list[tuple[int, float]],
    evaluations: int,
    *,
    name: str = "umda",
    seed: int = 1,
    optimum: float | None = 10.0,
    instance: int | None = None,
    size: int = 10,
    given: int | None = None,
) -> Trajectory:
    return Trajectory(
        "onemax", size, instance, name, seed, optimum, evaluations, improvements, given
    )


ABC = [make_run(A, 24, seed=1), make_run(B, 100, seed=2), make_run(C, 50, seed=3)]


def test_the_runtime_is_the_evaluation_that_first_reaches_the_target() -> None:
    targets = [-1, 0, 2, 2.5, 6, 6.1, 10, 10.5]
    assert ABC[0].find_runtimes(targets).tolist() == [1, 1, 1, 4, 4, 20, 20, math.inf]
    assert ABC[1].find_runtimes([5, 8, 9]).tolist() == [10, 60, math.inf]


def test_a_target_is_reached_up_to_rounding() -> None:
    run = make_run([(1, 0.0), (7, 0.3)], 10)
    assert 0.1 + 0.2 > 0.3
    assert run.find_runtimes([0.1 + 0.2, 0.3 + 1e-6]).tolist() == [7, math.inf]


@pytest.mark.parametrize("wrong", [[], [(1, 2.0), (1, 3.0)], [(1, 2.0), (5, 2.0)]])
def test_improvements_rise(wrong: list[tuple[int, float]]) -> None:
    with pytest.raises(ValueError, match=r"^improvements of umda, seed 1, are .*; expected pairs"):
        make_run(wrong, 10)


def test_the_best_is_that_of_the_last_improvement_within_the_budget() -> None:
    assert ABC[0].find_best([1, 3, 4, 19, 20, 1000]).tolist() == [2, 2, 6, 6, 10, 10]
    late = make_run([(16, 3.0)], 20)  # of a trace without the first rows
    assert np.isnan(late.find_best([15])[0])
    assert late.find_best([16]).tolist() == [3]


@pytest.mark.parametrize(
    ("target", "ert"),
    [
        (0, (1 + 1 + 1) / 3),
        (5, (4 + 10 + 2) / 3),
        (8, (20 + 60 + 30) / 3),
        (10, (20 + 100 + 50) / 2),  # B counts with its whole budget
        (11, math.inf),
    ],
)
def test_expected_running_time(target: float, ert: float) -> None:
    assert expected_running_time(ABC, target) == ert


def test_the_range_goes_from_the_worst_first_row_to_the_optimum() -> None:
    assert find_ranges(ABC) == {ABC[0].problem: Range(0.0, 10.0)}
    assert Range(0.0, 10.0).find_targets([0.0, 0.25, 1.0]).tolist() == [0, 2.5, 10]
    assert Range(-3.0, 0.1).find_targets([1.0]).tolist() == [0.1]


def test_without_an_optimum_the_range_ends_at_the_best_of_all_runs() -> None:
    runs = [make_run(B, 100, optimum=None), make_run(A, 24, optimum=None, name="boa")]
    assert find_ranges(runs) == {runs[0].problem: Range(0.0, 10.0)}
    assert find_ranges(runs[:1]) == {runs[0].problem: Range(0.0, 8.0)}


def test_a_problem_that_every_first_row_solves_has_quality_one() -> None:
    runs = [make_run([(1, 10.0)], 1), make_run([(1, 10.0)], 5, name="boa")]
    assert find_ranges(runs) == {runs[0].problem: Range(10.0, 10.0)}
    (first, _) = trace_ecdfs(runs)
    assert (first.x.tolist(), first.y.tolist()) == ([1], [1])


def read_targets(rows: list[FixedTarget]) -> list[tuple[float, ...]]:
    return [
        (row.quality, row.target or math.nan, row.runs, row.successes, row.ert, row.median)
        for row in rows
    ]


def test_fixed_targets() -> None:
    rows = tabulate_targets(ABC, [0.5, 0.8, 1.0])
    assert read_targets(rows) == [
        (0.5, 5.0, 3, 3, 16 / 3, 4.0),
        (0.8, 8.0, 3, 3, 110 / 3, 30.0),
        (1.0, 10.0, 3, 2, 85.0, 50.0),
    ]
    last = rows[-1]
    assert (last.lower_quartile, last.upper_quartile) == (35.0, math.inf)
    assert math.isnan(last.ert_low)  # of three runs
    assert last.group == ("onemax", 10, "umda", None, "umda")


def test_an_interval_of_the_ert_is_that_of_evaluations_by_successes() -> None:
    # Five runs: 10, 20, 30 and 40 evaluations to the target, and a fifth that spends 100.
    solved = [make_run([(1, 0.0), (count, 10.0)], count) for count in (10, 20, 30, 40)]
    (row,) = tabulate_targets([*solved, make_run(B, 100)], [1.0])
    assert row.ert == 200 / 4
    # log(ERT) ± t(0.975, 4)·s/(mean·√5), s of 10, 20, 30, 40 (less 50 each) and 100
    deviations = np.array([10 - 50, 20 - 50, 30 - 50, 40 - 50, 100.0])
    factor = math.exp(2.7764451051977987 * deviations.std(ddof=1) / math.sqrt(5) / 40)
    assert row.ert_low == pytest.approx(50 / factor)
    assert row.ert_high == pytest.approx(50 * factor)


def test_instances_have_their_own_targets() -> None:
    runs = [
        make_run([(1, 0.0), (5, 10.0)], 5, instance=0),
        make_run([(1, 100.0), (9, 150.0), (30, 200.0)], 30, instance=1, optimum=200.0),
    ]
    rows = tabulate_targets(runs, [0.5, 1.0])
    assert [(row.target, row.successes, row.ert) for row in rows] == [
        (None, 2, (5 + 9) / 2),
        (None, 2, (5 + 30) / 2),
    ]


def test_ecdf_over_runs_and_targets() -> None:
    # Targets 5 and 10: runtimes 4, 20; 10, none; 2, 50. Of six pairs, five are reached.
    (ecdf,) = trace_ecdfs(ABC, [0.5, 1.0])
    assert ecdf.x.tolist() == [2, 4, 10, 20, 50]
    assert ecdf.y.tolist() == [1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6]
    assert ecdf.evaluations == 100
    values = [ecdf.evaluate(where) for where in (1, 2, 9.9, 10, 49, 50, 1e9)]
    assert values == [0, 1 / 6, 2 / 6, 3 / 6, 4 / 6, 5 / 6, 5 / 6]


def test_populations_of_a_grid_are_algorithms_of_their_own() -> None:
    runs = [make_run(A, 24, given=64), make_run(C, 50, given=1024)]
    assert [group.label for group in group_trajectories(runs)] == [
        "umda, population 64",
        "umda, population 1,024",
    ]


# iohinspector 0.0.8 on the logs of ten runs on OneMax of 50 bits, with at most 500 evaluations.
# Its calls, on a frame with the columns data_id, algorithm_name, evaluations and raw_y:
#   aggregate_running_time(…, f_min=1, f_max=50, scale_f_log=False, eval_max=500, maximization=True)
#   get_data_ecdf(…, f_min=0, f_max=50, scale_f_log=False, eval_values=[…], maximization=True)
#   aggregate_convergence(…, eval_min=1, eval_max=500, maximization=True)
# Its targets 1 to 50 are our qualities 1/50 to 1 in the range 0 to 50.

LOGS: dict[str, Any] = json.loads(
    (Path(__file__).parent / "assets" / "iohinspector.json").read_text("utf-8")
)
LOGGED = [
    Trajectory(
        "onemax", 50, None, run["name"], run["seed"], 50.0, run["evaluations"], run["improvements"]
    )
    for run in LOGS["runs"]
]
RANGES = {LOGGED[0].problem: Range(0.0, 50.0)}


def test_runtimes_and_ert_agree_with_iohinspector() -> None:
    ours = {
        (row.group.name, round(row.target or 0, 9)): (row.successes, row.ert, row.median)
        for row in tabulate_targets(LOGGED, QUALITIES, ranges=RANGES)
    }
    theirs = {
        (row["name"], row["target"]): (row["successes"], row["ert"], row["median"])
        for row in LOGS["fixed_target"]
    }
    assert len(ours) == len(theirs) == 100
    for place, (successes, ert, median) in theirs.items():
        expected = (
            successes,
            math.inf if ert is None else ert,
            math.inf if median is None else median,
        )
        assert ours[place] == pytest.approx(expected, rel=1e-12)
    assert {successes for successes, _, _ in ours.values()} == {0, 1, 2, 3, 4, 5}


def test_ecdf_agrees_with_iohinspector() -> None:
    ours = {one.group.name: one for one in trace_ecdfs(LOGGED, ranges=RANGES)}
    assert len(LOGS["ecdf"]) == 18
    for row in LOGS["ecdf"]:
        share = ours[row["name"]].evaluate(row["evaluations"])
        assert share == pytest.approx(row["proportion"], rel=1e-12)
