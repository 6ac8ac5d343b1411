import os
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import harmonium as hm
from tests.functions import FAST, Inline, weigh

LENGTH = 20


def test_a_failure_of_the_first_rows_has_nothing_attached() -> None:
    for model in ("umda", "auto"):
        with pytest.raises(hm.EvaluationError, match=r"returned None \(row 0") as caught:
            hm.maximize(lambda row: None, LENGTH, model=model)
        assert caught.value.result is None


def test_a_lost_executor_ends_the_run_with_the_best_so_far_attached() -> None:
    workers = 4 * (os.cpu_count() or 1)
    with pytest.raises(hm.EvaluationError, match="nobody is there") as caught:
        hm.maximize(weigh, LENGTH, executor=Inline(lost_after=2 * workers), **FAST)
    assert caught.value.result is not None
    assert caught.value.result.fun == weigh(caught.value.result.x)


def test_a_function_that_always_fails_is_refused() -> None:
    for model in ("umda", "auto"):
        with pytest.raises(hm.EvaluationError, match=r"failed for all of the first 3\d rows"):
            hm.maximize(lambda row: np.nan, LENGTH, on_error="worst", model=model)


def test_a_first_row_that_fails_is_never_the_best() -> None:
    calls: list[int] = []

    def fail_at_first(row: NDArray[Any]) -> float:
        calls.append(1)
        return np.nan if len(calls) < 10 else -weigh(row) - 1e6

    result = hm.maximize(fail_at_first, LENGTH, on_error="worst", seed=1, max_calls=200)
    assert result.failures == 9
    assert -1e7 < result.fun <= -1e6
    with pytest.raises(hm.EvaluationError, match="failed for all of the first 5 rows"):
        hm.maximize(lambda row: np.nan, LENGTH, on_error="worst", seed=1, max_calls=5)
