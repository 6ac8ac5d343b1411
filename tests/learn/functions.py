"""Functions of known terms or tables, and all rows of a few variables."""

import itertools

import numpy as np

from harmonium import Polynomial
from harmonium.arrays import Bits
from harmonium.learn.function import Tables

SIZES = [3, 2, 4, 3, 2, 3]
"""Of six variables."""

RING = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)]


def list_rows(length: int) -> Bits:
    """Return all rows of so many bits."""
    return np.array(list(itertools.product((0, 1), repeat=length)), dtype=np.uint8)


def list_values() -> np.ndarray:
    """Return all rows of values of the six variables."""
    return np.array(list(itertools.product(*map(range, SIZES))))


def make_function(length: int, order: int, parts: int, seed: int) -> Polynomial:
    """Return a sum of random parts of `order` bits each, with all of their terms."""
    rng = np.random.default_rng(seed)
    coefficients: dict[tuple[int, ...], float] = {(): 1.5}
    for _ in range(parts):
        bits = sorted(rng.choice(length, order, replace=False).tolist())
        for size in range(1, order + 1):
            for term in itertools.combinations(bits, size):
                coefficients[term] = coefficients.get(term, 0.0) + float(rng.standard_normal())
    return Polynomial(length, coefficients)


def draw_tables(pairs: list[tuple[int, int]] = RING, seed: int = 1) -> Tables:
    """Return random tables of the six variables, and of pairs of them."""
    rng = np.random.default_rng(seed)
    scopes = [(), *((number,) for number in range(len(SIZES))), *pairs]
    return {scope: np.asarray(rng.random([SIZES[one] for one in scope])) for scope in scopes}
