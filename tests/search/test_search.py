import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle
from typing import Any, ClassVar

import numpy as np
import pytest

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
    return EDA(model or UMDA(), **settings).start(LENGTH, seed)


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


@pytest.mark.parametrize("length", [0, -3])
def test_a_search_needs_a_bit(length: int) -> None:
    with pytest.raises(ValueError, match=f"length is {length}; expected at least 1 bit"):
        EDA(UMDA()).start(length, 1)


def test_a_search_needs_a_seed() -> None:
    with pytest.raises(ValueError, match="seed is -1; expected an integer ≥ 0"):
        EDA(UMDA()).start(5, -1)


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


def test_telling_without_asking_is_refused() -> None:
    search = start()
    rows = np.zeros((2, LENGTH), dtype=np.uint8)
    with pytest.raises(ValueError, match=r"told 2 rows, but 0 are waiting; ask\(\) first"):
        search.tell(rows, PROBLEM(rows))


def test_telling_twice_is_refused() -> None:
    search = start()
    bits = step(search)
    with pytest.raises(ValueError, match=r"told 20 rows, but 0 are waiting; ask\(\) first"):
        search.tell(bits, PROBLEM(bits))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda bits, fitness: (bits ^ 1, fitness), "told rows differ from the asked ones"),
        (lambda bits, fitness: (bits[::-1], fitness[::-1]), "tell them in the asked order"),
        (lambda bits, fitness: (bits[5:], fitness[5:]), "told rows differ from the asked ones"),
        (
            lambda bits, fitness: (np.tile(bits, (2, 1)), np.tile(fitness, 2)),
            r"told 40 rows, but 20 are waiting; ask\(\) first",
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
