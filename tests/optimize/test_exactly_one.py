"""Groups of bits of which exactly one is one."""

import json
from itertools import product
from typing import Any

import numpy as np
import pytest

import harmonium as hm
from harmonium.arrays import Row
from harmonium.space import make_space
from tests.cli.commands import call_here
from tests.functions import Calls


def colour_clashes(row: Row) -> float:
    """Count the edges of a wheel of seven nodes whose ends have one of three colours both."""
    colours = row.reshape(7, 3).argmax(axis=1)
    rim = np.roll(colours[1:], 1)
    return float((colours[1:] == rim).sum() + (colours[1:] == colours[0]).sum())


def test_a_wheel_is_coloured() -> None:
    groups = [tuple(range(3 * node, 3 * node + 3)) for node in range(7)]
    result = hm.minimize(colour_clashes, 21, exactly_one=groups, seed=1, target=0.0)
    assert result.fun == 0.0


def test_a_search_ends_when_every_valid_row_is_known() -> None:
    result = hm.maximize(Calls(), 5, exactly_one=[(0, 1, 2), (3, 4)], seed=1)
    assert (result.calls, result.stopped_by) == (6, "exhausted")


def test_samples_are_uniform_over_the_valid_rows() -> None:
    space = make_space(5, exactly_one=[(0, 1, 2), (3, 4)])
    assert space.solutions == 6
    rows, counts = np.unique(
        space.sample(6000, np.random.default_rng(1)), axis=0, return_counts=True
    )
    assert len(rows) == 6
    # Chi-squared with 5 degrees of freedom: above 20.5 once in 1,000 seeds; this one is fixed.
    assert ((counts - 1000) ** 2 / 1000).sum() < 20.5


def test_a_repair_keeps_one_of_the_ones() -> None:
    space = make_space(4, exactly_one=[(0, 1, 2)])
    rng = np.random.default_rng(2)
    for row in product((0, 1), repeat=4):
        given = np.tile(np.array(row, dtype=np.uint8), (20, 1))
        repaired = space.repair(given, rng)
        assert (repaired[:, :3].sum(axis=1) == 1).all()
        assert (repaired[:, 3] == row[3]).all()
        if sum(row[:3]):
            assert (repaired[:, :3] <= given[:, :3]).all()


def test_the_number_of_solutions_is_exact() -> None:
    space = make_space(8, {0: 0}, (3, 4), [(0, 1, 2), (3, 4)])
    rows = np.array(list(product((0, 1), repeat=8)))
    valid = rows[rows[:, 0] == 0]
    valid = valid[(valid[:, 1:3].sum(1) == 1) & (valid[:, 3:5].sum(1) == 1)]
    valid = valid[(valid.sum(1) >= 3) & (valid.sum(1) <= 4)]
    assert space.solutions == len(valid)


def test_fixed_bits_decide_their_groups() -> None:
    space = make_space(6, {0: 1, 3: 0}, exactly_one=[(0, 1, 2), (3, 4)])
    assert dict(zip(space.places.tolist(), space.values.tolist(), strict=True)) == (
        {0: 1, 1: 0, 2: 0, 3: 0, 4: 1}
    )
    assert space.groups == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"exactly_one": 3}, "exactly_one is 3; expected groups of bits, such as"),
        ({"exactly_one": [3]}, r"exactly_one is \[3\]; expected groups"),
        ({"exactly_one": ["ab"]}, "exactly_one has the entry 'a'; expected the index of a bit"),
        ({"exactly_one": [(0, 6)]}, "exactly_one names bit 6; expected 0 to 5"),
        ({"exactly_one": [(0, 1), ()]}, "exactly_one has an empty group, number 1"),
        ({"exactly_one": [(0, 1), (1, 2)]}, "exactly_one names bit 1 twice"),
        ({"exactly_one": [(0, -6)]}, "exactly_one names bit 0 twice"),
        (
            {"exactly_one": [(0, 1)], "fixed": {0: 1, 1: 1}},
            "fixed sets 2 of the bits 0, 1 to 1; exactly_one asks for 1",
        ),
        (
            {"exactly_one": [(0, 1)], "fixed": {0: 0, 1: 0}},
            "fixed sets 0 of the bits 0, 1 to 1; exactly_one asks for 1",
        ),
        (
            {"exactly_one": [(0, 1), (2, 3)], "subset_size": 1},
            "subset_size asks for 1 to 1 ones; fixed and exactly_one leave 2 to 4",
        ),
        (
            {"exactly_one": [(0, 1)], "initial": [1, 1, 0, 0, 0, 0]},
            "row 0 of initial has 2 ones in bits 0, 1, where `exactly_one` says 1",
        ),
    ],
)
def test_wrong_groups_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        hm.maximize(lambda row: 0.0, 6, **options)


def test_the_command_line_has_groups() -> None:
    text = "optimize tests.functions:weigh --length 6 --exactly-one 0,1,2 --exactly-one 3,4 --json"
    done = call_here(*text.split())
    assert json.loads(done.stdout)["x"] == "001011"
    wrong = call_here(*text.replace("0,1,2", "0-2").split())
    assert "--exactly-one is '0-2'; expected bits, such as 0,1,2" in wrong.stderr
