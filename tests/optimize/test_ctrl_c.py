from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import harmonium as hm
from tests.functions import FAST, Calls, Inline, interrupt_after, weigh

LENGTH = 20


@pytest.mark.parametrize("options", [{}, {"batch": True}, {"executor": Inline()}], ids=list)
@pytest.mark.filterwarnings("ignore:an evaluation takes:RuntimeWarning")
def test_an_interrupt_returns_the_best_so_far(options: dict[str, Any]) -> None:
    calls = 5 if options.get("batch") else 100
    function = interrupt_after(calls, lambda bits: bits @ np.sqrt(np.arange(1, LENGTH + 1)))
    result = hm.maximize(function, LENGTH, **FAST, **options)
    assert result.stopped_by == "interrupted"
    assert result.message == "interrupted; this is the best found so far"
    assert not result.success
    assert result.fun == pytest.approx(weigh(result.x))
    assert result.calls >= 32


def test_an_interrupt_in_the_callback_returns_the_best_so_far() -> None:
    def call_back(runner: hm.Runner) -> None:
        if runner.search.status().generation == 3:
            raise KeyboardInterrupt

    result = hm.maximize(weigh, LENGTH, callback=call_back, **FAST)
    assert (result.stopped_by, result.generations) == ("interrupted", 3)


def test_an_interrupt_inside_a_kernel_returns_the_best_so_far(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fits: list[int] = []

    def fit(*_: Any) -> Any:
        fits.append(1)
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()

    hm.maximize(weigh, LENGTH, max_calls=50, **FAST)  # kernels are compiled by now
    monkeypatch.setattr(hm.UMDA, "fit", fit)
    result = hm.maximize(weigh, LENGTH, **FAST)
    assert (result.stopped_by, result.calls, len(fits)) == ("interrupted", 32, 1)


def test_an_interrupt_inside_a_compiled_function_returns_the_best_so_far() -> None:
    function = Calls()

    def interrupted(row: NDArray[Any]) -> float:
        if len(function.rows) == 20:
            raise SystemError("returned a result with an exception set") from KeyboardInterrupt()
        return function(row)

    result = hm.maximize(interrupted, LENGTH, population=100, on_error="worst", **FAST)
    assert (result.stopped_by, result.calls, result.failures) == ("interrupted", 20, 0)


def test_errors_of_the_callback_are_raised() -> None:
    def call_back(runner: hm.Runner) -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        hm.maximize(weigh, LENGTH, callback=call_back, **FAST)
