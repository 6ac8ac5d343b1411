"""A function that counts its calls, keeps the best value and ends the search after a budget."""

from collections.abc import Iterable

import numpy as np
from benchmarks.decisions.functions import Function


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
