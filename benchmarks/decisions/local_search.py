"""Plain searches for `anytime.py`: random search, climber, (1+1) EA, annealing and tabu.

Short, but tuned with care; none gets more information than `maximize`. Where the number of ones is
given, they start with it and swap a one with a zero instead of flipping a bit. All of them run
until the function raises `BudgetSpent`.
"""

import math
from collections.abc import Iterator

import numpy as np
from benchmarks.decisions.functions import Budgeted

Move = tuple[int, ...]


class Rows:
    """Random rows and moves between rows: single flips, or swaps if the number of ones is given."""

    def __init__(self, function: Budgeted, seed: int) -> None:
        self.length, self.ones = function.length, function.ones
        self.rng = np.random.default_rng(seed)

    def sample(self) -> np.ndarray:
        if self.ones is None:
            return self.rng.integers(0, 2, self.length, dtype=np.uint8)
        row = np.zeros(self.length, np.uint8)
        row[self.rng.choice(self.length, self.ones, replace=False)] = 1
        return row

    def list_moves(self, row: np.ndarray) -> Iterator[Move]:
        """Yield every move once in random order.

        Bits that a move has changed meanwhile are left out of later swaps.
        """
        if self.ones is None:
            yield from ((bit,) for bit in self.rng.permutation(self.length).tolist())
            return
        ones, zeros = np.flatnonzero(row), np.flatnonzero(row == 0)
        for place in self.rng.permutation(len(ones) * len(zeros)).tolist():
            one, zero = ones[place // len(zeros)], zeros[place % len(zeros)]
            if row[one] and not row[zero]:
                yield int(one), int(zero)

    def draw_moves(self, row: np.ndarray) -> Iterator[Move]:
        """Yield a pass: one move for each bit in random order."""
        if self.ones is None:
            yield from self.list_moves(row)
            return
        for bit in self.rng.permutation(self.length).tolist():
            others = np.flatnonzero(row != row[bit])
            yield bit, int(others[self.rng.integers(len(others))])


def flip(row: np.ndarray, move: Move) -> None:
    """Apply a move, or take it back."""
    for bit in move:
        row[bit] ^= 1


def search_randomly(function: Budgeted, seed: int) -> None:
    rows = Rows(function, seed)
    while True:
        function(rows.sample())


def climb_with_restarts(function: Budgeted, seed: int) -> None:
    """Climb from random rows: keep every move that is not worse, until a pass has no gain."""
    rows = Rows(function, seed)
    while True:
        row = rows.sample()
        value, gained = function(row), True
        while gained:
            gained = False
            for move in rows.list_moves(row):
                flip(row, move)
                new = function(row)
                if new < value:
                    flip(row, move)
                    continue
                gained = gained or new > value
                value = new


def evolve(function: Budgeted, seed: int) -> None:
    """(1+1) EA: flip each bit with probability 1 / length, at least one; keep what is not worse.

    With a number of ones: swap each one with probability 1 / ones, at least one.
    """
    rows = Rows(function, seed)
    row = rows.sample()
    value = function(row)
    places = rows.ones or rows.length
    while True:
        count = 0
        while not count:
            count = int(rows.rng.binomial(places, 1 / places))
        child = row.copy()
        if rows.ones is None:
            child[rows.rng.choice(rows.length, count, replace=False)] ^= 1
        else:
            for kind in (0, 1):
                child[rows.rng.choice(np.flatnonzero(row == kind), count, replace=False)] ^= 1
        new = function(child)
        if new >= value:
            row, value = child, new


def anneal(function: Budgeted, seed: int, start: float = 0.5, end: float = 0.05) -> None:
    """Anneal once over the whole budget, with geometric cooling; passes in random order.

    The temperature falls from `start` to `end` times the median change of a first few random moves.
    """
    rows = Rows(function, seed)
    row = rows.sample()
    value = function(row)
    changes = []
    for move, _ in zip(rows.draw_moves(row), range(max(5, function.budget // 200)), strict=False):
        flip(row, move)
        changes.append(abs(function(row) - value))
        flip(row, move)
    scale = float(np.median([change for change in changes if change] or [1.0]))
    first = function.calls
    while True:
        for move in rows.draw_moves(row):
            passed = (function.calls - first) / (function.budget - first)
            temperature = scale * start * (end / start) ** passed
            flip(row, move)
            new = function(row)
            if new >= value or rows.rng.random() < math.exp((new - value) / temperature):
                value = new
            else:
                flip(row, move)


def search_tabu(function: Budgeted, seed: int) -> None:
    """Tabu search: make the first move that is not worse, or the best if a whole pass has none.

    A bit that has moved is tabu for the next 5 to 14 moves, unless its move gives a new best. To
    evaluate all moves before each step, as usual where changes are known without calls, would leave
    ten steps of a budget of ten calls a bit.
    """
    rows = Rows(function, seed)
    row = rows.sample()
    value = best = function(row)
    tabu_until = np.zeros(rows.length, np.int64)
    step, tried, chosen, chosen_value = 0, 0, None, -np.inf
    while True:
        for move in rows.draw_moves(row):
            flip(row, move)
            new = function(row)
            flip(row, move)
            tried += 1
            free = all(tabu_until[bit] <= step for bit in move)
            if new > chosen_value and (free or new > best):
                chosen, chosen_value = move, new
            if chosen and (chosen_value >= value or tried >= rows.length):
                flip(row, chosen)
                value, best = chosen_value, max(best, chosen_value)
                step += 1
                tabu_until[list(chosen)] = step + 5 + rows.rng.integers(10)
                tried, chosen, chosen_value = 0, None, -np.inf
