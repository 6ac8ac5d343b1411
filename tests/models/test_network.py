"""The network of BOA is the one that a plain greedy search finds."""

import numpy as np
from benchmarks.speed.boa import make_trap_rows
from benchmarks.speed.measure import Size

from harmonium.models import BOA
from tests.models.plain import build_network


def test_the_plain_search_finds_our_network() -> None:
    rows = make_trap_rows(Size(300, 20))
    ours = set(BOA().fit(rows, np.random.default_rng(1)).edges)
    network = build_network(rows, BOA().max_parents, preferred=ours)
    assert {(parent, child) for child, known in enumerate(network) for parent in known} == ours
