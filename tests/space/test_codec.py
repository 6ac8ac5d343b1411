"""Variables that are not bits, and the bits that stand for them."""

from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import harmonium as hm
from harmonium.space.codec import NamedFunction, Variables, read_plain


def test_a_small_variable_is_one_group_and_a_switch_one_bit() -> None:
    variables = Variables({"kind": ["a", "b", "c"], "bias": bool, "two": [5, 7], "one": [None]})
    assert (variables.length, variables.groups) == (5, [(0, 1, 2)])
    assert variables.decode(np.array([0, 0, 1, 1, 0])) == (
        {"kind": "c", "bias": True, "two": 5, "one": None}
    )
    row = variables.encode({"kind": "b", "bias": False, "two": 7, "one": None})
    assert row.tolist() == [0, 1, 0, 0, 1]


@pytest.mark.parametrize("count", [1, 2, 3, 16, 17, 30, 100, 999, 1000, 12345])
def test_every_integer_has_a_code(count: int) -> None:
    values = range(5, 5 + 3 * count, 3)
    variables = Variables({"n": values, "switch": bool})
    sizes = variables.variables[0].digits
    assert prod(sizes) >= count
    assert len(sizes) <= 1 if count <= 16 else max(sizes) <= 8
    for value in values:
        assert variables.decode(variables.encode({"n": value, "switch": True}))["n"] == value


def test_neighbouring_integers_differ_in_one_digit() -> None:
    variables = Variables({"n": range(100)})  # digits of 5, 5 and 4 values: no code is left over
    rows = [variables.encode({"n": value}) for value in range(100)]
    assert {int((one != other).sum()) for one, other in pairwise(rows)} == {2}


def test_values_may_be_any_objects() -> None:
    values = [[1], {"a": 2}, print, True, 1, np.float64(0.5), "1"]  # True is not 1
    variables = Variables({"n": values})
    for number, value in enumerate(values):
        assert variables.encode({"n": value}).argmax() == number
        assert variables.decode(variables.encode({"n": value}))["n"] is value
    with pytest.raises(TypeError, match=r"n has the value \[1\], which a checkpoint cannot keep"):
        variables.to_plain()


def test_a_text_that_is_not_unicode_is_refused_before_a_search(tmp_path: Path) -> None:
    space = {"file": ["a", "b\udce4"]}  # as `os.listdir` gives it for Latin-1
    with pytest.raises(
        TypeError, match=r"file has the value 'b\\udce4', which a checkpoint cannot"
    ):
        hm.maximize(lambda _: pytest.fail("called"), space=space, checkpoint=tmp_path / "run.ckpt")


def test_variables_are_read_again_from_plain_types() -> None:
    domain = {"n": range(3, 90, 2), "kind": ["a", 1, 0.5, True, None], "bias": bool}
    variables = Variables(domain)
    again = read_plain(variables.to_plain())
    assert [one.values for one in again.variables] == [one.values for one in variables.variables]
    assert again.groups == variables.groups


def test_a_function_of_values_gets_dicts() -> None:
    variables = Variables({"n": range(3), "bias": bool})
    rows = np.array([[0, 1, 0, 1], [0, 0, 1, 0]])
    one = NamedFunction(lambda values: values, variables)
    assert one(rows[0]) == {"n": 1, "bias": True}
    many = NamedFunction(lambda batch: batch, variables, batch=True)
    assert many(rows) == [{"n": 1, "bias": True}, {"n": 2, "bias": False}]


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        (3, "space is 3; expected variables with their values, such as"),
        ({}, r"space is \{\}; expected variables"),
        ({1: bool}, "space has the name 1; expected a text"),
        ({"a": "xyz"}, "a in space is 'xyz'; expected a range, a list of values, or bool"),
        ({"a": int}, "a in space is <class 'int'>; expected a range"),
        ({"a": []}, "a in space has no values; expected a range"),
        ({"a": [1, 2, 1]}, r"a in space has a value twice: \[1, 2, 1\]"),
        ({"a": [1], "b": range(1)}, "every variable of space has one value; expected a choice"),
    ],
)
def test_wrong_spaces_are_refused(domain: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        Variables(domain)


@pytest.mark.parametrize(
    ("initial", "message"),
    [
        (3, "initial is 3; expected a dict, or a list of them"),
        ({"n": 1}, r"initial, solution 0: \{'n': 1\} has no value for 'kind'"),
        ([{"n": 1, "kind": "a"}, 3], "initial, solution 1: 3 is not a dict"),
        ({"n": 9, "kind": "a"}, r"solution 0: n is 9; expected one of range\(0, 3\)"),
        ({"n": 1, "kind": []}, r"kind is \[\]; expected one of \['a', 'b'\]"),
        ({"n": 1, "kind": "a", "x": 2}, "has the unknown variable 'x'"),
    ],
)
def test_wrong_solutions_are_refused(initial: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        Variables({"n": range(3), "kind": ["a", "b"]}).read_rows(initial)
