"""The section on bits that interact."""

import numpy as np
import pytest

import harmonium as hm
from harmonium.arrays import Bits, Fitness
from harmonium.reports.interactions import MAX_DRAWN_LENGTH, describe, show_interactions
from harmonium.reports.theme import style_algorithms


def couple(rows: Bits) -> Fitness:
    """Pairs of neighbours that want to be equal, the first ones most."""
    equal = rows[:, ::2] == rows[:, 1::2]
    weights = np.arange(equal.shape[1], 0, -1.0)
    values: Fitness = equal @ weights
    return values


def test_known_pairs_are_drawn_with_their_strengths() -> None:
    result = hm.maximize(couple, 20, batch=True, seed=1)
    assert describe(result) == (
        "The function was learned: it is a sum of 11 terms of at most 2 bits each, which predicts "
        "every row that was checked. 10 pairs of bits interact, most of all 0 and 1, 2 and 3, "
        "4 and 5, 6 and 7, 8 and 9."
    )
    (section,) = show_interactions(result, "pairs", style_algorithms([result.label]))
    (figure,) = section.figures
    panel = figure.panels[0].to_dict()
    (values,) = panel["datasets"].values()
    assert {(cell["one"], cell["other"]): cell["strength"] for cell in values} == {
        pair: 5.0 - bit / 4 for bit in range(0, 20, 2) for pair in ((bit, bit + 1), (bit + 1, bit))
    }


def test_bits_that_add_up_do_not_interact() -> None:
    result = hm.maximize(lambda rows: rows.sum(axis=1), 20, batch=True, seed=1)
    assert describe(result).endswith("No bits interact: each can be chosen for itself.")
    (section,) = show_interactions(result, "ones", style_algorithms([result.label]))
    assert section.figures == []


def test_pairs_that_were_only_seen_have_no_strength() -> None:
    result = hm.maximize(hm.MaxSat(length=40, clauses=160), 40, batch=True, seed=1, max_calls=800)
    assert "were seen to interact" in describe(result)
    (section,) = show_interactions(result, "formula", style_algorithms([result.label]))
    assert len(section.figures) == 1


@pytest.mark.parametrize("model", ["umda", "boa"])
def test_of_an_eda_nothing_is_said(model: str) -> None:
    result = hm.maximize(couple, 20, batch=True, seed=1, model=model, max_calls=500)
    assert show_interactions(result, "pairs", style_algorithms([result.label])) == []


def test_long_rows_have_no_map() -> None:
    length = MAX_DRAWN_LENGTH + 2
    result = hm.maximize(couple, length, batch=True, seed=1, max_calls=3000)
    (section,) = show_interactions(result, "pairs", style_algorithms([result.label]))
    assert section.figures == []
