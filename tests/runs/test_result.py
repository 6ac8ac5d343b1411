from typing import Any

import numpy as np

import harmonium as hm
from harmonium.arrays import format_bits
from tests.functions import FAST, Calls, fail_for_some, interrupt_after, weigh

LENGTH = 20


def test_a_result_prints_one_fact_a_line() -> None:
    result = hm.maximize(Calls(), LENGTH, subset_size=(0, 19), max_calls=2000, **FAST)
    found = f"found at evaluation {result.best_found_at:,}, by a population of "
    assert str(result).splitlines() == [
        "max_calls was reached",
        "      fun: 19, the largest found",
        f"        x: {format_bits(result.x)} (19 of 20 are ones)",
        "  optimal: unknown",
        "  success: False",
        f"    calls: 2,000, and {result.evaluations - 2000:,} from the cache",
        f"     best: {found}{result.best_found_by:,}",
        f"  repairs: {result.repairs:,}",
        f"algorithm: {result.algorithm}",
        "     seed: 1",
        f"  seconds: {result.seconds:.3g}",
    ]


def read_optimality(**options: Any) -> str:
    (line,) = (line for line in str(hm.maximize(**options)).splitlines() if " optimal: " in line)
    return line.partition(": ")[2]


def test_a_result_says_what_is_known_about_its_optimality() -> None:
    small = {"function": weigh, "length": 5, "seed": 1}
    assert read_optimality(**small) == "proven: every valid solution was evaluated"
    known = read_optimality(**small, target=3.0)
    assert known == "if no solution can be better than the target"
    assert read_optimality(**small, max_calls=3) == "unknown"
    alone = {"algorithm": "pyramid", "batch": True, "confirmations": 5, "seed": 1}
    attempts = read_optimality(function=hm.Trap(length=20, order=5), length=20, **alone)
    assert attempts == "likely, not proven: many independent attempts found nothing better"


def test_failures_are_printed_and_in_the_message() -> None:
    failing = hm.minimize(fail_for_some, LENGTH, on_error="worst", max_calls=900, **FAST)
    assert str(failing).startswith(f"{failing.message}\n")
    assert f" failures: {failing.failures}" in str(failing).splitlines()
    assert "      fun: 0, the smallest found" in str(failing).splitlines()
    assert failing.message.endswith(f"; {failing.failures} evaluations failed")
    single = hm.maximize(lambda row: None if row.all() else 1.0, 2, on_error="worst", **FAST)
    assert single.message.endswith("; 1 evaluation failed")


def test_rows_that_were_never_evaluated_are_not_reported_as_cached() -> None:
    result = hm.maximize(interrupt_after(20), LENGTH, population=1000, **FAST)
    assert (result.calls, result.evaluations) == (19, 19)
    assert "    calls: 19" in str(result).splitlines()
    failing = interrupt_after(60, fail_for_some)
    result = hm.maximize(failing, LENGTH, population=1000, on_error="worst", **FAST)
    assert result.failures > 0
    assert (result.calls, result.evaluations) == (59, 59)
    assert "    calls: 59" in str(result).splitlines()


def test_long_rows_are_cut_when_printed() -> None:
    result = hm.maximize(weigh, 500, max_calls=40, **FAST)
    assert f"        x: {format_bits(result.x[:200])}… (" in str(result)


def test_results_have_the_names_of_scipy() -> None:
    result = hm.maximize(weigh, LENGTH, max_calls=100, **FAST)
    assert result.nfev == result.calls == 100
    assert result.x.dtype == np.int64
    assert isinstance(result.success, bool)
    assert isinstance(result.message, str)
