import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle
from typing import Any, ClassVar, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harmonium import EDA, UMDA, Model, OneMax, Search
from harmonium.bits import Bits
from harmonium.models import Fitted
from harmonium.models.umda import FittedUMDA
from harmonium.search.replacement import Population
from harmonium.seeds import stream
from harmonium.specs import SpecError
from tests.search.spies import SpyModel

LENGTH = 12
PROBLEM = OneMax(LENGTH)
WAYS: list[dict[str, Any]] = [
    {"replacement": "keep-parents"},
    {"replacement": "worst"},
    {"replacement": "rtr"},
    {"pairing": "parent-offspring"},
    {"tournament": 4},
]


@dataclass(frozen=True)
class OnesModel(Model):
    """Samples nothing but ones."""

    name: ClassVar[str] = "ones"

    def fit(
        self, parents: Bits, rng: np.random.Generator, previous: Fitted | None = None
    ) -> FittedUMDA:
        return FittedUMDA(np.ones(parents.shape[1]))


@dataclass(frozen=True)
class FailingModel(Model):
    """A UMDA whose every other fit, from the first on, is interrupted."""

    name: ClassVar[str] = "failing"

    @cached_property
    def interruptions(self) -> Iterator[bool]:
        return cycle([True, False])

    def fit(
        self, parents: Bits, rng: np.random.Generator, previous: Fitted | None = None
    ) -> FittedUMDA:
        if next(self.interruptions):
            raise KeyboardInterrupt
        return UMDA().fit(parents, rng, previous)


def start(model: Model | None = None, seed: int = 1, **settings: Any) -> Search:
    settings = {"population": 20} | settings
    search = EDA(model or UMDA(), **settings).start(LENGTH, seed)
    assert isinstance(search, Search)
    return search


def step(search: Search) -> Bits:
    """Ask and tell once; return the asked rows."""
    bits = search.ask()
    search.tell(bits, PROBLEM(bits))
    return bits


def population_of(search: Search) -> Population:
    assert search.population is not None
    return search.population


def count_rows(bits: Bits) -> Counter[bytes]:
    return Counter(row.tobytes() for row in bits)


def assert_same(search: Search, other: Search) -> None:
    """Two searches stand at the same point, whatever the order in which they were told."""
    assert search.generation == other.generation
    assert search.evaluations == other.evaluations
    assert search.best_fitness == other.best_fitness
    assert search.improved == other.improved
    assert search.waiting == other.waiting
    assert (search.population is None) == (other.population is None)
    if search.population is not None:
        np.testing.assert_array_equal(search.population.bits, population_of(other).bits)
        np.testing.assert_array_equal(search.population.fitness, population_of(other).fitness)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"population": 9}, "eda: population is 9; expected an even number"),
        ({"population": 7}, "eda: population is 7; expected an integer ≥ 8 and ≤ 100,000,000"),
        ({"population": -8}, "eda: population is -8; expected an integer ≥ 8"),
        ({"tournament": 1}, "eda: tournament is 1; expected an integer ≥ 2"),
        (
            {"population": 20, "tournament": 11},
            "eda: tournament is 11; expected at most half the population",
        ),
        (
            {"pairing": "friends"},
            "eda: pairing is 'friends'; expected one of any, parent-offspring",
        ),
        (
            {"replacement": "none"},
            "eda: replacement is 'none'; expected one of keep-parents, rtr, worst",
        ),
        (
            {"pairing": "parent-offspring", "replacement": "rtr"},
            "eda: replacement is 'rtr'; expected keep-parents with pairing=parent-offspring",
        ),
        (
            {"pairing": "parent-offspring", "tournament": 4},
            "eda: tournament is 4; expected 2 with pairing=parent-offspring",
        ),
    ],
)
def test_an_eda_that_cannot_be_says_why(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError) as caught:
        EDA(UMDA(), **settings)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("model", ["umda", UMDA, OneMax(5), {}, None])
def test_an_eda_needs_a_model(model: Any) -> None:
    message = f"eda: model is {model!r}; expected a model, such as harmonium.RBM()"
    with pytest.raises(SpecError, match=re.escape(message)):
        EDA(model)


@pytest.mark.parametrize("population", [20, "auto"])
@pytest.mark.parametrize("length", [0, -3])
def test_a_search_needs_a_bit(length: int, population: Any) -> None:
    with pytest.raises(ValueError, match=f"length is {length}; expected at least 1 bit"):
        EDA(UMDA(), population).start(length, 1)


@pytest.mark.parametrize("population", [20, "auto"])
def test_a_search_needs_a_seed(population: Any) -> None:
    with pytest.raises(ValueError, match="seed is -1; expected an integer ≥ 0"):
        EDA(UMDA(), population).start(5, -1)


def test_a_new_search_knows_nothing() -> None:
    search = start()
    assert (search.generation, search.evaluations, search.waiting) == (0, 0, 0)
    assert search.best_bits is None
    assert search.best_fitness == -np.inf
    assert search.population is None
    assert search.fitted is None
    assert not search.converged


def test_first_a_random_population_is_asked_then_half_as_many_offspring() -> None:
    search = start(population=1000)
    first = step(search)
    assert first.shape == (1000, LENGTH)
    assert first.dtype == np.uint8
    # Each bit is one in half of the rows; outside 0.4 to 0.6 by chance: 12 · 3 · 10^-10.
    assert ((first.mean(axis=0) > 0.4) & (first.mean(axis=0) < 0.6)).all()
    assert step(search).shape == (500, LENGTH)
    assert step(search).shape == (500, LENGTH)


def test_the_same_rows_are_asked_until_they_are_told() -> None:
    search = start()
    for _ in range(3):
        bits = search.ask()
        np.testing.assert_array_equal(search.ask(), bits)
        assert search.waiting == len(bits)
        search.tell(bits, PROBLEM(bits))
        assert search.waiting == 0


def test_asked_rows_belong_to_the_asker() -> None:
    search = start()
    bits = search.ask()
    before = bits.copy()
    bits ^= 1
    np.testing.assert_array_equal(search.ask(), before)


def test_told_fitness_belongs_to_the_teller() -> None:
    search = start()
    bits = search.ask()
    fitness = PROBLEM(bits)
    search.tell(bits, fitness)
    fitness[:] = 0
    bits[:] = 0
    np.testing.assert_array_equal(
        population_of(search).fitness, PROBLEM(population_of(search).bits)
    )
    assert search.best_bits is not None
    assert PROBLEM(search.best_bits[None])[0] == search.best_fitness


def test_rows_and_fitness_may_be_lists() -> None:
    search = start()
    bits = search.ask()
    search.tell(bits.tolist(), [int(value) for value in PROBLEM(bits)])
    assert search.evaluations == 20
    np.testing.assert_array_equal(population_of(search).fitness, PROBLEM(bits))


def test_evaluations_generations_and_the_best_are_counted() -> None:
    search = start()
    seen: list[Bits] = []
    for generation in range(5):
        seen.append(step(search))
        assert search.generation == generation
        assert search.evaluations == 20 + 10 * generation
        best = max(PROBLEM(bits).max() for bits in seen)
        assert search.best_fitness == best
        assert search.best_bits is not None
        assert PROBLEM(search.best_bits[None])[0] == best
        bests = [PROBLEM(bits).max() for bits in seen]
        assert search.improved == bests.index(best)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_the_population_keeps_its_size_and_its_true_fitness(way: dict[str, Any]) -> None:
    search = start(**way)
    for _ in range(5):
        step(search)
        bits, fitness = population_of(search)
        assert bits.shape == (20, LENGTH)
        np.testing.assert_array_equal(fitness, PROBLEM(bits))


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("size", [1, 3, 7, 20])
def test_telling_in_pieces_is_telling_at_once(size: int, way: dict[str, Any]) -> None:
    whole, pieces = start(**way), start(**way)
    for _ in range(4):
        step(whole)
        while True:
            bits = pieces.ask()[:size]
            pieces.tell(bits, PROBLEM(bits))
            if not pieces.waiting:
                break
        np.testing.assert_array_equal(population_of(pieces).bits, population_of(whole).bits)
        np.testing.assert_array_equal(population_of(pieces).fitness, population_of(whole).fitness)
        assert pieces.evaluations == whole.evaluations
        assert pieces.best_fitness == whole.best_fitness
        assert pieces.improved == whole.improved


def test_after_a_piece_the_rest_is_asked() -> None:
    search = start()
    bits = search.ask()
    search.tell(bits[:6], PROBLEM(bits[:6]))
    assert (search.waiting, search.evaluations, search.population) == (14, 6, None)
    np.testing.assert_array_equal(search.ask(), bits[6:])


def test_telling_no_rows_changes_nothing() -> None:
    search, other = start(), start()
    for _ in range(3):
        search.tell(np.empty((0, LENGTH)), [])
        np.testing.assert_array_equal(search.ask(), other.ask())
        search.tell(np.empty((0, LENGTH)), [])
        np.testing.assert_array_equal(step(search), step(other))
        search.tell(np.empty((0, LENGTH)), [])
        np.testing.assert_array_equal(population_of(search).bits, population_of(other).bits)


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("size", [1, 3, 7, 20])
def test_telling_out_of_order_is_telling_at_once(size: int, way: dict[str, Any]) -> None:
    whole, mixed = start(**way), start(**way)
    rng = np.random.default_rng(1)
    for _ in range(4):
        step(whole)
        bits = mixed.ask()
        order = rng.permutation(len(bits))
        for first in range(0, len(order), size):
            piece = bits[order[first : first + size]]
            mixed.tell(piece, PROBLEM(piece))
        assert_same(mixed, whole)


@given(st.data())
@settings(max_examples=60)
def test_asked_rows_that_are_alike_are_each_told_once(data: st.DataObject) -> None:
    # Three bits and eight rows: hardly a batch without duplicates.
    whole, mixed = (cast("Search", EDA(UMDA(), 8).start(3, 1)) for _ in range(2))
    for _ in range(3):
        bits = whole.ask()
        whole.tell(bits, bits.sum(axis=1))
        order = data.draw(st.permutations(range(len(bits))))
        cuts = sorted(data.draw(st.lists(st.integers(0, len(bits)), max_size=3)))
        asked = mixed.ask()
        for piece in np.split(asked[order], cuts):
            mixed.tell(piece, piece.sum(axis=1))
        assert_same(mixed, whole)


def test_of_rows_alike_the_first_told_is_the_first_asked() -> None:
    # Only a noisy function can tell them apart.
    search = cast("Search", EDA(UMDA(), 8).start(1, 1))
    bits = search.ask()
    ones = np.flatnonzero(bits[:, 0])
    assert 2 <= len(ones) <= 6
    search.tell(np.ones((len(ones), 1)), 1.0 + np.arange(len(ones)))
    assert search.waiting == 8 - len(ones)
    search.tell(np.zeros((8 - len(ones), 1)), np.zeros(8 - len(ones)))
    np.testing.assert_array_equal(population_of(search).fitness[ones], 1.0 + np.arange(len(ones)))


def test_after_some_rows_the_others_are_asked_in_their_order() -> None:
    search = start()
    bits = search.ask()
    told = [17, 3, 4, 0]
    search.tell(bits[told], PROBLEM(bits[told]))
    np.testing.assert_array_equal(search.ask(), np.delete(bits, told, axis=0))


@pytest.mark.parametrize("part", [slice(0, 20), slice(0, 1), slice(7, 12)])
def test_telling_a_whole_batch_twice_is_refused(part: slice) -> None:
    search, other = start(), start()
    bits = step(search)
    step(other)
    message = (
        f"row 0 of {len(bits[part])} was told already; tell() each asked row once, "
        "then ask() for the next"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        search.tell(bits[part], PROBLEM(bits[part]))
    assert_same(search, other)
    np.testing.assert_array_equal(step(search), step(other))


@pytest.mark.parametrize("again", [[3], [3, 4], [9, 3], range(10), [15, 3]])
def test_telling_a_row_of_a_piece_twice_is_refused(again: list[int]) -> None:
    search, other = start(), start()
    bits = search.ask()
    assert len(count_rows(bits)) == 20
    for one in (search, other):
        one.tell(one.ask()[:10], PROBLEM(bits[:10]))
    number = 1 if again[0] == 15 else 0
    with pytest.raises(ValueError, match=f"row {number} of {len(again)} was told already"):
        search.tell(bits[list(again)], PROBLEM(bits[list(again)]))
    assert_same(search, other)
    np.testing.assert_array_equal(search.ask(), bits[10:])


def test_telling_a_row_twice_at_once_is_refused() -> None:
    search = start()
    bits = search.ask()[[0, 1, 0]]
    with pytest.raises(ValueError, match="row 2 of 3 was told already"):
        search.tell(bits, PROBLEM(bits))
    assert (search.waiting, search.evaluations, search.best_bits) == (20, 0, None)


# Known solutions, rows that were never asked: the best and the worst of OneMax.
BEST = np.ones((1, LENGTH), dtype=np.uint8)
WORST = np.zeros((1, LENGTH), dtype=np.uint8)


def test_a_solution_known_beforehand_joins_the_first_population() -> None:
    search, other = start(), start()
    search.tell(BEST, [12.0])
    assert (search.evaluations, search.best_fitness, search.improved) == (1, 12.0, 0)
    assert (search.generation, search.population, search.waiting) == (0, None, 0)
    np.testing.assert_array_equal(search.best_bits, BEST[0])
    np.testing.assert_array_equal(step(search), step(other))
    old, new = population_of(other), population_of(search)
    worst = int(old.fitness.argmin())
    np.testing.assert_array_equal(new.bits[worst], BEST[0])
    np.testing.assert_array_equal(np.delete(new.bits, worst, 0), np.delete(old.bits, worst, 0))
    np.testing.assert_array_equal(new.fitness, PROBLEM(new.bits))
    assert (search.evaluations, search.generation) == (21, 0)


@pytest.mark.parametrize("moment", ["before ask", "before tell", "between pieces", "after tell"])
def test_a_known_solution_joins_whenever_it_is_told(moment: str) -> None:
    search = start()
    step(search)
    if moment == "before ask":
        search.tell(BEST, [12.0])
    bits = search.ask()
    if moment == "before tell":
        search.tell(BEST, [12.0])
    search.tell(bits[:5], PROBLEM(bits[:5]))
    if moment == "between pieces":
        search.tell(np.concatenate([bits[5:7], BEST]), PROBLEM(np.concatenate([bits[5:7], BEST])))
        assert search.waiting == 3
    rest = search.ask()
    search.tell(rest, PROBLEM(rest))
    if moment == "after tell":
        search.tell(BEST, [12.0])
    assert (search.waiting, search.generation, search.evaluations) == (0, 1, 31)
    assert search.best_fitness == 12.0
    if moment != "before ask":  # there, it must first win its tournament
        assert count_rows(population_of(search).bits)[BEST.tobytes()] == 1
    np.testing.assert_array_equal(
        population_of(search).fitness, PROBLEM(population_of(search).bits)
    )


def test_a_known_solution_that_is_no_better_than_the_worst_stays_out() -> None:
    search, other = start(), start()
    step(search)
    step(other)
    before = population_of(search)
    search.tell(WORST, [0.0])
    assert (search.evaluations, search.best_fitness) == (21, before.fitness.max())
    np.testing.assert_array_equal(population_of(search).bits, before.bits)
    np.testing.assert_array_equal(step(search), step(other))


def test_a_known_solution_joins_once() -> None:
    search = start()
    step(search)
    for _ in range(3):
        search.tell(np.tile(BEST, (4, 1)), np.full(4, 12.0))
    assert count_rows(population_of(search).bits)[BEST.tobytes()] == 1
    assert search.evaluations == 32


def test_known_solutions_take_half_of_the_population_at_most_the_best_of_them() -> None:
    search = start()
    known = np.unique(np.random.default_rng(3).integers(0, 2, (40, LENGTH), np.uint8), axis=0)
    bits = step(search)
    known = known[[row.tobytes() not in count_rows(bits) for row in known]]
    fitness = 100.0 + np.arange(len(known))
    search.tell(known, fitness)
    assert sorted(population_of(search).fitness)[10:] == fitness[-10:].tolist()
    assert (population_of(search).fitness[:20] < 100).sum() == 10


def test_a_whole_batch_may_be_told_with_repaired_rows_in_place() -> None:
    search = start()
    bits = search.ask()
    repaired = bits.copy()
    repaired[[2, 11]] = BEST[0], WORST[0]
    search.tell(repaired, PROBLEM(repaired))
    assert (search.waiting, search.evaluations) == (0, 20)
    np.testing.assert_array_equal(population_of(search).bits, repaired)
    np.testing.assert_array_equal(population_of(search).fitness, PROBLEM(repaired))
    repaired = search.ask()
    repaired[:] = BEST
    search.tell(repaired, PROBLEM(repaired))
    assert (search.waiting, search.generation, search.evaluations) == (0, 1, 30)
    assert (population_of(search).bits[10:] == 1).all()  # parents, then offspring


def test_a_row_may_be_repaired_into_one_that_was_asked_too() -> None:
    search = start()
    bits = search.ask()
    assert len(count_rows(bits)) == 20
    repaired = bits.copy()
    repaired[[2, 11]] = bits[5]
    search.tell(repaired, PROBLEM(repaired))
    assert search.waiting == 0
    np.testing.assert_array_equal(population_of(search).bits, repaired)


def test_the_rest_of_a_batch_may_be_repaired_too() -> None:
    search = start()
    bits = search.ask()
    search.tell(bits[5:], PROBLEM(bits[5:]))
    repaired = np.concatenate([bits[:4], BEST])
    search.tell(repaired, PROBLEM(repaired))
    assert (search.waiting, search.evaluations) == (0, 20)
    np.testing.assert_array_equal(population_of(search).bits, np.concatenate([repaired, bits[5:]]))


def test_a_search_repairs_what_it_samples() -> None:
    seen: list[Bits] = []

    def repair(bits: Bits, rng: np.random.Generator) -> Bits:
        repaired = bits.copy()
        repaired[:, 0], repaired[:, 1] = 1, rng.integers(0, 2, len(bits))
        seen.append(repaired)
        return repaired

    search, again = (EDA(UMDA(), population=20).start(LENGTH, 1, repair) for _ in range(2))
    for generation in range(3):
        bits = search.ask()
        np.testing.assert_array_equal(bits, seen[-1])
        np.testing.assert_array_equal(search.ask(), bits)
        assert len(seen) == 2 * generation + 1
        search.tell(bits, PROBLEM(bits))
        np.testing.assert_array_equal(again.ask(), bits)
        again.tell(bits, PROBLEM(bits))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda bits, fitness: (np.tile(bits, (2, 1)), np.tile(fitness, 2)),
            "row 20 of 40 was told already",
        ),
        (lambda bits, fitness: (bits, None), "fitness is None; return one number a row"),
        (lambda bits, fitness: (bits[0], fitness[:1]), r"bits have shape \(12,\)"),
        (lambda bits, fitness: (bits[None], fitness), r"bits have shape \(1, 20, 12\)"),
        (lambda bits, fitness: (bits.astype(str), fitness), "bits have dtype <U"),
        (
            lambda bits, fitness: (bits, fitness[:, None]),
            r"fitness has shape \(20, 1\) for 20 rows",
        ),
        (
            lambda bits, fitness: (bits, fitness - np.inf),
            "fitness has -inf in row 0 of 20; return a finite number for every row",
        ),
        (
            lambda bits, fitness: (bits, fitness[1:]),
            r"fitness has shape \(19,\) for 20 rows; return one number a row, \(20,\)",
        ),
        (
            lambda bits, fitness: (bits, np.where(np.arange(20) == 7, np.nan, fitness)),
            "fitness has nan in row 7 of 20; return a finite number for every row",
        ),
        (
            lambda bits, fitness: (bits[:, 1:], fitness),
            r"bits have shape \(20, 11\); expected \(rows, 12\)",
        ),
        (
            lambda bits, fitness: (bits + 2, fitness),
            r"bits have [23] in row 0, column 0; expected 0 or 1",
        ),
    ],
)
def test_a_wrong_tell_is_refused_and_changes_nothing(change: Any, message: str) -> None:
    search, other = start(), start()
    bits = search.ask()
    with pytest.raises(ValueError, match=message):
        search.tell(*change(bits, PROBLEM(bits)))
    assert (search.waiting, search.evaluations, search.best_bits) == (20, 0, None)
    for _ in range(3):
        np.testing.assert_array_equal(step(search), step(other))


def test_the_same_seed_asks_the_same_rows_and_another_seed_others() -> None:
    one, again, other = start(seed=1), start(seed=1), start(seed=2)
    for _ in range(4):
        asked = step(one)
        np.testing.assert_array_equal(step(again), asked)
        assert not np.array_equal(step(other), asked)


def test_the_model_sees_the_winners_through_the_mask() -> None:
    model = SpyModel()
    search = start(model)
    mask = stream(1, "mask").integers(0, 2, LENGTH, dtype=np.uint8)
    assert 0 < mask.sum() < LENGTH
    step(search)
    for generation in range(1, 5):
        population = population_of(search)
        asked = step(search)
        fit = model.fits[-1]
        assert len(model.fits) == generation
        assert fit.parents.shape == (10, LENGTH)
        assert count_rows(fit.parents ^ mask) <= count_rows(population.bits)
        np.testing.assert_array_equal(asked, fit.fitted.samples[0] ^ mask)


def test_searches_with_other_seeds_have_other_masks() -> None:
    # A model that says nothing but ones shows the mask.
    masks = set()
    for seed in range(20):
        search = EDA(OnesModel(), population=20).start(length=60, seed=seed)
        search.tell(search.ask(), np.zeros(20))
        offspring = search.ask()
        assert len(count_rows(offspring)) == 1
        masks.add(offspring[0].tobytes())
    assert len(masks) == 20


def test_one_mask_serves_the_whole_search() -> None:
    search = start(OnesModel())
    step(search)
    assert len({row.tobytes() for _ in range(4) for row in step(search)}) == 1


def test_the_model_is_handed_its_last_fit() -> None:
    model = SpyModel()
    search = start(model)
    for _ in range(4):
        step(search)
    previous = [fit.previous for fit in model.fits]
    assert previous[0] is None
    assert all(
        handed is last.fitted for handed, last in zip(previous[1:], model.fits[:-1], strict=True)
    )
    assert search.fitted is model.fits[-1].fitted


def test_the_population_is_parents_and_offspring() -> None:
    model = SpyModel()
    search = start(model)
    step(search)
    mask = stream(1, "mask").integers(0, 2, LENGTH, dtype=np.uint8)
    for _ in range(3):
        asked = step(search)
        population = population_of(search).bits
        np.testing.assert_array_equal(population[:10], model.fits[-1].parents ^ mask)
        np.testing.assert_array_equal(population[10:], asked)


def test_parents_meet_offspring_only() -> None:
    model = SpyModel()
    search = start(model, pairing="parent-offspring")
    step(search)
    for generation in range(1, 5):
        bits = search.ask()
        search.tell(bits, np.full(10, -float(generation)))
    parents = [count_rows(fit.parents) for fit in model.fits]
    # The first ones come from the random population; worse offspring never win against them.
    assert all(later == parents[0] for later in parents)


def test_anyone_meets_anyone() -> None:
    model = SpyModel()
    search = start(model, pairing="any")
    step(search)
    for generation in range(1, 5):
        bits = search.ask()
        search.tell(bits, np.full(10, -float(generation)))
    parents = [count_rows(fit.parents) for fit in model.fits]
    assert any(later != parents[0] for later in parents)


def test_a_search_converges_when_all_rows_are_one() -> None:
    search = start(OnesModel(), replacement="worst")
    step(search)
    assert not search.converged
    for _ in range(2):
        bits = search.ask()
        search.tell(bits, np.full(10, 100.0))
    assert search.converged


def test_the_best_is_the_first_of_equals() -> None:
    search = start()
    bits = search.ask()
    search.tell(bits, np.ones(20))
    np.testing.assert_array_equal(search.best_bits, bits[0])
    bits = search.ask()
    search.tell(bits, np.ones(10))
    assert search.improved == 0


def test_a_failed_fit_can_be_asked_again() -> None:
    failing = start(FailingModel(), pairing="parent-offspring")
    sound = start(UMDA(), pairing="parent-offspring")
    np.testing.assert_array_equal(step(failing), step(sound))
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            failing.ask()
        np.testing.assert_array_equal(step(failing), step(sound))
        assert failing.generation == sound.generation
