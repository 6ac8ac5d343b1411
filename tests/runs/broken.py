"""Twenty rows, and functions that fail for one of them."""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits
from tests.rows import every_row

LENGTH = 10
ROWS = np.random.default_rng(1).permutation(every_row(LENGTH))[:20]
"""Twenty different rows."""


def break_at(number: int, answer: Any) -> Any:
    """Return a function that counts ones, but has another answer for one of the rows."""
    broken = ROWS[number].tobytes()

    def function(row: NDArray[Any]) -> Any:
        if row.astype(np.uint8).tobytes() != broken:
            return row.sum()
        if isinstance(answer, Exception):
            raise answer
        return answer

    return function


def in_batches(function: Any) -> Any:
    """Return the function of a row as a function of many."""

    def batch(bits: Bits) -> Any:
        answers = np.empty(len(bits), dtype=object)
        answers[:] = [function(row) for row in bits]
        return answers

    return batch


def without_place(error: Exception) -> str:
    """Return the words of an error without the file and line of the test."""
    return re.sub(r", \w+\.py line \d+", "", str(error))
