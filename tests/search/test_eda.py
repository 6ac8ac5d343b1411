"""EDAs: settings, selection, one population, interleaved populations, and incremental models."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from harmonium import (
    ALGORITHMS,
    BOA,
    EDA,
    PBIL,
    RBM,
    UMDA,
    Incremental,
    Model,
    OneMax,
    PaperTree,
    Search,
    Space,
    Trap,
    clock,
    run,
)
from harmonium.arrays import Bits
from harmonium.search.eda import InterleavedSearch, PopulationSearch, select, select_pairs
from harmonium.search.replacement import Population
from harmonium.specs import SpecError
from tests.search.examples import SETTINGS
from tests.spies import FailingModel, OnesModel, RandomModel, SpyModel

LENGTH = 12
PROBLEM = OneMax(LENGTH)
BEST, WORST = np.ones((1, LENGTH), np.uint8), np.zeros((1, LENGTH), np.uint8)


def start(
    model: Model | None = None, seed: int = 1, space: Space | int = LENGTH, **settings: Any
) -> PopulationSearch:
    search = EDA(model or UMDA(), **{"population": 20, **settings}).start(space, seed)
    assert isinstance(search, PopulationSearch)
    return search


def interleave(
    model: Model | None = None, space: Space | int = LENGTH, **settings: Any
) -> InterleavedSearch:
    search = EDA(model or UMDA(), **settings).start(space, seed=1)
    assert isinstance(search, InterleavedSearch)
    return search


def step(search: PopulationSearch | InterleavedSearch) -> Bits:
    """Ask and tell once; return the asked rows."""
    rows = search.ask()
    search.tell(rows, PROBLEM(rows))
    return rows


def population_of(search: PopulationSearch | InterleavedSearch) -> Population:
    assert search.population is not None
    return search.population


def count_rows(rows: Bits) -> Counter[bytes]:
    return Counter(row.tobytes() for row in rows)


# Settings


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("umda,population=9", "population is 9; expected an even number"),
        ("umda,population=20,tournament=11", "tournament is 11; expected at most half the popula"),
        ("umda,pairing=friends", "pairing is 'friends'; expected one of any, parent-offspring"),
        (
            "umda,pairing=parent-offspring,replacement=rtr",
            "replacement is 'rtr'; expected keep-parents with pairing=parent-offspring",
        ),
        (
            "umda,pairing=parent-offspring,tournament=4",
            "tournament is 4; expected 2 with pairing=parent-offspring",
        ),
        ("5", "model is 5; expected a model, such as harmonium.RBM()"),
        ("rbn", "unknown model 'rbn'; known: rbm, rbm-paper, boa, umda, "),
        ("(boa:parents=3)", "boa: unknown field 'parents'; known: max_parents"),
        ("(tests.spies:SpyModel:size=3)", "tests.spies:SpyModel: unknown field 'size'"),
    ],
)
def test_wrong_settings_are_refused(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=f"^(eda: )?{re.escape(message)}"):
        ALGORITHMS.parse(f"eda:model={text}")


def test_more_best_rows_than_the_population_has_are_refused() -> None:
    with pytest.raises(SpecError, match=r"^incremental: best is 11; expected at most popula"):
        Incremental(PBIL(), population=10, best=11)


@pytest.mark.parametrize(
    ("eda", "text"),
    [
        (EDA(UMDA()), "eda:model=umda,replacement=keep-parents"),
        (EDA(OnesModel()), "eda:model=tests.spies:OnesModel,replacement=keep-parents"),
        (EDA(RBM(), population=50), "eda:model=rbm,population=50,replacement=rtr"),
        (
            EDA("boa:max_parents=4", population=400),
            "eda:model=(boa:max_parents=4),population=400,replacement=keep-parents",
        ),
        (
            EDA(RBM(hidden="n/2", rate=0.25), tournament=4),
            "eda:model=(rbm:hidden=n/2,rate=0.25),tournament=4,replacement=rtr",
        ),
    ],
)
def test_an_eda_is_written_with_its_model_and_read_back(eda: EDA, text: str) -> None:
    assert str(eda) == text
    assert ALGORITHMS.parse(text) == eda
    assert eda.label == str(eda.model)
    assert eda.endless == (eda.population == "auto")


# Selection


@pytest.mark.parametrize(
    ("size", "tournament"), [(8, 2), (100, 2), (12, 3), (10, 3), (100, 4), (10, 5), (50, 7)]
)
def test_everybody_is_in_one_tournament_a_round_and_the_best_of_each_wins(
    size: int, tournament: int
) -> None:
    fitness = np.random.default_rng(0).random(size)
    winners = select(fitness, tournament, np.random.default_rng(1))
    rng, expected = np.random.default_rng(1), list[int]()
    while len(expected) < size // 2:
        drawn = rng.permutation(size)[: size - size % tournament].reshape(-1, tournament)
        expected += [max(members, key=fitness.__getitem__) for members in drawn.tolist()]
    assert winners.tolist() == expected[: size // 2]


def test_pairs_are_one_parent_and_one_offspring_and_the_fitter_wins() -> None:
    # Parent i has fitness 2i + 1, offspring i has 2i. So offspring 0 never wins, parent 99 always.
    fitness = np.concatenate([np.arange(1.0, 200, 2), np.arange(0.0, 200, 2)])
    met = set()
    for seed in range(20):
        winners = select_pairs(fitness, np.random.default_rng(seed))
        assert len(set(winners.tolist())) == len(winners) == 100
        assert 99 in winners
        assert 100 not in winners
        # The pairs are matched row by row: winner i is parent i, or the offspring that beat it.
        beaten = np.flatnonzero(winners != np.arange(100))
        assert (winners[beaten] >= 100).all()
        assert (fitness[winners[beaten]] > fitness[beaten]).all()
        met.add(tuple(beaten))
    assert len(met) == 20


@pytest.mark.parametrize("pairs", [False, True])
def test_ties_go_to_either_one(pairs: bool) -> None:
    # Of 1000 fair coins, 400 to 600 show heads but for 2 in 10^10.
    equal, rng = np.zeros(2000), np.random.default_rng(1)
    winners = select_pairs(equal, rng) if pairs else select(equal, 2, rng)
    assert 400 < np.count_nonzero(winners < 1000) < 600
    assert len(set(winners.tolist())) == 1000


# One population


def test_first_a_random_population_is_asked_then_half_as_many_offspring() -> None:
    search = start(population=1000)
    first = step(search)
    assert first.shape == (1000, LENGTH)
    # Each bit is one in half of the rows; outside 0.4 to 0.6 by chance: 12 · 3 · 10^-10.
    assert ((first.mean(axis=0) > 0.4) & (first.mean(axis=0) < 0.6)).all()
    assert step(search).shape == step(search).shape == (500, LENGTH)
    assert len(interleave(tournament=41).ask()) == 82  # room for two tournaments


def test_phases_of_a_generation_are_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = count()
    fake = SimpleNamespace(process_time=lambda: next(seconds), perf_counter=lambda: 0.0)
    monkeypatch.setattr(clock, "time", fake)
    search = start()
    step(search)
    assert search.clock.total == 0
    step(search)
    # Every charge is one second; parents are selected, and those who stay.
    expected = {"fitness": 0, "selection": 2, "building": 1, "sampling": 1}
    assert search.clock.seconds == pytest.approx(expected)


def test_the_status_is_that_of_the_population_and_of_models_whose_offspring_were_told() -> None:
    search = start(SpyModel())
    for generation in range(4):
        assert search.status().generation == max(0, generation - 1)
        rows = search.ask()
        search.tell(rows[1:], PROBLEM(rows[1:]), range(1, len(rows)))
        assert search.status().generation == max(0, generation - 1)
        search.tell(rows[:1], PROBLEM(rows[:1]))
        status = search.status()
        assert (status.generation, status.population, status.converged) == (generation, 20, False)
        assert status.mean == population_of(search).fitness.mean()
        assert status.facts == ({"parents": 10.0} if generation else {})


@pytest.mark.parametrize("way", SETTINGS, ids=str)
def test_the_population_keeps_its_size_and_its_true_fitness(way: dict[str, Any]) -> None:
    search = start(**way)
    for _ in range(5):
        step(search)
        rows, fitness = population_of(search)
        assert rows.shape == (20, LENGTH)
        np.testing.assert_array_equal(fitness, PROBLEM(rows))


def test_the_model_sees_the_winners_through_the_mask_and_its_last_fit() -> None:
    model = SpyModel()
    search = start(model)
    assert 0 < search.mask.sum() < LENGTH
    step(search)
    for generation in range(1, 5):
        before = population_of(search)
        asked = step(search)
        fit = model.fits[-1]
        assert len(model.fits) == generation
        assert fit.parents.shape == (10, LENGTH)
        assert count_rows(fit.parents ^ search.mask) <= count_rows(before.bits)
        np.testing.assert_array_equal(asked, fit.fitted.samples[0] ^ search.mask)
        assert fit.previous is (model.fits[-2].fitted if generation > 1 else None)
        assert search.fitted is fit.fitted
        after = population_of(search).bits  # parents, then offspring
        np.testing.assert_array_equal(after, np.concatenate([fit.parents ^ search.mask, asked]))


def test_a_search_converges_when_all_rows_are_one() -> None:
    search = start(OnesModel(), replacement="worst")
    step(search)
    assert not search.status().converged
    for _ in range(2):
        search.tell(search.ask(), np.full(10, 100.0))
    assert search.status().converged


@pytest.mark.parametrize("population", [20, "auto"])
def test_a_failed_fit_can_be_asked_again(population: Any) -> None:
    failing, sound = (
        EDA(model, population=population).start(LENGTH, 1) for model in (FailingModel(), UMDA())
    )
    failures = 0
    for _ in range(30):
        try:
            failing.ask()
        except KeyboardInterrupt:
            failures += 1
        rows = failing.ask()
        np.testing.assert_array_equal(rows, sound.ask())
        for search in (failing, sound):
            search.tell(rows, PROBLEM(rows))
        assert failing.status() == sound.status()
    assert failures > 20


@dataclass(frozen=True)
class WrongModel(Model):
    """Samples anything else than it should."""

    sample: Any

    def fit(self, parents: Bits, rng: np.random.Generator, previous: Any = None) -> Any:
        return SimpleNamespace(facts={}, sample=self.sample)


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        (lambda count, rng: np.zeros((count - 1, LENGTH)), "sampled 9 rows; expected 10"),
        (lambda count, rng: np.full((count, LENGTH), 2), "sampled what it should not: .* have 2"),
        (lambda count, rng: np.zeros((count, 3)), "sampled what it should not: .* shape"),
    ],
)
def test_a_model_that_samples_anything_else_is_named(sample: Any, message: str) -> None:
    search = start(WrongModel(sample))
    step(search)
    with pytest.raises(ValueError, match=message):
        search.ask()


def test_a_search_repairs_what_it_samples() -> None:
    space = Space(LENGTH, np.array([0, 3]), np.array([1, 0], dtype=np.uint8), fewest=4, most=5)
    search, free = start(space=space), start()
    repairs = int((free.ask() != search.ask()).any(axis=1).sum())
    assert search.status().repairs == repairs > 0
    for _ in range(3):
        rows = step(search)
        assert (rows[:, [0, 3]] == [1, 0]).all()
        assert set(rows.sum(axis=1)) <= {4, 5}
        step(free)
    assert search.status().repairs > repairs
    assert free.status().repairs == 0


# Known solutions


@pytest.mark.parametrize("moment", ["before ask", "before tell", "between pieces"])
def test_a_known_solution_takes_the_place_of_the_worst_once(moment: str) -> None:
    search, other = start(), start()
    for one in (search, other):
        if one is search and moment == "before ask":
            one.inject(np.tile(BEST, (4, 1)), np.full(4, 12.0))
        rows = one.ask()
        if one is search and moment == "before tell":
            one.inject(BEST, np.array([12.0]))
        one.tell(rows[:5], PROBLEM(rows[:5]), range(5))
        if one is search and moment == "between pieces":
            one.inject(BEST, np.array([12.0]))
        one.tell(rows[5:], PROBLEM(rows[5:]))
    old, new = population_of(other), population_of(search)
    worst = int(old.fitness.argmin())
    np.testing.assert_array_equal(new.bits[worst], BEST[0])
    np.testing.assert_array_equal(np.delete(new.bits, worst, 0), np.delete(old.bits, worst, 0))
    np.testing.assert_array_equal(new.fitness, PROBLEM(new.bits))


def test_known_solutions_take_half_of_the_population_at_most_the_best_of_them() -> None:
    search = start()
    known = np.unique(np.random.default_rng(3).integers(0, 2, (40, LENGTH), np.uint8), axis=0)
    rows = search.ask()
    known = known[[row.tobytes() not in count_rows(rows) for row in known]]
    fitness = np.arange(100.0, 100.0 + len(known))
    search.inject(known, fitness)
    search.tell(rows, PROBLEM(rows))
    assert sorted(population_of(search).fitness)[10:] == fitness[-10:].tolist()


# Interleaved populations


def size_of(search: InterleavedSearch) -> int:
    """Return the size of the population whose turn it is."""
    size = search.status().population
    assert size is not None
    return size


def active_sizes(search: InterleavedSearch) -> list[int]:
    return [level.size for level in search.state.levels if not level.retired]


def fix_all(value: int) -> Space:
    """Return a space with one row: every population of it converges at once."""
    return Space(LENGTH, np.arange(LENGTH), np.full(LENGTH, value, dtype=np.uint8))


def play(turns: int, heights: Callable[[int, int], float]) -> list[int]:
    """Return the sizes of the populations that had their turns.

    `heights` is what all rows of a population are worth, by its size and its number of turns.
    """
    search = interleave(RandomModel())
    sizes: list[int] = []
    for _ in range(turns):
        rows = search.ask()
        sizes.append(size_of(search))
        search.tell(rows, np.full(len(rows), heights(sizes[-1], sizes.count(sizes[-1]) - 1)))
    return sizes


def take_turns(size: int) -> list[int]:
    """Return the sizes that have their turns before one of `size` has its own."""
    if size == 32:
        return []
    smaller = take_turns(size // 2)
    return [*smaller, size // 2] * 8 + smaller


@pytest.mark.parametrize(
    ("turns", "heights", "expected"),
    [
        pytest.param(
            800, lambda size, turn: turn - 1e6 * size, take_turns(512)[:800],
            id="eight generations for one of the next larger",
        ),
        pytest.param(
            200, lambda size, turn: turn + 1e6 * (size == 32), take_turns(256)[:200],
            id="a larger one does not retire for a smaller one",
        ),
        pytest.param(
            12, lambda size, turn: turn + 1000.0 * (size == 64), [32] * 8 + [64] * 4,
            id="a smaller one retires for a better mean",
        ),
        pytest.param(12, lambda size, turn: 1.0, [32] * 8 + [64] * 4, id="and for as good a mean"),
        pytest.param(
            9, lambda size, turn: -1.7e308, [32] * 8 + [64],
            id="a mean beyond all numbers is no reason",
        ),
        pytest.param(
            take_turns(128).__len__() + 8,
            lambda size, turn: turn + 1e9 if size == 128 else turn - 1e6 * size,
            take_turns(128) + [128] * 8,
            id="all the smaller ones retire at once",
        ),
    ],
)  # fmt: skip
def test_populations_take_turns(turns: int, heights: Any, expected: list[int]) -> None:
    assert play(turns, heights) == expected


def test_populations_retire_after_twenty_generations_without_a_better_solution() -> None:
    sizes = play(115, lambda size, turn: -float(size))
    # Its random first rows were the best: 20 generations more, 21 turns.
    assert [sizes.count(size) for size in (32, 64, 128)] == [21, 21, 21]
    sizes = play(115, lambda size, turn: float(turn >= 15) - size)
    assert [sizes.count(size) for size in (32, 64, 128)] == [36, 36, 36]


def test_converged_populations_retire_and_their_repairs_count() -> None:
    search = interleave(space=fix_all(1))
    rows = 0
    for turn in range(5):
        asked = step(search)
        rows += len(asked)
        assert len(asked) == 32 * 2**turn
        assert active_sizes(search) == []
        # The last one is shown until the next has its turn.
        assert size_of(search) == len(population_of(search).bits) == len(asked)
        assert not search.status().converged
    assert 0.99 * rows < search.status().repairs <= rows  # a random row is valid by 2^-12


@pytest.mark.parametrize("model", [UMDA(), PBIL(), BOA(), RBM()], ids=str)
def test_each_population_asks_what_it_would_alone(model: Model) -> None:
    problem = Trap(20, 5)
    search: Search = EDA(model).start(20, seed=3)
    asked: dict[int, list[Bits]] = defaultdict(list)
    for number in range(20):
        if number == 12:  # and so it does after a restart
            search = EDA(model).restore(20, 3, search.snapshot())
        rows = search.ask()
        asked[search.status().population or 0].append(rows)
        search.tell(rows, problem(rows))
    assert set(asked) >= {32, 64}
    for size, batches in asked.items():
        alone = EDA(model, population=size).start(20, seed=3)
        for batch in batches:
            np.testing.assert_array_equal(alone.ask(), batch)
            alone.tell(batch, problem(batch))


def test_known_solutions_join_every_population_also_those_to_come() -> None:
    search = interleave(RandomModel(), space=40)
    known = np.eye(40, dtype=np.uint8)[:3]
    search.inject(known, np.array([1e6, 1e6 + 1, 1e6 + 2]))
    sizes: list[int] = []
    while len(sizes) < 3:
        rows = search.ask()
        search.tell(rows, np.full(len(rows), len(sizes) - 1e3 * size_of(search)))
        if size_of(search) not in sizes:
            sizes.append(size_of(search))
            joined = np.sort(population_of(search).fitness)[-3:]
            np.testing.assert_array_equal(joined, [1e6, 1e6 + 1, 1e6 + 2])
    assert sizes == [32, 64, 128]


# Incremental


def test_the_model_learns_from_the_best_rows_alone_and_forgets_the_others() -> None:
    """With a rate of 1 the frequencies are those of the best rows, seen through the mask."""
    search = Incremental("pbil:rate=1.0", population=10, best=2).start(6, seed=1)
    for base in (100.0, 0.0):
        rows = search.ask()
        search.tell(rows, base + np.array([3, 9, 1, 4, 8, 0, 2, 5, 6, 7], dtype=float))
        assert search.status().mean == base + 4.5
        search.ask()
        assert search.fitted is not None
        sample = search.fitted.sample(2000, np.random.default_rng(1))
        expected = (rows[[1, 4]] ^ search.mask).mean(axis=0)
        np.testing.assert_allclose(sample.mean(axis=0), expected, atol=0.05)
    assert search.status().generation == 1


@pytest.mark.parametrize(("problem", "population"), [(OneMax(40), 8), (Trap(40, 4), 40)], ids=str)
def test_the_papers_tree_solves_what_it_solves_in_the_paper(
    problem: OneMax | Trap, population: int
) -> None:
    results = [run(problem, PaperTree(population=population), seed=seed) for seed in (1, 2)]
    assert all(result.solved for result in results)
