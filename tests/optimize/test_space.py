"""`maximize` over variables that are not bits, and with a function of what is feasible."""

from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import harmonium as hm
from tests.functions import Inline

SPACE: dict[str, Any] = {"layers": range(1, 9), "kind": ["a", "b", "c"], "bias": bool}
BEST = {"layers": 6, "kind": "b", "bias": True}


def score(values: dict[str, Any]) -> float:
    gain = {"a": 0.0, "b": 2.0, "c": 1.0}[values["kind"]]
    return float(gain * (1 + values["bias"]) - abs(values["layers"] - 6))


def test_the_best_values_are_found() -> None:
    result = hm.maximize(score, space=SPACE, seed=1, target=4.0)
    assert (result.best, result.fun, result.success) == (BEST, 4.0, True)
    assert result.to_dict()["best"] == BEST
    assert "   values: layers=6, kind='b', bias=True\n" in str(result)
    assert "kind=&#x27;b&#x27;" in result._repr_html_()
    assert result.variables is not None
    assert result.variables.decode(result.solutions[0].x) == BEST


def test_every_call_is_for_other_values_until_all_are_known() -> None:
    seen = []
    result = hm.maximize(lambda values: seen.append(values) or score(values), space=SPACE, seed=1)  # type: ignore[func-returns-value]
    assert result.stopped_by == "exhausted"
    assert len(seen) == len({tuple(values.values()) for values in seen}) == 48


def test_minimize_batch_and_executor_agree() -> None:
    options: dict[str, Any] = {"space": SPACE, "seed": 3, "max_calls": 30}
    plain = hm.maximize(score, **options)
    least = hm.minimize(lambda values: -score(values), **options)
    batch = hm.maximize(lambda many: list(map(score, many)), batch=True, **options)
    assert (least.best, -least.fun) == (plain.best, plain.fun) == (batch.best, batch.fun)
    with ThreadPoolExecutor(2) as executor:
        parallel = hm.maximize(score, executor=executor, **options)
    inline = hm.maximize(score, executor=Inline(), algorithm="pyramid", **options)
    assert parallel.calls == 30
    assert inline.best == plain.best


def test_known_solutions_are_dicts() -> None:
    seen: list[dict[str, Any]] = []

    def function(values: dict[str, Any]) -> float:
        seen.append(values)
        return score(values)

    result = hm.maximize(function, space=SPACE, seed=1, initial=[BEST], max_calls=1)
    assert (seen, result.best, result.best_found_at) == ([BEST], BEST, 1)


def test_a_search_is_resumed(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    space = {**SPACE, "width": range(0, 1000, 5)}
    options: dict[str, Any] = {"space": space, "seed": 5, "feasible": lambda v: v["width"] % 3}
    options["max_calls"] = 60
    stop: dict[str, Any] = {
        "checkpoint": path,
        "callback": lambda runner: runner.record.evaluations >= 20,
    }
    hm.maximize(score, **stop, **options)
    resumed = hm.resume(path, score, feasible=options["feasible"])
    whole = hm.maximize(score, **options)
    assert (resumed.best, resumed.calls) == (whole.best, whole.calls)
    assert resumed.evaluations == whole.evaluations
    with pytest.raises(hm.CheckpointError, match="the search had `feasible`; pass it again"):
        hm.resume(path, score, max_calls=90)


def test_the_function_is_called_for_feasible_values_only() -> None:
    def feasible(values: dict[str, Any]) -> bool:
        return bool(values["layers"] < 6 or values["kind"] != "b")

    def function(values: dict[str, Any]) -> float:
        assert feasible(values)
        return score(values)

    result = hm.maximize(function, space=SPACE, seed=1, feasible=feasible)
    allowed = [
        dict(zip(SPACE, values, strict=True))
        for values in product(range(1, 9), "abc", (False, True))
    ]
    allowed = [values for values in allowed if feasible(values)]
    assert result.stopped_by == "exhausted"
    assert (result.calls, result.fun) == (len(allowed), max(map(score, allowed)))


@pytest.mark.parametrize("options", [{}, {"noise": True}, {"model": "umda"}, {"batch": True}])
def test_rows_of_bits_have_a_feasible_function_too(options: dict[str, Any]) -> None:
    """No two neighbouring bits may both be one."""

    def function(rows: np.ndarray) -> Any:
        assert not (rows[..., 1:] & rows[..., :-1]).any()
        return rows.sum(axis=-1)

    def feasible(row: np.ndarray) -> bool:
        return not (row[1:] & row[:-1]).any()

    result = hm.maximize(function, 16, seed=2, max_evaluations=600, feasible=feasible, **options)
    assert result.fun >= 7
    assert result.failures == 0


def test_without_any_feasible_row_there_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harmonium.runs.evaluate.MAX_FIRST_INFEASIBLE", 500)
    with pytest.raises(hm.EvaluationError, match="feasible returned False for all of the first 48"):
        hm.maximize(score, space=SPACE, seed=1, feasible=lambda _: False)
    with pytest.raises(hm.EvaluationError, match=r"for all of the first [\d,]+ rows"):
        hm.maximize(sum, 30, seed=1, feasible=lambda _: False)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"length": 3}, "length is 3; leave it out where there is a space"),
        ({"fixed": {0: 1}}, "fixed is for bits; with space leave values out, or pass feasible"),
        ({"feasible": 3}, "feasible is 3; expected a function that returns bool"),
        ({"initial": [{**BEST, "layers": 9}]}, "initial, solution 0: layers is 9; expected one of"),
        (
            {"initial": BEST, "feasible": lambda values: values["layers"] < 6},
            "solution 0 of initial is not feasible; leave it out",
        ),
        (
            {"feasible": lambda values: np.ones(2)},
            r"feasible returned a ndarray \(layers=.*\); expected True or False",
        ),
        (
            {"feasible": lambda values: values["wrong"]},
            r"feasible raised KeyError: 'wrong', .* \(layers=.*, bias=.*\); expected True or False",
        ),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        hm.maximize(score, space=SPACE, seed=1, **options)


def test_an_error_names_the_values() -> None:
    def function(values: dict[str, Any]) -> float:
        return float(1.0 / (values["layers"] - 6))

    with pytest.raises(
        hm.EvaluationError, match=r"ZeroDivisionError.*\(row . of ., layers=6, kind="
    ):
        hm.maximize(function, space=SPACE, seed=1)
    with pytest.raises(
        hm.EvaluationError, match="missing 1 required positional argument"
    ) as caught:
        hm.maximize(lambda one, other: 0.0, space=SPACE, seed=1)  # type: ignore[arg-type, misc]
    assert "batch" not in str(caught.value)


def test_a_page_shows_values(tmp_path: Path) -> None:
    path = tmp_path / "result.html"
    space = {**SPACE, "<b>": ["<i>", "x"]}
    hm.maximize(score, space=space, seed=1, max_calls=60).report(path)
    text = path.read_text("utf-8")
    assert "The best values" in text
    assert "4 variables, structure, seed 1" in text
    assert "<td>layers</td>" in text.replace(' class="text"', "")
    assert "<i>" not in text
