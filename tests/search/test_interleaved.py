"""The EDA with interleaved populations: whose turn it is, who retires, and what they share."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harmonium import BOA, EDA, MODELS, UMDA, Model, Space, Status, Trap
from harmonium.arrays import Bits, Fitness
from harmonium.search.interleaved import InterleavedSearch
from harmonium.search.population import PopulationSearch
from harmonium.search.replacement import Population
from tests.search.searches import BEST, LENGTH, PROBLEM
from tests.spies import FailingModel, RandomModel

Heights = Callable[[int, int], float]
"""What all rows of a population are worth, by its size and how often it had its turn."""


def start(
    model: Model | None = None, space: Space | int = LENGTH, **settings: Any
) -> InterleavedSearch:
    search = EDA(model or UMDA(), **settings).start(space, seed=1)
    assert isinstance(search, InterleavedSearch)
    return search


def step(search: InterleavedSearch) -> Bits:
    """Ask and tell once; return the asked rows."""
    bits = search.ask()
    search.tell(bits, PROBLEM(bits))
    return bits


def play(turns: int, heights: Heights) -> list[int]:
    """Return the sizes of the populations that had their turns."""
    search = start(RandomModel())
    sizes: list[int] = []
    for _ in range(turns):
        bits = search.ask()
        sizes.append(size_of(search))
        height = heights(sizes[-1], sizes.count(sizes[-1]) - 1)
        search.tell(bits, np.full(len(bits), height))
    return sizes


def size_of(search: InterleavedSearch) -> int:
    """Return the size of the population whose turn it is."""
    size = search.status().population
    assert size is not None
    return size


def waiting_of(search: InterleavedSearch) -> int:
    return search._level.search.waiting


def fix_all(value: int) -> Space:
    """Return a space with one row: every population of it converges at once."""
    return Space(LENGTH, np.arange(LENGTH), np.full(LENGTH, value, dtype=np.uint8))


def sizes_of(search: InterleavedSearch) -> list[int]:
    return [level.search.size for level in search.levels]


def population_of(search: InterleavedSearch) -> Population:
    assert search.population is not None
    return search.population


def assert_same(search: InterleavedSearch, other: InterleavedSearch) -> None:
    assert sizes_of(search) == sizes_of(other)
    assert [level.turns for level in search.levels] == [level.turns for level in other.levels]
    assert [vars(level) | {"search": None} for level in search.levels] == [
        vars(level) | {"search": None} for level in other.levels
    ]
    assert search.status() == other.status()
    assert (search.grown, waiting_of(search)) == (other.grown, waiting_of(other))


def test_a_new_search_knows_nothing() -> None:
    search = start()
    assert (search.generation, search.grown, waiting_of(search)) == (0, 1, 0)
    assert (search.population, search.fitted) == (None, None)
    assert search.status() == Status(generation=0, population=32)


def take_turns(size: int) -> list[int]:
    """Return the sizes that have their turns before one of `size` has its own."""
    if size == 32:
        return []
    smaller = take_turns(size // 2)
    return [*smaller, size // 2] * 8 + smaller


def test_a_population_gets_eight_generations_for_one_of_the_next_larger() -> None:
    # Smaller is better, and every generation better than the last: nobody retires.
    sizes = play(800, lambda size, turn: turn - 1e6 * size)
    assert sizes == take_turns(512)[:800]
    assert sizes[:10] == [32] * 8 + [64] + [32]
    assert set(sizes) == {32, 64, 128, 256}


def test_the_smallest_population_has_room_for_two_tournaments() -> None:
    assert sizes_of(start(tournament=8)) == [32]
    assert sizes_of(start(tournament=16)) == [32]
    search = start(tournament=41)
    assert len(step(search)) == 82
    assert len(step(search)) == 41


def test_converged_populations_retire() -> None:
    search = start(space=fix_all(1))
    for turn in range(5):
        bits = step(search)
        assert len(bits) == 32 * 2**turn
        assert sizes_of(search) == []
        # The last one is shown until the next has its turn.
        assert size_of(search) == len(bits)
        assert len(population_of(search).bits) == len(bits)
        assert not search.status().converged
    assert search.grown == 5


def test_populations_retire_after_twenty_generations_without_a_better_solution() -> None:
    sizes = play(100, lambda size, turn: -float(size))
    # Its random first rows were the best: 20 generations more, 21 turns.
    assert [sizes.count(size) for size in (32, 64, 128)] == [21, 21, 21]


def test_a_better_solution_gives_twenty_generations_more() -> None:
    sizes = play(300, lambda size, turn: float(turn >= 15) - size)
    assert [sizes.count(size) for size in (32, 64, 128)] == [36, 36, 36]


def test_a_population_retires_when_a_larger_one_has_a_better_mean() -> None:
    sizes = play(100, lambda size, turn: turn + 1000.0 * (size == 64))
    assert sizes[:12] == [32] * 8 + [64] * 4
    assert 32 not in sizes[8:]


def test_a_population_as_good_as_a_larger_one_retires() -> None:
    assert play(12, lambda size, turn: 1.0) == [32] * 8 + [64] * 4


def test_a_mean_beyond_all_numbers_is_no_reason_to_retire() -> None:
    # As where -1.7e308 stands for "not allowed".
    assert play(9, lambda size, turn: -1.7e308) == [32] * 8 + [64]


def test_all_the_smaller_ones_retire_at_once() -> None:
    def heights(size: int, turn: int) -> float:
        return turn + 1e9 if size == 128 else turn - 1e6 * size

    sizes = play(100, heights)
    first = sizes.index(128)
    assert sizes[:first] == take_turns(128)
    assert sizes[first : first + 8] == [128] * 8
    assert set(sizes[first:]) == {128, 256}


def test_a_larger_population_does_not_retire_for_a_smaller_one() -> None:
    sizes = play(200, lambda size, turn: turn + 1e6 * (size == 32))
    assert sizes == take_turns(256)[:200]


def test_the_mean_counts_not_the_best() -> None:
    search = start(RandomModel())
    for _ in range(8):
        bits = search.ask()
        search.tell(bits, np.full(len(bits), 10.0 + search.generation))
    bits = search.ask()
    assert len(bits) == 64
    fitness = np.zeros(64)
    fitness[0] = 100
    search.tell(bits, fitness)
    assert sizes_of(search) == [32, 64]


@pytest.mark.parametrize("model", [pytest.param(cls(), id=cls.name) for cls in MODELS])
def test_each_population_asks_what_it_would_alone(model: Model) -> None:
    problem = Trap(20, 5)
    search = EDA(model).start(20, seed=3)
    assert isinstance(search, InterleavedSearch)
    asked: dict[int, list[Bits]] = defaultdict(list)
    for _ in range(30):
        bits = search.ask()
        asked[size_of(search)].append(bits)
        search.tell(bits, problem(bits))
    assert set(asked) >= {32, 64}
    for size, batches in asked.items():
        alone = EDA(model, population=size).start(20, seed=3)
        assert isinstance(alone, PopulationSearch)
        for batch in batches:
            np.testing.assert_array_equal(alone.ask(), batch)
            alone.tell(batch, problem(batch))
        np.testing.assert_array_equal(alone.mask, search.mask)


@pytest.mark.parametrize(
    "settings", [{"replacement": "rtr"}, {"tournament": 4}, {"pairing": "parent-offspring"}]
)
def test_each_population_keeps_the_settings(settings: dict[str, Any]) -> None:
    search = start(**settings)
    for _ in range(20):
        step(search)
        for level in search.levels:
            alone = EDA(UMDA(), population=level.search.size, **settings)
            assert level.search.eda == alone


def test_generations_are_models_built_not_random_populations() -> None:
    search = start(RandomModel())
    for turn in range(1, 40):
        assert search.generation == max(0, turn - 1 - search.grown)
        bits = search.ask()
        search.tell(bits[2:], PROBLEM(bits[2:]))
        search.tell(bits[:2], PROBLEM(bits[:2]))
        assert search.generation == turn - search.grown
    assert search.grown > 2


def test_the_status_is_that_of_the_population_whose_turn_it_was() -> None:
    search = start(BOA())
    for size in [32] * 8 + [64]:
        step(search)
        status = search.status()
        assert (status.population, status.mean) == (size, population_of(search).mean)
    assert status.facts == {}  # the larger population has no model yet
    step(search)
    assert search.fitted is not None
    assert search.status().population == 32
    assert search.status().facts == search.fitted.facts


def test_repairs_of_retired_populations_are_counted() -> None:
    search = start(space=fix_all(1))
    rows = repairs = 0
    for _ in range(5):
        rows += len(step(search))
        assert repairs < search.status().repairs <= rows
        repairs = search.status().repairs
    assert rows == 32 * 31
    assert repairs > 0.99 * rows  # a random row of 12 bits is valid with probability 2^-12


def test_all_populations_share_a_clock() -> None:
    search = start()
    for _ in range(20):
        step(search)
    assert all(level.search.clock is search.clock for level in search.levels)
    assert search.clock.seconds["building"] > 0


@given(st.integers(0, 2**31))
@settings(max_examples=25)
def test_telling_in_pieces_and_out_of_order_is_telling_at_once(seed: int) -> None:
    whole, mixed = start(), start()
    rng = np.random.default_rng(seed)
    for _ in range(12):
        np.testing.assert_array_equal(mixed.ask(), whole.ask())
        bits = step(whole)
        cuts = np.sort(rng.choice(np.arange(1, len(bits)), 3, replace=False))
        for piece in np.split(rng.permutation(bits), cuts):
            assert waiting_of(mixed) > 0
            mixed.tell(piece, PROBLEM(piece))
        assert_same(mixed, whole)


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize(
    ("bits", "fitness", "message"),
    [
        (np.zeros((2, LENGTH + 1)), [1, 2], r"bits have shape \(2, 13\); expected \(rows, 12\)"),
        (np.zeros((2, LENGTH)), [1], r"fitness has shape \(1,\) for 2 rows"),
        (np.zeros((2, LENGTH)), [1, np.nan], "fitness has nan in row 1 of 2"),
        (np.full((2, LENGTH), 2), [1, 1], "bits have 2 in row 0, column 0; expected 0 or 1"),
    ],
)
def test_a_wrong_tell_is_refused_and_changes_nothing(
    bits: Any, fitness: Fitness, message: str, asked: bool
) -> None:
    search, other = start(), start()
    for _ in range(3):
        step(search)
        step(other)
    if asked:
        search.ask()
        other.ask()
    with pytest.raises(ValueError, match=message):
        search.tell(bits, fitness)
    assert_same(search, other)
    for _ in range(10):
        np.testing.assert_array_equal(step(search), step(other))


def test_a_row_told_twice_is_refused_and_changes_nothing() -> None:
    search, other = start(), start()
    bits = step(search)
    step(other)
    with pytest.raises(ValueError, match="row 0 of 32 was told already"):
        search.tell(bits, PROBLEM(bits))
    assert_same(search, other)
    for one in (search, other):
        rows = one.ask()
        one.tell(rows[:4], PROBLEM(rows[:4]))
    with pytest.raises(ValueError, match="row 1 of 2 was told already"):
        search.tell(rows[[5, 1]], PROBLEM(rows[[5, 1]]))
    assert_same(search, other)


def test_telling_no_rows_changes_nothing() -> None:
    search, other = start(), start()
    for _ in range(10):
        search.tell(np.empty((0, LENGTH)), [])
        assert_same(search, other)
        np.testing.assert_array_equal(search.ask(), other.ask())
        search.tell(np.empty((0, LENGTH)), [])
        assert_same(search, other)
        step(search)
        step(other)


def test_solutions_known_beforehand_join_every_population() -> None:
    search = start(RandomModel(), space=40)
    known = np.eye(40, dtype=np.uint8)[:3]
    search.tell(known, [1e6, 1e6 + 1, 1e6 + 2])
    assert (search.generation, search.grown) == (0, 1)
    sizes: list[int] = []
    while len(sizes) < 3:
        bits = search.ask()
        search.tell(bits, np.full(len(bits), search.generation - 1e3 * size_of(search)))
        if size_of(search) not in sizes:
            sizes.append(size_of(search))
            joined = np.sort(population_of(search).fitness)[-3:]
            np.testing.assert_array_equal(joined, [1e6, 1e6 + 1, 1e6 + 2])
    assert sizes == [32, 64, 128]


@pytest.mark.parametrize("asked", [False, True])
def test_a_solution_told_later_joins_all_or_the_population_that_waits(asked: bool) -> None:
    search = start(RandomModel())
    for _ in range(10):
        step(search)
    size = size_of(search)
    if asked:
        search.ask()
    search.tell(BEST, [1e6])
    assert size_of(search) == size
    if asked:
        step(search)
    assert population_of(search).fitness.max() == 1e6
    others = [level.search for level in search.levels if level.search.size != size]
    assert others
    for other in others:
        assert other.population is not None
        assert (other.population.fitness.max() == 1e6) is not asked


def test_a_solution_told_after_a_population_retired_is_not_lost() -> None:
    search = start(space=fix_all(0))
    step(search)
    assert not search.levels
    search.tell(BEST, [1e6])
    step(search)
    assert size_of(search) == 64
    assert population_of(search).fitness.max() == 1e6


def test_a_failed_fit_can_be_asked_again() -> None:
    failing, sound = start(FailingModel()), start()
    random = 0
    for _ in range(40):
        try:
            failing.ask()
            random += 1  # the first rows of a population need no fit
        except KeyboardInterrupt:
            failing.ask()
        np.testing.assert_array_equal(step(failing), step(sound))
        assert_same(failing, sound)
    assert random == sound.grown == 4
