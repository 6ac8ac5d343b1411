"""What models learned: pairs and captured blocks by hand, and the maps that are drawn."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import harmonium as hm
from harmonium import BOA, EDA, HIFF, NK, RBM, UMDA, OneMax, Stop, Trap, run
from harmonium.arrays import Bits, Fitness
from harmonium.reports.courses import follow
from harmonium.reports.learned import (
    MAX_DRAWN_LENGTH,
    describe_interactions,
    list_models,
    show_interactions,
    show_learned,
)
from harmonium.reports.theme import style_algorithms
from harmonium.studies.learning import (
    Learned,
    Learning,
    find_units,
    mark_pairs,
    why_not_scorable,
)
from tests.reports.customs import Blocks, Misshapen, Steady, WeightsOnly
from tests.reports.stores import list_values

PROBLEM = Trap(length=16, order=4)


def learn(problem: Any, algorithm: Any, seed: int = 1, **settings: Any) -> tuple[Any, Learning]:
    learning = Learning(problem)
    return run(problem, algorithm, seed=seed, callback=learning, **settings), learning


def test_pairs_of_overlapping_groups() -> None:
    marked = mark_pairs(((0, 1, 2), (2, 3)), 5)
    pairs = {(int(one), int(other)) for one, other in np.argwhere(marked) if one < other}
    assert pairs == {(0, 1), (0, 2), (1, 2), (2, 3)}
    assert np.array_equal(marked, marked.T)


def test_units_that_capture_a_block() -> None:
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
    units = find_units(weights, ((0, 1), (2, 3), (4, 5)))
    assert (units.captured, units.blocks_captured, units.blocks) == (2 / 4, 2, 3)
    ordered = np.array(units.weights)
    assert ordered[:, 0].tolist() == weights[:, 1].tolist()  # of the first block
    assert ordered[:, -1].tolist() == weights[:, 0].tolist()
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


@pytest.mark.parametrize(
    ("problem", "model", "density", "why"),
    [
        (OneMax(10), BOA(), 0, "each bit counts alone"),
        (HIFF(8), BOA(), 1, "any two bits share a block (the whole string is one)"),
        (NK(length=4, k=2), BOA(), 1, "any two bits share a block, so"),
        (PROBLEM, UMDA(), 0.2, ""),
    ],
)
def test_what_cannot_be_scored_has_a_reason(
    problem: Any, model: Any, density: float, why: str
) -> None:
    truth = Learning(problem).truth
    assert truth.sum() / (truth.size - len(truth)) == density
    assert why_not_scorable(problem).startswith(why)
    if density < 1:
        assert learn(problem, EDA(model, population=40))[1].learned is None


class Structured:
    """A custom problem that states which bits interact."""

    length, optimum = 6, None

    def __init__(self, structure: Any) -> None:
        self.structure = structure

    def __call__(self, bits: Bits) -> Fitness:
        fitness: Fitness = bits.sum(axis=1, dtype=np.float64)
        return fitness


def test_the_structure_of_a_custom_problem_is_used() -> None:
    assert why_not_scorable(Structured([[0, 1], (2, 3)])) == ""
    assert "does not state" in why_not_scorable(Structured(None))
    wrong = "problem.structure names bit 6; expected bits from 0 to 5"
    assert why_not_scorable(Structured([(0, 6)])) == wrong
    with pytest.raises(ValueError, match="names bit -1"):
        Learning(Structured([(0, -1)]))


def test_interactions_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match=r"strengths of shape \(3, 3\); expected .*\(16, 16\)"):
        learn(PROBLEM, EDA(Misshapen(), population=60))


def test_a_custom_model_has_learned_pairs_and_a_map_of_weights() -> None:
    result, learning = learn(PROBLEM, EDA(Blocks(), population=60))
    models = list_models([follow(result, learning)])
    section = show_learned(models, style_algorithms([result.label]))
    (learned,) = (one.learned for one in models)
    assert (learned.last.precision, learned.last.recall, learned.last.pairs) == (1.0, 1.0, 4 * 6)
    assert learned.units is not None
    assert (learned.units.captured, learned.units.blocks_captured) == (1.0, 4)
    assert "membership, 0.5" in section.paragraphs[0]
    assert "100% of the 4 hidden units" in section.sentences[0]
    scores, pairs, weights = section.figures
    assert [len(figure.panels) for figure in section.figures] == [3, 1, 1]
    spec = pairs.panels[0].to_dict()
    assert spec["encoding"]["y"]["title"] == "bit: parent"
    kinds = [value["kind"] for value in list_values(spec)[0]]
    assert kinds == ["true and learned"] * 24 + ["true, not learned"] * 24  # from parent to child
    assert len(list_values(weights.panels[0].to_dict())[0]) == 16
    lines = list_values(scores.panels[0].to_dict())[0]
    assert {line["share"] for line in lines if line["which"] == "chance"} == {0.2}
    (row,) = section.tables[0].rows
    assert [cell.text for cell in row[-3:]] == ["100%", row[-2].text, "4 of 4"]


def test_a_model_with_weights_alone_has_a_map_of_weights_alone() -> None:
    result, learning = learn(PROBLEM, EDA(WeightsOnly(), population=60))
    section = show_learned(
        list_models([follow(result, learning)]), style_algorithms([result.label])
    )
    assert [len(figure.panels) for figure in section.figures] == [1, 0, 1]
    assert "recall" not in [column.name for column in section.tables[0].columns]


def test_an_algorithm_with_models_but_no_generations() -> None:
    result, learning = learn(PROBLEM, Steady(), stop=Stop(max_evaluations=200))
    assert {score.generation for score in learning.scores} == {None}
    assert 1 < len(learning.scores) <= 1 + (200 - 60) / 20 + 1  # each model once
    section = show_learned(
        list_models([follow(result, learning)]), style_algorithms([result.label])
    )
    assert not {"generation", "population"} & {column.name for column in section.tables[0].columns}


def test_interleaved_populations_and_several_runs(tmp_path: Path) -> None:
    runs = [learn(PROBLEM, EDA(RBM(), population="auto"), seed=seed) for seed in (1, 2, 3)]
    result, learning = runs[0]
    assert learning.interleaved
    assert learning.population == result.best_found_by
    steps = [step.population for step in result.trace]
    for size in set(steps):
        mine = [one.generation for one in learning.scores if one.population == size]
        assert mine == list(range(1, steps.count(size)))  # of each population its own
    courses = [follow(one, learning, f"seed {one.seed}") for one, learning in runs]
    section = show_learned(list_models(courses), style_algorithms(["rbm"]))
    middle = sorted(courses, key=lambda one: one.result["evaluations"])[1]
    assert f"the median by evaluations: {middle.label}." in section.figures[0].caption
    lines = list_values(section.figures[0].panels[0].to_dict())[0]
    assert {line["run"] for line in lines} == {middle.label}
    assert len(section.figures[1].panels) == len(section.tables[0].rows) == 3
    written = section.figures[1].write(tmp_path, "svg").read_text("utf-8")
    for words in ("true and learned", "(c) 4-traps, n = 16", middle.label.rpartition(", ")[2]):
        assert words in written


def couple(rows: Bits) -> Fitness:
    """Pairs of neighbours that want to be equal, the first ones most."""
    equal = rows[:, ::2] == rows[:, 1::2]
    weights = np.arange(equal.shape[1], 0, -1.0)
    values: Fitness = equal @ weights
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
    assert {(cell["one"], cell["other"]): cell["strength"] for cell in values} == {
        pair: 5.0 - bit / 4 for bit in range(0, 20, 2) for pair in ((bit, bit + 1), (bit + 1, bit))
    }


@pytest.mark.parametrize(
    ("function", "length", "settings", "words", "figures"),
    [
        (lambda rows: rows.sum(axis=1), 20, {}, "No bits interact: each can be chosen", 0),
        (hm.MaxSat(length=40, clauses=160), 40, {"max_calls": 800}, "were seen to interact", 1),
        (couple, MAX_DRAWN_LENGTH + 2, {"max_calls": 3000}, "", 0),
        (couple, 20, {"model": "boa", "max_calls": 500}, None, 0),
    ],
)
def test_what_is_said_of_pairs(
    function: Any, length: int, settings: Any, words: str | None, figures: int
) -> None:
    result = hm.maximize(function, length, batch=True, seed=1, **settings)
    sections = show_interactions(result, "own", style_algorithms([result.label]))
    assert len(sections) == (words is not None)  # of an EDA nothing is said
    for section in sections:
        assert words is not None
        assert words in section.paragraphs[0]
        assert len(section.figures) == figures
