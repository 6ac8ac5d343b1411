"""A Gaussian process over tables: what is known of a function of values and pairs of values.

Every entry of every table is normal and independent before anything is seen. The rows seen decide
the entries as far as they can: the covariance of two rows counts the variables and pairs in which
they agree. A sample of the process is a whole function that agrees with all rows seen (drawn by
Matheron's rule: draw tables, then correct them by what they get wrong), so that the best row of a
sample is either good or tells something.
"""

from collections.abc import Callable
from itertools import combinations
from typing import Literal

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular

from harmonium.learn.function import Integers, Numbers, Tables, sum_tables

JITTER = 1e-8
"""Added to variances: rows that are decided by others would have none."""

REFINEMENTS = 2
"""How often the mean is corrected by what it gets wrong, which takes the jitter out of it."""

Pair = tuple[int, int]


def _solve(factor: Numbers, right: Numbers, transposed: bool = False) -> Numbers:
    """Solve a lower triangular system, or its transpose."""
    which: Literal[0, 1] = 1 if transposed else 0
    solution: Numbers = solve_triangular(factor, right, which, lower=True, check_finite=False)
    return solution


class Surrogate:
    """What rows tell of the tables of a function: of each variable, and of pairs that interact."""

    def __init__(self, sizes: Integers, pairs: list[Pair]) -> None:
        self.sizes, self.pairs = sizes, pairs
        self.values = np.empty((0, len(sizes)), dtype=np.int64)
        self.fitness = np.empty(0)
        self._centre = 0.0
        """Mean of the first rows."""
        self._factor = np.empty((0, 0))
        """Lower triangular factor of the covariance of all rows."""
        self._surprises = np.empty(0)
        """How far each row was from what the rows before it predicted, in standard deviations."""

    @property
    def scale(self) -> float:
        """Standard deviation of the entries of tables, as far as the rows tell."""
        return float(np.sqrt(np.mean(self._surprises**2)))

    @property
    def parameters(self) -> int:
        """Number of rows that could decide everything."""
        free = self.sizes - 1
        return 1 + int(free.sum()) + sum(int(free[one] * free[other]) for one, other in self.pairs)

    def add(self, values: Integers, fitness: Numbers) -> Numbers:
        """Add rows; return how far they were from what was predicted, in standard deviations."""
        mixed = self._covariance(self.values, values)
        solved = _solve(self._factor, mixed) if len(mixed) else mixed
        left = self._covariance(values, values) - solved.T @ solved
        corner = cholesky(left + JITTER * len(self.sizes) * np.eye(len(values)), lower=True)
        predicted = solved.T @ self._surprises
        if not len(self.fitness):
            self._centre = float(fitness.mean())
        surprises = _solve(corner, fitness - self._centre - predicted)
        empty = np.zeros((len(self.values), len(values)))
        whole = np.block([[self._factor, empty], [solved.T, corner]])
        self._factor = np.asfortranarray(whole)  # otherwise every solution copies it
        self._surprises = np.concatenate([self._surprises, surprises])
        self.values = np.concatenate([self.values, values])
        self.fitness = np.concatenate([self.fitness, fitness])
        return surprises

    @property
    def likelihood(self) -> float:
        """Logarithm of the likelihood of all rows, with the scale that fits them best."""
        rounding = np.sqrt(JITTER) * 1e-3 * float(np.abs(self.fitness).max())
        spread = np.log(max(self.scale, rounding, np.finfo(float).tiny))
        return -len(self.fitness) * float(spread) - float(np.log(np.diag(self._factor)).sum())

    def suggest_pair(self) -> Pair | None:
        """Return the pair whose table would explain most of what others leave; none if all are in.

        It is the pair for which the likelihood rises fastest with the variance of the entries.
        """
        count = len(self.fitness)
        inverse = cho_solve((self._factor, True), np.eye(count))
        weights = cho_solve((self._factor, True), self.fitness - self._centre) / self.scale
        best, found = -np.inf, None
        for one, other in combinations(range(len(self.sizes)), 2):
            if (one, other) in self.pairs:
                continue
            cells = self.values[:, one] * self.sizes[other] + self.values[:, other]
            explained = float((np.bincount(cells, weights) ** 2).sum())
            expected = float(np.einsum("ij,ij->", inverse, cells[:, None] == cells))
            if explained - expected > best:
                best, found = explained - expected, (one, other)
        return found

    def with_pair(self, pair: Pair) -> "Surrogate":
        """Return what the same rows tell if another pair interacts."""
        other = Surrogate(self.sizes, sorted([*self.pairs, pair]))
        other.add(self.values, self.fitness)
        return other

    def _covariance(self, ones: Integers, others: Integers) -> Numbers:
        """Return the variables and pairs in which two rows agree, and the constant."""
        agree = [
            (ones[:, number, None] == others[:, number]).astype(np.float64)
            for number in range(len(self.sizes))
        ]
        total: Numbers = np.full((len(ones), len(others)), float(len(self.sizes)))
        for one in agree:
            total += one
        for one_number, other_number in self.pairs:
            total += agree[one_number] * agree[other_number]
        return total

    def mean(self) -> Tables:
        """Return the most probable tables."""
        tables = self._make_tables(np.zeros)
        for _ in range(1 + REFINEMENTS):
            tables = self._correct(tables)
        return tables

    def sample(self, rng: np.random.Generator, heat: float) -> Tables:
        """Draw tables that agree with the rows; `heat` is a factor of their deviations."""
        deviation = heat * self.scale
        return self._correct(self._make_tables(lambda n: deviation * rng.standard_normal(n)))

    def _make_tables(self, draw: Callable[[tuple[int, ...]], Numbers]) -> Tables:
        """Return the constant, and a table for each variable and each pair."""
        scopes = [*((number,) for number in range(len(self.sizes))), *self.pairs]
        tables = {scope: draw(tuple(self.sizes[list(scope)])) for scope in scopes}
        return {(): np.array(self._centre), **tables}

    def _correct(self, tables: Tables) -> Tables:
        """Return tables that agree with the rows: corrected by what they get wrong."""
        wrong = self.fitness - sum_tables(tables, self.values)
        weights = _solve(self._factor, _solve(self._factor, wrong), transposed=True)
        corrected: Tables = {(): tables[()] + len(self.sizes) * weights.sum()}
        for scope, table in tables.items():
            if scope:
                cells = np.ravel_multi_index(tuple(self.values[:, list(scope)].T), table.shape)
                change = np.bincount(cells, weights, table.size)
                corrected[scope] = table + change.reshape(table.shape)
        return corrected
