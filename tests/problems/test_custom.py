"""Custom problems, by the path of the function that makes them."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harmonium import EDA, UMDA, OneMax, Problem, run
from harmonium.arrays import Bits, Fitness
from harmonium.problems import (
    PROBLEMS,
    CustomProblem,
    check_problem,
    name_problem,
    read_bound,
    read_repair,
    read_structure,
)
from harmonium.specs import Scalar, SpecError, importable
from tests.modules import write_module
from tests.rows import every_row

SOURCE = """
class Ones:
    def __init__(self, length, optimum=None, **settings):
        self.length = length
        self.optimum = optimum
        self.settings = settings

    def __call__(self, bits):
        return bits.sum(axis=1)

    @classmethod
    def easy(cls, length):
        return cls(length, optimum=1.0)


def make(length=8, **settings):
    return Ones(length, **settings)


def fail(length):
    raise LookupError("no instance of that length")


def leave(length):
    raise SystemExit(3)


def return_number(length):
    return 5


def return_class(length):
    return Ones


def return_matrix(length):
    return __import__("numpy").zeros((length, length))


class Stubborn(Ones):
    optimum = property(lambda self: {}["unknown"], lambda self, value: None)
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("custom")
    with importable(folder):
        yield write_module(folder, SOURCE)


def parse(text: str) -> CustomProblem:
    problem = PROBLEMS.parse(text)
    assert isinstance(problem, CustomProblem)
    return problem


def test_a_function_a_class_or_a_method_makes_a_problem(module: str) -> None:
    problem = parse(f"{module}:make:length=5,optimum=5.0")
    assert isinstance(problem, Problem)
    assert (problem.length, problem.optimum) == (5, 5.0)
    rows = every_row(5)
    np.testing.assert_array_equal(problem(rows), rows.sum(axis=1))
    assert run(problem, EDA(UMDA(), population=50), seed=1).solved
    assert parse(f"{module}:Ones:length=5").optimum is None
    assert parse(f"{module}:Ones.easy:length=5").optimum == 1.0
    for text in (f"{module}:make", f"{module}:make:", f" {module}:make "):
        problem = parse(text)
        assert (problem.path, problem.settings, problem.length) == (f"{module}:make", (), 8)


EXPECTED = "expected a problem: an object with length, optimum (or None) and __call__(bits)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fail:length=5", "called with {'length': 5}, it raised LookupError: no instance of that"),
        ("fail:size=5", "called with {'size': 5}, it raised TypeError: fail() got an unexpected"),
        ("leave:length=5", "called with {'length': 5}, it raised SystemExit: 3; expected a fun"),
        ("Stubborn:length=5", "called with {'length': 5}, it raised KeyError: 'unknown'"),
        ("return_number:length=5", f"called with {{'length': 5}}, it returned 5; {EXPECTED}"),
        ("return_class:length=5", "called with {'length': 5}, it returned <class 'MODULE.Ones'>;"),
        ("return_matrix:length=99", "called with {'length': 99}, it returned array([[0., 0., 0."),
        ("make:length", "'length' is not a setting; write field=value"),
        ("make:a=1,a=2", "a is given twice"),
        ("make:name=x", "a setting cannot be called 'name'; rename it"),
        ("make:source=x", "a setting cannot be called 'source'; rename it"),
        ("make:rate=inf", "rate is inf; expected a finite number"),  # JSON has no such number
        ("make:rate=nan", "rate is nan; expected a finite number"),
    ],
)
def test_what_makes_no_problem_says_why_in_one_line(module: str, text: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse(f"{module}:{text}")
    path = f"{module}:{text.partition(':')[0]}"
    assert str(caught.value).startswith(f"{path}: {message.replace('MODULE', module)}")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


VALUES = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False)),
    st.sampled_from(["", "words and more", "a:b", "größe", "-", "1.2.3"]),
)


@given(st.dictionaries(st.sampled_from(["a", "b", "max_weight", "größe"]), VALUES))
def test_text_and_dict_make_it_again(module: str, settings: dict[str, Scalar]) -> None:
    problem = PROBLEMS.make(f"{module}:make", settings)
    assert vars(problem)["made"].settings == settings
    assert PROBLEMS.parse(f"{module}:make:length=4") != problem
    for again in (PROBLEMS.parse(str(problem)), PROBLEMS.from_dict(problem.to_dict())):
        assert again == problem
        assert vars(again)["settings"] == vars(problem)["settings"]
        assert str(again) == str(problem)


def test_what_a_problem_may_declare_is_read(module: str) -> None:
    problem = parse(f"{module}:make:length=4")
    assert (read_structure(problem), read_bound(problem), read_repair(problem)) == (None,) * 3
    vars(problem.made).update(structure=((0, 1), (2, 3)), bound=7, repair=abs)
    assert problem.structure == read_structure(problem.made) == ((0, 1), (2, 3))
    assert (read_bound(problem), read_repair(problem)) == (7.0, abs)
    assert name_problem(problem) == f"{module}:make:length=4"
    assert name_problem(problem.made) == "Ones"


class Repaired:
    """Rows count as the row without its first bit."""

    length, optimum = 6, 5.0

    def repair(self, bits: Bits) -> Bits:
        repaired = bits.copy()
        repaired[:, 0] = 0
        return repaired

    def __call__(self, bits: Bits) -> Fitness:
        ones: Fitness = self.repair(bits).sum(axis=1).astype(np.float64)
        return ones


def test_results_have_the_rows_that_a_problem_repairs() -> None:
    result = run(Repaired(), EDA(UMDA(), population=40), seed=1)
    assert (result.fun, result.x.tolist()) == (5.0, [0, 1, 1, 1, 1, 1])


@pytest.mark.parametrize("wrong", ["onemax:length=5", OneMax, len, 5, None])
def test_what_is_not_a_problem_is_refused(wrong: object) -> None:
    with pytest.raises(TypeError, match="expected an object with length, optimum"):
        check_problem(wrong)
    for field, value in (("length", 2.5), ("length", True), ("optimum", "5")):
        problem = Repaired()
        setattr(problem, field, value)
        with pytest.raises(TypeError, match=f"^problem.{field} is {value!r}; expected "):
            check_problem(problem)


def test_a_name_and_its_fields_are_checked_without_making_anything(module: str) -> None:
    PROBLEMS.check(f"{module}:fail", {"length": 5})
    PROBLEMS.check("onemax", {"length": -5})  # values are checked when it is made
    for name, settings, message in [
        (f"{module}:nobody", {}, "has no function or class 'nobody'"),
        ("onemax", {"size": 5}, "onemax: unknown field 'size'"),
        ("onemax", {}, "onemax: length is missing"),
    ]:
        with pytest.raises(SpecError, match=message):
            PROBLEMS.check(name, settings)
