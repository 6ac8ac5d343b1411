"""Hints of an EvaluationError: each fits its case."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import harmonium as hm
from harmonium.arrays import Bits
from harmonium.runs.function import BATCH_HINT, RETURN_HINT, WORST_HINT
from tests.functions import Inline


def misspelt(row: NDArray[Any]) -> Any:
    return undefined_name  # type: ignore[name-defined]  # noqa: F821


def infeasible(row: NDArray[Any]) -> Any:
    raise ValueError("too heavy")


def divide(row: NDArray[Any]) -> float:
    return 1 / int(row.sum() * 0)


def missing_file(row: NDArray[Any]) -> Any:
    return open("no such file", encoding="utf-8").read()


def two_arguments(row: NDArray[Any], other: NDArray[Any]) -> float:
    return float(row @ other)


def unpack(bits: Bits) -> Any:
    rows, _ = bits.shape
    return np.zeros(rows)


FIRST: dict[str, tuple[Any, str]] = {
    "a name": (misspelt, ""),
    "a file": (missing_file, ""),
    "an argument": (two_arguments, ""),
    "text": (lambda row: "many", ""),
    "no return": (lambda row: None, RETURN_HINT),
    "an axis": (lambda bits: bits.sum(axis=1), BATCH_HINT),
    "an index": (lambda bits: bits[:, 0], BATCH_HINT),
    "unpacking": (unpack, BATCH_HINT),
    "an array": (lambda bits: bits * 2, BATCH_HINT),
    "a list": (lambda bits: [row.sum() for row in bits], BATCH_HINT),
    "NaN": (lambda row: np.nan, WORST_HINT),
    "infinity": (lambda row: np.inf, WORST_HINT),
    "raised on purpose": (infeasible, WORST_HINT),
    "a division": (divide, WORST_HINT),
}


@pytest.mark.parametrize("executor", [None, Inline()], ids=["here", "elsewhere"])
@pytest.mark.parametrize("name", FIRST)
def test_the_first_row(name: str, executor: Any) -> None:
    function, hint = FIRST[name]
    with pytest.raises(hm.EvaluationError) as caught:
        hm.maximize(function, 6, seed=1, executor=executor)
    assert caught.value.hint == hint
    assert str(caught.value).endswith(f"; {hint}" if hint else "; expected a finite number")


@pytest.mark.parametrize("name", FIRST)
def test_a_later_row_can_be_skipped(name: str) -> None:
    function, calls = FIRST[name][0], 0

    def late(row: NDArray[Any]) -> Any:
        nonlocal calls
        calls += 1
        return float(calls) if calls < 10 else function(row)

    with pytest.raises(hm.EvaluationError) as caught:
        hm.maximize(late, 6, seed=1)
    assert caught.value.hint == WORST_HINT


@pytest.mark.parametrize(
    ("function", "hint"),
    [
        (lambda bits: bits.sum(), ""),
        (lambda bits: bits, ""),
        (lambda bits: None, RETURN_HINT),
        (misspelt, ""),
        (infeasible, WORST_HINT),
        (lambda bits: bits.sum(axis=1) * np.nan, WORST_HINT),
    ],
)
def test_a_batch(function: Any, hint: str) -> None:
    with pytest.raises(hm.EvaluationError) as caught:
        hm.maximize(function, 6, batch=True, seed=1, model="umda")
    assert caught.value.hint == hint
