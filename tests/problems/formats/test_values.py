"""Values of instances from files: counted directly, known, or as dimod computes them."""

from pathlib import Path
from typing import Any

import dimod
import numpy as np
import pytest

from harmonium import FileProblem, load
from harmonium.arrays import Bits
from tests.problems.formats import ASSETS
from tests.rows import every_row, random_rows


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


def test_a_formula_counts_its_satisfied_clauses(tmp_path: Path) -> None:
    clauses = make_clauses(seed=1, variables=30, count=200)
    lines = [" ".join(map(str, [*clause, 0])) for clause in clauses]
    problem = write(tmp_path, "x.cnf", ["p cnf 30 200", *lines])
    rows = random_rows(150, 30, seed=2)  # three words of rows, the last one not full
    direct = [sum(satisfies(row, clause) for clause in clauses) for row in rows]
    assert problem(rows).tolist() == direct
    groups = {tuple(sorted({abs(literal) - 1 for literal in clause})) for clause in clauses}
    assert set(problem.structure) == {group for group in groups if len(group) > 1}


@pytest.mark.parametrize("form", ["old", "new"])
def test_a_weighted_partial_formula(tmp_path: Path, form: str) -> None:
    clauses = make_clauses(seed=3, variables=20, count=80)
    rng = np.random.default_rng(4)
    weights = [None if hard else int(rng.integers(1, 50)) for hard in rng.random(80) < 0.3]
    named = [("1000" if form == "old" else "h") if weight is None else weight for weight in weights]
    lines = [
        " ".join(map(str, [name, *clause, 0])) for name, clause in zip(named, clauses, strict=True)
    ]
    clauses[0] = [20]
    lines[0] = f"{named[0]} 20 0"
    problem = write(tmp_path, "x.wcnf", [*(["p wcnf 20 80 1000"] if form == "old" else []), *lines])
    total = sum(weight for weight in weights if weight is not None)
    for row, value in zip(rows := random_rows(70, 20, seed=5), problem(rows), strict=True):
        good = [satisfies(row, clause) for clause in clauses]
        soft = sum(w for w, ok in zip(weights, good, strict=True) if ok and w is not None)
        broken = sum(not ok for w, ok in zip(weights, good, strict=True) if w is None)
        assert value == soft - broken * (total + 1)


def draw_matrix(seed: int, length: int) -> tuple[list[str], np.ndarray[Any, np.dtype[np.float64]]]:
    """Return lines of one triangle, and the whole symmetric matrix."""
    rng = np.random.default_rng(seed)
    matrix = np.zeros((length, length))
    lines = []
    for one in range(length):
        for other in range(one, length):
            if rng.random() < 0.4:
                weight = round(float(rng.normal()), 6)
                pair = (one + 1, other + 1) if rng.random() < 0.5 else (other + 1, one + 1)
                lines.append(f"{pair[0]} {pair[1]} {weight!r}")
                matrix[one, other] = matrix[other, one] = weight
    return lines, matrix


@pytest.mark.parametrize(("suffix", "sign"), [("qubo", 1), ("sparse", -1), ("bq", -1)])
def test_a_qubo_has_the_energies_of_dimod(tmp_path: Path, suffix: str, sign: int) -> None:
    lines, matrix = draw_matrix(1, 15)
    problem = write(tmp_path, f"x.{suffix}", [f"15 {len(lines)}", *lines])
    model = dimod.BinaryQuadraticModel(matrix, "BINARY")  # x'Qx, both triangles
    rows = random_rows(100, 15, seed=2)
    np.testing.assert_allclose(problem(rows), sign * model.energies(rows), rtol=0, atol=1e-12)


@pytest.mark.parametrize("header", [True, False])
def test_an_ising_model_has_the_energies_of_dimod(tmp_path: Path, header: bool) -> None:
    lines, matrix = draw_matrix(3, 15)
    triples = [line.split() for line in lines]
    plain = [f"{int(one) - 1} {int(other) - 1} {weight}" for one, other, weight in triples]
    problem = write(tmp_path, "x.ising", [f"15 {len(lines)}", *lines] if header else plain)
    pairs = {(i, j): -matrix[i, j] for i in range(15) for j in range(i + 1, 15)}
    model = dimod.BinaryQuadraticModel({i: -matrix[i, i] for i in range(15)}, pairs, 0.0, "SPIN")
    rows = random_rows(100, problem.length, seed=4)
    spins = 2 * rows.astype(np.int8) - 1
    energies = model.energies((spins, range(15)))
    np.testing.assert_allclose(problem(rows), -energies, rtol=0, atol=1e-12)


def test_a_cut_has_the_energies_of_dimod(tmp_path: Path) -> None:
    lines, matrix = draw_matrix(5, 20)
    edges = [line for line in lines if line.split()[0] != line.split()[1]]
    problem = write(tmp_path, "x.mc", [f"20 {len(edges)}", *edges])
    np.fill_diagonal(matrix, 0)
    pairs = {(i, j): matrix[i, j] / 2 for i in range(20) for j in range(i + 1, 20)}
    model = dimod.BinaryQuadraticModel({}, pairs, -matrix.sum() / 4, "SPIN")
    model.add_linear_from((node, 0.0) for node in range(20))
    rows = random_rows(100, 20, seed=6)
    energies = model.energies((2 * rows.astype(np.int8) - 1, range(20)))
    np.testing.assert_allclose(problem(rows), -energies, rtol=0, atol=1e-12)


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


def test_a_knapsack_by_hand(tmp_path: Path) -> None:
    """Items of value 10, 7 and weight 5, 4 in a knapsack for 6."""
    path = tmp_path / "x.kp"
    path.write_text("2 6\n10 5\n7 4\n", "utf-8")
    rows = every_row(2)
    # Both are too heavy; the second is worth less for its weight and is the one to remove.
    assert load(path, infeasible="penalty")(rows).tolist() == [0, 7, 10, 17 - 2 * 7]
    assert load(path).repair(rows).tolist() == [[1, 0], [0, 1], [1, 0], [1, 0]]


def test_a_cover_by_hand() -> None:
    problem = load(ASSETS / "small.scp", infeasible="penalty")
    # Columns 1 and 2 cover rows 1, 2 and 4; row 3 can be covered for 1, which costs 1 + 2 then.
    assert problem([[1, 1, 0, 0, 0]]).tolist() == [-(2 + 3) - (1 + 2)]
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
