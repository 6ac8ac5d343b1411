"""Custom problems, by the path of the function that makes them."""

import hashlib
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harmonium import EDA, UMDA, OneMax, Problem, run
from harmonium.problems import (
    PROBLEMS,
    CustomProblem,
    ProblemSpec,
    check_problem,
    name_problem,
    read_structure,
)
from harmonium.specs import Scalar, SpecError, importable
from tests.modules import write_module
from tests.problems.test_contract import EXAMPLES
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


def return_number(length):
    return 5


def return_class(length):
    return Ones


def return_matrix(length):
    return [[0.0] * length] * length


def return_array(length):
    import numpy as np

    return np.zeros((length, length))


def leave(length):
    raise SystemExit(3)


class Stubborn:
    length = 8

    @property
    def optimum(self):
        raise LookupError("not known yet")

    def __call__(self, bits):
        return bits.sum(axis=1)


number = 3
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("custom")


@pytest.fixture(scope="module")
def module(folder: Path) -> str:
    return write_module(folder, SOURCE)


def parse(folder: Path, text: str) -> CustomProblem:
    with importable(folder):
        problem = PROBLEMS.parse(text)
    assert isinstance(problem, CustomProblem)
    return problem


def test_a_function_makes_a_problem(folder: Path, module: str) -> None:
    problem = parse(folder, f"{module}:make:length=5,optimum=5.0")
    assert isinstance(problem, Problem)
    assert (problem.length, problem.optimum) == (5, 5.0)
    rows = every_row(5)
    np.testing.assert_array_equal(problem(rows), rows.sum(axis=1))


def test_a_class_or_a_method_of_it_makes_a_problem(folder: Path, module: str) -> None:
    assert parse(folder, f"{module}:Ones:length=5").optimum is None
    assert parse(folder, f"{module}:Ones.easy:length=5").optimum == 1.0


def test_settings_may_be_left_out(folder: Path, module: str) -> None:
    for text in (f"{module}:make", f"{module}:make:", f" {module}:make "):
        problem = parse(folder, text)
        assert (problem.path, problem.settings, problem.length) == (f"{module}:make", (), 8)


def test_settings_arrive_as_they_are_written(folder: Path, module: str) -> None:
    text = f"{module}:make:length=4,a=1,b=2.5,c=true,d=none,e=some words,f="
    problem = parse(folder, text)
    assert vars(problem.made)["settings"] == {
        "a": 1,
        "b": 2.5,
        "c": True,
        "d": None,
        "e": "some words",
        "f": "",
    }


def test_a_package_may_hold_the_module(folder: Path) -> None:
    package = folder / "custom_package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "inner.py").write_text(SOURCE, encoding="utf-8")
    assert parse(folder, "custom_package.inner:make:length=4").length == 4


def test_a_run_takes_it(folder: Path, module: str) -> None:
    result = run(
        parse(folder, f"{module}:make:length=10,optimum=10.0"), EDA(UMDA(), population=50), seed=1
    )
    assert result.solved


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("onemax", ("onemax", {})),
        ("onemax:length=5", ("onemax", {"length": 5})),
        ("trap: length = 5 , order = 5", ("trap", {"length": 5, "order": 5})),
        ("own:make", ("own:make", {})),
        ("own:make:length=5", ("own:make", {"length": 5})),
        ("own.inner:Class.make:a=b:c", ("own.inner:Class.make", {"a": "b:c"})),
        ("  own:make : length = 5", ("own:make", {"length": 5})),
        ("unknown:length=5", ("unknown", {"length": 5})),
    ],
)
def test_a_text_is_split_into_name_and_settings(
    text: str, parts: tuple[str, dict[str, Scalar]]
) -> None:
    assert PROBLEMS.split(text) == parts


def test_a_name_of_ours_is_no_module() -> None:
    assert PROBLEMS.parse("onemax:length=5") == OneMax(5)
    assert PROBLEMS.make("onemax", {"length": 5}) == OneMax(5)
    with pytest.raises(SpecError, match="onemax: 'make' is not a setting; write field=value"):
        PROBLEMS.parse("onemax:make")
    with pytest.raises(SpecError, match="unknown problem 'unknown'; known: onemax, "):
        PROBLEMS.parse("unknown:length=5")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "no_such_module:make",
            "no_such_module:make: there is no module 'no_such_module'; put it into the current "
            "folder or that of the study file, or install it; write module:function, without .py",
        ),
        (
            "MODULE.deep:make",
            "MODULE.deep:make: there is no module 'MODULE.deep'; put it into the current "
            "folder or that of the study file, or install it; write module:function, without .py",
        ),
        ("MODULE:nobody", "MODULE:nobody: MODULE has no function or class 'nobody'"),
        ("MODULE:Ones.no.body", "MODULE:Ones.no.body: MODULE has no function or class 'Ones.no.b"),
        ("MODULE:number", "MODULE:number: MODULE has no function or class 'number'"),
        (
            "MODULE:fail:length=5",
            "MODULE:fail: called with {'length': 5}, it raised LookupError: no instance of that "
            "length",
        ),
        (
            "MODULE:fail:size=5",
            "MODULE:fail: called with {'size': 5}, it raised TypeError: fail() got an unexpected "
            "keyword argument 'size'",
        ),
        (
            "MODULE:return_number:length=5",
            "MODULE:return_number: called with {'length': 5}, it returned 5; expected a problem: "
            "an object with length, optimum (or None) and __call__(bits)",
        ),
        (
            "MODULE:return_class:length=5",
            "MODULE:return_class: called with {'length': 5}, it returned <class 'MODULE.Ones'>; "
            "expected a problem: an object with length, optimum (or None) and __call__(bits)",
        ),
        ("MODULE:make:length", "MODULE:make: 'length' is not a setting; write field=value"),
        ("MODULE:make:a=1,a=2", "MODULE:make: a is given twice"),
    ],
)
def test_what_makes_no_problem_is_told(folder: Path, module: str, text: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse(folder, text.replace("MODULE", module))
    assert str(caught.value).startswith(message.replace("MODULE", module))


@pytest.mark.parametrize("name", ["return_array", "return_matrix"])
def test_what_is_returned_instead_of_a_problem_is_told_in_one_short_line(
    folder: Path, module: str, name: str
) -> None:
    with pytest.raises(SpecError) as caught:
        parse(folder, f"{module}:{name}:length=100")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_a_function_that_leaves_does_not_end_the_program(folder: Path, module: str) -> None:
    with pytest.raises(SpecError, match="it raised SystemExit: 3"):
        parse(folder, f"{module}:leave:length=5")


def test_an_optimum_that_raises_is_told(folder: Path, module: str) -> None:
    with pytest.raises(SpecError, match="LookupError: not known yet"):
        parse(folder, f"{module}:Stubborn")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("1 +\n", "raised SyntaxError: invalid syntax"),
        ('raise ValueError("no licence")\n', "raised ValueError: no licence"),
        ("import no_such_library\n", "failed: No module named 'no_such_library'"),
        ("from sys import no_such_name\n", "raised ImportError: cannot import name 'no_such_name'"),
        ("raise SystemExit(3)\n", "raised SystemExit: 3"),
    ],
)
def test_a_module_that_cannot_be_imported_is_told(
    tmp_path: Path, source: str, message: str
) -> None:
    name = write_module(tmp_path, source)
    with pytest.raises(SpecError) as caught:
        parse(tmp_path, f"{name}:make")
    assert str(caught.value).startswith(f"{name}:make: importing {name} {message}")


def test_a_folder_is_importable_only_meanwhile(folder: Path, module: str) -> None:
    before = list(sys.path)
    with importable(folder):
        assert sys.path == [str(folder), *before]
    assert sys.path == before
    with pytest.raises(LookupError), importable(folder):
        raise LookupError
    assert sys.path == before
    with importable(None):
        assert sys.path == before


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "words and more", "a:b", "größe", "-", "1.2.3"]),
)
SETTINGS = st.dictionaries(st.sampled_from(["a", "b", "max_weight", "größe"]), VALUES)


@given(SETTINGS)
def test_the_text_makes_it_again(folder: Path, module: str, settings: dict[str, Scalar]) -> None:
    with importable(folder):
        problem = PROBLEMS.make(f"{module}:make", settings)
        again = PROBLEMS.parse(str(problem))
    assert again == problem
    assert vars(again)["settings"] == vars(problem)["settings"]
    assert str(again) == str(problem)


def test_the_text_has_settings_in_order_of_their_names(folder: Path, module: str) -> None:
    problem = parse(folder, f"{module}:make:length=5,b=true,a=none,c=0.5")
    assert str(problem) == f"{module}:make:a=none,b=true,c=0.5,length=5"
    assert str(parse(folder, f"{module}:make")) == f"{module}:make"


@given(SETTINGS)
def test_the_dict_makes_it_again(folder: Path, module: str, settings: dict[str, Scalar]) -> None:
    with importable(folder):
        problem = PROBLEMS.make(f"{module}:make", settings)
        again = PROBLEMS.from_dict(problem.to_dict())
    assert again == problem
    assert str(again) == str(problem)


@pytest.mark.parametrize("name", ["name", "source"])
def test_a_setting_that_is_part_of_every_dict_is_refused(
    folder: Path, module: str, name: str
) -> None:
    with importable(folder), pytest.raises(SpecError, match=f"cannot be called {name!r}; rename"):
        PROBLEMS.make(f"{module}:make", {"length": 5, name: "words"})


@pytest.mark.parametrize("problem", EXAMPLES, ids=str)
def test_the_dict_makes_problems_of_ours_again(problem: ProblemSpec) -> None:
    assert PROBLEMS.from_dict(problem.to_dict()) == problem


@pytest.mark.parametrize("value", ["inf", "-inf", "nan"])
def test_settings_are_finite_numbers(folder: Path, module: str, value: str) -> None:
    # JSON has no others: a worker would be told null.
    with pytest.raises(SpecError, match=f"rate is {value}"):
        parse(folder, f"{module}:make:rate={value}")


def test_problems_made_in_the_same_way_are_equal(folder: Path, module: str) -> None:
    one = parse(folder, f"{module}:make:length=5,a=1")
    again = parse(folder, f"{module}:make:a=1,length=5")
    assert one == again
    assert hash(one) == hash(again)
    assert one.made is not again.made
    others = [f"{module}:make:length=5,a=2", f"{module}:make:length=5", f"{module}:Ones:length=5"]
    assert all(parse(folder, other) != one for other in others)


def test_the_source_is_the_hash_of_the_module_s_file(folder: Path, module: str) -> None:
    problem = parse(folder, f"{module}:make")
    assert problem.source == hashlib.sha256((folder / f"{module}.py").read_bytes()).hexdigest()


def test_the_same_text_of_another_source_is_another_problem(tmp_path: Path) -> None:
    name = write_module(tmp_path, SOURCE)
    before = parse(tmp_path, f"{name}:make")
    (tmp_path / f"{name}.py").write_text(SOURCE + "# changed\n", encoding="utf-8")
    del sys.modules[name]  # as in another process
    with importable(tmp_path), pytest.raises(SpecError) as caught:
        PROBLEMS.from_dict(before.to_dict())
    assert str(caught.value) == f"{name}:make: its module has changed since the problem was saved"
    assert parse(tmp_path, f"{name}:make") != before


CHANGED = SOURCE.replace("length=8, ", "length=1000, ")


def test_a_source_is_that_of_the_code_that_runs(tmp_path: Path) -> None:
    # A long-lived worker has imported a module that is changed afterwards.
    name = write_module(tmp_path, SOURCE)
    assert parse(tmp_path, f"{name}:make").length == 8
    (tmp_path / f"{name}.py").write_text(CHANGED, encoding="utf-8")
    problem = parse(tmp_path, f"{name}:make")
    assert problem.source == hashlib.sha256(CHANGED.encode()).hexdigest()
    assert problem.length == 1000


def test_a_module_is_that_of_the_folder_that_is_told(tmp_path: Path) -> None:
    # A worker may serve two studies whose modules have the same name.
    name = write_module(tmp_path, SOURCE)
    assert parse(tmp_path, f"{name}:make").length == 8
    other = tmp_path / "other"
    other.mkdir()
    (other / f"{name}.py").write_text(CHANGED, encoding="utf-8")
    assert parse(other, f"{name}:make").length == 1000


def test_a_module_without_a_file_has_a_source_too(monkeypatch: pytest.MonkeyPatch) -> None:
    typed = ModuleType("typed_in")
    exec(SOURCE, vars(typed))  # noqa: S102  # as in an interactive session
    monkeypatch.setitem(sys.modules, "typed_in", typed)
    problem = PROBLEMS.make("typed_in:make", {"length": 5})
    assert isinstance(problem, CustomProblem)
    assert problem.source == hashlib.sha256(b"typed_in").hexdigest()


def test_structure_is_read_where_a_problem_has_it(folder: Path, module: str) -> None:
    problem = parse(folder, f"{module}:make:length=4")
    assert (problem.structure, read_structure(problem)) == (None, None)
    assert read_structure(problem.made) is None
    vars(problem.made)["structure"] = ((0, 1), (2, 3))
    assert read_structure(problem) == read_structure(problem.made) == ((0, 1), (2, 3))


def test_a_problem_is_named_by_its_text_or_its_class(folder: Path, module: str) -> None:
    problem = parse(folder, f"{module}:make:length=4")
    assert name_problem(problem) == f"{module}:make:length=4"
    assert name_problem(problem.made) == "Ones"


@pytest.mark.parametrize("wrong", ["onemax:length=5", OneMax, len, 5, None])
def test_what_is_not_a_problem_is_refused(wrong: object) -> None:
    with pytest.raises(TypeError, match="expected an object with length, optimum"):
        check_problem(wrong)


def test_a_name_and_its_fields_are_checked_without_making_anything(
    folder: Path, module: str
) -> None:
    with importable(folder):
        PROBLEMS.check(f"{module}:fail", {"length": 5})
        with pytest.raises(SpecError, match="has no function or class 'nobody'"):
            PROBLEMS.check(f"{module}:nobody", {})
    with pytest.raises(SpecError, match="onemax: unknown field 'size'"):
        PROBLEMS.check("onemax", {"size": 5})
    with pytest.raises(SpecError, match="onemax: length is missing"):
        PROBLEMS.check("onemax", {})
    PROBLEMS.check("onemax", {"length": -5})  # values are checked when it is made
