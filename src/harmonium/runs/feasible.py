"""Which rows are feasible, as the user's function says."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from harmonium.arrays import Bits, format_bits
from harmonium.runs.answers import Failure, evaluate_row
from harmonium.runs.evaluator import EvaluationError
from harmonium.space import Feasible, Space
from harmonium.space.codec import NamedFunction, Variables


def read_feasible(
    feasible: Callable[[Any], object] | None, variables: Variables | None
) -> Feasible | None:
    """Return a function of a row that calls the user's, with a dict if there are variables."""
    if feasible is None:
        return None
    named = feasible if variables is None else NamedFunction(feasible, variables)

    def accepts(row: Bits) -> bool:
        answer = evaluate_row(named, row.astype(np.int64))
        words = answer.words if isinstance(answer, Failure) else ""
        try:
            allowed = bool(answer)
        except Exception:  # noqa: BLE001  # an array, or whatever has no truth
            words = f"returned a {type(answer).__name__}"
        if words:
            what = name_bits(row) if variables is None else variables.describe(row)
            raise EvaluationError(f"feasible {words} ({what}); expected True or False")
        return allowed

    return accepts


def check_feasible(initial: Bits, space: Space, max_seconds: float | None) -> float:
    """Raise if a known solution is not feasible; return the time that it took to check them.

    At the time limit it ends: the others will not be evaluated.
    """
    if space.feasible is None:
        return 0.0
    started = time.perf_counter()
    for number, row in enumerate(initial):
        if not space.accepts(row):
            raise ValueError(f"solution {number} of initial is not feasible; leave it out")
        if max_seconds is not None and time.perf_counter() - started >= max_seconds:
            break
    return time.perf_counter() - started


def name_bits(row: Bits) -> str:
    """Return a row in words, shortened if it is long."""
    if len(row) <= 100:
        return f"the bits {format_bits(row)}"
    return f"the bits {format_bits(row[:60])}… ({len(row):,}; error.x has them all)"
