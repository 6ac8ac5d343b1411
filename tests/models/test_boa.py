"""BOA as a model; its kernels have tests of their own."""

import numpy as np

from harmonium.models import BOA
from tests.rows import random_rows


def test_the_fit_tells_its_network() -> None:
    parents = np.repeat(random_rows(300, 3, seed=1), 2, axis=1)
    fitted = BOA().fit(parents, np.random.default_rng(2))
    assert {frozenset(edge) for edge in fitted.edges} == {
        frozenset(pair) for pair in ((0, 1), (2, 3), (4, 5))
    }
    assert fitted.facts == {"edges": 3.0, "max_parents": 1.0}


def test_max_parents_is_a_guard() -> None:
    rows = random_rows(2000, 6, seed=3)
    rows[:, 5] = rows[:, :5].sum(axis=1) >= 3
    counts = [
        BOA(max_parents=limit).fit(rows, np.random.default_rng(4)).counts.max()
        for limit in (1, 2, 8)
    ]
    assert counts[:2] == [1, 2]
    assert counts[2] > 2
