"""What a model learned: couplings against enumeration, captured blocks by hand, runs repeated."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harmonium import BOA, EDA, HIFF, NK, RBM, UMDA, OneMax, Trap, run
from harmonium.models.kernels.rbm import Machine
from harmonium.models.rbm import FittedRBM
from harmonium.reports import learned
from harmonium.reports.learned import (
    CONTEXTS,
    Learning,
    Units,
    choose_runs,
    find_couplings,
    find_edges,
    mark_pairs,
    repeat_runs,
)
from tests.reports.stores import read_snapshot

SILENT = "onemax is left out: each bit counts alone, so there are no true pairs to find."


def make_rbm(length: int, hidden: int, scale: float, seed: int = 1) -> FittedRBM:
    rng = np.random.default_rng(seed)
    machine = Machine(
        (scale * rng.normal(size=(length, hidden))).astype(np.float32),
        rng.normal(size=length).astype(np.float32),
        rng.normal(size=hidden).astype(np.float32),
    )
    parents = rng.integers(0, 2, (40, length), dtype=np.uint8)
    return FittedRBM(machine, parents, 1, False, {})


@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0])
def test_couplings_are_log_odds_ratios(scale: float) -> None:
    fitted = make_rbm(6, 4, scale)
    couplings = find_couplings(fitted)
    contexts = fitted.parents[:CONTEXTS]
    for one in range(6):
        for other in range(6):
            if one == other:
                assert couplings[one, other] == 0
                continue
            energies = {}
            for bits in ((0, 0), (0, 1), (1, 0), (1, 1)):
                rows = contexts.copy()
                rows[:, [one, other]] = bits
                energies[bits] = fitted.free_energy(rows)  # P(v) ∝ exp(-F(v))
            ratio = energies[0, 1] + energies[1, 0] - energies[0, 0] - energies[1, 1]
            assert couplings[one, other] == pytest.approx(abs(ratio.mean()), rel=1e-5, abs=1e-6)


def test_couplings_of_extreme_weights_are_numbers() -> None:
    couplings = find_couplings(make_rbm(10, 8, 1000.0))
    assert np.isfinite(couplings).all()
    assert np.array_equal(couplings, couplings.T)


def test_bits_without_a_common_unit_are_not_coupled() -> None:
    fitted = make_rbm(4, 2, 1.0)
    fitted.machine.W[:] = [[1, 0], [2, 0], [0, 3], [0, 1]]
    assert (find_couplings(fitted) > 0).tolist() == mark_pairs(((0, 1), (2, 3)), 4).tolist()


def test_pairs_of_overlapping_groups() -> None:
    marked = mark_pairs(((0, 1, 2), (2, 3)), 5)
    pairs = {(int(one), int(other)) for one, other in np.argwhere(marked) if one < other}
    assert pairs == {(0, 1), (0, 2), (1, 2), (2, 3)}
    assert np.array_equal(marked, marked.T)


def test_edges_go_from_parent_to_child() -> None:
    rng = np.random.default_rng(1)
    parents = rng.integers(0, 2, (400, 4), dtype=np.uint8)
    parents[:, 3] = parents[:, 1]
    fitted = BOA().fit(parents, rng)
    (edge,) = fitted.edges
    assert np.argwhere(find_edges(fitted, 4)).tolist() == [list(edge)]


def test_units_that_capture_a_block() -> None:
    structure = ((0, 1), (2, 3), (4, 5))
    weights = np.array(
        [
            [0.0, 2.0, 0.0, 1.0],
            [0.0, 1.0, 0.0, 1.0],
            [3.0, 0.0, 0.0, 1.0],
            [1.0, 1.0, 0.0, 1.0],
            [0.0, 0.0, 0.0, 1.0],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )  # the third unit is silent, the fourth has a third on each block
    units = Units(weights, structure)
    assert units.captured == 2 / 4
    assert units.blocks == 2
    assert units.ordered[:, 0].tolist() == weights[:, 1].tolist()  # of the first block
    assert units.ordered[:, -1].tolist() == weights[:, 0].tolist()
    assert 0 <= units.chance <= 1
    assert units.chance == Units(weights, structure).chance


@pytest.mark.parametrize(("model", "population"), [(RBM(), 1000), (BOA(), 5000)], ids=str)
def test_traps_are_learned(model: RBM | BOA, population: int) -> None:
    problem = Trap(length=40, order=5)
    learning = Learning(problem)
    result = run(problem, EDA(model, population=population), seed=1, callback=learning)
    assert result.solved
    assert len(learning.steps) == result.generations
    best = max(step.recall for step in learning.steps)
    last = learning.steps[-1]
    assert best > 0.7
    assert last.precision is not None
    assert last.precision > 0.7 > 5 * learning.density
    assert (learning.units is None) == isinstance(model, BOA)
    if learning.units:
        assert learning.units.captured > 2 * learning.units.chance
        assert last.captured == learning.units.captured


def test_following_a_run_does_not_change_it() -> None:
    problem, eda = Trap(length=12, order=4), EDA(RBM(), population=200)
    followed = run(problem, eda, seed=3, callback=Learning(problem))
    alone = run(problem, eda, seed=3)
    assert followed.evaluations == alone.evaluations
    assert followed.trace == alone.trace


@pytest.mark.parametrize("model", [UMDA(), BOA()], ids=str)
def test_nothing_is_noted_without_structure_or_pairs(model: UMDA | BOA) -> None:
    problem = OneMax(10) if isinstance(model, BOA) else Trap(length=8, order=4)
    learning = Learning(problem)
    run(problem, EDA(model, population=40), seed=1, callback=learning)
    assert not learning.steps


def test_density_is_the_share_of_true_pairs() -> None:
    assert Learning(Trap(length=20, order=5)).density == pytest.approx(40 / 190)
    assert Learning(HIFF(16)).density == 1
    assert Learning(OneMax(5)).density == 0
    assert 0 < Learning(NK(length=20, k=2)).density < 1


def test_stored_runs_are_repeated_as_they_were(small_store: Path) -> None:
    snapshot = read_snapshot(small_store)
    known: dict[str, Learning | None] = {}
    shown, remarks = repeat_runs(snapshot, known)
    assert remarks == [SILENT]
    assert [one.name for one in shown] == [
        *(
            "trap:order=4, n = 20: rbm",
            "trap:order=4, n = 20: boa",
            "trap:order=4, n = 20: boa-rtr",
        ),
        *("nk:k=2, n = 12: rbm", "nk:k=2, n = 12: boa", "nk:k=2, n = 12: boa-rtr"),
    ]
    for single in choose_runs(snapshot.singles):
        if learning := known.get(single.trial.key):
            assert learning.steps[-1].generation == single.outcome.figures.generations
    again, _ = repeat_runs(snapshot, known, budget=0.0)
    assert [one.learning for one in again] == [one.learning for one in shown]


def test_what_is_left_out_is_said(small_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = read_snapshot(small_store)
    shown, remarks = repeat_runs(snapshot, {}, budget=0.0)
    assert not shown
    assert len(remarks) == 1 + 6
    assert remarks[1] == (
        "trap:order=4, n = 20: rbm is left out; the 0 CPU seconds for such runs were over."
    )
    monkeypatch.setattr(learned, "MAX_LENGTH", 11)
    shown, remarks = repeat_runs(snapshot, {})
    assert {one.problem for one in shown} == {"nk:k=2, n = 10"}
    assert len(remarks) == 1 + 3
    assert "more than 11 bits" in remarks[1]


def test_a_run_that_goes_otherwise_is_left_out(small_store: Path) -> None:
    snapshot = read_snapshot(small_store)
    singles = []
    for single in snapshot.singles:
        outcome = single.outcome
        figures = outcome.figures
        fields = {name: getattr(figures, name) for name in figures.__struct_fields__}
        changed = type(figures)(**fields | {"evaluations": figures.evaluations + 1})
        singles.append(replace(single, outcome=outcome._replace(figures=changed)))
    shown, remarks = repeat_runs(replace(snapshot, singles=tuple(singles)), {})
    assert not shown
    assert remarks[0] == SILENT
    assert all("goes otherwise than it was stored" in remark for remark in remarks[1:])


def test_a_run_ends_when_its_time_is_over() -> None:
    problem = Trap(length=20, order=5)
    result = run(problem, EDA(BOA(), population=500), seed=1, callback=Learning(problem, -math.inf))
    assert result.stopped_by == "callback"
