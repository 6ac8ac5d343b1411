"""The pyramid: climbing, mixing, levels, constraints, and what it solves."""

import numpy as np
import pytest

import harmonium as hm
from harmonium.arrays import Bits, Fitness
from harmonium.search.pyramid import PyramidSearch
from harmonium.search.walk import Champion
from harmonium.space import make_space


def start(pyramid: hm.Pyramid, length: int | hm.Space, seed: int = 1) -> PyramidSearch:
    return pyramid.start(length, seed)


def tell_all(search: PyramidSearch, problem: hm.Problem, steps: int) -> list[Bits]:
    asked = []
    for _ in range(steps):
        bits = search.ask()
        search.tell(bits, problem(bits))
        asked.append(bits)
    return asked


def test_the_first_newcomer_climbs_bit_by_bit() -> None:
    search = start(hm.Pyramid(), 20)
    asked = tell_all(search, hm.OneMax(length=20), 21)
    assert all(len(bits) == 1 for bits in asked)
    first = asked[0][0]
    best = first.copy()
    for (row,) in asked[1:]:
        assert (row != best).sum() == 1
        if row.sum() > best.sum():
            best = row
    assert best.all()  # onemax is solved by one pass


def test_rounds_grow_by_one_newcomer() -> None:
    search = start(hm.Pyramid(newcomers=3), 10)
    sizes: dict[int, int] = {}
    for _ in range(400):
        bits = search.ask()
        sizes[search.state.round] = max(sizes.get(search.state.round, 0), len(bits))
        search.tell(bits, hm.Trap(length=10, order=5)(bits))
    assert [sizes[number] for number in (1, 2, 3, 4, 5)] == [1, 2, 3, 3, 3]


def test_executors_get_many_rows_from_the_start() -> None:
    assert len(start(hm.Pyramid(newcomers=4, first_newcomers=16), 10).ask()) == 16


def test_rows_of_the_pyramid_are_different_and_better_at_the_top() -> None:
    problem = hm.NK(length=20, k=4)
    search = start(hm.Pyramid(), 20)
    tell_all(search, problem, 1500)
    assert len(search.state.levels) > 2
    rows = np.concatenate([level.rows for level in search.state.levels])
    assert len(np.unique(rows, axis=0)) == len(rows)
    assert (
        problem(search.state.levels[-1].rows).mean() > problem(search.state.levels[0].rows).mean()
    )


def test_a_flip_is_not_repeated_while_nothing_changed() -> None:
    """On a constant function every flip is a tie; on a needle every flip fails once."""

    def needle(bits: Bits) -> Fitness:
        return np.array([float(not row.any()) for row in bits])

    search = start(hm.Pyramid(), 12)
    search.inject(np.zeros((1, 12), np.uint8), np.array([1.0]))
    asked = []
    while search.state.round < 2:
        bits = search.ask()
        if search.state.round < 2:
            asked += [row.tobytes() for row in bits]
            search.tell(bits, needle(bits))
    assert len(asked) == len(set(asked)) == 12


def test_flips_that_cannot_have_changed_are_skipped() -> None:
    """Independent bits: after some newcomers a climb is one evaluation a bit."""
    weights = np.random.default_rng(1).normal(size=30)
    search = start(hm.Pyramid(newcomers=1), 30)
    counts: dict[int, int] = {}
    while search.state.round < 16:
        bits = search.ask()
        if search.state.stage == "climb":
            counts[search.state.round] = counts.get(search.state.round, 0) + len(bits)
        search.tell(bits, bits @ weights)
    assert counts[1] > 30
    assert counts[15] == 30


def test_known_solutions_are_the_first_newcomers() -> None:
    best = np.ones((1, 20), np.uint8)
    search = start(hm.Pyramid(), 20)
    search.inject(best, np.array([20.0]))
    bits = search.ask()
    assert bits.sum() == 19  # a flip of the known solution, which is not evaluated again


@pytest.mark.parametrize(
    ("fixed", "size"), [({0: 1, 5: 0}, None), (None, 6), (None, (3, 5)), ({1: 1, 2: 0}, (4, 5))]
)
def test_constraints_are_kept_by_every_row(
    fixed: dict[int, int] | None, size: int | tuple[int, int] | None
) -> None:
    space = make_space(16, fixed, size)
    search = start(hm.Pyramid(), space)
    problem = hm.NK(length=16, k=3)
    rows = np.concatenate(tell_all(search, problem, 600))
    np.testing.assert_array_equal(space.repair(rows, np.random.default_rng(0)), rows)
    assert len(np.unique(rows, axis=0)) > 50


def test_the_best_subset_is_found_by_swaps() -> None:
    weights = np.random.default_rng(3).normal(size=40)
    result = hm.maximize(
        lambda bits: bits @ weights,
        40,
        batch=True,
        algorithm=hm.Pyramid(),
        subset_size=10,
        target=float(np.sort(weights)[-10:].sum()) - 1e-9,
        max_calls=5000,
        seed=1,
    )
    assert result.success
    assert result.repairs == 0


def test_status_reports_levels_and_rows() -> None:
    search = start(hm.Pyramid(), 10)
    assert search.status().facts == {"levels": 0.0, "rows": 0.0}
    tell_all(search, hm.Trap(length=10, order=5), 200)
    facts = search.status().facts
    assert facts["levels"] == len(search.state.levels) > 0
    assert facts["rows"] == sum(len(level.rows) for level in search.state.levels)


def test_a_linkage_that_is_not_a_model_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown model 'forest'"):
        hm.Pyramid(linkage="forest")


@pytest.mark.parametrize(
    ("problem", "bound"),
    [
        (hm.OneMax(length=200), 300),
        (hm.Trap(length=60, order=5), 15_000),
        (hm.HIFF(length=64), 12_000),
        (hm.MaxSat(length=50, clauses=200), 10_000),
        (hm.NK(length=30, k=4), 60_000),
    ],
    ids=str,
)
def test_it_solves_what_it_should(problem: hm.Problem, bound: int) -> None:
    """Fixed seeds; bounds are about three times the mean of calls over 10 seeds."""
    for seed in (1, 2, 3):
        result = hm.maximize(
            problem, problem.length, batch=True, algorithm=hm.Pyramid(), seed=seed,
            target=problem.optimum, max_calls=bound,
        )  # fmt: skip
        assert result.success, (seed, result.fun)


def test_linkage_of_a_model() -> None:
    result = hm.run(
        hm.Trap(length=20, order=5), hm.Pyramid(linkage="rbm"), seed=1,
        stop=hm.Stop(max_evaluations=30_000, max_generations=None, patience=None),
    )  # fmt: skip
    assert result.solved


def weigh_knapsack(rows: Bits) -> Fitness:
    """Value of what is packed; five times what is too heavy is taken off."""
    weights = np.arange(10, 50)
    value, weight = rows @ (weights + 5 * np.sin(weights)), rows @ weights
    return np.asarray(value - 5 * np.maximum(0, weight - weights.sum() // 2))


def test_shaking_packs_a_full_knapsack_better() -> None:
    """No single flip improves a full knapsack; seeds are fixed."""
    for seed in range(5):
        search = start(hm.Pyramid(), 40, seed)
        shaken: list[float] = []
        while len(shaken) < 50:
            if search.state.stage == "shake":
                shaken.append(search.state.champion.fitness)
            bits = search.ask()
            search.tell(bits, weigh_knapsack(bits))
        assert shaken[-1] > shaken[0]


def test_patience_of_shaking_follows_what_it_brings() -> None:
    champion = Champion(np.zeros(10, np.uint8))
    row = np.ones((1, 10), np.uint8)
    for fitness, limit in ((-1.0, 20), (-1.0, 10), (1.0, 5), (1.0, 10)):
        champion.begin()
        if not np.isfinite(champion.fitness):
            champion.fitness = 0.0
        gained = champion.receive(row, np.array([champion.fitness + fitness]))
        failures = 0
        while not champion.exhausted:
            champion.receive(row, np.array([-5.0]))
            failures += 1
        assert failures + (not gained) == limit
        assert champion.end() == gained


def test_confirmations_count_newcomers_that_end_at_the_best() -> None:
    search = start(hm.Pyramid(newcomers=1), 12)
    while search.state.round < 6:
        ended = search.state.round - (
            search.state.stage != "shake"
        )  # shaking follows the end of a round
        assert search.status().confirmations == max(0, ended)
        bits = search.ask()
        search.tell(bits, hm.OneMax(length=12)(bits))


def test_a_better_end_begins_the_count_again() -> None:
    search = start(hm.Pyramid(newcomers=1), 12)
    bonus = 0
    while search.state.round < 7:
        bits = search.ask()
        bonus = search.state.round // 4  # better from the fourth newcomer on
        search.tell(bits, bits.sum(axis=1) + 100.0 * bonus)
    assert search.status().confirmations == 3


# Variables with several values: groups of bits of which exactly one is one

SIZE, COUNT = 5, 8
GROUPS = make_space(
    SIZE * COUNT, exactly_one=[range(start, start + SIZE) for start in range(0, 40, SIZE)]
)


def test_values_that_failed_are_not_tried_again() -> None:
    """Variables that do not interact need little more than one pass over all values."""
    gains = np.random.default_rng(6).random(SIZE * COUNT)
    search = start(hm.Pyramid(), GROUPS)
    evaluations, best = 0, -np.inf
    while True:  # until the first newcomer has climbed
        rows = search.ask()
        if search.state.levels:
            break
        evaluations += len(rows)
        best = max(best, float((rows @ gains).max()))
        search.tell(rows, rows @ gains)
    values = (SIZE - 1) * COUNT
    assert values < evaluations < 2 * values
    assert best == pytest.approx(gains.reshape(COUNT, SIZE).max(axis=1).sum())


def test_after_a_move_the_effects_of_other_values_are_shifted() -> None:
    gains = np.array([0.0, 3.0, 1.0, 2.0, 5.0, 0.5])
    search = start(hm.Pyramid(), make_space(6, exactly_one=[range(6)]))
    seen = []
    for _ in range(6):
        rows = search.ask()
        seen += rows.argmax(axis=1).tolist()
        search.tell(rows, rows @ gains)
    assert sorted(seen) == [0, 1, 2, 3, 4, 5]  # each value once
    assert search.state.walkers.deltas[0] == pytest.approx(gains - 5.0)


def test_values_are_mixed_as_wholes() -> None:
    """Pairs of variables that have to agree: solved, and every row has one value a variable."""
    wanted = np.array([3, 1, 4, 1, 0, 2, 2, 4])

    def agree(rows: Bits) -> Fitness:
        values = rows.reshape(-1, COUNT, SIZE).argmax(axis=2) == wanted
        both = values[:, ::2] & values[:, 1::2]
        return np.asarray(both.sum(axis=1) + 0.1 * (~values).all(axis=1))

    search = start(hm.Pyramid(), GROUPS)
    best = 0.0
    for _ in range(2000):
        rows = search.ask()
        assert (rows.reshape(-1, COUNT, SIZE).sum(axis=2) == 1).all()
        best = max(best, float(agree(rows).max()))
        search.tell(rows, agree(rows))
    assert best == 4
    assert len(search.state.levels) > 1
    linked = set(map(tuple, search.pairs.tolist()))
    assert {(bit, other) for bit in range(5) for other in range(5, 10)} <= linked


@pytest.mark.parametrize("linkage", ["tree", "boa"])
def test_sets_are_of_variables(linkage: str) -> None:
    search = start(hm.Pyramid(linkage=linkage), GROUPS)
    tell_all(search, hm.NK(length=40, k=2), 300)
    sets = [level.sets for level in search.state.levels if level.sets is not None]
    assert sets
    assert all(one.members.max(initial=0) < COUNT for one in sets)
