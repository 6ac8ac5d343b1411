"""What models learned: pairs and captured blocks by hand, and the maps that are drawn."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import harmonium as hm
from harmonium import BOA, EDA, HIFF, NK, RBM, UMDA, OneMax, Result, Stop, Trap, run
from harmonium.arrays import Bits, Fitness
from harmonium.reports.courses import follow
from harmonium.reports.learned import (
    MAX_DRAWN_LENGTH,
    describe_interactions,
    list_models,
    show_interactions,
    show_learned,
)
from harmonium.reports.page import Section
from harmonium.reports.theme import style_algorithms
from harmonium.studies.learning import Learned, Learning, find_units, mark_pairs, why_not_scorable
from tests.reports.customs import Blocks, Steady
from tests.reports.stores import list_values

PROBLEM = Trap(length=16, order=4)


def learn(problem: Any, algorithm: Any, seed: int = 1, **settings: Any) -> tuple[Result, Learning]:
    learning = Learning(problem)
    return run(problem, algorithm, seed=seed, callback=learning, **settings), learning


def show(*runs: tuple[Result, Learning]) -> Section:
    models = list_models([follow(one, learning, f"seed {one.seed}") for one, learning in runs])
    return show_learned(models, style_algorithms(result.label for result, _ in runs))


def test_pairs_of_overlapping_groups() -> None:
    marked = mark_pairs(((0, 1, 2), (2, 3)), 5)
    assert np.argwhere(np.triu(marked)).tolist() == [[0, 1], [0, 2], [1, 2], [2, 3]]
    assert np.array_equal(marked, marked.T)


def test_units_that_capture_a_block() -> None:
    columns = [[0, 0, 3, 1, 0, 0], [2, 1, 0, 1, 0, 0], [0] * 6, [1] * 6]
    weights = np.array(columns, dtype=float).T  # a silent unit, and one with a third on each block
    units = find_units(weights, ((0, 1), (2, 3), (4, 5)))
    assert (units.captured, units.blocks_captured, units.blocks) == (2 / 4, 2, 3)
    ordered = np.array(units.weights)
    assert ordered[:, 0].tolist() == columns[1]  # of the first block
    assert ordered[:, -1].tolist() == columns[0]
    assert 0 <= units.chance <= 1


@pytest.mark.parametrize(("model", "population"), [(RBM(), 1000), (BOA(), 3000)], ids=str)
def test_traps_are_learned(model: RBM | BOA, population: int) -> None:
    result, learning = learn(Trap(length=30, order=5), EDA(model, population=population))
    learned = learning.learned
    assert learned is not None
    assert len(learned.scores) == result.generations
    assert max(score.recall or 0.0 for score in learned.scores) > 0.7
    assert (learned.last.precision or 0) > 0.7 > 3 * learned.density
    assert learned.pairs is not None
    count = len(learned.pairs.right) + len(learned.pairs.wrong)
    assert learned.last.pairs == count // (1 if learned.pairs.directed else 2)
    assert (learned.units is None) == isinstance(model, BOA)
    if learned.units:
        assert learned.last.captured == learned.units.captured > 2 * learned.units.chance
    assert msgspec.convert(msgspec.json.decode(msgspec.json.encode(learned)), Learned) == learned
    alone = run(Trap(length=30, order=5), EDA(model, population=population), seed=1)
    assert alone.trace == result.trace  # following a run does not change it


class Structured:
    """A custom problem that states which bits interact, or does not."""

    length, optimum = 6, None

    def __init__(self, structure: Any) -> None:
        self.structure = structure

    def __call__(self, bits: Bits) -> Fitness:
        fitness: Fitness = bits.sum(axis=1, dtype=np.float64)
        return fitness


@pytest.mark.parametrize(
    ("problem", "why"),
    [
        (OneMax(10), "each bit counts alone"),
        (HIFF(8), "any two bits share a block (the whole string is one)"),
        (NK(length=4, k=2), "any two bits share a block, so"),
        (Structured(None), "the problem does not state"),
        (Structured([(0, 6)]), "problem.structure names bit 6; expected bits from 0 to 5"),
    ],
)
def test_what_cannot_be_scored_has_a_reason(problem: Any, why: str) -> None:
    assert why_not_scorable(problem).startswith(why)
    assert why_not_scorable(Structured([[0, 1], (2, 3)])) == ""


def test_interactions_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match=r"strengths of shape \(3, 3\); expected .*\(16, 16\)"):
        learn(PROBLEM, EDA(Blocks(offers="misshapen"), population=60))
    with pytest.raises(ValueError, match="names bit -1"):
        Learning(Structured([(0, -1)]))


def test_a_custom_model_has_learned_pairs_and_a_map_of_weights() -> None:
    result, learning = learn(PROBLEM, EDA(Blocks(), population=60))
    learned = learning.learned
    assert learned is not None
    assert (learned.last.precision, learned.last.recall, learned.last.pairs) == (1.0, 1.0, 4 * 6)
    assert learned.units is not None
    assert (learned.units.captured, learned.units.blocks_captured) == (1.0, 4)
    section = show((result, learning))
    assert "membership, 0.5" in section.paragraphs[0]
    scores, pairs, weights = section.figures
    assert [len(figure.panels) for figure in section.figures] == [3, 1, 1]
    spec = pairs.panels[0].to_dict()
    assert spec["encoding"]["y"]["title"] == "bit: parent"
    kinds = [value["kind"] for value in list_values(spec)[0]]
    assert kinds == ["true and learned"] * 24 + ["true, not learned"] * 24  # from parent to child
    assert len(list_values(weights.panels[0].to_dict())[0]) == 16
    lines = list_values(scores.panels[0].to_dict())[0]
    assert {line["y"] for line in lines if line["kind"] == "chance"} == {0.2}
    assert section.tables[0].rows[0][-1].text == "4 of 4"


def test_models_with_weights_alone_and_models_without_generations() -> None:
    assert learn(PROBLEM, EDA(UMDA(), population=40))[1].learned is None
    weights = show(learn(PROBLEM, EDA(Blocks(offers="weights"), population=60)))
    assert [len(figure.panels) for figure in weights.figures] == [1, 0, 1]
    result, learning = learn(PROBLEM, Steady(), stop=Stop(max_evaluations=200))
    assert {score.generation for score in learning.scores} == {None}
    assert 1 < len(learning.scores) <= 1 + (200 - 60) / 20 + 1  # each model once
    assert "recall" not in [column.name for column in weights.tables[0].shown]
    columns = show((result, learning)).tables[0].shown
    assert not {"generation", "population"} & {column.name for column in columns}


def test_interleaved_populations_and_several_runs(tmp_path: Path) -> None:
    runs = [learn(PROBLEM, EDA(RBM(), population="auto"), seed=seed) for seed in (1, 2, 3)]
    result, learning = runs[0]
    assert learning.interleaved
    assert learning.population == result.best_found_by
    steps = [step.population for step in result.trace]
    for size in set(steps):
        mine = [one.generation for one in learning.scores if one.population == size]
        assert mine == list(range(1, steps.count(size)))  # of each population its own
    section = show(*runs)
    lines = list_values(section.figures[0].panels[0].to_dict())[0]
    assert {line["run"] for line in lines} == {f"rbm, seed {seed}" for seed in (1, 2, 3)}
    assert len(section.figures[1].panels) == len(section.tables[0].rows) == 3
    written = section.figures[1].write(tmp_path, "svg").read_text("utf-8")
    for words in ("true and learned", "4-traps, n = 16", "seed 3"):
        assert words in written


def couple(rows: Bits) -> Fitness:
    """Pairs of neighbours that want to be equal, the first ones most."""
    equal = rows[:, ::2] == rows[:, 1::2]
    values: Fitness = equal @ np.arange(equal.shape[1], 0, -1.0)
    return values


def test_known_pairs_are_drawn_with_their_strengths() -> None:
    result = hm.maximize(couple, 20, batch=True, seed=1)
    assert describe_interactions(result) == (
        "The function was learned: it is a sum of 11 terms of at most 2 bits each, which predicts "
        "every row that was checked. 10 pairs of bits interact, most of all 0 and 1, 2 and 3, "
        "4 and 5, 6 and 7, 8 and 9."
    )
    (section,) = show_interactions(result, "pairs", style_algorithms([result.label]))
    (values,) = list_values(section.figures[0].panels[0].to_dict())
    assert {(cell["row"], cell["column"]): cell["strength"] for cell in values} == {
        pair: 5.0 - bit / 4 for bit in range(0, 20, 2) for pair in ((bit, bit + 1), (bit + 1, bit))
    }


@pytest.mark.parametrize(
    ("function", "length", "settings", "words", "figures"),
    [
        (lambda rows: rows.sum(axis=1), 20, {}, "No bits interact: each can be chosen", 0),
        (hm.MaxSat(length=40, clauses=160), 40, {"max_calls": 800}, "were seen to interact", 1),
        (couple, MAX_DRAWN_LENGTH + 2, {"max_calls": 6000}, "", 0),
        (couple, 20, {"model": "boa", "max_calls": 500}, None, 0),  # of an EDA nothing is said
    ],
)
def test_what_is_said_of_pairs(
    function: Any, length: int, settings: Any, words: str | None, figures: int
) -> None:
    result = hm.maximize(function, length, batch=True, seed=1, **settings)
    sections = show_interactions(result, "own", style_algorithms([result.label]))
    assert [len(section.figures) for section in sections] == ([] if words is None else [figures])
    assert all((words or "") in section.paragraphs[0] for section in sections)
