"""What every algorithm promises, whether it comes with harmonium or not."""

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import harmonium as hm
from harmonium import ALGORITHMS, EDA, Algorithm, Incremental, Search, Snapshot, Space, Trap
from harmonium.arrays import Bits, Told, check_bits
from harmonium.space import make_space
from harmonium.specs import importable, to_json, to_key
from harmonium.state import CheckpointError
from tests.modules import write_module
from tests.rows import random_rows
from tests.search.examples import EXAMPLES

LENGTH = 12
PROBLEM = Trap(LENGTH, 4)
STEPS = 12
SPACES = {
    "free": Space(LENGTH),
    "fixed": make_space(LENGTH, {0: 1, -1: 0}, None),
    "subset": make_space(LENGTH, None, (3, 5)),
    "both": make_space(LENGTH, {2: 1, 7: 0, 8: 1}, 4),
    "groups": make_space(LENGTH, {6: 1}, (4, 6), [(0, 3, 5), (1, 8)]),
    "one row": make_space(LENGTH, dict.fromkeys(range(LENGTH), 1), None),
}

Disturb = Callable[[Search], Search]


@pytest.fixture(params=EXAMPLES, ids=str)
def algorithm(request: pytest.FixtureRequest) -> Algorithm:
    example: Algorithm = request.param
    return example


in_spaces = pytest.mark.parametrize(
    ("algorithm", "space"),
    [
        pytest.param(example, space, id=f"{example} {name}")
        for number, example in enumerate(EXAMPLES)
        for place, (name, space) in enumerate(SPACES.items())
        if (number + place) % 3 == 0  # each in two of the six spaces
    ],
)


def step(search: Search) -> Bits:
    """Ask and tell once; return the asked rows."""
    rows = search.ask()
    search.tell(rows, PROBLEM(rows))
    return rows


def copy_search(search: Search) -> Search:
    """Restore a search from its snapshot, which is changed afterwards."""
    snapshot = search.snapshot()
    copied = search.algorithm.restore(search.space, search.seed, deepcopy(snapshot))
    for array in snapshot.arrays.values():
        array.fill(0)  # it is no part of the search
    return copied


def assert_same_future(one: Search, other: Search, steps: int = STEPS) -> None:
    for _ in range(steps):
        assert one.status() == other.status()
        np.testing.assert_array_equal(step(one), step(other))


def test_every_algorithm_has_an_example() -> None:
    assert {type(example) for example in EXAMPLES} >= set(ALGORITHMS), "add it to examples.py"


@pytest.mark.parametrize("length", [1, 2, LENGTH])
def test_rows_are_asked_as_bits(algorithm: Algorithm, length: int) -> None:
    search = algorithm.start(length, seed=1)
    assert not len(search.missing)
    for _ in range(STEPS):
        rows = search.ask()
        assert len(rows) >= 1
        assert rows.dtype == np.uint8
        check_bits(rows, length)
        search.tell(rows, rows.sum(axis=1))


def test_a_seed_is_an_integer_from_zero_on_and_a_space_has_a_bit(algorithm: Algorithm) -> None:
    seeds: list[Any] = [-1, 1.5, True, "1"]
    for seed in seeds:
        with pytest.raises(ValueError, match=f"seed is {seed!r}; expected an integer ≥ 0"):
            algorithm.start(LENGTH, seed)
    for length in (0, -3):
        with pytest.raises(ValueError, match=f"length is {length}; expected at least 1"):
            algorithm.start(length, 1)


def test_the_same_seed_asks_the_same_rows_and_another_seed_others(algorithm: Algorithm) -> None:
    one, again, other = (algorithm.start(LENGTH, seed) for seed in (1, 1, 2))
    asked = [[step(search) for _ in range(STEPS)] for search in (one, again, other)]
    for mine, same in zip(asked[0], asked[1], strict=True):
        np.testing.assert_array_equal(mine, same)
    assert not np.array_equal(np.concatenate(asked[0]), np.concatenate(asked[2]))


def test_rows_belong_to_the_asker_and_to_the_teller(algorithm: Algorithm) -> None:
    search, other = (algorithm.start(LENGTH, seed=1) for _ in range(2))
    for _ in range(STEPS):
        rows = search.ask()
        search.ask()[:] = 1
        np.testing.assert_array_equal(search.ask(), rows)  # the same until they are told
        np.testing.assert_array_equal(search.missing, np.arange(len(rows)))
        np.testing.assert_array_equal(step(other), rows)
        fitness = PROBLEM(rows)
        search.tell(rows, fitness)
        rows[:], fitness[:] = 1, 1e9


def test_rows_may_be_told_in_pieces_in_any_order(algorithm: Algorithm) -> None:
    whole, mixed = (algorithm.start(LENGTH, seed=1) for _ in range(2))
    rng = np.random.default_rng(1)
    for _ in range(STEPS):
        rows = whole.ask()
        np.testing.assert_array_equal(mixed.ask(), rows)
        whole.tell(rows, PROBLEM(rows))
        order = rng.permutation(len(rows))
        first, rest = np.split(order, [len(rows) // 2])
        mixed.tell(rows[first], PROBLEM(rows[first]), first)
        np.testing.assert_array_equal(mixed.missing, np.sort(rest))
        np.testing.assert_array_equal(mixed.ask(), rows[np.sort(rest)])
        if len(first):
            with pytest.raises(ValueError, match=r"row \d+ was told already, or never asked"):
                mixed.tell(rows[first], PROBLEM(rows[first]), first)
        mixed.tell(rows[rest], PROBLEM(rows[rest]), rest)
        assert mixed.status() == whole.status()


def test_rows_and_fitness_may_be_lists_or_told(algorithm: Algorithm) -> None:
    search, other = (algorithm.start(LENGTH, seed=1) for _ in range(2))
    for number in range(STEPS):
        rows = search.ask()
        fitness = PROBLEM(rows)
        none = np.zeros(len(rows))
        told = Told(fitness[:, None], none, none > 0)
        search.tell(rows.tolist(), told if number % 2 else fitness.tolist())
        search.tell(np.empty((0, LENGTH)), [])  # no rows change nothing
        np.testing.assert_array_equal(step(other), rows)


def test_repaired_rows_take_the_places_of_those_asked(algorithm: Algorithm) -> None:
    search, other = (algorithm.start(LENGTH, seed=1) for _ in range(2))
    for _ in range(STEPS):
        rows = search.ask()
        other.ask()
        rows[0] ^= 1
        search.tell(rows, PROBLEM(rows))
        half = len(rows) // 2
        other.tell(rows[half:], PROBLEM(rows[half:]), np.arange(half, len(rows)))
        other.tell(rows[:half], PROBLEM(rows[:half]))
    assert_same_future(search, other, 3)


@in_spaces
def test_unusable_rows_are_survived(algorithm: Algorithm, space: Space) -> None:
    """Rows that failed or are not feasible have -inf; a search goes on, and keeps to the others."""
    search = algorithm.start(space, seed=1)
    for number in range(STEPS):
        rows = search.ask()
        values = PROBLEM(rows)[:, None]
        failed = rows[:, 1] == 1 if number > 2 else np.ones(len(rows), np.bool_)
        values[failed] = np.nan
        violation = (rows[:, 2] == 0).astype(float)
        search.tell(rows, Told(values, violation, failed))
        check_status(search.status())


WRONG_TELLS: list[tuple[Any, Any, Any, str]] = [
    (np.zeros((2, LENGTH + 1)), [1, 2], None, r"have shape \(2, 13\); expected \(rows, 12\)"),
    (np.zeros(LENGTH), [1], None, r"have shape \(12,\)"),
    (np.zeros((1, LENGTH)).astype(str), [1], None, "have dtype <U"),
    (np.full((2, LENGTH), 2), [1, 1], None, "2 in row 0, column 0; expected 0 or 1"),
    (np.zeros((2, LENGTH)), [1], None, r"fitness has shape \(1,\) for 2 rows"),
    (np.zeros((2, LENGTH)), [1, np.nan], None, "fitness has nan in row 1 of 2"),
    (np.zeros((2, LENGTH)), [-np.inf, 1], None, "fitness has -inf in row 0 of 2"),
    (np.zeros((2, LENGTH)), None, None, "fitness is None; return one number a row"),
    (np.zeros((99, LENGTH)), np.zeros(99), None, r"99 rows were told; expected \d+, as many as"),
    (np.zeros((2, LENGTH)), [1, 2], [0], "2 rows were told; expected 1, one place a row"),
    (np.zeros((1, LENGTH)), [1], [99], "row 99 was told already, or never asked"),
]


def test_a_wrong_tell_is_refused_and_changes_nothing(algorithm: Algorithm) -> None:
    search, other = (algorithm.start(LENGTH, seed=1) for _ in range(2))
    for _ in range(3):
        for ask in (False, True):
            if ask:
                search.ask()
            for rows, fitness, places, message in WRONG_TELLS:
                with pytest.raises(ValueError, match=message):
                    search.tell(rows, fitness, places)
        np.testing.assert_array_equal(step(search), step(other))


@in_spaces
def test_every_asked_row_is_valid(algorithm: Algorithm, space: Space) -> None:
    search = algorithm.start(space, seed=1)
    for _ in range(STEPS):
        rows = step(search)
        np.testing.assert_array_equal(space.repair(rows, np.random.default_rng(0)), rows)


@pytest.mark.parametrize("count", [1, 50])
def test_known_solutions_are_accepted_at_any_time(algorithm: Algorithm, count: int) -> None:
    search = algorithm.start(LENGTH, seed=1)
    again = algorithm.start(LENGTH, seed=1)
    for number in range(STEPS):
        known = random_rows(count, LENGTH, seed=number)
        for one in (search, again):
            if number % 2:
                one.ask()
            one.inject(known, PROBLEM(known) + 100)
        again = copy_search(again)
        np.testing.assert_array_equal(step(again), step(search))


def check_status(status: hm.Status) -> None:
    assert status.generation is None or status.generation >= 0
    assert status.population is None or status.population >= 1
    assert status.mean is None or np.isfinite(status.mean)
    assert isinstance(status.converged, bool)
    assert status.repairs >= 0
    for label, fact in status.facts.items():
        assert isinstance(label, str)
        assert isinstance(fact, float)
        assert np.isfinite(fact)
    assert json.loads(msgspec.json.encode(vars(status))) == vars(status)


def walk(search: Search, disturb: Disturb) -> Iterator[Any]:
    """Yield all that was asked and reported, disturbed at every point of every step."""
    for number in range(STEPS):
        search = disturb(search)
        rows = search.ask()
        yield rows
        search = disturb(search)
        half = np.arange(len(rows) // 2, len(rows))
        search.tell(rows[half], PROBLEM(rows[half]), half)
        search = disturb(search)
        rest = rows[: len(rows) // 2]
        search.tell(rest, PROBLEM(rest))
        if number == 2:
            search = disturb(search)
            search.inject(np.ones((1, LENGTH), np.uint8), np.array([float(LENGTH)]))
        check_status(search.status())
        yield np.array(search.status())


@in_spaces
def test_a_snapshot_at_any_point_continues_in_the_same_way(
    algorithm: Algorithm, space: Space
) -> None:
    alone = walk(algorithm.start(space, 2), lambda search: search)
    disturbed = walk(algorithm.start(space, 2), copy_search)
    for one, other in zip(alone, disturbed, strict=True):
        np.testing.assert_array_equal(other, one)


def test_a_snapshot_does_not_change_and_goes_through_a_file(
    algorithm: Algorithm, tmp_path: Path
) -> None:
    search = algorithm.start(LENGTH, seed=1)
    for _ in range(5):
        step(search)
    snapshot = search.snapshot()
    snapshot.save(tmp_path / "search.ckpt")
    later = [step(search) for _ in range(STEPS)]
    for saved in (snapshot, snapshot, Snapshot.load(tmp_path / "search.ckpt")):
        restored = algorithm.restore(LENGTH, 1, saved)
        for rows in later:
            np.testing.assert_array_equal(step(restored), rows)


OTHERS: list[tuple[Space | int, int, str]] = [
    (LENGTH, 2, "seed is '1' there, '2' here"),
    (make_space(LENGTH, {3: 1}, None), 1, "space.fixed is [] there, [[3, 1]] here"),
    (make_space(LENGTH, None, (2, 9)), 1, "space.ones is [0, 12] there, [2, 9] here"),
]


def test_a_snapshot_of_another_search_is_refused(algorithm: Algorithm) -> None:
    search = algorithm.start(LENGTH, seed=1)
    step(search)
    for space, seed, difference in OTHERS:
        with pytest.raises(ValueError, match=r"^the snapshot is of another search: ") as caught:
            algorithm.restore(space, seed, search.snapshot())
        assert str(caught.value).endswith(f": {difference}")
    for facts in ({}, {"of": None}, {"of": 5}):
        with pytest.raises(ValueError, match=r"^the snapshot is of another search: "):
            algorithm.restore(LENGTH, 1, Snapshot(facts))
    for other in EXAMPLES[::4]:
        if other != algorithm:
            with pytest.raises(ValueError, match=r"another search: algorithm\.\w"):
                algorithm.restore(LENGTH, 1, other.start(LENGTH, 1).snapshot())


def test_a_state_of_another_type_is_refused(algorithm: Algorithm) -> None:
    snapshot = algorithm.start(LENGTH, seed=1).snapshot()
    for state in (b"", snapshot.facts["state"][:-1], msgspec.msgpack.encode([1])):
        wrong = Snapshot(snapshot.facts | {"state": state}, snapshot.arrays)
        with pytest.raises(CheckpointError, match="its state does not fit: "):
            algorithm.restore(LENGTH, 1, wrong)
    with pytest.raises(CheckpointError, match="the snapshot has no 'rows'"):
        algorithm.restore(LENGTH, 1, Snapshot(snapshot.facts))


SOURCE = (Path(__file__).parent / "one_plus_one.py").read_text("utf-8")


def test_a_default_that_changed_is_refused(tmp_path: Path) -> None:
    name = write_module(tmp_path, SOURCE)
    with importable(tmp_path):
        before = ALGORITHMS.parse(f"{name}:OnePlusOne")
        snapshot = before.start(LENGTH, 1).snapshot()
        before.restore(LENGTH, 1, snapshot)
        (tmp_path / f"{name}.py").write_text(SOURCE.replace("= 1.0", "= 2.0"), encoding="utf-8")
        after = ALGORITHMS.parse(f"{name}:OnePlusOne")
    assert str(before) == str(after)
    with pytest.raises(ValueError, match=r"another search: algorithm\.source is '.*' there, '"):
        after.restore(LENGTH, 1, snapshot)


def test_an_algorithm_goes_through_text_and_json(algorithm: Algorithm) -> None:
    for again in (
        ALGORITHMS.parse(str(algorithm)),
        ALGORITHMS.from_dict(algorithm.to_dict()),
        ALGORITHMS.from_dict(json.loads(to_json(algorithm))),
    ):
        assert again == algorithm
        assert type(again) is type(algorithm)
        assert hash(again) == hash(algorithm)
        assert (str(again), to_key(again)) == (str(algorithm), to_key(algorithm))
    assert algorithm.label


def test_a_population_is_set_or_refused(algorithm: Algorithm) -> None:
    if not isinstance(algorithm, EDA | Incremental):
        with pytest.raises(ValueError, match="has no population size to choose; expected "):
            algorithm.with_population(64)
        return
    other = algorithm.with_population(64)
    assert other.start(LENGTH, 1).status().population == 64
    assert other.with_population(32) == algorithm.with_population(32)


def without_times(result: hm.Result) -> dict[str, Any]:
    facts = result.to_dict()
    del facts["cpu_seconds"], facts["seconds"]
    return facts | {"trace": result.trace}


def value(x: Any) -> float:
    return float(PROBLEM(x[None])[0])


def test_an_algorithm_runs_and_resumes_from_a_checkpoint(
    algorithm: Algorithm, tmp_path: Path
) -> None:
    path = tmp_path / "run.ckpt"
    options: dict[str, Any] = {"algorithm": algorithm, "seed": 2, "cache": False}
    whole = hm.maximize(value, LENGTH, max_evaluations=300, **options)
    assert (whole.algorithm, whole.label) == (str(algorithm), algorithm.label)
    assert value(whole.x) == whole.fun
    assert whole.evaluations == 300 or whole.stopped_by in ("optimum", "converged", "patience")
    cut: dict[str, Any] = {
        "callback": lambda runner: runner.record.evaluations >= 130,
        "checkpoint": path,
    }
    hm.maximize(value, LENGTH, max_evaluations=300, **cut, **options)
    resumed = hm.resume(path, value)
    assert without_times(resumed) == without_times(whole)
