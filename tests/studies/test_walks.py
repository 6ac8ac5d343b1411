"""Walks against hand-made outcomes, in any order and from any part of them: no run is made."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harmonium.studies.plans import Bisect, Found, Grid, Plan, Runs, Walk
from harmonium.studies.trial import Outcome
from tests.studies.made import make_case, make_failure, make_outcome
from tests.studies.worlds import World, finish, size_of, solved_from, solved_twice, tell


def figures(walk: Walk) -> tuple[Found | None, str, int, int, float]:
    return walk.found, walk.state, walk.runs, walk.evaluations, walk.cpu_seconds


WORLDS: dict[str, tuple[Plan, World]] = {
    "bisect": (Bisect(), solved_from(100)),
    "ceiling": (Bisect(max_population=64), solved_from(100)),
    "evaluations": (Bisect(max_evaluations=5_921), solved_from(100)),
    "fixed": (Grid([50]), solved_from(100)),
    "runs": (Runs(), lambda trial: make_outcome(trial.seed % 2 == 0)),
    "confirmed": (Bisect(confirm=True), solved_twice),
    "not confirmed": (Bisect(max_population=128, confirm=True), solved_from(100)),
    "one seed": (Bisect(), lambda trial: make_outcome(size_of(trial) > 30 * trial.seed)),
    "failed": (
        Bisect(),
        lambda trial: make_failure() if size_of(trial) > 99 else make_outcome(False),
    ),
}


def complete(name: str, outcomes: dict[str, Outcome], runs: int = 3) -> tuple[Walk, int]:
    """Return the walk of a plan to its end, and how many runs that took beyond the known ones."""
    plan, world = WORLDS[name]
    walk = Walk(make_case(plan, runs=runs), outcomes)
    return walk, finish(walk, outcomes, world)


@pytest.mark.parametrize("name", WORLDS)
def test_a_walk_finds_what_its_plan_does_and_counts_every_run(name: str) -> None:
    outcomes: dict[str, Outcome] = {}
    walk, count = complete(name, outcomes)
    story = tell(*WORLDS[name])
    assert walk.found == story.found
    seen = [outcome for attempt in story.seen for outcome in attempt]
    assert walk.runs == len(seen) == count == len(outcomes)
    assert walk.evaluations == sum(outcome.evaluations for outcome in seen)
    assert walk.cpu_seconds == sum(outcome.status == "done" for outcome in seen)


@pytest.mark.parametrize("name", WORLDS)
@settings(max_examples=20)
@given(data=st.data())
def test_the_order_in_which_outcomes_arrive_does_not_matter(name: str, data: st.DataObject) -> None:
    plan, world = WORLDS[name]
    outcomes: dict[str, Outcome] = {}
    expected, _ = complete(name, outcomes)
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
    whole: dict[str, Outcome] = {}
    first, _ = complete(name, whole)
    kept = data.draw(st.sets(st.sampled_from(sorted(whole))))
    outcomes = {key: whole[key] for key in kept}
    again, count = complete(name, outcomes)
    assert count == len(whole) - len(kept)
    assert outcomes == whole
    assert figures(again) == figures(first)


@pytest.mark.parametrize("name", WORLDS)
def test_outcomes_beyond_what_decided_an_attempt_are_not_counted(name: str) -> None:
    plan, world = WORLDS[name]
    walk, count = complete(name, {}, runs=6)
    known: dict[str, Outcome] = {}
    eager = Walk(make_case(plan, runs=6), known)
    while not eager.advance():
        known |= {trial.key: world(trial) for trial in eager.wanted()}
    assert len(known) >= count
    assert figures(eager) == figures(walk)


def test_a_gap_in_the_outcomes_is_waited_for() -> None:
    case = make_case()
    first, second, _ = case.trials(16)
    outcomes = {second.key: make_outcome(False)}
    walk = Walk(case, outcomes)
    assert not walk.advance()
    assert first in walk.wanted()
    assert second not in walk.wanted()
    outcomes[first.key] = make_outcome()
    assert not walk.advance()
    assert walk.attempt.population == 32


def test_states_of_a_walk() -> None:
    case = make_case(Bisect(max_population=16))
    trials = case.trials(16)
    outcomes: dict[str, Outcome] = {}
    walk = Walk(case, outcomes)
    assert not walk.advance()
    assert (walk.state, walk.wanted(), walk.wanted(2)) == ("waiting", trials, trials[:2])
    outcomes[trials[0].key] = make_outcome()
    assert not walk.advance()
    assert (walk.state, walk.wanted()) == ("running", trials[1:])
    outcomes[trials[1].key] = make_outcome(False)
    assert walk.advance()
    assert walk.advance()
    assert (walk.state, walk.wanted()) == ("not solved", [])
    assert walk.found == Found(None, "population 16")


def test_a_walk_that_failed_has_the_last_line_of_the_traceback() -> None:
    case = make_case()
    error = 'Traceback (most recent call last):\n  File "own.py"\nValueError: no such file\n'
    walk = Walk(case, {case.trials(16)[0].key: make_failure(error)})
    assert walk.advance()
    assert (walk.state, walk.error) == ("failed", "ValueError: no such file")
