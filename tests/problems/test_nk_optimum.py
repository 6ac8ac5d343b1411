import numpy as np
import pytest
from numpy.typing import NDArray

from harmonium import NK
from harmonium.arrays import Bits
from harmonium.problems import nk as nk_optimum
from tests.rows import every_row, random_rows

SIZES = [(length, k) for length in range(1, 10) for k in range(length)] + [(13, 2), (13, 12)]
NEIGHBORS = ["random", "ring"]


def total(groups: NDArray[np.int64], tables: NDArray[np.float64], rows: Bits) -> list[float]:
    """Return the sum of all components for each row, in plain Python."""
    size = groups.shape[1]
    weights = [2 ** (size - 1 - position) for position in range(size)]
    return [
        sum(
            table[
                sum(weight * row[variable] for weight, variable in zip(weights, group, strict=True))
            ]
            for group, table in zip(groups.tolist(), tables.tolist(), strict=True)
        )
        for row in rows.tolist()
    ]


def climb(problem: NK, row: Bits) -> float:
    """Flip the best bit until none is better."""
    flips = np.eye(problem.length, dtype=np.uint8)
    fitness = problem(row[None])[0]
    while True:
        flipped = row ^ flips
        values = problem(flipped)
        if values.max() <= fitness:
            return float(fitness)
        row, fitness = flipped[values.argmax()], values.max()


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize(("length", "k"), SIZES)
def test_the_optimum_is_the_best_of_all_rows(length: int, k: int, neighbors: str) -> None:
    for instance in range(4):
        problem = NK(length, k, instance, neighbors)  # type: ignore[arg-type]
        fitness = problem(every_row(length))
        best = problem.best_bits
        assert best is not None
        assert best.shape == (length,)
        assert problem.optimum == pytest.approx(fitness.max(), abs=1e-12)
        assert best.tolist() == every_row(length)[fitness.argmax()].tolist()


@pytest.mark.parametrize(("length", "k"), SIZES)
def test_branch_and_bound_alone_finds_the_optimum(
    length: int, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nk_optimum, "_LOCAL_SEARCHES", 0)
    for instance in range(4):
        problem = NK(length, k, instance)
        assert problem.optimum == pytest.approx(problem(every_row(length)).max(), abs=1e-12)


@pytest.mark.parametrize("levels", [1, 2, 3])
@pytest.mark.parametrize(("length", "k"), [(5, 2), (8, 1), (8, 3), (10, 2)])
def test_ties_and_negative_tables_do_not_mislead(length: int, k: int, levels: int) -> None:
    rng = np.random.default_rng(levels)
    rows = every_row(length)
    for instance in range(4):
        tables = rng.integers(-levels, 0, (length, 2 ** (k + 1))).astype(np.float64)
        for neighbors in ("random", "ring"):
            groups = NK(length, k, instance, neighbors).groups
            ring = neighbors == "ring"
            best = (
                nk_optimum.solve_ring(tables) if ring else nk_optimum.solve_general(groups, tables)
            )
            assert best is not None
            assert total(groups, tables, best[None])[0] == max(total(groups, tables, rows))


@pytest.mark.parametrize(("length", "k"), [(30, 1), (30, 4), (24, 6), (40, 2)])
def test_branch_and_bound_agrees_with_dynamic_programming_on_a_ring(length: int, k: int) -> None:
    problem = NK(length, k, neighbors="ring")
    assert nk_optimum.solve_general(problem.groups, problem.tables) is not None
    np.testing.assert_array_equal(
        nk_optimum.solve_general(problem.groups, problem.tables),
        nk_optimum.solve_ring(problem.tables),
    )


@pytest.mark.parametrize(("length", "k"), [(52, 2), (48, 3), (40, 4), (38, 5)])
def test_the_largest_landscapes_of_the_paper_are_solved(length: int, k: int) -> None:
    problem = NK(length, k)
    optimum, best = problem.optimum, problem.best_bits
    assert optimum is not None
    assert best is not None
    assert optimum == pytest.approx(total(problem.groups, problem.tables, best[None])[0] / length)
    for row in random_rows(200, length, seed=k):
        assert climb(problem, row) <= optimum + 1e-12


def test_the_optimum_is_unknown_when_the_search_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(nk_optimum, "MAX_NODES", 10)
    problem = NK(40, 4, instance=999)  # of no other test: optima are remembered
    assert problem.best_bits is None
    assert problem.optimum is None


def test_a_ring_is_never_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nk_optimum, "MAX_NODES", 10)
    assert NK(40, 4, neighbors="ring").optimum is not None


def test_the_optimum_is_solved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = NK(10, 2)
    optimum = problem.optimum
    monkeypatch.setattr(nk_optimum, "solve_general", None)
    assert problem.optimum == optimum
