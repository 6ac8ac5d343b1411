"""Searches with one population, to ask and tell."""

from collections import Counter
from typing import Any

import numpy as np

from harmonium import EDA, UMDA, Model, OneMax, Space
from harmonium.arrays import Bits
from harmonium.search.population import PopulationSearch
from harmonium.search.replacement import Population

LENGTH = 12
PROBLEM = OneMax(LENGTH)
SETTINGS: list[dict[str, Any]] = [
    {"replacement": "keep-parents"},
    {"replacement": "worst"},
    {"replacement": "rtr"},
    {"pairing": "parent-offspring"},
    {"tournament": 4},
]
"""Settings of an EDA that change how a population is renewed."""

BEST = np.ones((1, LENGTH), dtype=np.uint8)
WORST = np.zeros((1, LENGTH), dtype=np.uint8)


def start(
    model: Model | None = None, seed: int = 1, space: Space | int = LENGTH, **settings: Any
) -> PopulationSearch:
    settings = {"population": 20} | settings
    search = EDA(model or UMDA(), **settings).start(space, seed)
    assert isinstance(search, PopulationSearch)
    return search


def step(search: PopulationSearch) -> Bits:
    """Ask and tell once; return the asked rows."""
    bits = search.ask()
    search.tell(bits, PROBLEM(bits))
    return bits


def population_of(search: PopulationSearch) -> Population:
    assert search.population is not None
    return search.population


def count_rows(bits: Bits) -> Counter[bytes]:
    return Counter(row.tobytes() for row in bits)


def assert_same(search: PopulationSearch, other: PopulationSearch) -> None:
    """Two searches stand at the same point, whatever the order in which they were told."""
    assert search.generation == other.generation
    assert search.waiting == other.waiting
    assert (search.population is None) == (other.population is None)
    if search.population is not None:
        np.testing.assert_array_equal(search.population.bits, population_of(other).bits)
        np.testing.assert_array_equal(search.population.fitness, population_of(other).fitness)
