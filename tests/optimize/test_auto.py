"""The default depends on the options alone: the same seed gives the same result."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from numpy.typing import NDArray

import harmonium as hm
from harmonium.optimize import MAX_NETWORK_LENGTH
from tests.functions import Calls, assert_same, weigh


@pytest.mark.parametrize(
    ("length", "label"),
    [
        (1, "boa"),
        (20, "boa"),
        (MAX_NETWORK_LENGTH, "boa"),
        (MAX_NETWORK_LENGTH + 1, "umda"),
        (5000, "umda"),
    ],
)
def test_the_model_depends_on_the_number_of_bits(length: int, label: str) -> None:
    algorithm = hm.Options(population=40).make_algorithm(length)
    assert algorithm.label == label
    assert algorithm == hm.Options(model=label, population=40).make_algorithm(length)


def test_the_default_is_a_pyramid_that_learns_unless_there_is_noise() -> None:
    assert hm.Options().make_algorithm(20) == hm.Structure()
    assert hm.Options(noise=True).make_algorithm(20) == hm.Pyramid()
    result = hm.maximize(weigh, 20, seed=1, max_calls=80)
    assert_same(result, hm.maximize(weigh, 20, algorithm="structure", seed=1, max_calls=80))


@pytest.mark.parametrize("workers", [2, 8, 20])
def test_a_pyramid_keeps_all_workers_busy(workers: int) -> None:
    with ThreadPoolExecutor(workers) as executor:
        pyramid = hm.Options(executor=executor).make_algorithm(20)
    assert pyramid == hm.Structure(newcomers=max(8, workers), first_newcomers=workers)


def test_how_long_a_call_takes_changes_nothing() -> None:
    def sleep(row: NDArray[Any]) -> float:
        time.sleep(0.002)
        return weigh(row)

    slow = hm.maximize(sleep, 20, seed=1, max_calls=120)
    assert_same(slow, hm.maximize(weigh, 20, seed=1, max_calls=120))


@pytest.mark.parametrize("pace", [0.0, 1e-6, 1.0, 3600.0])
def test_what_the_clock_says_changes_nothing(pace: float, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = hm.maximize(weigh, 30, seed=1, max_calls=600)
    now = [0.0]

    def tick() -> float:
        now[0] += pace
        return now[0]

    for clock in ("perf_counter", "process_time", "monotonic", "time"):
        monkeypatch.setattr(time, clock, tick)
    result = hm.maximize(weigh, 30, seed=1, max_calls=600)
    monkeypatch.undo()
    assert_same(result, expected)


def test_no_row_is_evaluated_to_choose_a_model() -> None:
    function = Calls()
    result = hm.maximize(function, 20, seed=1, cache=False, max_calls=300)
    assert len(function.rows) == result.calls == result.evaluations == 300


@pytest.mark.parametrize(
    ("text", "replacement"), [("boa", "worst"), ("rbm", "rtr"), ("umda", "keep-parents")]
)
def test_a_model_has_the_replacement_that_suits_growing_populations(
    text: str, replacement: str
) -> None:
    algorithm = hm.Options(model=text).make_algorithm(20)
    assert isinstance(algorithm, hm.EDA)
    assert (str(algorithm.model), algorithm.replacement) == (text, replacement)


@pytest.mark.parametrize("text", ["", "cga", "boa:parents=4", "rbm:rate=x"])
def test_an_unknown_model_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=text.partition(":")[0] or "unknown model ''"):
        hm.Options(model=text).make_algorithm(20)
