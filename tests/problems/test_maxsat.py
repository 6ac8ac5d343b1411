import hashlib

import numpy as np
import pytest

from harmonium.problems import MaxSat
from harmonium.specs import SpecError
from tests.rows import every_row, random_rows


def satisfied(problem: MaxSat, row: list[int]) -> int:
    members, wanted = problem.formula
    return sum(
        any(row[bit] == value for bit, value in zip(clause, values, strict=True))
        for clause, values in zip(members.tolist(), wanted.tolist(), strict=True)
    )


def test_fitness_counts_the_satisfied_clauses() -> None:
    problem = MaxSat(length=12, clauses=60, instance=3)
    rows = random_rows(50, 12, seed=1)
    assert problem(rows).tolist() == [satisfied(problem, row) for row in rows.tolist()]


@pytest.mark.parametrize("instance", range(5))
def test_the_planted_solution_is_optimal(instance: int) -> None:
    problem = MaxSat(length=10, clauses=80, instance=instance)
    assert problem(problem.planted[None])[0] == problem.optimum == 80
    assert problem(every_row(10)).max() == 80


def test_clauses_read_three_distinct_bits_evenly() -> None:
    """Each of 9 bits is read by a third of 9,000 clauses, within five standard deviations."""
    members, _ = MaxSat(length=9, clauses=9000).formula
    assert all(len(set(clause)) == 3 for clause in members.tolist())
    counts = np.bincount(members.ravel(), minlength=9)
    assert np.abs(counts - 3000).max() < 5 * np.sqrt(9000 * 1 / 3 * 2 / 3)


def test_an_instance_is_the_same_on_every_machine() -> None:
    members, wanted = MaxSat(length=20, clauses=90, instance=7).formula
    digest = hashlib.sha256(members.astype("<i8").tobytes() + wanted.tobytes()).hexdigest()
    assert digest[:16] == "3741c56cb7c8c27e"


def test_instances_differ() -> None:
    first, second = (MaxSat(length=20, clauses=90, instance=i).formula[0] for i in (0, 1))
    assert (first != second).any()


def test_a_clause_needs_three_bits() -> None:
    with pytest.raises(SpecError, match="length is 2; expected at least 3"):
        MaxSat(length=2, clauses=5)
