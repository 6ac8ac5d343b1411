"""BOA: the time to build a Bayesian network against pgmpy."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from harmonium.arrays import Bits
from harmonium.models import BOA
from harmonium.problems import Trap
from harmonium.search.eda import select

from .measure import Action, Measurement, Modules, Size, time_in_turns

ORDER = 5
"""Bits in a trap."""
LARGE_MILLISECONDS = 60.0
"""Bound on the time to build a large network."""


def measure_networks(quick: bool, peers: Modules) -> Iterator[Measurement]:
    """Compare the time to build a small network with pgmpy, and a large one with a bound."""
    small = Size(200, 10) if quick else Size(1000, 30, bound=1000.0)
    large = Size(200, 20) if quick else Size(4000, 100)
    if "pgmpy" in peers:  # it needs seconds, so it builds the network only once
        search = search_pgmpy(peers["pgmpy"], make_trap_rows(small))
        seconds = time_in_turns({"pgmpy": search}, rounds=1)["pgmpy"]
        yield compare_network(small, "pgmpy", seconds * 1e3, small.bound)
    yield compare_network(large, f"bound of {LARGE_MILLISECONDS:g} ms", LARGE_MILLISECONDS, 1.0)


def compare_network(size: Size, against: str, peer: float, bound: float | None) -> Measurement:
    """Compare the milliseconds in which we build a network with those of a peer."""
    rows = make_trap_rows(size)
    model, rng = BOA(), np.random.default_rng(1)
    ours = time_in_turns({"ours": lambda: model.fit(rows, rng)})["ours"]
    return Measurement(f"network {size}", against, ours * 1e3, peer, "ms", bound)


def make_trap_rows(size: Size) -> Bits:
    """Return rows like the parents in the middle of a run on 5-traps.

    Of twice as many random rows, each trap of each row is left as it is with probability 1/2, and
    otherwise overwritten by all ones or all zeros, the two attractors, with equal probability. Then
    half of the rows are selected by tournaments on the trap function, as in an EDA.
    """
    rng = np.random.default_rng(1)
    population = rng.integers(0, 2, (2 * size.rows, size.bits), dtype=np.uint8)
    traps = population.reshape(2 * size.rows, size.bits // ORDER, ORDER)
    settled = rng.random(traps.shape[:2]) < 0.5
    traps[settled] = rng.integers(0, 2, (settled.sum(), 1), dtype=np.uint8)
    return population[select(Trap(size.bits, ORDER)(population), 2, rng)]


def search_pgmpy(discovery: Any, rows: Bits) -> Action:
    """Return pgmpy's hill climbing by BIC, which also removes and reverses edges; no tables."""
    search = discovery.HillClimbSearch(
        scoring_method="bic-d",
        max_indegree=BOA().max_parents,
        return_type="dag",
        show_progress=False,
    )
    return lambda: search.fit(rows)
