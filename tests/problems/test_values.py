"""Values, optima and instances of the problems that come with harmonium, written out again."""

import hashlib
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from harmonium import HIFF, NK, Ising, MaxSat, OneMax, Trap
from harmonium.arrays import Bits
from harmonium.problems import PROBLEMS, ProblemSpec, nk
from harmonium.specs import SpecError
from tests.rows import every_row, random_rows

NEIGHBORS: Any = ("random", "ring")


def count_ones(problem: OneMax, row: list[int]) -> float:
    return sum(row)


def sum_traps(problem: Trap, bits: list[int]) -> float:
    total, row, (attractor, optimum) = 0, np.array(bits), problem.patterns
    for start in range(0, problem.length, problem.order):
        block = slice(start, start + problem.order)
        distance = int((row[block] != attractor[block]).sum())
        best = (row[block] == optimum[block]).all()
        total += problem.order if best else problem.order - 1 - distance
    return total


def sum_blocks(problem: HIFF, row: list[int]) -> float:
    if len(row) == 1:
        return 1
    half = len(row) // 2
    whole = len(row) if len(set(row)) == 1 else 0
    return whole + sum_blocks(problem, row[:half]) + sum_blocks(problem, row[half:])


def average_tables(problem: NK, row: list[int]) -> float:
    total = 0.0
    for component, group in enumerate(problem.landscape.groups.tolist()):
        configuration = "".join(str(row[variable]) for variable in group)
        total += problem.landscape.tables[component, int(configuration, base=2)]
    return total / problem.length


def sum_couplings(problem: Ising, row: list[int]) -> float:
    spins = 2 * np.array(row).reshape(-1, problem.side) - 1
    beside, below = problem.couplings.astype(int)
    pairs = beside * spins * np.roll(spins, -1, axis=1) + below * spins * np.roll(spins, -1, axis=0)
    return int(pairs.sum())


def count_satisfied(problem: MaxSat, row: list[int]) -> float:
    members, wanted = problem.formula
    return int((np.array(row)[members] == wanted).any(axis=1).sum())


TRANSCRIBED: list[tuple[ProblemSpec, Any]] = [
    (OneMax(3), count_ones),
    (OneMax(1000), count_ones),
    *((Trap(length, order), sum_traps) for length, order in [(2, 2), (12, 4), (60, 5), (600, 300)]),
    *((Trap(60, order, distance), sum_traps) for order, distance in [(5, 3), (5, 5), (4, 1)]),
    *((HIFF(length), sum_blocks) for length in (2, 8, 64, 512)),
    *(
        (NK(length, k, 1, neighbors), average_tables)
        for length, k in [(1, 0), (2, 1), (6, 0), (6, 5), (12, 3), (17, 16)]
        for neighbors in NEIGHBORS
    ),
    *((Ising(rows * side, side, 5), sum_couplings) for rows, side in [(3, 3), (4, 7), (7, 4)]),
    (MaxSat(12, 60, 3), count_satisfied),
    (MaxSat(3, 5), count_satisfied),
]


@pytest.mark.parametrize(
    ("problem", "transcribe"), TRANSCRIBED, ids=lambda part: getattr(part, "__name__", str(part))
)
def test_fitness_is_its_definition(problem: ProblemSpec, transcribe: Any) -> None:
    rows = random_rows(70, problem.length, seed=problem.length)
    rows[:10, : problem.length // 2] = 1
    rows[5:15, problem.length // 2 :] = 0
    rows[20] = 1
    expected = [transcribe(problem, row) for row in rows.tolist()]
    assert problem(rows) == pytest.approx(expected, rel=1e-12)


def get_arrays(problem: NK) -> list[NDArray[Any]]:
    return [problem.landscape.groups, problem.landscape.tables]


# What an instance means must never change: these hashes are those of the first release.
@pytest.mark.parametrize(
    ("arrays", "digest"),
    [
        (lambda: get_arrays(NK(20, 3)), "15d612628a2db5db"),
        (lambda: get_arrays(NK(20, 3, 1)), "340a3e1c000ff9e5"),
        (lambda: get_arrays(NK(12, 2, 7, "ring")), "4c7c737c31739f16"),
        (lambda: [Ising(side=10).couplings], "81d891b3ff76c520"),
        (lambda: [Ising(side=10, instance=1).couplings], "2d6de4515aa012f4"),
        (lambda: [Ising(length=50, side=5).couplings], "53a7eaa21d85a653"),
        (lambda: MaxSat(length=20, clauses=90, instance=7).formula, "3741c56cb7c8c27e"),
        (lambda: Trap(10, 5, distance=3).patterns, "2b630143199607ef"),
    ],
)
def test_an_instance_is_the_same_on_every_machine(arrays: Any, digest: str) -> None:
    whole = b"".join(array.astype(array.dtype.newbyteorder("<")).tobytes() for array in arrays())
    assert hashlib.sha256(whole).hexdigest()[:16] == digest


@pytest.mark.parametrize(("rows", "side"), [(3, 3), (4, 4), (3, 5), (5, 3), (4, 3)])
def test_the_optimum_of_a_torus_is_the_best_of_all_rows(rows: int, side: int) -> None:
    for instance in range(3):
        problem = Ising(rows * side, side, instance)
        assert problem.optimum == problem(every_row(problem.length)).max()
    moved = Ising(rows * side, rows, instance=10**6)  # solved nowhere else: optima are cached
    beside, below = np.roll(problem.couplings, (1, 2), axis=(1, 2))
    moved.__dict__["couplings"] = np.stack([below.T, beside.T])
    assert moved.optimum == problem.optimum


def test_the_optimum_of_a_large_torus() -> None:
    problem = Ising(length=8 * 9, side=9, instance=10**6)
    spins = 2 * random_rows(1, problem.length, seed=3).astype(np.int8).reshape(8, 9) - 1
    problem.__dict__["couplings"] = np.stack(
        [spins * np.roll(spins, -1, axis=1), spins * np.roll(spins, -1, axis=0)]
    )
    assert problem.optimum == 2 * 72  # a random row satisfies every coupling
    sat = MaxSat(length=100, clauses=800)
    assert sat(sat.planted[None]).tolist() == [sat.optimum]
    assert Ising(side=13).optimum is None
    assert Ising(length=14 * 20, side=20).optimum is None
    assert Ising(length=1000 * 4, side=4).optimum == 5460


@pytest.mark.parametrize(
    ("text", "shape", "shortest"),
    [
        ("ising", (100, 10), "ising:side=10"),
        ("ising:length=100,side=10,instance=2", (100, 10), "ising:side=10,instance=2"),
        ("ising:length=100,side=20", (100, 20), "ising:length=100,side=20"),
    ],
)
def test_side_and_length_follow_from_each_other(
    text: str, shape: tuple[int, int], shortest: str
) -> None:
    problem = PROBLEMS.parse(text)
    assert isinstance(problem, Ising)
    assert ((problem.length, problem.side), str(problem)) == (shape, shortest)
    assert Ising(side=np.int64(4)) == Ising(length=np.int64(16))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("onemax:length=0", "length is 0; expected an integer ≥ 1 and ≤ 1,000,000"),
        ("onemax:length=1000001", "length is 1000001; expected an integer ≥ 1 and ≤ 1,000,000"),
        ("trap:length=61,order=5", "length is 61; expected a multiple of order=5"),
        ("trap:length=60,order=1", "order is 1; expected an integer ≥ 2"),
        ("trap:length=60,order=5,distance=6", "distance is 6; expected at most order=5"),
        ("trap:length=60,order=5,distance=0", "distance is 0; expected an integer ≥ 1 and"),
        ("hiff:length=6", "length is 6; expected a power of 2, at least 2"),
        ("hiff:length=1", "length is 1; expected a power of 2, at least 2"),
        ("nk:length=4,k=4", "k is 4; expected less than length=4"),
        ("nk:length=100,k=17", "k is 17; expected an integer ≥ 0 and ≤ 16"),
        ("nk:length=9,k=2,instance=-1", "instance is -1; expected an integer ≥ 0"),
        ("nk:length=9,k=2,neighbors=star", "neighbors is 'star'; expected one of random, ring"),
        ("maxsat:length=2,clauses=5", "length is 2; expected at least 3"),
        ("ising:side=2", "side is 2; expected an integer ≥ 3 and ≤ 1,000"),
        ("ising:side=x", "side is 'x'; expected an integer ≥ 3 and ≤ 1,000"),
        ("ising:length=60", "length is 60; expected a square number, or give side"),
        ("ising:length=-1", "length is -1; expected an integer ≥ 1"),
        ("ising:length=4", "side is 2; expected an integer ≥ 3 and ≤ 1,000"),
        ("ising:length=60,side=7", "length is 60; expected a multiple of side=7, with 3 rows"),
        ("ising:length=20,side=10", "length is 20; expected a multiple of side=10, with 3 rows"),
    ],
)
def test_wrong_fields_are_refused(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=f"^{text.partition(':')[0]}: {message}"):
        PROBLEMS.parse(text)


SIZES = [(length, k) for length in range(1, 9) for k in range(length)] + [(13, 2), (12, 11)]


@pytest.mark.parametrize("searches", [0, 400])
@pytest.mark.parametrize(("length", "k"), SIZES)
def test_the_optimum_of_a_landscape_is_the_best_of_all_rows(
    length: int, k: int, searches: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nk, "_LOCAL_SEARCHES", searches)
    rows = every_row(length)
    for instance, neighbors in enumerate(NEIGHBORS * 2, searches):
        problem = NK(length, k, instance, neighbors)
        fitness, best = problem(rows), problem.best_bits
        assert best is not None
        assert problem.optimum == pytest.approx(fitness.max(), abs=1e-12)
        assert best.tolist() == rows[fitness.argmax()].tolist()


def sum_tables(groups: NDArray[np.int64], tables: NDArray[np.float64], rows: Bits) -> Any:
    weights = 2 ** np.arange(groups.shape[1])[::-1]
    return tables[np.arange(len(groups)), rows[:, groups] @ weights].sum(axis=1)


@pytest.mark.parametrize("levels", [1, 2, 3])
@pytest.mark.parametrize(("length", "k"), [(5, 2), (8, 1), (8, 3), (10, 2)])
def test_ties_and_negative_tables_do_not_mislead(length: int, k: int, levels: int) -> None:
    rng = np.random.default_rng(levels)
    for instance, neighbors in enumerate(NEIGHBORS * 2):
        tables = rng.integers(-levels, 0, (length, 2 ** (k + 1))).astype(np.float64)
        groups = NK(length, k, instance, neighbors).landscape.groups
        ring = neighbors == "ring"
        best = nk.solve_ring(tables) if ring else nk.solve_general(groups, tables)
        assert best is not None
        most = sum_tables(groups, tables, every_row(length)).max()
        assert sum_tables(groups, tables, best[None])[0] == most


@pytest.mark.parametrize(("length", "k"), [(30, 4), (24, 6), (40, 2)])
def test_branch_and_bound_agrees_with_dynamic_programming_on_a_ring(length: int, k: int) -> None:
    problem = NK(length, k, neighbors="ring")
    best = nk.solve_general(problem.landscape.groups, problem.landscape.tables)
    assert best is not None
    np.testing.assert_array_equal(best, nk.solve_ring(problem.landscape.tables))


def test_a_search_may_reach_its_limit_and_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    known = NK(10, 2).optimum
    monkeypatch.setattr(nk, "MAX_NODES", 10)
    problem = NK(40, 4, instance=999)  # of no other test: optima are remembered
    assert (problem.best_bits, problem.optimum) == (None, None)
    assert NK(40, 4, instance=999, neighbors="ring").optimum is not None
    assert NK(10, 2).optimum == known
