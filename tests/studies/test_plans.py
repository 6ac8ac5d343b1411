"""Plans against hand-made outcomes: no run is made here."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harmonium import EDA, UMDA
from harmonium.studies.plans import Attempt, Bisect, Case, Fixed, Found, Plan, Walk
from harmonium.studies.store import Outcome
from harmonium.studies.trial import Trial
from tests.studies.made import make_case, make_failure, make_outcome

World = Callable[[Trial], Outcome]
"""How each trial would end."""


@dataclass
class Story:
    """What a plan asked for, and what it came to."""

    found: Found
    attempts: list[Attempt] = field(default_factory=list)
    seen: list[list[Outcome]] = field(default_factory=list)

    @property
    def populations(self) -> list[int]:
        return [attempt.population for attempt in self.attempts]


def tell(plan: Plan, world: World, case: Case | None = None) -> Story:
    """Answer a plan run by run, in order, until it has seen enough; as slow as can be."""
    case = make_case(plan) if case is None else case
    steps = plan.start(case)
    story = Story(Found(None))
    try:
        attempt = next(steps)
        while True:
            seen: list[Outcome] = []
            for trial in attempt.trials:
                seen.append(world(trial))
                if attempt.enough(seen):
                    break
            story.attempts.append(attempt)
            story.seen.append(seen)
            attempt = steps.send(seen)
    except StopIteration as end:
        story.found = end.value
    return story


def size_of(trial: Trial) -> int:
    assert isinstance(trial.eda.population, int)
    return trial.eda.population


def solved_from(threshold: int, *, evaluations: int = 10, cpu: float = 1.0) -> World:
    """Solve from a population on; a run costs `evaluations` for each of the population."""

    def world(trial: Trial) -> Outcome:
        population = size_of(trial)
        cost = evaluations * population
        return make_outcome(population >= threshold, evaluations=cost, cpu=cpu)

    return world


def test_populations_double_until_all_runs_are_solved_then_the_gap_is_halved() -> None:
    story = tell(Bisect(), solved_from(100))
    assert story.populations == [16, 32, 64, 128, 96, 112, 104]
    assert story.found.ceiling == ""
    measured = story.found.measured
    assert measured is not None
    assert (measured.population, measured.low) == (104, 96)
    assert [trial.eda.population for trial in measured.trials] == [104] * 3
    assert [trial.seed for trial in measured.trials] == [1, 2, 3]
    assert measured.outcomes == tuple(story.seen[-1])


def test_an_attempt_knows_the_bounds_so_far() -> None:
    story = tell(Bisect(), solved_from(100))
    assert [(attempt.low, attempt.high) for attempt in story.attempts] == [
        *[(6, None), (16, None), (32, None), (64, None)],
        *[(64, 128), (96, 128), (96, 112)],
    ]


def test_a_small_tolerance_ends_with_the_smallest_even_population() -> None:
    for threshold in (99, 100):
        measured = tell(Bisect(tolerance=1e-6), solved_from(threshold)).found.measured
        assert measured is not None
        assert (measured.population, measured.low) == (100, 98)


def test_what_is_measured_last_is_not_always_what_is_found() -> None:
    story = tell(Bisect(tolerance=1e-6), solved_from(128))
    assert story.populations == [16, 32, 64, 128, 96, 112, 120, 124, 126]
    measured = story.found.measured
    assert measured is not None
    assert (measured.population, measured.low) == (128, 126)
    assert measured.outcomes == tuple(story.seen[3])


def test_a_population_is_given_up_at_its_first_run_that_is_not_solved() -> None:
    def world(trial: Trial) -> Outcome:
        return make_outcome(size_of(trial) >= 64 or trial.seed != 2)

    story = tell(Bisect(tolerance=0.5), world, make_case(runs=5))
    assert story.populations == [16, 32, 64]
    assert [len(seen) for seen in story.seen] == [2, 2, 5]


@pytest.mark.parametrize(("tournament", "smallest"), [(2, 8), (4, 8), (5, 10), (8, 16)], ids=str)
def test_the_smallest_population_is_never_undercut(tournament: int, smallest: int) -> None:
    eda = EDA(UMDA(), population=64, tournament=tournament)
    plan = Bisect(first=64, tolerance=1e-6)
    story = tell(plan, solved_from(0), make_case(plan, eda=eda))
    assert min(story.populations) == smallest
    measured = story.found.measured
    assert measured is not None
    assert (measured.population, measured.low, measured.bounded) == (smallest, smallest - 2, False)


def test_a_bisection_may_start_with_the_smallest_population() -> None:
    story = tell(Bisect(first=8), solved_from(0))
    assert story.populations == [8]
    assert story.found.measured is not None
    assert (story.found.measured.population, story.found.measured.bounded) == (8, False)


def test_a_start_that_suffices_is_bisected_down_to_the_first_population_that_fails() -> None:
    story = tell(Bisect(first=200), solved_from(60))
    assert story.populations == [200, 102, 54, 78, 66, 60]
    measured = story.found.measured
    assert measured is not None
    assert (measured.population, measured.low, measured.bounded) == (60, 54, True)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"first": 64, "max_population": 8}, "start is 64; expected at most max_population, 8"),
        (
            {"first": 64, "max_population": 100, "confirm": True},
            "start is 64; with confirm expected at most half of max_population, 100",
        ),
    ],
    ids=str,
)
def test_a_start_from_which_nothing_can_be_found_is_refused(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        Bisect(**settings)


def solved_at(*ranges: range) -> World:
    """Solve where a population is in one of these ranges, as rtr may on a problem without niches.

    Elsewhere the second run fails, so that populations are given up with two runs.
    """

    def world(trial: Trial) -> Outcome:
        population = size_of(trial)
        suffices = any(population in one for one in ranges)
        return make_outcome(suffices or trial.seed != 2, evaluations=10 * population)

    return world


# Much like the RBM with rtr on onemax of 100 bits.
TWICE = solved_at(range(60, 66), range(220, 10**6))


@pytest.mark.parametrize(("first", "found"), [(16, 60), (200, 224)])
def test_where_more_is_not_always_better_the_start_decides(first: int, found: int) -> None:
    measured = tell(Bisect(first=first), TWICE).found.measured
    assert measured is not None
    assert measured.population == found


@pytest.mark.parametrize("first", [8, 16, 30, 60, 62, 128, 200, 256, 500, 1000])
def test_confirmed_the_start_does_not_decide(first: int) -> None:
    measured = tell(Bisect(first=first, confirm=True), TWICE).found.measured
    assert measured is not None
    assert 220 <= measured.population <= 242  # within the tolerance
    assert measured.bounded


def test_to_confirm_populations_double_until_two_in_a_row_suffice() -> None:
    story = tell(Bisect(confirm=True), TWICE)
    assert story.populations == [16, 32, 64, 128, 256, 512, 192, 224, 208]
    assert [len(seen) for seen in story.seen] == [2, 2, 3, 2, 3, 3, 2, 3, 2]
    assert [(attempt.low, attempt.high) for attempt in story.attempts] == [
        *[(6, None), (16, None), (32, None), (32, None), (128, None), (128, None)],
        *[(128, 256), (192, 256), (192, 224)],
    ]
    assert story.found.ceiling == ""
    measured = story.found.measured
    assert measured is not None
    assert (measured.population, measured.low, measured.bounded) == (224, 208, True)
    assert measured.outcomes == tuple(story.seen[7])


def test_what_is_confirmed_is_the_smaller_of_the_two() -> None:
    story = tell(Bisect(confirm=True, tolerance=0.5), solved_from(100))
    assert story.populations == [16, 32, 64, 128, 256]
    measured = story.found.measured
    assert measured is not None
    assert (measured.population, measured.low) == (128, 64)
    assert measured.outcomes == tuple(story.seen[3])


@given(threshold=st.integers(0, 3000), first=st.integers(4, 400).map(lambda half: 2 * half))
def test_where_more_is_better_to_confirm_changes_nothing_but_the_double(
    threshold: int, first: int
) -> None:
    plain = tell(Bisect(first=first), solved_from(threshold))
    confirmed = tell(Bisect(first=first, confirm=True), solved_from(threshold))
    assert confirmed.found == plain.found
    first_to_suffice = next(p for p in plain.populations if p >= threshold)
    assert sorted(confirmed.populations) == sorted([*plain.populations, 2 * first_to_suffice])


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

    plan = Bisect(first=first, max_population=4096, confirm=confirm)
    story = tell(plan, world)
    assert len(set(story.populations)) == len(story.populations)
    assert max(story.populations) <= 4096
    measured = story.found.measured
    assert (measured is None) == bool(story.found.ceiling)
    if measured is not None:
        assert known[measured.population]
        assert known.get(measured.low) is (False if measured.bounded else None)
        if confirm:  # something above it, at most its double, suffices too
            above = [p for p in known if measured.population < p <= 2 * measured.population]
            assert any(known[p] for p in above)


@pytest.mark.parametrize(
    ("bound", "tried", "unconfirmed"),
    [
        (100, [16, 32, 64], True),
        (126, [16, 32, 64], True),
        (128, [16, 32, 64, 128], False),
        (256, [16, 32, 64, 128, 256], True),
        (510, [16, 32, 64, 128, 256], True),
    ],
)
def test_what_cannot_be_confirmed_within_the_largest_population_is_not_found(
    bound: int, tried: list[int], unconfirmed: bool
) -> None:
    story = tell(Bisect(max_population=bound, confirm=True), TWICE)
    assert story.populations == tried
    assert story.found == Found(None, f"population {bound}", unconfirmed)


# Two runs of 160 and 320, three of 640, two of 1,280, three of 2,560: 13,120 before the double.
@pytest.mark.parametrize(
    ("bound", "tried", "found"),
    [
        (1_000, [16, 32, 64], Found(None, "1,000 evaluations")),  # 64 is cut short
        (2_880, [16, 32, 64], Found(None, "2,880 evaluations", unconfirmed=True)),
        (2_881, [16, 32, 64, 128], Found(None, "2,881 evaluations", unconfirmed=True)),
        (5_440, [16, 32, 64, 128], Found(None, "5,440 evaluations")),  # 128 fails
        (13_120, [16, 32, 64, 128, 256], Found(None, "13,120 evaluations", unconfirmed=True)),
        (
            13_121,
            [16, 32, 64, 128, 256, 512],
            Found(None, "13,121 evaluations", unconfirmed=True),
        ),
    ],
)
def test_evaluations_end_a_bisection_before_it_is_confirmed(
    bound: int, tried: list[int], found: Found
) -> None:
    story = tell(Bisect(max_evaluations=bound, confirm=True), TWICE)
    assert story.populations == tried
    assert story.found == found


def test_a_run_that_fails_ends_a_bisection_that_is_to_be_confirmed() -> None:
    def world(trial: Trial) -> Outcome:
        return make_failure() if size_of(trial) == 128 else TWICE(trial)

    story = tell(Bisect(confirm=True), world)
    assert story.populations == [16, 32, 64, 128]
    assert story.found == Found(None)


def test_to_confirm_leaves_the_keys_of_trials_as_they_were() -> None:
    outcomes: dict[str, Outcome] = {}
    finish(Walk(make_case(Bisect()), outcomes), outcomes, solved_from(100))
    before = dict(outcomes)
    again = Walk(make_case(Bisect(confirm=True)), outcomes)
    assert finish(again, outcomes, solved_from(100)) == 3  # of the double alone
    new = set(outcomes) - set(before)
    assert new == {trial.key for trial in make_case(Bisect()).trials(256)}


@pytest.mark.parametrize(
    ("first", "bound", "tried"),
    [(16, 64, [16, 32, 64]), (16, 50, [16, 32, 50]), (16, 16, [16])],
)
def test_no_population_is_larger_than_its_ceiling(first: int, bound: int, tried: list[int]) -> None:
    story = tell(Bisect(first=first, max_population=bound), solved_from(bound + 1))
    assert story.populations == tried
    assert story.found == Found(None, f"population {bound}")


def test_the_ceiling_itself_may_be_found() -> None:
    story = tell(Bisect(max_population=50, tolerance=1e-6), solved_from(50))
    assert story.found.ceiling == ""
    assert story.found.measured is not None
    assert (story.found.measured.population, story.found.measured.low) == (50, 48)


def test_a_large_ceiling_is_written_with_commas() -> None:
    story = tell(Bisect(), solved_from(10**6))
    assert story.populations[-1] == 65_536
    assert story.found == Found(None, "population 65,536")


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
    assert story.populations == [16, 32, 64]
    assert story.found == Found(None, "2.5 CPU seconds")


def test_of_two_ceilings_the_first_one_reached_counts() -> None:
    plan = Bisect(max_evaluations=1_000, max_cpu_seconds=2.0)
    story = tell(plan, solved_from(100))
    assert story.populations == [16, 32]
    assert story.found.ceiling == "2 CPU seconds"


def test_a_ceiling_reached_with_the_tolerance_is_not_told() -> None:
    free = tell(Bisect(), solved_from(100))
    spent = sum(outcome.figures.evaluations for seen in free.seen for outcome in seen)
    story = tell(Bisect(max_evaluations=spent), solved_from(100))
    assert story.found == free.found


@pytest.mark.parametrize("population", [16, 128, 96])
def test_a_run_that_fails_ends_the_bisection(population: int) -> None:
    def world(trial: Trial) -> Outcome:
        if trial.eda.population == population:
            return make_failure()
        return solved_from(100)(trial)

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
    plan = Bisect(first=first, tolerance=tolerance, max_population=bound)
    eda = EDA(UMDA(), population=first, tournament=tournament)
    story = tell(plan, solved_from(threshold), make_case(plan, eda=eda, runs=runs))
    assert all(8 <= population <= bound for population in story.populations)
    assert all(population % 2 == 0 for population in story.populations)
    assert len(set(story.populations)) == len(story.populations)
    measured = story.found.measured
    if threshold > bound:
        assert story.found == Found(None, f"population {bound:,}")
        return
    assert story.found.ceiling == ""
    assert measured is not None
    assert threshold <= measured.population
    assert measured.low < threshold or measured.low == 6
    assert measured.population - measured.low <= max(2, tolerance * measured.population)
    assert len(measured.outcomes) == runs
    assert all(outcome.figures.solved for outcome in measured.outcomes)


def test_a_given_population_is_measured_whether_solved_or_not() -> None:
    def world(trial: Trial) -> Outcome:
        return make_outcome(trial.seed == 3)

    story = tell(Fixed(50), world)
    assert story.populations == [50]
    measured = story.found.measured
    assert measured is not None
    assert (measured.population, measured.low) == (50, 50)
    assert [outcome.figures.solved for outcome in measured.outcomes] == [False, False, True]


def test_a_run_that_fails_ends_a_given_population() -> None:
    def world(trial: Trial) -> Outcome:
        return make_failure() if trial.seed == 2 else make_outcome()

    story = tell(Fixed(50), world)
    assert len(story.seen[0]) == 2
    assert story.found == Found(None)


def test_runs_of_all_populations_share_their_seeds() -> None:
    case = make_case(runs=4)
    assert [trial.seed for trial in case.trials(50)] == [1, 2, 3, 4]
    assert case.trials(16) == case.trials(16)
    for small, large in zip(case.trials(16), case.trials(50), strict=True):
        assert (small.seed, small.problem, small.stop) == (large.seed, large.problem, large.stop)
        assert small.key != large.key


def finish(walk: Walk, outcomes: dict[str, Outcome], world: World) -> int:
    """Bring a walk to its end, a run at a time; return how many runs that took."""
    count = 0
    while not walk.advance():
        trial = walk.wanted()[0]
        outcomes[trial.key] = world(trial)
        count += 1
    return count


def figures(walk: Walk) -> tuple[Found | None, str, int, int, float]:
    return walk.found, walk.state, walk.runs, walk.evaluations, walk.cpu_seconds


WORLDS: dict[str, tuple[Plan, World]] = {
    "bisect": (Bisect(), solved_from(100)),
    "ceiling": (Bisect(max_population=64), solved_from(100)),
    "evaluations": (Bisect(max_evaluations=5_921), solved_from(100)),
    "fixed": (Fixed(50), solved_from(100)),
    "confirmed": (Bisect(confirm=True), TWICE),
    "not confirmed": (Bisect(max_population=128, confirm=True), solved_from(100)),
    "one seed": (Bisect(), lambda trial: make_outcome(size_of(trial) > 30 * trial.seed)),
    "failed": (
        Bisect(),
        lambda trial: make_failure() if size_of(trial) > 99 else make_outcome(False),
    ),
}


@pytest.mark.parametrize("name", WORLDS)
def test_a_walk_finds_what_its_plan_does_and_counts_every_run(name: str) -> None:
    plan, world = WORLDS[name]
    outcomes: dict[str, Outcome] = {}
    walk = Walk(make_case(plan), outcomes)
    count = finish(walk, outcomes, world)
    story = tell(plan, world)
    assert walk.found == story.found
    seen = [outcome for attempt in story.seen for outcome in attempt]
    assert walk.runs == len(seen) == count == len(outcomes)
    assert walk.evaluations == sum(outcome.figures.evaluations for outcome in seen)
    done = sum(outcome.status == "done" for outcome in seen)
    assert walk.cpu_seconds == pytest.approx(1.0 * done)


@pytest.mark.parametrize("name", WORLDS)
@settings(max_examples=20)
@given(data=st.data())
def test_the_order_in_which_outcomes_arrive_does_not_matter(name: str, data: st.DataObject) -> None:
    plan, world = WORLDS[name]
    outcomes: dict[str, Outcome] = {}
    expected = Walk(make_case(plan), outcomes)
    finish(expected, outcomes, world)
    known: dict[str, Outcome] = {}
    walk = Walk(make_case(plan), known)
    while not walk.advance():
        wanted = walk.wanted()
        assert wanted
        assert not {trial.key for trial in wanted} & set(known)
        for trial in data.draw(st.lists(st.sampled_from(wanted), min_size=1, max_size=3)):
            known[trial.key] = world(trial)
    assert figures(walk) == figures(expected)
    assert set(known) >= set(outcomes)


@pytest.mark.parametrize("name", WORLDS)
@settings(max_examples=20)
@given(data=st.data())
def test_a_walk_resumes_from_any_part_of_its_outcomes(name: str, data: st.DataObject) -> None:
    plan, world = WORLDS[name]
    whole: dict[str, Outcome] = {}
    first = Walk(make_case(plan), whole)
    finish(first, whole, world)
    kept = data.draw(st.sets(st.sampled_from(sorted(whole))))
    outcomes = {key: whole[key] for key in kept}
    again = Walk(make_case(plan), outcomes)
    assert finish(again, outcomes, world) == len(whole) - len(kept)
    assert outcomes == whole
    assert figures(again) == figures(first)


@pytest.mark.parametrize("name", WORLDS)
def test_outcomes_beyond_what_decided_an_attempt_are_not_counted(name: str) -> None:
    plan, world = WORLDS[name]
    outcomes: dict[str, Outcome] = {}
    walk = Walk(make_case(plan, runs=6), outcomes)
    finish(walk, outcomes, world)
    speculative: dict[str, Outcome] = {}
    eager = Walk(make_case(plan, runs=6), speculative)
    while not eager.advance():
        speculative |= {trial.key: world(trial) for trial in eager.wanted()}
    assert len(speculative) >= len(outcomes)
    assert figures(eager) == figures(walk)


def test_a_late_failure_does_not_hide_an_earlier_run_that_was_not_solved() -> None:
    case = make_case(Bisect(max_population=16))
    trials = case.trials(16)
    walk = Walk(case, {trials[0].key: make_outcome(False), trials[1].key: make_failure()})
    assert walk.advance()
    assert (walk.state, walk.error) == ("not solved", "")


def test_a_gap_in_the_outcomes_is_waited_for() -> None:
    case = make_case()
    first, second, third = case.trials(16)
    outcomes = {second.key: make_outcome(False)}
    walk = Walk(case, outcomes)
    assert not walk.advance()
    assert first in walk.wanted()
    assert second not in walk.wanted()
    outcomes[first.key] = make_outcome()
    assert not walk.advance()
    assert walk.attempt is not None
    assert walk.attempt.population == 32
    assert third.key not in outcomes


def test_states_of_a_walk() -> None:
    case = make_case(Bisect(max_population=16))
    trials = case.trials(16)
    outcomes: dict[str, Outcome] = {}
    walk = Walk(case, outcomes)
    assert (walk.state, walk.wanted()) == ("waiting", [])
    assert not walk.advance()
    assert (walk.state, walk.wanted()) == ("waiting", list(trials))
    outcomes[trials[0].key] = make_outcome()
    assert not walk.advance()
    assert (walk.state, walk.wanted()) == ("running", list(trials[1:]))
    outcomes[trials[1].key] = make_outcome(False)
    assert walk.advance()
    assert walk.advance()
    assert (walk.state, walk.wanted()) == ("not solved", [])
    assert walk.found == Found(None, "population 16")


def test_a_walk_between_two_attempts_is_running() -> None:
    case = make_case()
    walk = Walk(case, {case.trials(16)[0].key: make_outcome(False)})
    assert not walk.advance()
    assert (walk.state, walk.seen, walk.runs) == ("running", [], 1)


def test_a_walk_that_failed_has_the_last_line_of_the_traceback() -> None:
    case = make_case()
    error = 'Traceback (most recent call last):\n  File "own.py"\nValueError: no such file\n'
    walk = Walk(case, {case.trials(16)[0].key: make_failure(error)})
    assert walk.advance()
    assert (walk.state, walk.error) == ("failed", "ValueError: no such file")
