"""hBOA as a model; its kernels have tests of their own."""

import numpy as np
import pytest

import harmonium as hm
from harmonium.models import HBOA
from tests.rows import random_rows


def test_the_fit_reports_its_trees() -> None:
    parents = np.repeat(random_rows(300, 3, seed=1), 2, axis=1)
    fitted = HBOA().fit(parents, np.random.default_rng(2))
    pairs = [(0, 1), (2, 3), (4, 5)]
    assert sorted(tuple(sorted(edge)) for edge in fitted.edges) == pairs
    assert sorted(fitted.linkage()) == pairs
    assert fitted.facts == {"edges": 3.0, "leaves": 9.0}
    interactions = fitted.interactions()
    assert interactions.directed
    assert sorted(map(tuple, np.argwhere(interactions.strengths).tolist())) == fitted.edges


def test_dear_leaves_make_small_trees() -> None:
    rows = random_rows(2000, 6, seed=3)
    rows[:, 5] = rows[:, :5].sum(axis=1) >= 3
    leaves = [
        HBOA(price=price).fit(rows, np.random.default_rng(4)).facts["leaves"]
        for price in (0.0, 1.0, 10.0, 1000.0)
    ]
    assert leaves[0] > leaves[1] > leaves[2] > leaves[3] == 6


def test_its_replacement_keeps_niches() -> None:
    assert hm.EDA("hboa").replacement == "rtr"


@pytest.mark.parametrize(
    ("problem", "population"),
    [(hm.HIFF(64), 1000), (hm.HIFF(128), 2000), (hm.Trap(50, 5), 1600)],
    ids=str,
)
def test_blocks_and_hierarchies_are_solved(problem: hm.Problem, population: int) -> None:
    """Seen with the seeds 1 to 10: HIFF 64 10, the trap 9; HIFF 128 with 1 to 5: 5."""
    results = [hm.run(problem, hm.EDA("hboa", population=population), seed=s) for s in (1, 2)]
    assert all(result.solved for result in results)
