"""What every problem that comes with harmonium keeps to."""

from importlib.util import find_spec
from itertools import combinations
from typing import Any, Final

import numpy as np
import pytest

from harmonium import HIFF, NK, Ising, MaxSat, OneMax, Problem, Trap, load
from harmonium.arrays import Bits
from harmonium.problems import PBO, PROBLEMS, ProblemSpec, name_problem
from tests.problems.formats import ASSETS
from tests.rows import every_row, random_rows

# At least one of each, small enough to see all rows.
EXAMPLES: Final[list[ProblemSpec]] = [
    OneMax(1),
    OneMax(9),
    Trap(8, 4),
    Trap(9, 3),
    Trap(8, 4, distance=3),
    NK(9, 0),
    NK(9, 3, instance=2),
    NK(9, 2, neighbors="ring"),
    HIFF(8),
    MaxSat(9, 40, 2),
    Ising(side=3),
    *([PBO(9, 20), PBO(10, 24, instance=2)] if find_spec("ioh") else []),
    Ising(length=12, side=4, instance=1),
    load(ASSETS / "small.cnf"),
    load(ASSETS / "small.wcnf"),
    load(ASSETS / "small.qubo"),
    load(ASSETS / "small.mc"),
    load(ASSETS / "spins.txt", format="ising"),
    load(ASSETS / "small.nk"),
    load(ASSETS / "small.knapsack", infeasible="penalty"),
    load(ASSETS / "small.scp", infeasible="penalty"),
]


@pytest.fixture(params=EXAMPLES, ids=str)
def problem(request: pytest.FixtureRequest) -> ProblemSpec:
    spec: ProblemSpec = request.param
    return spec


@pytest.mark.parametrize("cls", list(PROBLEMS), ids=lambda cls: cls.name)
def test_every_problem_has_an_example_here(cls: type[ProblemSpec]) -> None:
    if cls is PBO:
        pytest.importorskip("ioh")
    assert cls in {type(example) for example in EXAMPLES}, f"add {cls.__name__} to EXAMPLES"


def test_fitness_is_one_finite_float_a_row(problem: ProblemSpec) -> None:
    assert isinstance(problem, Problem)
    assert name_problem(problem) == str(problem)
    fitness = problem(every_row(problem.length))
    assert fitness.dtype == np.float64
    assert fitness.shape == (2**problem.length,)
    assert np.isfinite(fitness).all()
    assert problem(np.empty((0, problem.length), dtype=np.uint8)).shape == (0,)


def test_a_row_does_not_depend_on_its_company_and_is_not_changed(problem: ProblemSpec) -> None:
    rows = random_rows(20, problem.length, seed=1)
    before = rows.copy()
    together = problem(rows)
    assert [problem(row[None])[0] for row in rows] == together.tolist()
    assert problem(rows[::-1].copy()).tolist() == together[::-1].tolist()
    np.testing.assert_array_equal(rows, before)


def test_the_optimum_is_the_best_of_all_rows(problem: ProblemSpec) -> None:
    assert problem.optimum == pytest.approx(problem(every_row(problem.length)).max(), rel=1e-12)


def flip(rows: Bits, *variables: int) -> Bits:
    flipped = rows.copy()
    flipped[:, list(variables)] ^= 1
    return flipped


def test_bits_interact_if_and_only_if_they_share_a_group(problem: ProblemSpec) -> None:
    if problem.structure is None:
        return
    rows = every_row(problem.length)
    fitness = problem(rows)
    for group in problem.structure:
        assert list(group) == sorted(set(group))
    together = {pair for group in problem.structure for pair in combinations(group, 2)}
    for one, other in combinations(range(problem.length), 2):
        both = problem(flip(rows, one, other))
        interaction = fitness - problem(flip(rows, one)) - problem(flip(rows, other)) + both
        assert ((one, other) in together) == bool(np.abs(interaction).max() > 1e-9), (one, other)


def test_equal_specs_are_the_same_problem(problem: ProblemSpec) -> None:
    again = PROBLEMS.from_dict(problem.to_dict())
    assert again == problem
    assert hash(again) == hash(problem)
    rows = every_row(problem.length)
    np.testing.assert_array_equal(again(rows), problem(rows))


@pytest.mark.parametrize(
    "bits",
    [
        np.zeros((2, 50), np.uint8),
        np.zeros((2, 1), np.uint8)[:, :0],
        np.zeros(8, np.uint8),
        np.full((2, 9), 255, np.uint8),
        [[0.5] * 9],
    ],
    ids=["too long", "too short", "one row", "no bits", "halves"],
)
def test_wrong_bits_are_refused_before_a_kernel_reads_them(problem: ProblemSpec, bits: Any) -> None:
    with pytest.raises(ValueError, match="bits have"):
        problem(bits)
