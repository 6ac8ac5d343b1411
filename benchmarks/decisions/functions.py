"""Functions of one row for `anytime.py`: what practitioners have, without known optima.

Every function has a `length`, and `ones` if rows must have a certain number of ones. The seed is
the instance.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numba import njit
from sklearn.datasets import load_digits

import harmonium as hm


class Function(NamedTuple):
    """A function of one row of bits, maximised."""

    value: Callable[[np.ndarray], float]
    length: int
    ones: int | None = None
    """Number of ones that a row must have."""
    penalty: float = 0.0
    """Price of each one too many or too few, for searches that do not know the constraint."""


class BudgetSpent(Exception):  # noqa: N818  # not an error: the way every run ends
    """The function was called more often than the budget allows."""


class Budgeted:
    """A function of one row with a budget.

    `best_after` has the best value after each of the given numbers of calls.
    """

    def __init__(self, function: Function, budgets: Iterable[int]) -> None:
        self.function, self.length, self.ones = function, function.length, function.ones
        self.budgets = frozenset(budgets)
        self.budget = max(self.budgets)
        self.calls, self.best = 0, -np.inf
        self.best_after: dict[int, float] = {}

    def __call__(self, row: np.ndarray) -> float:
        """Return the value of a valid row, or raise if the budget is spent."""
        surplus = self._count_surplus(row)
        if surplus:
            raise ValueError(f"a row has {surplus} ones more than {self.ones}")
        return self.penalised(row)

    def penalised(self, row: np.ndarray) -> float:
        """Return the value of any row, less a penalty if its number of ones is not valid."""
        if self.calls >= self.budget:
            raise BudgetSpent
        self.calls += 1
        value = float(self.function.value(np.asarray(row, dtype=np.uint8)))
        surplus = self._count_surplus(row)
        if not surplus:
            self.best = max(self.best, value)
        if self.calls in self.budgets:
            self.best_after[self.calls] = self.best
        return value - self.function.penalty * abs(surplus)

    def _count_surplus(self, row: np.ndarray) -> int:
        return 0 if self.ones is None else int(row.sum()) - self.ones


def make_qubo(seed: int, length: int = 120) -> Function:
    """Return a dense QUBO: all coefficients are integers from -100 to 100."""
    rng = np.random.default_rng([seed, length, 1])
    matrix = np.triu(rng.integers(-100, 101, (length, length))).astype(np.float64)
    return Function(lambda row: _sum_quadratic(row, matrix), length)


def make_torus(seed: int, rows: int, side: int) -> Function:
    problem = hm.Ising(length=rows * side, side=side, instance=seed)
    return Function(lambda row: problem.evaluate(row[None])[0], problem.length)


def make_coverage(seed: int, sets: int = 300, chosen: int = 30, elements: int = 1000) -> Function:
    """Return maximum coverage: the weight of all elements in exactly 30 of 300 sets.

    A set has each element with a probability of 1 % to 7 %; weights are uniform from 0 to 2.
    """
    rng = np.random.default_rng([seed, sets, 2])
    shares = rng.uniform(0.01, 0.07, (sets, 1))
    members = (rng.random((sets, elements)) < shares).astype(np.uint8)
    weights = rng.uniform(0, 2, elements)
    return Function(lambda row: _sum_covered(row, members, weights), sets, chosen, penalty=20)


def make_knapsack(seed: int, items: int = 100) -> Function:
    """Return a knapsack for half of the total weight; values are weights plus -10 to 10.

    The value of a row that is too heavy is minus its surplus weight.
    """
    rng = np.random.default_rng([seed, items, 3])
    weights = rng.integers(20, 101, items).astype(np.float64)
    values = weights + rng.integers(-10, 11, items)
    capacity = weights.sum() // 2

    def value(row: np.ndarray) -> float:
        surplus = row @ weights - capacity
        return -surplus if surplus > 0 else row @ values

    return Function(value, items)


def make_features(seed: int, folds: int = 3, price: float = 0.002) -> Function:
    """Return feature selection on scikit-learn's digits, 64 features.

    The value is the cross-validated accuracy of ridge regression on one column a class, less 0.002
    for each feature. The seed shuffles the samples into folds.
    """
    data, labels = load_digits(return_X_y=True)
    order = np.random.default_rng([seed, 4]).permutation(len(data))
    data, labels = data[order] / 16, labels[order]
    parts = []
    for fold in range(folds):
        held_back = np.arange(len(data)) % folds == fold
        means = data[~held_back].mean(axis=0)
        train, test = data[~held_back] - means, data[held_back] - means
        targets = np.eye(10)[labels[~held_back]]
        shares = targets.mean(axis=0)
        gram = train.T @ train + np.eye(64)
        parts.append((gram, train.T @ (targets - shares), shares, test, labels[held_back]))

    def value(row: np.ndarray) -> float:
        chosen = np.flatnonzero(row)
        right = 0
        for gram, products, shares, test, answers in parts:
            weights = np.zeros((64, 10))
            weights[chosen] = np.linalg.solve(gram[np.ix_(chosen, chosen)], products[chosen])
            right += np.count_nonzero((test @ weights + shares).argmax(axis=1) == answers)
        return right / len(data) - price * len(chosen)

    return Function(value, 64)


def make_pairwise(seed: int, length: int = 40, pairs: int = 120) -> Function:
    """Return a sparse pairwise function: normal terms for each bit and for 120 random pairs."""
    rng = np.random.default_rng([seed, length, 5])
    matrix = np.diag(rng.standard_normal(length))
    above = np.column_stack(np.triu_indices(length, 1))
    chosen = above[rng.choice(len(above), pairs, replace=False)]
    matrix[chosen[:, 0], chosen[:, 1]] = rng.standard_normal(pairs) * 2
    return Function(lambda row: _sum_quadratic(row, matrix), length)


def make_sparse_pairs(seed: int, length: int, pairs: int) -> Function:
    """Return normal terms for each bit and, twice as large, for random pairs of very many."""
    rng = np.random.default_rng([seed, length, 12])
    ends = rng.integers(0, length, (2 * pairs, 2))
    ends = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
    ends = rng.permutation(ends)[:pairs]
    singles, weights = rng.standard_normal(length), 2.0 * rng.standard_normal(pairs)
    return Function(lambda row: _sum_pairs(row, singles, ends, weights), length)


def make_costly_coverage(seed: int, sets: int = 200, elements: int = 500) -> Function:
    """Return coverage of 500 elements by any of 200 sets, less 60 % to 140 % of 0.45 an element."""
    rng = np.random.default_rng([seed, sets, 6])
    members = (rng.random((sets, elements)) < rng.uniform(0.01, 0.07, (sets, 1))).astype(np.uint8)
    weights = rng.uniform(0, 2, elements)
    costs = 0.45 * members.sum(axis=1) * rng.uniform(0.6, 1.4, sets)
    return Function(lambda row: _sum_covered(row, members, weights) - row @ costs, sets)


def make_network(seed: int, length: int = 100, hidden: int = 40) -> Function:
    """Return a random neural network: 40 tanh units of all bits, as signs, and their sum."""
    rng = np.random.default_rng([seed, length, 9])
    weights = 2.0 * rng.standard_normal((length, hidden)) / np.sqrt(length)
    biases, outputs = rng.standard_normal(hidden), rng.standard_normal(hidden)
    return Function(lambda row: np.tanh((1.0 - 2.0 * row) @ weights + biases) @ outputs, length)


def make_labs(seed: int, length: int = 60) -> Function:
    """Return minus the energy of the autocorrelations of a sequence of signs (Bernasconi 1987)."""
    flips = np.random.default_rng([seed, length, 10]).integers(0, 2, length, dtype=np.uint8)

    def value(row: np.ndarray) -> float:
        signs = 1.0 - 2.0 * (row ^ flips)
        correlations = np.correlate(signs, signs, "full")[length:]
        return -(correlations @ correlations)

    return Function(value, length)


def make_problem(problem: hm.ProblemSpec, seed: int) -> Function:
    """Return a problem of harmonium with its bits in random order, and some of them flipped."""
    rng = np.random.default_rng([seed, problem.length, 11])
    order, flips = rng.permutation(problem.length), rng.integers(0, 2, problem.length, np.uint8)
    return Function(lambda row: problem.evaluate((row ^ flips)[order][None])[0], problem.length)


FUNCTIONS: dict[str, Callable[[int], Function]] = {
    "QUBO 120": make_qubo,
    "±J torus 400": lambda seed: make_torus(seed, 20, 20),
    "±J torus 1500": lambda seed: make_torus(seed, 50, 30),
    "coverage 30 of 300": make_coverage,
    "knapsack 100": make_knapsack,
    "features of digits": make_features,
    "pairwise 40": make_pairwise,
    "coverage with costs 200": make_costly_coverage,
    "network of 100 bits": make_network,
    "LABS 60": make_labs,
    "NK 100, k = 4": lambda seed: make_problem(hm.NK(length=100, k=4, instance=seed), seed),
    "MAX-3-SAT 100, 430": lambda seed: make_problem(
        hm.MaxSat(length=100, clauses=430, instance=seed), seed
    ),
    "5-traps 60": lambda seed: make_problem(hm.Trap(length=60, order=5), seed),
}


@njit
def _sum_pairs(
    row: np.ndarray, singles: np.ndarray, ends: np.ndarray, weights: np.ndarray
) -> float:
    total = 0.0
    for bit in range(len(row)):
        total += singles[bit] * row[bit]
    for pair in range(len(weights)):
        total += weights[pair] * (row[ends[pair, 0]] & row[ends[pair, 1]])
    return total


@njit
def _sum_quadratic(row: np.ndarray, matrix: np.ndarray) -> float:
    ones = np.flatnonzero(row)
    total = 0.0
    for place, one in enumerate(ones):
        for other in ones[place:]:
            total += matrix[one, other]
    return total


@njit
def _sum_covered(row: np.ndarray, members: np.ndarray, weights: np.ndarray) -> float:
    covered = np.zeros(len(weights), np.uint8)
    for one in np.flatnonzero(row):
        covered |= members[one]
    total = 0.0
    for element in range(len(weights)):
        total += covered[element] * weights[element]
    return total
