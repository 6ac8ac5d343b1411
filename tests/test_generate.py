"""Generated instances: their files are read back as what they were, with their optima."""

from pathlib import Path

import numpy as np
import pytest

from harmonium import NK, Ising, MaxSat, ProblemSpec
from harmonium.generate import GENERATORS, PlantedQubo, write_instance
from harmonium.specs import SpecError
from tests.rows import every_row, random_rows


@pytest.mark.parametrize(
    ("spec", "scale"),
    [
        (MaxSat(length=12, clauses=60, instance=2), 1),
        (NK(length=10, k=3, instance=5), 10),  # a file has the sum, not the mean
        (NK(length=8, k=0), 8),
        (Ising(side=3, instance=1), 1),
    ],
    ids=str,
)
def test_a_problem_is_written_as_it_is(spec: ProblemSpec, scale: int, tmp_path: Path) -> None:
    problem = write_instance(str(spec), tmp_path / "x, y.txt")
    rows = every_row(spec.length)
    np.testing.assert_allclose(problem(rows), scale * spec(rows), rtol=1e-13)
    assert spec.optimum is not None
    assert problem.optimum == pytest.approx(scale * spec.optimum, rel=1e-13)
    assert set(problem.structure or ()) == set(spec.structure or ())


@pytest.mark.parametrize(
    "text",
    [
        "qubo:length=12",
        "qubo:length=12,loops=40,instance=1",
        "qubo:length=3,loops=1",
        "knapsack:length=12",
        "knapsack:length=12,constraints=3,instance=4",
    ],
)
def test_the_optimum_is_the_best_of_all_rows(text: str, tmp_path: Path) -> None:
    problem = write_instance(text, tmp_path / "x.txt")
    best = problem(every_row(problem.length)).max()
    assert problem.optimum == best


def test_a_planted_solution_is_an_optimum(tmp_path: Path) -> None:
    spec = PlantedQubo(length=200, loops=500, instance=3)
    problem = write_instance(str(spec), tmp_path / "x.qubo")
    assert problem(spec.planted[None]).tolist() == [problem.optimum]
    assert problem(random_rows(100, 200, seed=1)).max() < spec.make()[1]
    assert write_instance("ising:side=20", tmp_path / "x.ising").optimum is None  # not known


def test_the_same_text_gives_the_same_file(tmp_path: Path) -> None:
    for text in ("qubo:length=20", "knapsack:length=20", "maxsat:length=20,clauses=50"):
        texts = {"a": text, "b": text, "c": f"{text},instance=1"}
        a, b, c = (write_instance(texts[name], tmp_path / name).content for name in texts)
        assert a == b != c


def test_what_cannot_be_generated_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        SpecError, match=f"cannot generate 'trap'; expected one of {'.*'.join(GENERATORS)}"
    ):
        write_instance("trap:length=8,order=4", tmp_path / "x")
    with pytest.raises(SpecError, match="qubo: length is 2; expected an integer ≥ 3"):
        write_instance("qubo:length=2", tmp_path / "x")
    assert list(tmp_path.iterdir()) == []
