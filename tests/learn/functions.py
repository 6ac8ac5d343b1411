"""Functions of known terms, and all rows of a few bits."""

import itertools

import numpy as np

from harmonium import Polynomial
from harmonium.arrays import Bits


def list_rows(length: int) -> Bits:
    """Return all rows of so many bits."""
    return np.array(list(itertools.product((0, 1), repeat=length)), dtype=np.uint8)


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
