import math

import pytest

from harmonium import NK, OneMax
from harmonium.analysis.findings import Row
from harmonium.analysis.statistics import METRICS, Estimate, Metric
from harmonium.studies.plans import Bisect, Grid, Plan, Runs, Walk
from harmonium.studies.summary import summarize
from tests.studies.made import make_case, make_failure, make_outcome
from tests.studies.worlds import Known, walk

SOLVED = [
    make_outcome(evaluations=100, unique=10, generations=1, cpu=1.0, memory=1000),
    make_outcome(evaluations=200, unique=20, generations=2, cpu=2.0, memory=2000),
    make_outcome(evaluations=600, unique=60, generations=6, cpu=6.0, memory=9000),
]


def walk_instances(plan: Plan, *instances: Known, runs: int = 2) -> list[Walk]:
    """Return walks over the first instances of an NK problem."""
    cases = [
        make_case(
            *(plan,), problem=NK(20, 2, instance=one), family="nk:k=2", instance=one, runs=runs
        )
        for one in range(len(instances))
    ]
    return list(map(walk, cases, instances))


def only(walks: list[Walk]) -> Row:
    (row,) = summarize(walks)
    return row


def means(row: Row) -> dict[str, float]:
    estimates = {metric: row.estimate(metric) for metric in METRICS}
    return {metric: estimate.mean for metric, estimate in estimates.items() if estimate}


def test_a_row_of_one_instance_has_the_means_of_its_runs() -> None:
    row = only([walk(make_case(Bisect(start=8)), {8: SOLVED})])
    assert (row.family, row.size, row.name, row.given) == ("onemax", 20, "umda", None)
    assert (row.problem, row.state, row.reason) == (OneMax(20).to_dict(), "done", "")
    assert (row.instances, row.instances_done, row.runs, row.solved) == (1, 1, 3, 3)
    assert means(row) == pytest.approx(
        {
            "population": 8,
            "evaluations": 300,
            "unique_evaluations": 30,
            "generations": 3,
            "cpu_total": 3.0,
            "cpu_fitness": 1.2,
            "cpu_selection": 0.9,
            "cpu_building": 0.6,
            "cpu_sampling": 0.3,
            "peak_memory": 4000,
        }
    )
    assert row.samples["evaluations"].tolist() == [100, 200, 600]
    assert row.brackets.tolist() == [0.25]
    assert row.bounded is False  # no smaller population was run
    population = row.estimate("population")
    assert population is not None
    assert math.isnan(population.low)
    assert (population.high, population.known) == (8, False)


def test_a_row_has_what_was_measured_at_the_population_found() -> None:
    failed = [make_outcome(False, evaluations=7)]
    case = make_case(Bisect(tolerance=0.2))
    row = only([walk(case, {16: failed, 32: SOLVED, 24: failed, 28: SOLVED[::-1]})])
    assert row.estimate("population") == Estimate(28, 24, 28)
    assert row.samples["evaluations"].tolist() == [600, 200, 100]
    assert row.brackets.tolist() == pytest.approx([1 - 24 / 28])
    assert row.bounded


def test_a_row_of_several_instances_has_the_mean_of_their_means() -> None:
    one = [make_outcome(evaluations=100), make_outcome(evaluations=200)]
    other = [make_outcome(evaluations=300), make_outcome(evaluations=500)]
    low = [make_outcome(False)]
    row = only(walk_instances(Bisect(start=8), {8: one}, {8: low, 16: other, 12: low, 14: low}))
    assert (row.state, row.reason) == ("done", "")
    assert (row.instances, row.instances_done, row.runs, row.solved) == (2, 2, 4, 4)
    assert row.samples["evaluations"].tolist() == [150, 400]
    assert mean_alone(row, "evaluations") == 275
    assert mean_alone(row, "population") == 12
    assert row.brackets.tolist() == [0.25, 0.125]
    assert not row.bounded  # the first is not
    assert row.problem == NK(20, 2, instance=0).to_dict()


def mean_alone(row: Row, metric: Metric) -> float:
    """Return the mean of a metric, which has no interval."""
    estimate = row.estimate(metric)
    assert estimate is not None
    assert [estimate.low, estimate.high] == pytest.approx([math.nan] * 2, nan_ok=True)
    return estimate.mean


@pytest.mark.parametrize(
    "plan", [Bisect(start=8), Grid([8]), Runs()], ids=["bisect", "grid", "runs"]
)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_fewer_than_four_instances_have_no_interval(plan: Plan, count: int) -> None:
    # Two equal ones would show "±0%".
    row = only(walk_instances(plan, *[{plan.first: SOLVED}] * count, runs=3))
    assert row.instances == count
    estimates = {metric: row.estimate(metric) for metric in METRICS if metric != "population"}
    for metric, estimate in estimates.items():
        assert estimate is not None
        assert estimate.mean == pytest.approx(means(row)[metric])
        assert estimate.known == (count >= 4)  # one instance has its runs, three of them here


def test_the_runs_of_a_grid_count_solved_or_not() -> None:
    case = make_case(Grid([50]))
    row = only([walk(case, {50: [SOLVED[0], make_outcome(False, evaluations=1), SOLVED[1]]})])
    assert (row.given, row.state, row.reason) == (50, "done", "")
    assert (row.runs, row.solved) == (3, 2)
    assert row.samples["evaluations"].tolist() == [100, 1, 200]
    assert row.estimate("population") == Estimate(50, 50, 50)


def test_a_grid_has_a_row_for_each_population() -> None:
    walks = [
        *walk_instances(Grid([50]), {50: SOLVED}, {50: SOLVED}),
        *walk_instances(Grid([20]), {20: SOLVED}, {20: SOLVED}),
    ]
    assert [(row.given, row.instances) for row in summarize(walks)] == [(50, 2), (20, 2)]


def test_rows_are_in_the_order_of_their_cases() -> None:
    cases = [
        make_case(problem=OneMax(size), family=family, name=name)
        for family in ("b", "a")
        for size in (30, 20)
        for name in ("y", "x")
    ]
    rows = summarize([walk(case, {}) for case in cases])
    assert [(row.family, row.size, row.name) for row in rows] == [
        (case.family, case.size, case.name) for case in cases
    ]


MISSED = [make_outcome(False)]


@pytest.mark.parametrize(
    ("plan", "known", "state", "reason"),
    [
        (Bisect(), {16: SOLVED[:1]}, "running", ""),
        (Bisect(), {16: MISSED}, "running", ""),
        (Bisect(), {16: [SOLVED[0], make_failure()]}, "failed", "ValueError: broken"),
        (
            Bisect(max_population=16),
            {16: MISSED},
            *("not solved", "not solved within population 16"),
        ),
        (
            Bisect(start=8, max_population=20, confirm=True),
            {8: MISSED, 16: SOLVED},
            *("not solved", "not confirmed within population 20"),
        ),
    ],
    ids=["attempt", "between attempts", "failed", "not solved", "not confirmed"],
)
def test_a_row_that_is_not_done_says_why_and_has_nothing(
    plan: Plan, known: Known, state: str, reason: str
) -> None:
    row = only([walk(make_case(plan), known)])
    assert (row.state, row.reason) == (state, reason)
    assert all(row.estimate(metric) is None for metric in METRICS)
    assert len(row.brackets) == row.solved == 0


def test_a_row_of_which_some_instances_are_not_solved() -> None:
    plan = Bisect(start=8, max_population=8)
    row = only(walk_instances(plan, {8: SOLVED[:2]}, {8: MISSED}, {8: MISSED}))
    assert row.state == "not solved"
    assert row.reason == "not solved within population 8 in 2 of 3 instances"
    assert mean_alone(row, "evaluations") == 150


def test_a_row_that_is_cut_short() -> None:
    plan = Bisect(start=64, max_evaluations=900)
    row = only([walk(make_case(plan), {64: SOLVED})])
    assert (row.state, row.reason) == ("done", "tolerance not reached within 900 evaluations")
    estimate = row.estimate("population")
    assert estimate is not None
    assert (estimate.mean, estimate.high, row.bounded) == (64, 64, False)
    assert math.isnan(estimate.low)  # nothing below 64 was run


def run_all(*runs: tuple[bool, int]) -> Row:
    """Return the row of runs that were solved or not, with so many evaluations."""
    outcomes = [make_outcome(solved, evaluations=count) for solved, count in runs]
    return only([walk(make_case(Runs(), runs=len(runs)), {None: outcomes})])


def test_runs_have_a_success_rate_and_expected_evaluations() -> None:
    # Counted by hand: 100 + 300 + 200 + 400 evaluations for two solved runs.
    row = run_all((True, 100), (False, 300), (True, 200), (False, 400))
    assert (row.plan, row.given, row.state, row.reason) == ("runs", None, "done", "")
    assert (row.runs, row.solved, row.success_rate) == (4, 2, 0.5)
    assert means(row)["evaluations"] == 250
    assert row.estimate("population") is None
    estimate = row.expected_evaluations
    assert estimate is not None
    assert estimate.mean == 500
    # By hand: the runs are -400, 300, -300 and 400 off, s²/4 = 500,000/12; t(3) = 3.182446.
    half = 3.182446 * math.sqrt(500_000 / 12) / 250
    assert estimate.low == pytest.approx(500 * math.exp(-half), rel=1e-6)
    assert estimate.high == pytest.approx(500 * math.exp(half), rel=1e-6)


def test_where_no_run_is_solved_nothing_can_be_expected() -> None:
    row = run_all(*[(False, 100)] * 5)
    assert (row.state, row.success_rate, row.expected_evaluations) == ("done", 0.0, None)


def test_an_expectation_is_over_all_instances() -> None:
    # 100 + 200 and 300 + 500 evaluations, for one and two solved runs.
    one = [make_outcome(evaluations=100), make_outcome(False, evaluations=200)]
    other = [make_outcome(evaluations=300), make_outcome(evaluations=500)]
    row = only(walk_instances(Runs(), {None: one}, {None: other}))
    assert row.success_rate == 0.75
    estimate = row.expected_evaluations
    assert estimate is not None
    assert estimate.mean == pytest.approx(1100 / 3)
    assert row.costs.tolist() == [[300, 1], [800, 2]]


def test_an_algorithm_without_generations_has_no_estimate_of_them() -> None:
    outcomes = [make_outcome(generations=None)] * 4
    row = only([walk(make_case(Runs(), runs=4), {None: outcomes})])
    assert row.estimate("generations") is None
    assert means(row)["evaluations"] == 100
