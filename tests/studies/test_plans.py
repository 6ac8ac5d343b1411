"""Plans against hand-made outcomes: no run is made here."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harmonium import EDA, UMDA
from harmonium.specs import SpecError, to_json
from harmonium.studies.plans import Bisect, Found, Grid, Measured, Runs
from harmonium.studies.trial import Outcome, Trial
from tests.studies.made import make_case, make_failure, make_outcome
from tests.studies.worlds import size_of, solved_from, solved_twice, tell


def bounds(found: Found) -> tuple[Measured, int, int]:
    """Return what a bisection measured, its population and the largest that did not suffice."""
    measured = found.measured
    assert measured is not None
    assert measured.population is not None
    assert measured.low is not None
    return measured, measured.population, measured.low


def test_populations_double_until_all_runs_are_solved_then_the_gap_is_halved() -> None:
    story = tell(Bisect(), solved_from(100))
    assert story.populations == [16, 32, 64, 128, 96, 112, 104]
    assert story.found.ceiling == ""
    measured, *found = bounds(story.found)
    assert found == [104, 96]
    assert [size_of(trial) for trial in measured.trials] == [104] * 3
    assert [trial.seed for trial in measured.trials] == [1, 2, 3]
    assert measured.outcomes == tuple(story.seen[-1])
    assert [(attempt.low, attempt.high) for attempt in story.attempts] == [
        *[(6, None), (16, None), (32, None), (64, None)],
        *[(64, 128), (96, 128), (96, 112)],
    ]


def test_a_small_tolerance_ends_with_the_smallest_even_population() -> None:
    for threshold in (99, 100):
        found = tell(Bisect(tolerance=1e-6), solved_from(threshold)).found
        assert bounds(found)[1:] == (100, 98)


def test_a_population_is_given_up_at_its_first_run_that_is_not_solved() -> None:
    def world(trial: Trial) -> Outcome:
        return make_outcome(size_of(trial) >= 64 or trial.seed != 2)

    story = tell(Bisect(tolerance=0.5), world, make_case(runs=5))
    assert story.populations == [16, 32, 64]
    assert [len(seen) for seen in story.seen] == [2, 2, 5]


@pytest.mark.parametrize(("tournament", "smallest"), [(2, 8), (4, 8), (5, 10), (8, 16)], ids=str)
def test_no_population_is_smaller_than_the_smallest(tournament: int, smallest: int) -> None:
    plan, eda = Bisect(start=64, tolerance=1e-6), EDA(UMDA(), population=64, tournament=tournament)
    story = tell(plan, solved_from(0), make_case(plan, algorithm=eda))
    assert min(story.populations) == smallest
    measured, *found = bounds(story.found)
    assert (*found, measured.bounded) == (smallest, smallest - 2, False)


def test_a_start_that_suffices_is_bisected_down_to_the_first_population_that_fails() -> None:
    story = tell(Bisect(start=200), solved_from(60))
    assert story.populations == [200, 102, 54, 78, 66, 60]
    measured, *found = bounds(story.found)
    assert (*found, measured.bounded) == (60, 54, True)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"start": 17}, "start is 17; expected an even number"),
        ({"start": 6}, "start is 6; expected an integer ≥ 8 and ≤ 100,000,000"),
        ({"tolerance": 0}, "tolerance is 0; expected a number > 0 and < 1"),
        ({"tolerance": 1}, "tolerance is 1; expected a number > 0 and < 1"),
        ({"tolerance": math.nan}, "tolerance is nan; expected a number > 0 and < 1"),
        ({"start": 64, "max_population": 8}, "start is 64; expected at most max_population, 8"),
        (
            {"start": 64, "max_population": 100, "confirm": True},
            "start is 64; expected at most half of max_population, 100, with confirm",
        ),
    ],
    ids=str,
)
def test_a_bisection_that_is_none_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=f"^bisect: {message}$"):
        Bisect(**settings)


@pytest.mark.parametrize(("first", "found"), [(16, 60), (200, 224)])
def test_where_more_is_not_always_better_the_start_decides(first: int, found: int) -> None:
    assert bounds(tell(Bisect(start=first), solved_twice).found)[1] == found


def test_to_confirm_populations_double_until_two_in_a_row_suffice() -> None:
    story = tell(Bisect(confirm=True), solved_twice)
    assert story.populations == [16, 32, 64, 128, 256, 512, 192, 224, 208]
    assert [len(seen) for seen in story.seen] == [2, 2, 3, 2, 3, 3, 2, 3, 2]
    assert [(attempt.low, attempt.high) for attempt in story.attempts] == [
        *[(6, None), (16, None), (32, None), (32, None), (128, None), (128, None)],
        *[(128, 256), (192, 256), (192, 224)],
    ]
    assert story.found.ceiling == ""
    measured, *found = bounds(story.found)
    assert (*found, measured.bounded) == (224, 208, True)
    assert measured.outcomes == tuple(story.seen[7])


@given(data=st.data(), first=st.integers(4, 40).map(lambda half: 2 * half), confirm=st.booleans())
def test_whatever_suffices_a_bisection_ends_and_asks_for_no_population_twice(
    data: st.DataObject, first: int, confirm: bool
) -> None:
    known: dict[int, bool] = {}

    def world(trial: Trial) -> Outcome:
        population = size_of(trial)
        if population not in known:
            known[population] = data.draw(st.booleans())
        return make_outcome(known[population])

    plan = Bisect(start=first, max_population=4096, confirm=confirm)
    story = tell(plan, world)
    assert len(set(story.populations)) == len(story.populations)
    assert max(story.populations) <= 4096
    assert (story.found.measured is None) == bool(story.found.ceiling)
    if story.found.measured is not None:
        measured, population, low = bounds(story.found)
        assert known[population]
        assert known.get(low) is (False if measured.bounded else None)
        if confirm:  # something above it, at most its double, suffices too
            above = [p for p in known if population < p <= 2 * population]
            assert any(known[p] for p in above)


@pytest.mark.parametrize(
    ("plan", "tried", "unconfirmed"),
    [
        (Bisect(max_population=100, confirm=True), [16, 32, 64], True),
        (Bisect(max_population=126, confirm=True), [16, 32, 64], True),
        (Bisect(max_population=128, confirm=True), [16, 32, 64, 128], False),
        (Bisect(max_population=256, confirm=True), [16, 32, 64, 128, 256], True),
        (Bisect(max_population=510, confirm=True), [16, 32, 64, 128, 256], True),
        (Bisect(max_population=58), [16, 32, 58], False),
        (Bisect(start=8, max_population=32), [8, 16, 32], False),
        (Bisect(max_population=16), [16], False),
    ],
    ids=str,
)
def test_what_does_not_suffice_within_the_largest_population_is_not_found(
    plan: Bisect, tried: list[int], unconfirmed: bool
) -> None:
    story = tell(plan, solved_twice)
    assert story.populations == tried
    assert story.found == Found(None, f"population {plan.max_population}", unconfirmed)


# Runs of 10 evaluations for each of the population. Solved from 100 on, three runs: 160, 320 and
# 640 until the first run fails, 3 · 1280 for 128, which is solved: 4960; then 960 for 96: 5920.
@pytest.mark.parametrize(
    ("bound", "tried", "runs", "population", "low"),
    [
        (160, [16], [1], None, None),
        (1_000, [16, 32, 64], [1, 1, 1], None, None),
        (1_121, [16, 32, 64, 128], [1, 1, 1, 1], None, None),  # cut short: 128 may suffice
        (4_959, [16, 32, 64, 128], [1, 1, 1, 3], 128, 64),
        (4_960, [16, 32, 64, 128], [1, 1, 1, 3], 128, 64),
        (4_961, [16, 32, 64, 128, 96], [1, 1, 1, 3, 1], 128, 96),
        (5_921, [16, 32, 64, 128, 96, 112], [1, 1, 1, 3, 1, 1], 128, 96),  # 112 is cut short
    ],
)
def test_evaluations_end_a_bisection(
    bound: int, tried: list[int], runs: list[int], population: int | None, low: int | None
) -> None:
    story = tell(Bisect(max_evaluations=bound), solved_from(100))
    assert story.populations == tried
    assert [len(seen) for seen in story.seen] == runs
    assert story.found.ceiling == f"{bound:,} evaluations"
    measured = story.found.measured
    assert (measured and measured.population, measured and measured.low) == (population, low)


def test_cpu_seconds_end_a_bisection() -> None:
    story = tell(Bisect(max_cpu_seconds=2.5), solved_from(100))
    assert (story.populations, story.found) == ([16, 32, 64], Found(None, "2.5 CPU seconds"))


def test_a_ceiling_reached_with_the_tolerance_is_not_reported() -> None:
    free = tell(Bisect(), solved_from(100))
    spent = sum(outcome.evaluations for seen in free.seen for outcome in seen)
    assert tell(Bisect(max_evaluations=spent), solved_from(100)).found == free.found


@pytest.mark.parametrize("population", [16, 128, 96])
def test_a_run_that_fails_ends_the_bisection(population: int) -> None:
    def world(trial: Trial) -> Outcome:
        return make_failure() if size_of(trial) == population else solved_from(100)(trial)

    story = tell(Bisect(), world)
    assert story.populations[-1] == population
    assert len(story.seen[-1]) == 1
    assert story.found == Found(None)


@given(
    threshold=st.integers(0, 3000),
    first=st.integers(4, 100).map(lambda half: 2 * half),
    bound=st.integers(100, 1500).map(lambda half: 2 * half),
    tolerance=st.floats(0.001, 0.999),
    tournament=st.integers(2, 4),
    runs=st.integers(1, 3),
)
def test_what_is_found_suffices_and_hardly_less_would(
    threshold: int, first: int, bound: int, tolerance: float, tournament: int, runs: int
) -> None:
    plan = Bisect(start=first, tolerance=tolerance, max_population=bound)
    eda = EDA(UMDA(), population=first, tournament=tournament)
    story = tell(plan, solved_from(threshold), make_case(plan, algorithm=eda, runs=runs))
    assert all(8 <= population <= bound for population in story.populations)
    assert all(population % 2 == 0 for population in story.populations)
    assert len(set(story.populations)) == len(story.populations)
    if threshold > bound:
        assert story.found == Found(None, f"population {bound:,}")
        return
    assert story.found.ceiling == ""
    measured, population, low = bounds(story.found)
    assert threshold <= population
    assert low < threshold or low == 6
    assert population - low <= max(2, tolerance * population)
    assert len(measured.outcomes) == runs
    assert all(outcome.solved for outcome in measured.outcomes)


def test_a_given_population_is_measured_solved_or_not_until_a_run_fails() -> None:
    story = tell(Grid([50]), lambda trial: make_outcome(trial.seed == 3))
    assert story.populations == [50]
    measured, *found = bounds(story.found)
    assert found == [50, 50]
    assert [outcome.solved for outcome in measured.outcomes] == [False, False, True]
    failed = tell(Grid([50]), lambda trial: make_failure() if trial.seed == 2 else make_outcome())
    assert len(failed.seen[0]) == 2
    assert failed.found == Found(None)


def test_runs_measure_the_algorithm_as_it_is_solved_or_not() -> None:
    eda = EDA(UMDA())
    case = make_case(Runs(), algorithm=eda)
    story = tell(Runs(), lambda trial: make_outcome(trial.seed == 2), case)
    (attempt,) = story.attempts
    assert (attempt.population, attempt.low, attempt.high) == (None, None, None)
    assert {trial.algorithm for trial in attempt.trials} == {to_json(eda)}
    measured = story.found.measured
    assert measured is not None
    assert (measured.population, measured.low) == (None, None)
    assert [outcome.solved for outcome in measured.outcomes] == [False, True, False]


def test_a_grid_has_a_plan_for_each_of_its_populations() -> None:
    grid = Grid([64, 16, 64])
    assert grid == Grid((64, 16))
    assert grid.expand() == (Grid([64]), Grid([16]))


@pytest.mark.parametrize("wrong", [[], [8, 9], [6], 8, "16", [16.0], [None]], ids=str)
def test_a_grid_of_other_things_is_refused(wrong: Any) -> None:
    with pytest.raises(SpecError) as caught:
        Grid(wrong)
    assert str(caught.value) == (
        f"grid: populations is {wrong!r}; expected a list of even integers ≥ 8 and ≤ 100,000,000"
    )
