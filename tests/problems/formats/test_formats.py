"""Instance files: numbers as Python reads them, errors with their line, values of problems."""

import tracemalloc
from pathlib import Path
from typing import Any

import dimod
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harmonium import FileProblem, load
from harmonium.arrays import Bits
from harmonium.problems.reader import FORMATS, Reader
from harmonium.specs import SpecError
from tests.problems.formats import ASSETS
from tests.rows import every_row, random_rows


def read(text: str | bytes, count: int | None = None, width: int = 0) -> list[float]:
    content = text.encode() if isinstance(text, str) else text
    return list(Reader(content, "x.txt").numbers(count, "numbers", width=width).values)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_in_any_way(end: str) -> None:
    text = end.join(["c comment 7", "1 2", "", "# 8", "  3 4", "c", "% the end", "0"])
    assert read(text, width=2) == [1, 2, 3, 4]
    with pytest.raises(
        SpecError,
        match=r"^x\.txt, line 5: a word is x; expected a number up to 1e\+100 \(numbers\)$",
    ):
        read(text.replace("3", "x"))


@pytest.mark.parametrize(
    ("text", "count", "width", "message"),
    [
        ("1 2\n3", 4, 0, "line 2: the file ends after 3 of 4 numbers"),
        ("", 1, 0, "line 1: the file ends after 0 of 1 numbers"),
        ("1 2\n3\n4 5", None, 2, "line 2: expected 2 numbers in the line: numbers"),
        ("1 2\n3 4 5\n", None, 2, "line 2: expected 2 numbers in the line: numbers"),
        ("1 2\n\n3", None, 2, "line 3: expected 2 numbers in the line: numbers"),
        ("1 2\n3 --4", None, 0, "line 2: a word is --4; expected NUMBER"),
        ("nan", None, 0, "line 1: a word is nan; expected NUMBER"),
        ("\0\1", None, 0, "line 1: a word is \0\1; expected NUMBER"),
        ("9" * 50 + "z", None, 0, f"line 1: a word is {'9' * 40}…; expected NUMBER"),
        ("é", None, 0, "line 1: a word is \\xc3\\xa9; expected NUMBER"),
    ],
)
def test_an_error_names_file_line_and_expectation(
    text: str, count: int | None, width: int, message: str
) -> None:
    with pytest.raises(SpecError) as caught:
        read(text, count, width)
    number = "a number up to 1e+100 (numbers)"
    assert str(caught.value) == f"x.txt, {message.replace('NUMBER', number)}"


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
    ("qubo", "3 2\n1 2 1\n2 1 1\n", 3, "the first variable is 2; expected each pair at most once"),
    (
        "qubo",
        "3 1\n1 2 1e999\n",
        2,
        "a word is 1e999; expected a number up to 1e+100 (numbers, en",
    ),
    ("qubo", "3 1000000000\n1 2 1\n", 3, "the file ends after 3 of 3,000,000,000 numbers, entries"),
    ("maxcut", "3 1\n2 2 1\n", 2, "the second variable is 2; expected another than the first"),
    ("ising", "", 1, "the file ends here; expected i j J, n m, or an energy and a solution"),
    ("ising", "-3 012\n0 1 1\n", 1, "the second word is 012; expected 1, the number of couplings"),
    ("ising", "-3 11\n0 1 1\n", 1, "the energy is -3; expected -1, the energy -ΣJss"),
    ("ising", "-1 11\n0 2 1\n", 2, "the variable is 2; expected an integer from 0 to 1"),
    ("ising", "x 11\n0 1 1\n", 1, "the energy is x; expected a number up to 1e+100"),
    ("ising", "3 2\n", 2, "the file ends here; expected a coupling i j J"),
    ("nk", "3 3\n", 1, "k is 3; expected an integer ≥ 0 and ≤ 2"),
    ("nk", "2 1\n0\n1\n1\n", 5, "the file ends after 3 of 4 bits that the components read"),
    ("nk", "2 1\n0\n2\n1\n0\n", 3, "the bit is 2; expected an integer from 0 to 1"),
    ("nk", "2 1\n0\n1\n1\n1\n", 5, "the bit is 1; expected each bit of a component once"),
    ("nk", "1 0\n0\n0.5\n0.25\nBest: 1\n", 5, "Best: 1; expected `Optimum: value` or the end"),
    ("nk", "1000000 24\n0\n", 3, "the file ends after 1 of 25,000,000 bits that the components"),
    ("knapsack", "1 2 3 4\n", 1, "1 2 3 4; expected items, constraints and optimum (0 if unknown)"),
    ("knapsack", "1\n2 1 0\n1 2\n3 -4\n5\n", 4, "one of the weights is -4; expected a number ≥ 0"),
    ("knapsack", "1\n2 1 0\n1 2\n3 4\n", 5, "the file ends after 0 of 1 capacities"),
    ("knapsack", "1\n1 1 0\n1\n3\n4\n7", 6, "7 follows the last instance; expected the end of"),
    ("knapsack", "2 -5\n1 1\n1 1\n", 1, "the capacity is -5; expected a number ≥ 0"),
    (
        "setcover",
        "2 2\n1 1\n1 1\n",
        4,
        "the file ends after 0 of 1 numbers of columns of row 2 of 2",
    ),
    ("setcover", "1 2\n1 1\n1 3\n", 3, "the column is 3; expected an integer from 1 to 2"),
    ("setcover", "1 2\n1 1\n0\n", 3, "the number of columns is 0; expected an integer from 1 to 2"),
    ("setcover", "1 2\n1 1\n2 1\n", 4, "the file ends after 1 of 2 columns of row 1 of 1"),
    ("setcover", "1 2\n1 1\n1 1 9\n", 3, "9 follows the last row; expected the end of the file"),
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
def test_damaged_files_are_read_or_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[Any, bytes]
) -> None:
    form, content = case
    path = tmp_path_factory.getbasetemp() / "damaged.txt"
    path.write_bytes(content)
    error = f"{path}, line …"
    try:
        problem = load(path, format=form)
        length = min(problem.length, 10_000)  # what is read can be evaluated
        assert length < problem.length or problem(np.ones((2, length), np.uint8)).shape == (2,)
    except SpecError as raised:
        error = str(raised)
    assert error.startswith(f"{path}, line ")
    assert "\n" not in error


def test_memory_is_bounded_by_the_file_not_by_what_it_declares() -> None:
    read("1 2", 2)  # compiled before it is measured
    tracemalloc.start()
    try:
        with pytest.raises(SpecError, match="the file ends after 5 of 1,000,000,000,000 numbers"):
            read("1 2 3 4 5", 10**12)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


def write(folder: Path, name: str, lines: list[str]) -> FileProblem:
    path = folder / name
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return load(path)


def make_clauses(seed: int, variables: int, count: int) -> list[list[int]]:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 6, count)
    return [
        (rng.integers(1, variables + 1, size) * rng.choice([-1, 1], size)).tolist()
        for size in sizes
    ]


def satisfies(row: Bits, clause: list[int]) -> bool:
    return any((row[abs(literal) - 1] == 1) == (literal > 0) for literal in clause)


@pytest.mark.parametrize("header", ["p cnf 20 80", "p wcnf 20 80 1000", ""])
def test_a_formula_is_worth_its_satisfied_clauses(tmp_path: Path, header: str) -> None:
    clauses = [[20], *make_clauses(seed=3, variables=20, count=79)]
    rng = np.random.default_rng(4)
    weights, hard = rng.integers(1, 50, 80), rng.random(80) < 0.3
    top: Any = "1000" if header else "h"
    names = [[top if one else weight] for weight, one in zip(weights, hard, strict=True)]
    if header.startswith("p cnf"):
        weights[:], hard[:], names = 1, False, [[] for _ in clauses]
    lines = [
        " ".join(map(str, [*name, *clause, 0])) for name, clause in zip(names, clauses, strict=True)
    ]
    problem = write(tmp_path, "x.wcnf", [header, *lines])
    rows = random_rows(150, 20, seed=5)  # three words of rows, the last one not full
    for row, value in zip(rows, problem(rows), strict=True):
        good = np.array([satisfies(row, clause) for clause in clauses])
        broken = (hard & ~good).sum()
        assert value == weights[good & ~hard].sum() - broken * (weights[~hard].sum() + 1)
    groups = {tuple(sorted({abs(literal) - 1 for literal in clause})) for clause in clauses}
    assert set(problem.structure) == {group for group in groups if len(group) > 1}


@pytest.mark.parametrize(
    ("name", "scale", "spins"),
    [("x.qubo", 1, False), ("x.bq", -1, False), ("x.ising", -1, True), ("x.mc", 0.5, True)],
)
def test_weighted_pairs_have_the_energies_of_dimod(
    tmp_path: Path, name: str, scale: float, spins: bool
) -> None:
    rng = np.random.default_rng(1)
    upper = np.triu(rng.normal(size=(15, 15)).round(6) * (rng.random((15, 15)) < 0.4))
    if name == "x.mc":
        np.fill_diagonal(upper, 0)
    entries = [(i, j, upper[i, j]) for i, j in np.argwhere(upper)]
    lines = [f"{j + 1} {i + 1} {float(weight)!r}" for i, j, weight in entries]
    problem = write(tmp_path, name, [f"15 {len(lines)}", *lines])
    linear = {i: scale * upper[i, i] for i in range(15)}
    double = 1 if spins else 2  # an entry beside the diagonal of a QUBO stands for two
    pairs = {(i, j): scale * double * weight for i, j, weight in entries if i != j}
    model = dimod.BinaryQuadraticModel(linear, pairs, 0.0, "SPIN" if spins else "BINARY")
    rows = random_rows(100, 15, seed=2)
    energies = model.energies((2 * rows.astype(np.int8) - 1 if spins else rows, range(15)))
    if name == "x.mc":  # an edge that is cut has s·s = -1
        energies = upper.sum() / 2 - energies
    sign = -1 if name == "x.ising" else 1
    np.testing.assert_allclose(problem(rows), sign * energies, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "settings", "length", "optimum", "solutions"),
    [
        ("small.cnf", {}, 9, 12, None),
        ("small.wcnf", {}, 5, 18, [[0, 1, 1, 1, 0]]),
        ("new.wcnf", {}, 5, 18, [[0, 1, 1, 1, 0]]),
        ("small.qubo", {}, 5, 13, [[1, 1, 0, 1, 1]]),
        ("small.mc", {}, 5, 7, [[0, 1, 1, 0, 1], [1, 0, 0, 1, 0]]),
        ("spins.txt", {"format": "ising"}, 5, 5, [[0, 1, 1, 0, 1]]),
        ("small.nk", {}, 4, 2.85, [[1, 0, 0, 1]]),
        ("small.knapsack", {"infeasible": "penalty"}, 5, 21, [[1, 1, 1, 0, 0]]),
        ("small.knapsack", {"infeasible": "penalty", "instance": 1}, 4, 10, [[0, 1, 0, 1]]),
        ("one.kp", {"infeasible": "penalty"}, 4, None, [[1, 1, 1, 0]]),
        ("small.scp", {"infeasible": "penalty"}, 5, -3, [[1, 0, 1, 0, 0]]),
    ],
)
def test_known_optima(
    name: str, settings: dict[str, Any], length: int, optimum: float | None, solutions: Any
) -> None:
    problem = load(ASSETS / name, **settings)
    assert problem.length == length
    assert problem.optimum == (None if optimum is None else pytest.approx(optimum, rel=1e-15))
    rows = every_row(length)
    fitness = problem(rows)
    best = rows[fitness > fitness.max() - 1e-12].tolist()
    assert fitness.max() == pytest.approx(optimum or 12, rel=1e-15)
    assert solutions is None or best == solutions


@pytest.mark.parametrize("name", ["small.knapsack", "one.kp", "small.scp"])
def test_a_penalty_leaves_the_feasible_rows_best_and_repair_makes_them(name: str) -> None:
    penalty, repair = (load(ASSETS / name, infeasible=kind) for kind in ("penalty", "repair"))
    rows = every_row(penalty.length)
    repaired = repair.repair(rows)
    np.testing.assert_array_equal(repair(rows), penalty(repaired))
    np.testing.assert_array_equal(repair.repair(repaired), repaired)
    assert (penalty(rows) <= repair(rows)).all()
    assert repair(rows).max() == penalty(rows).max()
    np.testing.assert_array_equal(penalty.repair(rows), rows)


def test_knapsacks_and_covers_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "x.kp"
    path.write_text("2 6\n10 5\n7 4\n", "utf-8")  # values 10 and 7, weights 5 and 4, for 6
    # Both are too heavy; the second is worth less for its weight and is the one to remove.
    assert load(path, infeasible="penalty")(every_row(2)).tolist() == [0, 7, 10, 17 - 2 * 7]
    assert load(path).repair(every_row(2)).tolist() == [[1, 0], [0, 1], [1, 0], [1, 0]]
    # Columns 1 and 2 cover rows 1, 2 and 4; row 3 can be covered for 1, which costs 1 + 2 then.
    cover = load(ASSETS / "small.scp", infeasible="penalty")
    assert cover([[1, 1, 0, 0, 0]]).tolist() == [-(2 + 3) - (1 + 2)]
    assert load(ASSETS / "small.scp").repair(every_row(5)[:1]).tolist() == [[1, 0, 1, 0, 0]]


def test_a_sum_that_rounds_to_a_rounded_optimum_counts_as_it(tmp_path: Path) -> None:
    text = (ASSETS / "small.nk").read_text("utf-8").replace("0.9\n", "0.9000004\n")
    path = tmp_path / "x.nk"
    path.write_text(text + "Optimum: 2.850\n", "utf-8")
    problem = load(path)
    assert problem.optimum == 2.85
    assert problem([[1, 0, 0, 1]]).tolist() == [2.85]
    path.write_text(text, "utf-8")
    assert load(path)([[1, 0, 0, 1]]) == pytest.approx([2.8500004], rel=1e-12)
