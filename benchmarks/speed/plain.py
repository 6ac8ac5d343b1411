"""Straightforward versions of our methods: RBMs in NumPy, greedy networks in Python.

They are reasonably efficient but not optimised; the bench and the tests compare with them.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from math import log2
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits

Numbers = NDArray[np.float64]


class Draws(Protocol):
    """A source of uniform random numbers, such as a NumPy generator."""

    def random(self, size: tuple[int, ...]) -> Numbers:
        """Return an array of numbers in [0, 1)."""


@dataclass
class PlainRBM:
    """A restricted Boltzmann machine in float64, trained by CD-1 with momentum and weight cost."""

    weights: Numbers
    """(bits, hidden)"""
    visible_bias: Numbers
    hidden_bias: Numbers
    last_step: Numbers
    """The last change of the weights, (bits, hidden)."""
    rate: float = 0.05
    momentum: float = 0.5
    weight_cost: float = 0.0001

    def train_epoch(self, rows: Numbers, order: NDArray[np.int64], batch: int, rng: Draws) -> None:
        """Train by CD-1 once over `rows` (rows, bits) in `order`."""
        for first in range(0, len(order), batch):
            data = rows[order[first : first + batch]]
            hidden = draw(data @ self.weights + self.hidden_bias, rng)
            model = draw(hidden @ self.weights.T + self.visible_bias, rng)
            model_hidden = sigmoid(model @ self.weights + self.hidden_bias)
            slope = (data.T @ hidden - model.T @ model_hidden) / len(data)
            step = self.rate * (slope - self.weight_cost * self.weights)
            self.last_step = step + self.momentum * self.last_step
            self.weights += self.last_step
            self.visible_bias += self.rate * (data - model).mean(axis=0)
            self.hidden_bias += self.rate * (hidden - model_hidden).mean(axis=0)

    def walk(self, rows: Numbers, steps: int, rng: Draws) -> Numbers:
        """Return `rows` (rows, bits) after `steps` full Gibbs steps."""
        for _ in range(steps):
            hidden = draw(rows @ self.weights + self.hidden_bias, rng)
            rows = draw(hidden @ self.weights.T + self.visible_bias, rng)
        return rows


def sigmoid(inputs: Numbers) -> Numbers:
    """Return the logistic function of each input."""
    result: Numbers = 1.0 / (1.0 + np.exp(-inputs))
    return result


def draw(inputs: Numbers, rng: Draws) -> Numbers:
    """Return 1 with probability sigmoid(input), else 0."""
    return (rng.random(inputs.shape) < sigmoid(inputs)).astype(np.float64)


Edge = tuple[int, int]
"""Parent and child."""

Network = list[list[int]]
"""The parents of each bit, in the order in which they were added."""


def build_network(rows: Bits, max_parents: int, preferred: Collection[Edge] = ()) -> Network:
    """Add the edge that raises the BIC most, without cycles, until none raises it.

    An edge and its reverse often have the same gain; among equals a preferred edge is chosen.
    Terms of the BIC are cached, so that each is computed once.
    """
    length = rows.shape[1]
    columns = [rows[:, bit].tolist() for bit in range(length)]
    network: Network = [[] for _ in range(length)]

    @cache
    def score(child: int, parents: tuple[int, ...]) -> float:
        return score_family(columns[child], [columns[parent] for parent in parents])

    while True:
        best, best_edge = (0.0, True), None
        for child, known in enumerate(network):
            if len(known) == max_parents:
                continue
            below = find_descendants(network, child)
            before = score(child, tuple(known))
            for parent in range(length):
                if parent in below or parent in known:
                    continue
                gain = score(child, (*known, parent)) - before
                candidate = (round(gain, 8), (parent, child) in preferred)
                if candidate > best:
                    best, best_edge = candidate, (parent, child)
        if best_edge is None:
            return network
        parent, child = best_edge
        network[child].append(parent)


def score_family(child: list[int], parents: list[list[int]]) -> float:
    """Return the BIC term of one bit: its log-likelihood given its parents, minus the penalty."""
    families = Counter(zip(child, *parents, strict=True))
    configurations: Counter[tuple[int, ...]] = Counter()
    for family, count in families.items():
        configurations[family[1:]] += count
    likelihood: float = sum(
        count * log2(count / configurations[family[1:]]) for family, count in families.items()
    )
    penalty: float = 2 ** len(parents) * log2(len(child)) / 2
    return likelihood - penalty


def find_descendants(network: Network, bit: int) -> set[int]:
    """Return a bit and all bits that depend on it."""
    below = {bit}
    while True:
        children = {child for child, parents in enumerate(network) if not below.isdisjoint(parents)}
        if children <= below:
            return below
        below |= children
