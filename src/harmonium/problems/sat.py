"""Formulas in conjunctive normal form: weighted, partial, with clauses of any length."""

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits, Fitness
from harmonium.jit import jit
from harmonium.problems.arrays import ArrayProblem, Indices, Reals, list_groups
from harmonium.problems.base import Structure
from harmonium.problems.formats import Formula

_ALL_ROWS = np.uint64(2**64 - 1)
_ONE = np.uint64(1)


class Sat(ArrayProblem):
    """The sum of the weights of satisfied soft clauses.

    Each hard clause that is not satisfied costs more than all soft clauses are worth, so that rows
    that satisfy the hard clauses have fitness ≥ 0 and all others have less than 0.
    """

    def __init__(self, formula: Formula) -> None:
        super().__init__(formula.length, formula.optimum)
        self.formula = formula
        hard = np.isinf(formula.weights)
        self._total = float(formula.weights[~hard].sum())
        self._losses = np.where(hard, self._total + 1, formula.weights)

    @property
    def bound(self) -> float:
        """The weight of all soft clauses."""
        return self._total

    @property
    def structure(self) -> Structure:
        """The bits of each clause."""
        return list_groups(self.formula.starts, self.formula.literals // 2)

    def evaluate(self, bits: Bits) -> Fitness:
        """Return the weight that each row satisfies."""
        formula = self.formula
        lost = _sum_lost(bits, formula.starts, formula.literals, self._losses)
        return self._total - lost


@jit
def _sum_lost(bits: Bits, starts: Indices, literals: NDArray[np.int32], losses: Reals) -> Fitness:
    """Return the losses of unsatisfied clauses for each row.

    64 rows are evaluated at once: a word has the value of a literal in each of them.
    """
    rows, length = bits.shape
    lost = np.zeros(rows)
    words = np.empty(2 * length, np.uint64)
    for first in range(0, rows, 64):
        block = min(64, rows - first)
        present = _ALL_ROWS >> np.uint64(64 - block)
        words[:] = 0
        for number in range(block):
            for variable in range(length):
                words[2 * variable] |= np.uint64(bits[first + number, variable]) << np.uint64(
                    number
                )
        for variable in range(length):
            words[2 * variable + 1] = ~words[2 * variable]
        for clause in range(len(losses)):
            satisfied = np.uint64(0)
            for place in range(starts[clause], starts[clause + 1]):
                satisfied |= words[literals[place]]
            unsatisfied = ~satisfied & present
            number = first
            while unsatisfied:
                if unsatisfied & _ONE:
                    lost[number] += losses[clause]
                unsatisfied = unsatisfied >> _ONE
                number += 1
    return lost
