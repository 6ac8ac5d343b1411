"""Files that are wrong: one line that names file, line and expectation; no memory for promises."""

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harmonium.problems import load
from harmonium.problems.formats import FORMATS
from harmonium.specs import SpecError
from tests.problems.formats import ASSETS

WRONG = [
    ("cnf", "p cnf 3\n1 0\n", 1, "p cnf 3; expected p cnf VARIABLES CLAUSES or p wcnf"),
    ("cnf", "p sat 3 1\n1 0\n", 1, "p sat 3 1; expected p cnf VARIABLES CLAUSES or p wcnf"),
    ("cnf", "c x\np cnf 0 1\n1 0\n", 2, "the number of variables is 0; expected an integer ≥ 1"),
    ("cnf", "p cnf -3 1\n1 0\n", 1, "the number of variables is -3; expected an integer ≥ 1"),
    ("cnf", "p cnf 999999999 1\n1 0\n", 1, "the number of variables is 999999999; expected"),
    ("cnf", "p cnf 3 2\n1 2 0\n", 1, "the file has 1 clauses; expected 2, as declared"),
    ("cnf", "p cnf 3 1\n1 2 0\n3 0\n", 1, "the file has 2 clauses; expected 1, as declared"),
    ("cnf", "p cnf 3 1\n1 2\n3", 3, "the last clause ends with 3; expected 0"),
    ("cnf", "p cnf 3 1\n1 -4 0\n", 2, "the literal is -4; expected an integer from -3 to 3"),
    ("cnf", "p cnf 3 1\n1 1.5 0\n", 2, "the literal is 1.5; expected an integer from -3 to 3"),
    ("cnf", "p wcnf 3 1 9\n0 1 0\n", 2, "the weight is 0; expected a number above 0"),
    ("cnf", "p wcnf 3 1 9\n-2 1 0\n", 2, "the weight is -2; expected a number above 0"),
    ("cnf", "h 1 2\nh 3 0\n", 2, "the literal is h; expected an integer from -1,000,000 to 1,000"),
    ("cnf", "5 0\nh 0\n", 1, "the clauses are empty; expected a literal"),
    ("cnf", "", 1, "there is no clause; expected CNF or WCNF"),
    ("qubo", "5\n", 2, "the file ends here; expected two integers: the number of variables and"),
    ("qubo", "3 2\n1 2 1\n2 3\n", 3, "expected 3 numbers in the line: numbers, entries of the"),
    ("qubo", "3 1\n1 2 1\n2 3 1\n", 3, "2 follows the last entry; expected the end of the file"),
    ("qubo", "3 1\n1 4 1\n", 2, "the variable is 4; expected an integer from 1 to 3"),
    ("qubo", "3 1\n0 1 1\n", 2, "the variable is 0; expected an integer from 1 to 3"),
    ("qubo", "3 2\n1 2 1\n2 1 1\n", 3, "the pair is given twice; expected each pair at most once"),
    (
        "qubo",
        "3 1\n1 2 1e999\n",
        2,
        "the number is 1e999; expected at most 1e+100 in absolute value",
    ),
    ("qubo", "3 1000000000\n1 2 1\n", 3, "the file ends after 3 of 3,000,000,000 numbers, entries"),
    ("maxcut", "3 1\n2 2 1\n", 2, "the second variable is 2; expected another than the first"),
    ("ising", "", 1, "the file ends here; expected i j J, n m, or an energy and a solution"),
    ("ising", "-3 012\n0 1 1\n", 1, "the second word is 012; expected 1, the number of couplings"),
    ("ising", "-3 11\n0 1 1\n", 1, "the energy is -3; expected -1, the energy -ΣJss"),
    ("ising", "-1 11\n0 2 1\n", 2, "the spin is 2; expected an integer from 0 to 1"),
    ("ising", "x 11\n0 1 1\n", 1, "the energy is x; expected a number up to 1e+100"),
    ("ising", "3 2\n", 2, "the file ends here; expected a coupling i j J"),
    ("nk", "3 3\n", 1, "k is 3; expected an integer ≥ 0 and ≤ 2"),
    ("nk", "2 1\n0\n1\n1\n", 5, "the file ends after 3 of 4 bits that the components read"),
    ("nk", "2 1\n0\n2\n1\n0\n", 3, "the bit is 2; expected an integer from 0 to 1"),
    (
        "nk",
        "2 1\n0\n1\n1\n1\n",
        4,
        "one of the bits of the component from is 1; expected bits that",
    ),
    ("nk", "1 0\n0\n0.5\n0.25\nBest: 1\n", 5, "Best: 1; expected `Optimum: value` or the end"),
    ("nk", "1000000 24\n0\n", 3, "the file ends after 1 of 25,000,000 bits that the components"),
    ("knapsack", "1 2 3 4\n", 1, "1 2 3 4; expected items, constraints and optimum (0 if unknown)"),
    ("knapsack", "1\n2 1 0\n1 2\n3 -4\n5\n", 4, "one of the weights is -4; expected a number ≥ 0"),
    ("knapsack", "1\n2 1 0\n1 2\n3 4\n", 5, "the file ends after 0 of 1 capacities"),
    ("knapsack", "1\n1 1 0\n1\n3\n4\n7", 6, "7 follows the last instance; expected the end of"),
    ("knapsack", "2 -5\n1 1\n1 1\n", 1, "the capacity is -5; expected a number ≥ 0"),
    ("setcover", "2 2\n1 1\n1 1\n", 4, "the file ends after 1 of 2 rows"),
    ("setcover", "1 2\n1 1\n1 3\n", 3, "the column is 3; expected an integer from 1 to 2"),
    ("setcover", "1 2\n1 1\n0\n", 3, "the number of columns is 0; expected an integer from 1 to 2"),
    ("setcover", "1 2\n1 1\n2 1\n", 4, "a number is missing in the last row; expected 1 rows"),
    ("setcover", "1 2\n1 1\n1 1 9\n", 3, "a number follows the last row; expected 1 rows, as"),
    ("setcover", "1 2\n1 1\n2 1 1\n", 3, "the column is 1; expected each column of a row once"),
    ("setcover", "1 2\n1 -1\n1 1\n", 2, "the cost is -1; expected a number ≥ 0"),
]


@pytest.mark.parametrize(("form", "text", "line", "message"), WRONG)
def test_a_wrong_file_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: Any, text: str, line: int, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x y.txt").write_text(text, "utf-8")
    with pytest.raises(SpecError) as caught:
        load("x y.txt", format=form)
    assert str(caught.value).startswith(f"x y.txt, line {line}: {message}")


CONTENTS: dict[Any, list[bytes]] = {
    form: [path.read_bytes() for path in sorted(ASSETS.iterdir()) if path.suffix in suffixes]
    for form, suffixes in {
        "cnf": (".cnf", ".wcnf"),
        "qubo": (".qubo",),
        "maxcut": (".mc",),
        "ising": (".txt",),
        "nk": (".nk",),
        "knapsack": (".knapsack", ".kp"),
        "setcover": (".scp",),
    }.items()
}
JUNK = st.one_of(
    st.sampled_from([b"-1", b"0", b"999999999999", b"1e9", b"h", b"%", b"\r", b"\0", b"x", b"\n"]),
    st.binary(max_size=8),
)


@st.composite
def damaged(draw: st.DrawFn) -> tuple[Any, bytes]:
    """Return a format and a file of it, with a few words replaced, removed or cut off."""
    form = draw(st.sampled_from(FORMATS))
    words = draw(st.sampled_from(CONTENTS[form])).replace(b"\n", b" \n ").split(b" ")
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0, len(words) - 1))
        words[place : place + draw(st.integers(0, 2))] = [draw(JUNK)]
    content = b" ".join(words)
    return form, content[: draw(st.integers(0, len(content)))] if draw(st.booleans()) else content


@given(damaged())
def test_damaged_files_are_read_or_refused_without_much_memory(case: tuple[Any, bytes]) -> None:
    form, content = case
    path = Path("damaged.txt")
    path.write_bytes(content)
    error = "damaged.txt, line …"
    tracemalloc.start()
    try:
        problem = load(path, format=form)
        length = min(problem.length, 10_000)  # what is read can be evaluated
        assert length < problem.length or problem(np.ones((2, length), np.uint8)).shape == (2,)
    except SpecError as raised:
        error = str(raised)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert error.startswith("damaged.txt, line ")
    assert "\n" not in error
    assert peak < 2_000_000


@pytest.fixture(autouse=True, scope="module")
def _somewhere(tmp_path_factory: pytest.TempPathFactory) -> None:
    patch = pytest.MonkeyPatch()
    patch.chdir(tmp_path_factory.mktemp("damaged"))
    for form, contents in CONTENTS.items():  # compiled before memory is measured
        Path("x.txt").write_bytes(contents[0])
        problem = load("x.txt", format=form)
        problem(np.ones((2, problem.length), np.uint8))


@pytest.mark.parametrize("form", FORMATS)
def test_a_gigabyte_declared_in_ten_bytes(form: Any) -> None:
    text = {"cnf": "p cnf 9 1000000000", "knapsack": "9 99999999 0"}.get(form, "9 999999999")
    Path("x.txt").write_text(text, "utf-8")
    tracemalloc.start()
    try:
        with pytest.raises(SpecError, match=r"^x\.txt, line 1: "):
            load("x.txt", format=form)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
