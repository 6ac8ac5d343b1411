import numpy as np
import pytest

from harmonium.bench import FULL, GROUPS, QUICK, Scale, choose_groups, describe_setting
from harmonium.bench.boa import make_trap_rows
from harmonium.bench.results import Solving
from harmonium.bench.scale import Size
from harmonium.bench.solve import compare
from harmonium.problems import NK, PBO, PROBLEMS, FileProblem, MaxSat
from harmonium.specs import SpecError


@pytest.mark.parametrize("scale", [FULL, QUICK], ids=["full", "quick"])
def test_every_registered_problem_is_evaluated(scale: Scale) -> None:
    elsewhere = {FileProblem, PBO}  # benchmarks/instances.py; the library itself
    assert {type(work.problem) for work in scale.evaluated} == set(PROBLEMS) - elsewhere


def test_groups_are_chosen_by_name_in_the_order_of_the_bench() -> None:
    assert choose_groups([]) == tuple(GROUPS)
    assert choose_groups(["solve", "rbm"]) == ("rbm", "solve")
    with pytest.raises(SpecError, match="unknown group 'gpu'; known: rbm, gibbs, boa"):
        choose_groups(["gpu"])


@pytest.mark.parametrize("scale", [FULL, QUICK], ids=["full", "quick"])
def test_reads_are_the_bits_that_a_row_takes_at_least(scale: Scale) -> None:
    reads = {work.problem.name: work.reads for work in scale.evaluated}
    problems = {work.problem.name: work.problem for work in scale.evaluated}
    nk, maxsat = problems["nk"], problems["maxsat"]
    assert isinstance(nk, NK)
    assert isinstance(maxsat, MaxSat)
    assert reads.pop("nk") == nk.groups.size
    assert reads.pop("maxsat") == maxsat.clauses
    assert reads == {name: problems[name].length for name in reads}


def test_rows_of_the_bench_are_parents_full_of_settled_traps() -> None:
    rows = make_trap_rows(Size(1000, 30))
    assert rows.shape == (1000, 30)
    assert rows.dtype == np.uint8
    traps = rows.reshape(-1, 5).sum(axis=1)
    assert 0.2 < (traps == 5).mean() < 0.5  # 0.27 before selection
    assert 0.2 < (traps == 0).mean() < 0.5
    np.testing.assert_array_equal(rows, make_trap_rows(Size(1000, 30)))


def test_solvers_that_never_succeed_are_not_compared() -> None:
    rbm = Solving("p", "rbm", 100, 3, 3, 900.0, 0.2, 0.1)
    boa = Solving("p", "boa", 100, 3, 0, 900.0, 0.2, 0.1)
    gomea = Solving("p", "gomea", None, 3, 2, 900.0, 0.2, 0.1)
    (only,) = compare([rbm, boa], gomea)
    assert only.what == "p by rbm"
    assert only.ratio == pytest.approx(1.5)


def test_the_setting_names_machine_and_versions() -> None:
    assert {"machine", "blas", "python", "harmonium", "numpy", "numba"} <= set(describe_setting())
