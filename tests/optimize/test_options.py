import inspect
import pydoc
import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import harmonium as hm
from harmonium.optimize import MAX_NETWORK_LENGTH, choose_algorithm, list_options
from tests.functions import FAST, Calls, Inline, assert_same, weigh

LENGTH = 20
OPTIMUM = weigh(np.ones(LENGTH, dtype=np.uint8))


def test_a_model_is_given_as_text_or_object() -> None:
    for model in ("boa:max_parents=2", hm.BOA(max_parents=2)):
        result = hm.maximize(weigh, LENGTH, model=model, seed=1, max_calls=100)
        assert result.label == "boa:max_parents=2"
        assert result.algorithm == "eda:model=(boa:max_parents=2),replacement=worst"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"function": 5}, TypeError, "function is 5; expected a function of a row of bits"),
        ({"length": "5"}, TypeError, "length is '5'; expected the number of bits"),
        ({"length": True}, TypeError, "length is True; expected the number of bits"),
        ({"length": 5.0}, TypeError, "length is 5.0; expected the number of bits"),
        ({"length": 0}, ValueError, "length is 0; expected at least 1 bit"),
        ({"on_error": "ignore"}, ValueError, "on_error is 'ignore'; expected one of raise, worst"),
        ({"executor": 2}, TypeError, "executor is 2; expected a concurrent.futures.Executor"),
        ({"seed": -1}, ValueError, "seed is -1; expected an integer ≥ 0"),
        ({"population": 7}, ValueError, "eda: population is 7; expected"),
        ({"population": 33}, ValueError, "eda: population is 33; expected an even number"),
        ({"population": "many"}, ValueError, "eda: population is 'many'; expected"),
        ({"executor": Inline}, TypeError, "; expected a concurrent.futures.Executor, opened"),
        ({"callback": 5}, TypeError, "callback is 5; expected a function of the runner"),
        ({"max_calls": 0}, ValueError, "max_calls is 0; expected an integer ≥ 1"),
        ({"max_calls": 1.5}, ValueError, "max_calls is 1.5; expected an integer ≥ 1"),
        ({"max_calls": True}, ValueError, "max_calls is True; expected an integer ≥ 1"),
        ({"max_calls": "9"}, ValueError, "max_calls is '9'; expected an integer ≥ 1"),
        ({"max_calls": np.inf}, ValueError, "max_calls is inf; expected an integer ≥ 1"),
        ({"max_calls": np.nan}, ValueError, "max_calls is nan; expected an integer ≥ 1"),
        ({"max_evaluations": 1.5}, ValueError, "max_evaluations is 1.5; expected an integer ≥ 1"),
        ({"model": "cga"}, ValueError, "unknown model 'cga'; known: "),
        ({"model": "boa:parents=4"}, ValueError, "boa"),
        ({"checkpoint": "no/run.ckpt"}, FileNotFoundError, "checkpoint is no/run.ckpt; expected"),
        ({"checkpoint": "."}, FileNotFoundError, "checkpoint is ., a folder; expected a file"),
        ({"model": 5}, ValueError, "eda: model is 5; expected a model"),
        ({"model": hm.UMDA}, ValueError, "expected a model, such as harmonium.RBM"),
        ({"target": "high"}, ValueError, "target is 'high'; expected a number"),
        ({"target": np.nan}, ValueError, "target is nan; expected a number"),
        ({"target": True}, ValueError, "target is True; expected a number"),
        ({"target": 1j}, ValueError, "target is 1j; expected a number"),
        ({"log": "no/such.jsonl"}, FileNotFoundError, "expected a file in an existing folder"),
        ({"log": "."}, FileNotFoundError, "log is ., a folder; expected a file"),
        ({"fixed": {99: 1}}, ValueError, "fixed names bit 99; expected 0 to 19"),
        ({"subset_size": 21}, ValueError, "subset_size is 21; expected 0 ≤ fewest"),
        ({"algorithm": 5, "model": "auto"}, TypeError, "algorithm is 5; expected an Algorithm or"),
        ({"algorithm": hm.EDA, "model": "auto"}, TypeError, "expected an Algorithm or its text"),
        ({"algorithm": "ga", "model": "auto"}, ValueError, "unknown algorithm 'ga'; known: eda, "),
        ({"algorithm": "no.such:A", "model": "auto"}, ValueError, "no module"),
        ({"algorithm": "tests.functions:Calls", "model": "auto"}, ValueError, "is not an algorit"),
        ({"algorithm": "eda:model=umda"}, ValueError, "algorithm=EDA(model, population=…)"),
    ],
    ids=str,
)
def test_wrong_arguments_are_refused(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    function = Calls()
    arguments: dict[str, Any] = {"function": function, "length": LENGTH, "model": "umda"} | options
    with pytest.raises(error) as caught:
        hm.maximize(**arguments)
    assert message in str(caught.value)
    assert function.rows == []


@pytest.mark.parametrize("name", ["stagnation", "max_seconds"])
@pytest.mark.parametrize("value", [0, -1.5, "many", np.nan, True])
def test_a_limit_that_is_not_a_number_above_0_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=rf"^{name} is .*; expected a number > 0$"):
        hm.maximize(weigh, LENGTH, **{name: value})


def test_unknown_options_are_refused() -> None:
    calls: tuple[Any, ...] = (hm.maximize, hm.minimize)
    for call in calls:
        with pytest.raises(TypeError, match="unexpected keyword argument 'generations'"):
            call(weigh, LENGTH, generations=5)
        with pytest.raises(TypeError, match="unexpected keyword argument 'max_evals'"):
            call(weigh, 5, max_evals=4)
        with pytest.raises(TypeError):
            call(weigh, 5, True)
        with pytest.raises(TypeError, match="length is missing; expected the number of bits"):
            call(weigh)


def test_a_problem_knows_its_length_and_takes_batches() -> None:
    problem = hm.Trap(length=20, order=4)
    alone = hm.maximize(problem, seed=1, max_calls=300)
    given = hm.maximize(problem, 20, batch=True, seed=1, max_calls=300)
    assert (alone.fun, alone.calls, alone.x.tolist()) == (given.fun, given.calls, given.x.tolist())
    assert hm.minimize(problem, seed=1, max_calls=300).minimized


def test_what_has_a_length_and_is_no_problem_is_refused() -> None:
    class Half:
        length = 5

        def __call__(self, row: Any) -> float:
            return float(row.sum())

    with pytest.raises(TypeError, match="expected an object with length, optimum"):
        hm.maximize(Half())
    assert hm.maximize(Half(), 5, seed=1, target=5).fun == 5


def test_options_are_read_from_the_signature_and_help_of_maximize() -> None:
    options = list_options()
    assert ["function", "length", *options] == [*inspect.signature(hm.maximize).parameters]
    assert options["max_calls"].default is None
    assert options["noise"].text.startswith("Whether the function is noisy: its values differ")
    assert all(option.text.endswith(".") for option in options.values())
    with pytest.raises(TypeError, match="max_evals"):
        hm.maximize(sum, 5, max_evals=5)  # type: ignore[call-arg]


def test_minimize_has_the_signature_and_help_of_maximize() -> None:
    assert inspect.signature(hm.minimize) == inspect.signature(hm.maximize)
    assert hm.minimize.__name__ == "minimize"
    text = pydoc.plain(pydoc.render_doc(hm.minimize))
    assert "minimize(function: " in text
    assert "max_calls: " in text
    assert "as small as possible" in text


def test_the_options_of_resume_are_a_part_of_those_of_maximize() -> None:
    resume = inspect.signature(hm.resume).parameters
    maximize = inspect.signature(hm.maximize).parameters
    shared = [name for name in resume if name not in ("path", "function")]
    assert {name: resume[name] for name in shared} == {name: maximize[name] for name in shared}


def test_every_option_is_documented() -> None:
    for function in (hm.maximize, hm.resume):
        text = inspect.getdoc(function)
        assert text is not None
        for name in inspect.signature(function).parameters:
            assert re.search(rf"^[\w, ]*\b{name}\b[\w, ]* : ", text, re.MULTILINE), name


ONE_PLUS_ONE = "tests.search.one_plus_one:OnePlusOne"


@pytest.mark.parametrize(
    "algorithm",
    [
        hm.EDA(hm.UMDA(), population=40),
        "eda:model=umda,population=40",
        "eda:model=(umda),population=40,replacement=keep-parents",
    ],
    ids=str,
)
def test_an_algorithm_is_given_as_text_or_object(algorithm: Any) -> None:
    result = hm.maximize(weigh, LENGTH, algorithm=algorithm, seed=1, max_calls=300)
    assert_same(result, hm.maximize(weigh, LENGTH, population=40, max_calls=300, **FAST))
    assert result.algorithm == "eda:model=umda,population=40,replacement=keep-parents"


def test_an_algorithm_of_the_user_is_found_by_its_path() -> None:
    result = hm.maximize(weigh, LENGTH, algorithm=f"{ONE_PLUS_ONE}:rate=2", seed=1, max_calls=200)
    assert (result.calls, result.generations, result.best_found_by) == (200, None, None)
    assert result.algorithm == f"{ONE_PLUS_ONE}:rate=2.0"


def test_whole_numbers_may_be_floats() -> None:
    budgets: list[Any] = [3e2, np.float64(300), np.int16(300)]
    for budget in budgets:
        result = hm.maximize(weigh, LENGTH, max_calls=budget, **FAST)
        assert (result.calls, result.stopped_by) == (300, "calls")
    target: Any = np.float32(OPTIMUM - 1)
    assert hm.maximize(weigh, LENGTH, target=target, **FAST).stopped_by == "optimum"


@pytest.mark.parametrize("name", ["max_seconds", "stagnation", "target", "confirmations"])
def test_large_integers_are_numbers(name: str) -> None:
    options: dict[str, Any] = {name: 10**26}
    assert hm.maximize(sum, 8, seed=1, max_calls=20, **options).calls == 20
    options[name] = -(10**400)
    with pytest.raises(ValueError, match=f"{name} is -1000"):
        hm.maximize(sum, 8, seed=1, **options)


@pytest.mark.parametrize("model", [{}, {"a": 1}, {"name": 3}, {"name": ["x"]}])
def test_a_model_without_a_name_is_refused(model: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="which has no name; expected what `to_dict` returns"):
        hm.maximize(weigh, 12, model=model)  # type: ignore[arg-type]


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
    algorithm = choose_algorithm(length, population=40)
    assert algorithm.label == label
    assert algorithm == choose_algorithm(length, model=label, population=40)


def test_the_default_is_a_pyramid_that_learns_unless_there_is_noise() -> None:
    assert choose_algorithm(20) == hm.Structure()
    assert choose_algorithm(20, noise=True) == hm.Pyramid()
    result = hm.maximize(weigh, 20, seed=1, max_calls=80)
    assert_same(result, hm.maximize(weigh, 20, algorithm="structure", seed=1, max_calls=80))


@pytest.mark.parametrize("workers", [2, 20])
def test_a_pyramid_keeps_all_workers_busy(workers: int) -> None:
    with ThreadPoolExecutor(workers) as executor:
        pyramid = choose_algorithm(20, executor=executor)
    assert pyramid == hm.Structure(newcomers=max(8, workers), first_newcomers=workers)


@pytest.mark.parametrize("pace", [0.0, 3600.0])
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


@pytest.mark.parametrize(
    ("text", "replacement"), [("boa", "worst"), ("rbm", "rtr"), ("umda", "keep-parents")]
)
def test_a_model_has_the_replacement_that_suits_growing_populations(
    text: str, replacement: str
) -> None:
    algorithm = choose_algorithm(20, model=text)
    assert isinstance(algorithm, hm.EDA)
    assert (str(algorithm.model), algorithm.replacement) == (text, replacement)
