"""Whatever is told or asked for: the documented errors, or a search true to what it was told."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray

import harmonium as hm
from harmonium import EDA, UMDA
from harmonium.bits import Bits, Fitness
from harmonium.search import AnySearch, Interleaved
from tests.optimize.executors import Calls, undisturbed

LENGTH = 4
"""Sixteen rows: rows that are alike, known or told before are common."""

WEIGHTS = np.array([1.0, 2.0, 4.0, -8.5])


def weigh(bits: Bits) -> Fitness:
    """Return a fitness of its own for each row."""
    fitness: Fitness = bits @ WEIGHTS
    return fitness


class Ledger:
    """What a search was asked and told, by the words of `Search.tell` alone."""

    def __init__(self) -> None:
        self.waiting: Counter[bytes] = Counter()
        self.told: set[bytes] = set()
        """Rows of the batch that were told, repaired ones in their place."""
        self.evaluations = 0
        self.best = -np.inf

    def ask(self, bits: Bits) -> None:
        if not self.waiting:
            self.told = set()
        self.waiting = Counter(row.tobytes() for row in bits)

    def may(self, bits: Bits) -> bool:
        """Return whether these rows may be told: no row of the batch more often than it waits."""
        left = self.waiting.copy()
        whole = len(bits) == self.waiting.total()
        for row in bits:
            key = row.tobytes()
            if left[key]:
                left[key] -= 1
            elif self.waiting[key]:  # more often than it waits: only in place of another
                if not whole:
                    return False
            elif key in self.told:
                return False
        return True

    def tell(self, bits: Bits) -> None:
        keys = Counter(row.tobytes() for row in bits)
        if len(bits) == self.waiting.total():  # those never asked are repaired rows
            self.told |= set(keys)
            self.waiting = Counter()
        else:
            self.told |= set(keys & self.waiting)
            self.waiting -= keys
        self.evaluations += len(bits)
        self.best = max(self.best, weigh(bits).max(initial=-np.inf))

    def check(self, search: AnySearch) -> None:
        assert search.evaluations == self.evaluations
        assert search.waiting == self.waiting.total()
        assert search.best_fitness == self.best
        if search.best_bits is not None:
            assert weigh(search.best_bits) == self.best
        populations = [search.population]
        if isinstance(search, Interleaved):
            populations += [level.search.population for level in search.levels]
        for population in populations:
            if population is not None:
                np.testing.assert_array_equal(population.fitness, weigh(population.bits))


def draw_rows(data: st.DataObject, asked: Bits) -> Bits:
    """Return some of the asked rows in any order, known ones, or both."""
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    some = rng.permutation(asked)[: data.draw(st.integers(0, len(asked)))]
    known = rng.integers(0, 2, (data.draw(st.sampled_from([0, 0, 0, 1, 3])), LENGTH), np.uint8)
    return np.concatenate([some, known])


@pytest.mark.parametrize("population", [8, "auto"])
@pytest.mark.parametrize("replacement", ["keep-parents", "worst", "rtr"])
@given(data=st.data())
@settings(max_examples=60)
def test_a_search_is_true_to_what_it_was_told(
    population: Any, replacement: Any, data: st.DataObject
) -> None:
    eda = EDA(UMDA(), population=population, replacement=replacement)
    search: AnySearch = eda.start(LENGTH, seed=1)
    ledger = Ledger()
    asked = np.empty((0, LENGTH), dtype=np.uint8)
    for _ in range(data.draw(st.integers(1, 25))):
        action = data.draw(st.sampled_from(["ask", "tell", "tell", "all", "save"]))
        if action == "ask":
            asked = search.ask()
            ledger.ask(asked)
        elif action == "save":
            search = eda.restore(LENGTH, 1, search.snapshot())
        else:
            rows = asked if action == "all" else draw_rows(data, asked)
            before = search.generation
            if ledger.may(rows):
                search.tell(rows, weigh(rows))
                ledger.tell(rows)
                asked = search.ask() if search.waiting else asked[:0]
            else:
                with pytest.raises(ValueError, match="was told already"):
                    search.tell(rows, weigh(rows))
                assert search.generation == before
        ledger.check(search)


junk = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.lists(st.integers(-1, 2) | st.floats() | st.none() | st.lists(st.integers(0, 1))),
    st.dictionaries(st.integers(), st.integers(), max_size=2),
    arrays(
        st.sampled_from(["uint8", "int64", "float64", "bool", "complex128", "U1"]),
        array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5),
    ),
    arrays(np.uint8, st.tuples(st.integers(0, 5), st.just(LENGTH)), elements=st.integers(0, 1)),
)


@pytest.mark.parametrize("population", [8, "auto"])
@given(bits=junk, fitness=junk, asked=st.booleans())
@settings(max_examples=150)
def test_a_tell_of_anything_is_refused_or_counted(
    population: Any, bits: Any, fitness: Any, asked: bool
) -> None:
    search = EDA(UMDA(), population=population).start(LENGTH, seed=1)
    rows = search.ask() if asked else np.empty((0, LENGTH))
    try:
        search.tell(bits, fitness)
    except ValueError:
        assert (search.evaluations, search.best_bits) == (0, None)
        assert search.waiting == len(rows)
    else:
        assert search.evaluations == len(np.asarray(bits))
    again = search.ask()
    search.tell(again, weigh(again))
    assert search.waiting == 0


indices = st.integers(-6, 6) | st.booleans() | st.floats() | st.text(max_size=1) | st.none()
values = st.integers(-1, 2) | st.booleans() | st.floats() | st.text(max_size=1) | st.none()
fixed_or_junk = st.none() | st.dictionaries(indices, values, max_size=4) | junk
sizes_or_junk = (
    st.none()
    | st.integers(-1, 6)
    | st.tuples(st.integers(-1, 6), st.integers(-1, 6))
    | st.lists(st.integers(-1, 6), max_size=3)
    | junk
)
rows_or_junk = (
    st.none()
    | arrays(np.uint8, st.tuples(st.integers(0, 5), st.just(5)), elements=st.integers(0, 1))
    | arrays(np.int64, st.integers(4, 6), elements=st.integers(0, 1))
    | junk
)


@given(
    fixed=st.none() | st.dictionaries(st.integers(-5, 4), st.integers(0, 1), max_size=5),
    subset_size=st.none() | st.integers(0, 5) | st.tuples(st.integers(0, 3), st.integers(2, 5)),
    initial=st.none()
    | arrays(np.uint8, st.tuples(st.integers(0, 3), st.just(5)), elements=st.integers(0, 1)),
)
@settings(max_examples=100)
def test_sound_constraints_are_kept_to_or_refused(
    fixed: Any, subset_size: Any, initial: Any
) -> None:
    keep_or_refuse(fixed, subset_size, initial)


@given(fixed=fixed_or_junk, subset_size=sizes_or_junk, initial=rows_or_junk)
@settings(max_examples=300)
@example(fixed={2: np.array([0, 1])}, subset_size=None, initial=None)
@example(fixed=[(1, 1)], subset_size=None, initial=None)
@example(fixed=None, subset_size=np.array([1, 2]), initial=None)
@example(fixed=None, subset_size=None, initial=[[1, 0], [1]])
def test_any_constraints_are_kept_to_or_refused(fixed: Any, subset_size: Any, initial: Any) -> None:
    keep_or_refuse(fixed, subset_size, initial)


def keep_or_refuse(fixed: Any, subset_size: Any, initial: Any) -> None:
    """Optimise five bits; what is refused is refused before the function is called."""
    function = Calls()
    try:
        result = hm.maximize(
            function,
            5,
            model="umda",
            seed=1,
            max_evaluations=60,
            patience=0.1,
            fixed=fixed,
            subset_size=subset_size,
            initial=initial,
        )
    except (ValueError, TypeError) as error:
        assert not isinstance(error, hm.EvaluationError)  # noqa: PT017
        assert function.rows == []
        return
    least, most = (0, 5) if subset_size is None else np.broadcast_to(subset_size, 2).tolist()
    for row in (*function.rows, result.x):
        assert least <= row.sum() <= most
        assert all(row[place] == value for place, value in (fixed or {}).items())
    assert result.fun == result.x.sum()
    known = np.asarray([] if initial is None else initial).reshape(-1, 5)
    assert (result.fun >= known.sum(axis=1)).all()


@given(
    answers=st.lists(
        st.none() | st.floats() | st.integers() | st.text(max_size=3) | st.complex_numbers(),
        min_size=1,
        max_size=30,
    ),
    on_error=st.sampled_from(["raise", "worst"]),
    batch=st.booleans(),
)
@settings(max_examples=150)
def test_any_answers_are_numbers_or_named(answers: list[Any], on_error: Any, batch: bool) -> None:
    given: dict[bytes, Any] = {}

    def answer(row: NDArray[Any]) -> Any:
        key = row.astype(np.uint8).tobytes()
        return given.setdefault(key, answers[len(given) % len(answers)])

    def function(bits: Bits) -> Any:
        if not batch:
            return answer(bits)
        together = np.empty(len(bits), dtype=object)
        together[:] = [answer(row) for row in bits]
        return together

    try:
        result = hm.maximize(
            function,
            5,
            model="umda",
            population=8,
            seed=1,
            max_evaluations=20,
            batch=batch,
            on_error=on_error,
        )
    except hm.EvaluationError as error:
        assert str(error).startswith("the function ")  # noqa: PT017
        result = error.result
        if result is None:
            return
    # Never a value that the function did not give for these bits.
    assert float(given[result.x.astype(np.uint8).tobytes()]) == result.fun


@given(
    broken=st.sets(st.integers(0, 31)),
    budget=st.integers(1, 40),
    options=st.fixed_dictionaries(
        {
            "model": st.sampled_from(["umda", "auto"]),
            "batch": st.booleans(),
            "cache": st.booleans(),
            "population": st.sampled_from([8, "auto"]),
        }
    ),
)
@settings(max_examples=100)
def test_whatever_rows_raise_each_counts_once(
    broken: set[int], budget: int, options: dict[str, Any]
) -> None:
    seen: set[int] = set()

    def function(bits: NDArray[Any]) -> Any:
        numbers = bits @ [16, 8, 4, 2, 1]
        seen.update(np.atleast_1d(numbers).tolist())
        if not broken.isdisjoint(np.atleast_1d(numbers).tolist()):
            raise LookupError("broken")
        return numbers

    try:
        result = undisturbed(
            hm.maximize, function, 5, seed=1, max_evaluations=budget, on_error="worst", **options
        )
    except hm.EvaluationError as error:
        assert "failed for all of the first" in str(error)  # noqa: PT017
        assert seen <= broken
        return
    assert result.nfev <= budget
    if options["cache"]:
        assert result.nfev == len(seen)
        assert result.failures == len(seen & broken)
    assert result.fun == max(seen - broken) == result.x @ [16, 8, 4, 2, 1]
