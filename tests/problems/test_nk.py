import hashlib
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import chisquare

from harmonium import NK
from harmonium.specs import SpecError
from tests.rows import random_rows

SIZES = [(1, 0), (2, 1), (6, 0), (6, 5), (12, 3), (17, 16)]
LANDSCAPES = [
    NK(length, k, instance, neighbors)
    for length, k in SIZES
    for instance in range(2)
    for neighbors in ("random", "ring")
]


def transcribe(problem: NK, row: list[int]) -> float:
    total = 0.0
    for component, group in enumerate(problem.groups.tolist()):
        configuration = "".join(str(row[variable]) for variable in group)
        total += problem.tables[component, int(configuration, base=2)]
    return total / problem.length


@pytest.mark.parametrize("problem", LANDSCAPES, ids=str)
def test_fitness_is_the_mean_of_the_tables(problem: NK) -> None:
    rows = random_rows(30, problem.length, seed=1)
    expected = [transcribe(problem, row) for row in rows.tolist()]
    assert problem(rows) == pytest.approx(expected, rel=1e-12)


# What an instance means must never change: these hashes are those of the first release.
@pytest.mark.parametrize(
    ("problem", "digest"),
    [
        (NK(20, 3, 0), "15d612628a2db5db83f6cea73f7142ccc5ade3ac036feebed43234a528b6e256"),
        (NK(20, 3, 1), "340a3e1c000ff9e523ca31b952bd090c9bf920288de0fe3dedfcb25089f9e900"),
        (NK(12, 2, 7, "ring"), "4c7c737c31739f16764b6c50da0c89b5d677b431417c9dd66fa4d94bb2c3c519"),
    ],
    ids=str,
)
def test_an_instance_is_the_same_on_every_machine(problem: NK, digest: str) -> None:
    landscape = problem.groups.astype("<i8").tobytes() + problem.tables.astype("<f8").tobytes()
    assert hashlib.sha256(landscape).hexdigest() == digest


def test_other_instances_are_other_landscapes() -> None:
    landscapes = [
        NK(20, 3, instance, neighbors) for instance in range(20) for neighbors in ("random", "ring")
    ]
    assert len({problem.tables.tobytes() for problem in landscapes}) == 40
    assert len({problem.groups.tobytes() for problem in landscapes}) == 20 + 1


@pytest.mark.parametrize("problem", LANDSCAPES, ids=str)
def test_a_component_reads_its_own_bit_and_k_distinct_others(problem: NK) -> None:
    assert problem.groups.shape == (problem.length, problem.k + 1)
    assert problem.groups[:, 0].tolist() == list(range(problem.length))
    assert all(len(set(group)) == problem.k + 1 for group in problem.groups.tolist())
    assert set(problem.groups.ravel().tolist()) == set(range(problem.length))


def test_on_a_ring_the_neighbors_are_the_next_bits() -> None:
    groups = NK(5, 2, neighbors="ring").groups
    assert groups.tolist() == [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 0], [4, 0, 1]]


def test_neighbors_are_drawn_uniformly() -> None:
    # Ordered pairs of neighbours of bit 1 among 5 bits. A fair draw fails once in 1000 choices of
    # the instances, which are fixed.
    drawn = Counter(tuple(NK(5, 2, instance).groups[1, 1:].tolist()) for instance in range(2400))
    pairs = list(permutations([0, 2, 3, 4], 2))
    assert set(drawn) == set(pairs)
    assert chisquare([drawn[pair] for pair in pairs]).pvalue > 0.001


@pytest.mark.parametrize("problem", LANDSCAPES, ids=str)
def test_tables_hold_a_number_from_zero_to_one_for_each_configuration(problem: NK) -> None:
    assert problem.tables.shape == (problem.length, 2 ** (problem.k + 1))
    assert problem.tables.min() >= 0
    assert problem.tables.max() < 1
    assert len(np.unique(problem.tables)) == problem.tables.size


def test_the_structure_is_what_the_components_read() -> None:
    assert NK(4, 1, neighbors="ring").structure == ((0, 1), (1, 2), (2, 3), (0, 3))
    assert NK(4, 0).structure == ()


@pytest.mark.parametrize(("length", "k"), [(1, 1), (4, 4), (4, 5), (16, 16)])
def test_k_is_less_than_the_length(length: int, k: int) -> None:
    with pytest.raises(SpecError, match=f"nk: k is {k}; expected less than length={length}"):
        NK(length, k)


@pytest.mark.parametrize("k", [-1, 17])
def test_k_has_bounds(k: int) -> None:
    with pytest.raises(SpecError, match=f"nk: k is {k}; expected an integer ≥ 0 and ≤ 16"):
        NK(100, k)


def test_an_instance_is_not_negative() -> None:
    with pytest.raises(SpecError, match="nk: instance is -1; expected an integer ≥ 0"):
        NK(10, 2, -1)


def test_neighbors_are_random_or_a_ring() -> None:
    message = "nk: neighbors is 'star'; expected one of random, ring"
    with pytest.raises(SpecError, match=message):
        NK(10, 2, neighbors="star")  # type: ignore[arg-type]
