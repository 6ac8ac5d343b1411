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
from harmonium.arrays import Bits, check_bits
from harmonium.clock import PHASES
from harmonium.space import as_space, make_space
from harmonium.specs import importable, to_json, to_key
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


@pytest.fixture(params=SPACES)
def space(request: pytest.FixtureRequest) -> Space:
    return SPACES[request.param]


def step(search: Search) -> Bits:
    """Ask and tell once; return the asked rows."""
    bits = search.ask()
    search.tell(bits, PROBLEM(bits))
    return bits


def copy_search(search: Search) -> Search:
    """Save a search, send all of it through JSON and copies of arrays, and restore it."""
    snapshot = search.snapshot()
    facts = json.loads(msgspec.json.encode(snapshot.facts))
    arrays = {name: array.copy() for name, array in snapshot.arrays.items()}
    return search.algorithm.restore(search.space, search.seed, Snapshot(facts, arrays))


def assert_same_future(one: Search, other: Search, steps: int = STEPS) -> None:
    for _ in range(steps):
        assert one.status() == other.status()
        np.testing.assert_array_equal(step(one), step(other))


def test_every_algorithm_has_an_example() -> None:
    assert {type(example) for example in EXAMPLES} >= set(ALGORITHMS), "add it to examples.py"


def test_rows_are_asked_as_bits(algorithm: Algorithm) -> None:
    search = algorithm.start(LENGTH, seed=1)
    for _ in range(STEPS):
        bits = step(search)
        assert len(bits) >= 1
        assert bits.dtype == np.uint8
        check_bits(bits, LENGTH)


def test_a_length_stands_for_free_bits(algorithm: Algorithm) -> None:
    assert_same_future(algorithm.start(LENGTH, 1), algorithm.start(Space(LENGTH), 1))


@pytest.mark.parametrize("length", [1, 2])
def test_few_bits_are_enough(algorithm: Algorithm, length: int) -> None:
    search = algorithm.start(length, seed=1)
    for _ in range(STEPS):
        bits = search.ask()
        assert bits.shape[1] == length
        search.tell(bits, bits.sum(axis=1))


def test_a_seed_is_an_integer_from_zero_on(algorithm: Algorithm) -> None:
    seeds: list[Any] = [-1, 1.5, True, "1"]
    for seed in seeds:
        with pytest.raises(ValueError, match=f"seed is {seed!r}; expected an integer ≥ 0"):
            algorithm.start(LENGTH, seed)


def test_a_space_has_a_bit(algorithm: Algorithm) -> None:
    for length in (0, -3):
        with pytest.raises(ValueError, match=f"length is {length}; expected at least 1 bit"):
            algorithm.start(length, 1)


def test_the_same_seed_asks_the_same_rows_and_another_seed_others(algorithm: Algorithm) -> None:
    one, again, other = (algorithm.start(LENGTH, seed) for seed in (1, 1, 2))
    asked = [[step(search) for _ in range(STEPS)] for search in (one, again, other)]
    for mine, same in zip(asked[0], asked[1], strict=True):
        np.testing.assert_array_equal(mine, same)
    assert not np.array_equal(np.concatenate(asked[0]), np.concatenate(asked[2]))


def test_the_same_rows_are_asked_until_they_are_told(algorithm: Algorithm) -> None:
    search, other = (algorithm.start(LENGTH, seed=1) for _ in range(2))
    for _ in range(STEPS):
        bits = search.ask()
        np.testing.assert_array_equal(search.ask(), bits)
        search.ask()[:] = 1  # asked rows belong to the asker
        np.testing.assert_array_equal(search.ask(), bits)
        assert search.status().repairs == 0
        search.tell(bits, PROBLEM(bits))
        np.testing.assert_array_equal(step(other), bits)


def test_what_is_told_belongs_to_the_teller(algorithm: Algorithm) -> None:
    search, other = (algorithm.start(LENGTH, seed=1) for _ in range(2))
    for _ in range(3):
        bits = search.ask()
        fitness = PROBLEM(bits)
        search.tell(bits, fitness)
        bits[:], fitness[:] = 1, 1e9
        step(other)
    assert_same_future(search, other)


def test_rows_told_in_pieces_or_out_of_order_are_told_at_once(algorithm: Algorithm) -> None:
    whole, mixed = (algorithm.start(LENGTH, seed=1) for _ in range(2))
    rng = np.random.default_rng(1)
    for _ in range(STEPS):
        bits = whole.ask()
        np.testing.assert_array_equal(mixed.ask(), bits)
        whole.tell(bits, PROBLEM(bits))
        cuts = np.sort(rng.integers(0, len(bits) + 1, 3))
        for piece in np.split(rng.permutation(bits), cuts):
            mixed.tell(piece, PROBLEM(piece))
        assert mixed.status() == whole.status()
    assert_same_future(mixed, whole, 3)


def test_after_a_piece_the_rest_is_asked(algorithm: Algorithm) -> None:
    search = algorithm.start(LENGTH, seed=1)
    for _ in range(STEPS):
        bits = search.ask()
        half = len(bits) // 2
        search.tell(bits[:half], PROBLEM(bits[:half]))
        np.testing.assert_array_equal(search.ask(), bits[half:])
        search.tell(bits[half:], PROBLEM(bits[half:]))


def test_telling_no_rows_changes_nothing(algorithm: Algorithm) -> None:
    search, other = (algorithm.start(LENGTH, seed=1) for _ in range(2))
    for _ in range(STEPS):
        search.tell(np.empty((0, LENGTH)), [])
        np.testing.assert_array_equal(search.ask(), other.ask())
        search.tell(np.empty((0, LENGTH)), [])
        np.testing.assert_array_equal(step(search), step(other))


WRONG_TELLS: list[tuple[Any, Any, str]] = [
    (np.zeros((2, LENGTH + 1)), [1, 2], r"bits have shape \(2, 13\); expected \(rows, 12\)"),
    (np.full((2, LENGTH), 2), [1, 1], "bits have 2 in row 0, column 0; expected 0 or 1"),
    (np.zeros((2, LENGTH)), [1], r"fitness has shape \(1,\) for 2 rows"),
    (np.zeros((2, LENGTH)), [1, np.nan], "fitness has nan in row 1 of 2"),
    (np.zeros((2, LENGTH)), None, "fitness is None"),
]


def test_a_wrong_tell_is_refused_and_changes_nothing(algorithm: Algorithm) -> None:
    search, other = (algorithm.start(LENGTH, seed=1) for _ in range(2))
    for _ in range(3):
        for bits, fitness, message in WRONG_TELLS:
            with pytest.raises(ValueError, match=message):
                search.tell(bits, fitness)
        search.ask()
        for bits, fitness, message in WRONG_TELLS:
            with pytest.raises(ValueError, match=message):
                search.tell(bits, fitness)
        np.testing.assert_array_equal(step(search), step(other))


def test_every_asked_row_is_valid(algorithm: Algorithm, space: Space) -> None:
    search, again = (algorithm.start(space, seed=1) for _ in range(2))
    for _ in range(STEPS):
        bits = step(search)
        valid = (bits[:, space.places] == space.values).all(axis=1)
        ones = bits.sum(axis=1)
        valid &= (ones >= space.fewest) & (ones <= space.most)
        assert valid.all()
        np.testing.assert_array_equal(step(again), bits)


@pytest.mark.parametrize("count", [1, 50])
def test_known_solutions_are_accepted_at_the_start(algorithm: Algorithm, count: int) -> None:
    known = random_rows(count, LENGTH, seed=5)
    search, again = (algorithm.start(LENGTH, seed=1) for _ in range(2))
    for one in (search, again):
        one.tell(known, PROBLEM(known))
    assert_same_future(copy_search(search), again)


def test_known_solutions_are_accepted_at_any_time(algorithm: Algorithm) -> None:
    search = algorithm.start(LENGTH, seed=1)
    for number in range(STEPS):
        known = random_rows(1, LENGTH, seed=number)
        bits = search.ask()
        if len(bits) > 1 and not (bits == known).all(axis=1).any():
            search.tell(known, PROBLEM(known) + 100)
            np.testing.assert_array_equal(search.ask(), bits)
        search.tell(bits, PROBLEM(bits))


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


def test_the_status_is_well_formed(algorithm: Algorithm, space: Space) -> None:
    search = algorithm.start(space, seed=1)
    check_status(search.status())
    generation = repairs = 0
    for _ in range(STEPS):
        bits = search.ask()
        check_status(search.status())
        search.tell(bits[:1], PROBLEM(bits[:1]))
        check_status(search.status())
        search.tell(bits[1:], PROBLEM(bits[1:]))
        status = search.status()
        check_status(status)
        assert generation <= (status.generation or 0) <= generation + 1
        assert repairs <= status.repairs <= repairs + len(bits)
        generation, repairs = status.generation or 0, status.repairs


def test_time_is_charged_to_known_phases(algorithm: Algorithm) -> None:
    search = algorithm.start(LENGTH, seed=1)
    for _ in range(STEPS):
        step(search)
    assert tuple(search.clock.seconds) == PHASES
    assert all(seconds >= 0 for seconds in search.clock.seconds.values())


def test_a_fit_can_be_sampled(algorithm: Algorithm) -> None:
    search = algorithm.start(LENGTH, seed=1)
    for number in range(STEPS):
        fitted = search.fitted
        assert fitted is None or number > 0
        if fitted is not None:
            assert fitted.sample(5, np.random.default_rng(1)).shape == (5, LENGTH)
        step(search)
    assert isinstance(algorithm, EDA | Incremental) == (search.fitted is not None)


def walk(search: Search, disturb: Disturb) -> Iterator[Any]:
    """Yield all that was asked and reported, disturbed at every point of every step."""
    for number in range(STEPS):
        search = disturb(search)
        bits = search.ask()
        yield bits
        search = disturb(search)
        half = len(bits) // 2
        search.tell(bits[half:][::-1], PROBLEM(bits[half:][::-1]))
        search = disturb(search)
        rest = search.ask() if half else bits[:0]
        search.tell(rest, PROBLEM(rest))
        yield rest
        if number == 2 and not (bits == 1).all(axis=1).any():
            search = disturb(search)
            search.tell(np.ones((1, LENGTH)), [LENGTH])
        yield np.array(search.status())


def test_a_snapshot_at_any_point_continues_in_the_same_way(
    algorithm: Algorithm, space: Space
) -> None:
    alone = walk(algorithm.start(space, 2), lambda search: search)
    disturbed = walk(algorithm.start(space, 2), copy_search)
    for one, other in zip(alone, disturbed, strict=True):
        np.testing.assert_array_equal(other, one)


def test_a_snapshot_does_not_change_when_the_search_continues(algorithm: Algorithm) -> None:
    search = algorithm.start(LENGTH, seed=1)
    for _ in range(3):
        step(search)
    snapshot = search.snapshot()
    later = [step(search) for _ in range(STEPS)]
    for _ in range(2):
        restored = algorithm.restore(LENGTH, 1, snapshot)
        for bits in later:
            np.testing.assert_array_equal(step(restored), bits)


def test_a_snapshot_goes_through_a_file(algorithm: Algorithm, tmp_path: Path) -> None:
    search = algorithm.start(LENGTH, seed=1)
    for _ in range(5):
        step(search)
    search.snapshot().save(tmp_path / "search.ckpt")
    restored = algorithm.restore(LENGTH, 1, Snapshot.load(tmp_path / "search.ckpt"))
    assert_same_future(restored, search)


OTHERS: list[tuple[Space | int, int, str]] = [
    (LENGTH, 2, "seed is 1 there, 2 here"),
    (LENGTH + 1, 1, "space.length is 12 there, 13 here"),
    (make_space(LENGTH, {3: 1}, None), 1, "space.fixed is [] there, [[3, 1]] here"),
    (make_space(LENGTH, None, (2, 9)), 1, "space.ones is [0, 12] there, [2, 9] here"),
]


def test_a_snapshot_of_another_seed_or_space_is_refused(algorithm: Algorithm) -> None:
    search = algorithm.start(LENGTH, seed=1)
    step(search)
    for space, seed, difference in OTHERS:
        with pytest.raises(ValueError, match=r"^the snapshot is of another search: ") as caught:
            algorithm.restore(space, seed, search.snapshot())
        assert str(caught.value).endswith(f": {difference}")


def find_leaves(plain: dict[str, Any], path: str = "") -> Iterator[tuple[dict[str, Any], str, str]]:
    """Yield each value that is not a dict: where it stands, its key, and its path."""
    for key, value in list(plain.items()):
        if isinstance(value, dict):
            yield from find_leaves(value, f"{path}{key}.")
        else:
            yield plain, key, f"{path}{key}"


def test_a_snapshot_of_any_other_setting_is_refused(algorithm: Algorithm) -> None:
    """Also of one that had been the default: every field is part of the identity."""
    snapshot = algorithm.start(LENGTH, seed=1).snapshot()
    of: dict[str, Any] = deepcopy(snapshot.facts["of"])
    settings = {path for _, _, path in find_leaves(algorithm.to_dict(), "algorithm.")}
    assert {path for _, _, path in find_leaves(of)} >= settings > {"algorithm.name"}
    for place, key, path in find_leaves(of):
        value = place[key]
        place[key] = "other"
        assert explain_refusal(algorithm, of) == f"{path} is 'other' there, {value!r} here"
        del place[key]
        assert explain_refusal(algorithm, of) == f"{path} is missing there, {value!r} here"
        place |= {key: value, "added": 1}
        assert explain_refusal(algorithm, of).endswith("added is 1 there, missing here")
        del place["added"]
    algorithm.restore(LENGTH, 1, Snapshot({**snapshot.facts, "of": of}, snapshot.arrays))


def explain_refusal(algorithm: Algorithm, of: dict[str, Any]) -> str:
    """Return in what a snapshot of something else is said to differ."""
    with pytest.raises(ValueError, match=r"^the snapshot is of another search: ") as caught:
        algorithm.restore(LENGTH, 1, Snapshot({"of": of}))
    return str(caught.value).removeprefix("the snapshot is of another search: ")


def test_what_is_not_a_snapshot_of_a_search_is_refused(algorithm: Algorithm) -> None:
    no_snapshots: list[dict[str, Any]] = [{}, {"of": None}, {"of": 5}]
    for facts in no_snapshots:
        with pytest.raises(ValueError, match=r"^the snapshot is of another search: "):
            algorithm.restore(LENGTH, 1, Snapshot(facts))


def test_examples_refuse_the_snapshots_of_each_other(algorithm: Algorithm) -> None:
    for other in EXAMPLES:
        if other != algorithm:
            with pytest.raises(ValueError, match=r"another search: algorithm\.\w"):
                algorithm.restore(LENGTH, 1, other.start(LENGTH, 1).snapshot())


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


def test_no_two_algorithms_have_the_same_text_or_key() -> None:
    assert len({str(example) for example in EXAMPLES}) == len(EXAMPLES)
    assert len({to_key(example) for example in EXAMPLES}) == len(EXAMPLES)


def test_a_population_is_set_or_refused(algorithm: Algorithm) -> None:
    try:
        other = algorithm.with_population(64)
    except ValueError as error:
        assert not isinstance(algorithm, EDA)
        assert str(error).startswith(f"{algorithm} has no population size to choose; expected ")  # noqa: PT017
        return
    assert other.start(LENGTH, 1).status().population == 64
    assert other.with_population(32) == algorithm.with_population(32)


def without_times(result: hm.Result) -> dict[str, Any]:
    facts = result.to_dict()
    del facts["cpu_seconds"], facts["seconds"]
    return facts | {"trace": result.trace}


def test_an_algorithm_runs(algorithm: Algorithm) -> None:
    stop = hm.Stop(max_evaluations=300)
    one, again = (hm.run(PROBLEM, algorithm, stop=stop, seed=4) for _ in range(2))
    assert without_times(one) == without_times(again)
    assert (one.algorithm, one.label) == (str(algorithm), algorithm.label)
    assert PROBLEM(one.x[None])[0] == one.fun
    assert one.evaluations <= 300
    assert one.evaluations == 300 or one.stopped_by in ("optimum", "converged", "patience")


def value(x: Any) -> float:
    return float(PROBLEM(x[None])[0])


def test_an_algorithm_optimizes_from_a_known_solution_under_constraints(
    algorithm: Algorithm,
) -> None:
    known = np.zeros(LENGTH, dtype=np.uint8)
    known[[1, 2]] = 1
    options: dict[str, Any] = {"seed": 1, "initial": known, "fixed": {0: 0}, "subset_size": 2}
    result = hm.maximize(value, LENGTH, algorithm=algorithm, max_evaluations=200, **options)
    assert result.fun >= value(known)
    assert (result.x[0], result.x.sum()) == (0, 2)
    text = hm.maximize(value, LENGTH, algorithm=str(algorithm), max_evaluations=200, **options)
    assert without_times(text) == without_times(result)


def test_an_algorithm_resumes_from_a_checkpoint(algorithm: Algorithm, tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    options: dict[str, Any] = {"algorithm": algorithm, "seed": 2, "cache": False}
    whole = hm.maximize(value, LENGTH, max_evaluations=400, **options)
    hm.maximize(value, LENGTH, max_evaluations=130, checkpoint=path, **options)
    resumed = hm.resume(path, value, max_evaluations=400)
    assert without_times(resumed) == without_times(whole)


def test_as_space_leaves_a_space_alone() -> None:
    space = SPACES["both"]
    assert as_space(space) is space
    assert as_space(5).describe() == {"length": 5, "fixed": [], "ones": [0, 5], "exactly_one": []}
