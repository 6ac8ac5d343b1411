"""What models learned: pairs and captured blocks by hand, and stored runs that are repeated."""

import math
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harmonium import BOA, EDA, HIFF, NK, RBM, UMDA, OneMax, Stop, Trap, run
from harmonium.reports import learned, repeats
from harmonium.reports.learned import Learning, Units, mark_pairs
from harmonium.reports.repeats import Known, choose_runs, repeat_runs
from tests.reports.customs import Steady
from tests.reports.stores import read_snapshot
from tests.search.one_plus_one import OnePlusOne

NOT_SCORABLE = "onemax is left out: each bit counts alone, so there are no true pairs to find."


def test_pairs_of_overlapping_groups() -> None:
    marked = mark_pairs(((0, 1, 2), (2, 3)), 5)
    pairs = {(int(one), int(other)) for one, other in np.argwhere(marked) if one < other}
    assert pairs == {(0, 1), (0, 2), (1, 2), (2, 3)}
    assert np.array_equal(marked, marked.T)


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
    assert len(learning.scores) == result.generations
    best = max(score.recall or 0.0 for score in learning.scores)
    last = learning.scores[-1]
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
def test_nothing_is_scored_without_structure_or_pairs(model: UMDA | BOA) -> None:
    problem = OneMax(10) if isinstance(model, BOA) else Trap(length=8, order=4)
    learning = Learning(problem)
    run(problem, EDA(model, population=40), seed=1, callback=learning)
    assert not learning.scores


def test_density_is_the_share_of_true_pairs() -> None:
    assert Learning(Trap(length=20, order=5)).density == pytest.approx(40 / 190)
    assert Learning(HIFF(16)).density == 1
    assert Learning(OneMax(5)).density == 0
    assert 0 < Learning(NK(length=20, k=2)).density < 1


def test_stored_runs_are_repeated_as_they_were(small_store: Path) -> None:
    snapshot = read_snapshot(small_store)
    known: Known = {}
    shown, remarks = repeat_runs(snapshot, known)
    assert remarks == [NOT_SCORABLE]
    assert [one.name for one in shown] == [
        *(
            "trap:order=4, n = 20: rbm",
            "trap:order=4, n = 20: boa",
            "trap:order=4, n = 20: boa-rtr",
        ),
        *("nk:k=2, n = 12: rbm", "nk:k=2, n = 12: boa", "nk:k=2, n = 12: boa-rtr"),
    ]
    for single in choose_runs(snapshot.singles):
        learning = known.get(single.trial.key)
        if isinstance(learning, Learning):
            assert learning.last.generation == single.outcome.figures.generations
            assert learning.last.evaluations == single.outcome.figures.evaluations
    again, _ = repeat_runs(snapshot, known, budget=0.0)
    assert [one.learning for one in again] == [one.learning for one in shown]


def test_what_is_left_out_is_reported(small_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = read_snapshot(small_store)
    shown, remarks = repeat_runs(snapshot, {}, budget=0.0)
    assert not shown
    assert len(remarks) == 1 + 6
    assert remarks[1] == (
        "trap:order=4, n = 20: rbm is left out; the 0 CPU seconds for repeated runs were spent."
    )
    monkeypatch.setattr(repeats, "MAX_LENGTH", 11)
    shown, remarks = repeat_runs(snapshot, {})
    assert {one.problem for one in shown} == {"nk:k=2, n = 10"}
    assert len(remarks) == 1 + 3
    assert "more than 11 bits" in remarks[1]


def test_a_run_that_differs_from_the_stored_one_is_left_out(small_store: Path) -> None:
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
    assert remarks[0] == NOT_SCORABLE
    assert all("differs from the stored one" in remark for remark in remarks[1:])


def test_a_run_ends_when_its_time_is_over() -> None:
    problem = Trap(length=20, order=5)
    result = run(problem, EDA(BOA(), population=500), seed=1, callback=Learning(problem, -math.inf))
    assert result.stopped_by == "callback"


def test_a_repeated_run_without_models_ends_early(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Trap(length=20, order=5)
    end = time.process_time() + 60
    umda = run(problem, EDA(UMDA(), population=100), seed=1, callback=Learning(problem, end))
    assert (umda.stopped_by, umda.generations) == ("callback", 1)  # its model offers nothing
    monkeypatch.setattr(learned, "MAX_STEPS_WITHOUT_MODEL", 50)
    ea = run(problem, OnePlusOne(), seed=1, callback=Learning(problem, end))
    assert (ea.stopped_by, ea.evaluations) == ("callback", 50)
    whole = run(problem, OnePlusOne(), stop=Stop(max_evaluations=90), callback=Learning(problem))
    assert whole.evaluations == 90  # a run that is only followed is never ended


def test_a_model_is_scored_once() -> None:
    problem, learning = Trap(length=8, order=4), Learning(Trap(length=8, order=4))
    result = run(problem, Steady(), seed=1, stop=Stop(max_evaluations=200), callback=learning)
    assert result.generations is None
    assert 1 < len(learning.scores) <= 1 + (200 - 60) / 20 + 1


def test_generations_of_interleaved_populations_are_their_own() -> None:
    problem = Trap(length=16, order=4)
    learning = Learning(problem)
    result = run(problem, EDA(BOA()), seed=1, callback=learning)
    assert learning.interleaved
    assert learning.population == result.best_found_by
    steps = [step.population for step in result.trace]
    assert len(result.trace) < 1000
    for size in set(steps):
        mine = [one.generation for one in learning.scores if one.population == size]
        assert mine == list(range(1, steps.count(size)))
