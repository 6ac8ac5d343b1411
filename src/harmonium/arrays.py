"""The two kinds of arrays: Bits (rows, length) of uint8, and Fitness (rows,) of float64.

Arrays from outside are checked here once; all other code relies on these checks.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Bits = NDArray[np.uint8]
"""Solutions: shape (rows, length), each entry 0 or 1."""

Row = NDArray[np.int64]
"""One solution, shape (length,), as it is passed to a custom function."""

Fitness = NDArray[np.float64]
"""Fitness of solutions: shape (rows,), larger is better."""


@dataclass
class Told:
    """What evaluation says of some rows."""

    values: NDArray[np.float64]
    """(rows, objectives), always maximised; NaN in rows that failed."""
    violation: NDArray[np.float64]
    """(rows,), by how much a row breaks constraints: 0 if feasible, inf if that is unknown."""
    failed: NDArray[np.bool_]
    """(rows,), whether the function raised or returned no finite number."""
    merit: NDArray[np.float64] | None = None
    """What `merit` returns, once it was asked."""


def tell_values(fitness: Fitness) -> Told:
    """Return what is told of feasible rows with one objective; NaN is a failure."""
    return Told(fitness[:, None], np.zeros(len(fitness)), np.isnan(fitness))


def merit(told: Told) -> Fitness:
    """Return the numbers by which every search orders rows: (rows,), larger is better.

    A feasible row has its value. A row that failed or is not feasible has -inf: no search keeps it
    in place of another.
    """
    if told.merit is None:
        told.merit = np.ascontiguousarray(told.values[:, 0])
        if np.count_nonzero(told.failed) or np.count_nonzero(told.violation):  # seldom, and slow
            usable = ~told.failed & (told.violation <= 0)
            told.merit = np.where(usable, told.merit, -np.inf)
    return told.merit


def check_bits(bits: ArrayLike, length: int) -> Bits:
    """Return `bits` as a C-contiguous (rows, length) uint8 array of zeros and ones, or raise."""
    array = np.asarray(bits)
    if array.ndim != 2 or array.shape[1] != length:
        raise ValueError(f"bits have shape {array.shape}; expected (rows, {length})")
    if array.dtype != np.uint8 and array.dtype.kind not in "biuf":
        raise ValueError(f"bits have dtype {array.dtype}; expected uint8 zeros and ones")
    whole = array.dtype == np.uint8 and array.max(initial=0) <= 1  # the usual case, checked fast
    if not whole and (wrong := (array != 0) & (array != 1)).any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(
            f"bits have {array[row, column]} in row {row}, column {column}; expected 0 or 1"
        )
    return np.ascontiguousarray(array, dtype=np.uint8)


def check_fitness(fitness: ArrayLike, rows: int) -> Fitness:
    """Return `fitness` as a (rows,) float64 array of finite numbers, or raise."""
    if fitness is None:
        raise ValueError("fitness is None; return one number a row (is there a `return`?)")
    try:
        array = np.asarray(fitness)
        real = array.astype(np.float64) if array.dtype.kind in "biufO" else None
    except (TypeError, ValueError, OverflowError):
        real = None
    if real is None:
        raise ValueError("fitness is not an array of real numbers; return one float a row")
    if real.shape != (rows,):
        raise ValueError(
            f"fitness has shape {real.shape} for {rows} rows; return one number a row, ({rows},)"
        )
    if rows == 1 and math.isfinite(real.item()):  # searches that evaluate one row need it fast
        return real
    finite = np.isfinite(real)
    if not finite.all():
        row = int(np.argmin(finite))
        raise ValueError(
            f"fitness has {real[row]} in row {row} of {rows}; return a finite number for every row"
        )
    return real


def format_bits(row: NDArray[np.integer[Any]]) -> str:
    """Return one row, shape (length,), as a string of 0 and 1."""
    return "".join("1" if bit else "0" for bit in row.tolist())
