"""BOA: the time to build a Bayesian network against pgmpy."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from harmonium.arrays import Bits
from harmonium.models import BOA
from harmonium.problems import Trap
from harmonium.search.eda import select

from .measure import Action, Measurement, Modules, Size, time_in_turns, time_once

ORDER = 5
"""Bits in a trap."""
LARGE_MILLISECONDS = 60.0
"""Bound on the time to build a large network."""
ROUNDS = 15
_MS = 1e3


def measure_networks(quick: bool, peers: Modules) -> Iterator[Measurement]:
    """Compare the time to build small networks with peers, and large ones with a bound."""
    yield from compare_networks(Size(200, 10) if quick else Size(1000, 30, bound=1000.0), peers)
    yield measure_large(Size(200, 20) if quick else Size(4000, 100))


def compare_networks(size: Size, peers: Modules) -> Iterator[Measurement]:
    """Compare the time to build one network; peers need seconds, so they build it only once."""
    rows = make_trap_rows(size)
    others = {}
    if "pgmpy" in peers:
        others["pgmpy"] = search_pgmpy(peers["pgmpy"], rows)
    ours = time_in_turns({"ours": build_ours(rows)}, ROUNDS)["ours"]
    for name, build in others.items():
        yield Measurement(
            group="boa",
            what=f"network {size}",
            against=name,
            ours=ours * _MS,
            peer=time_once(build) * _MS,
            unit="ms",
            better="less",
            bound=size.bound,
        )


def measure_large(size: Size) -> Measurement:
    """Measure the time to build a network as large as those of long runs."""
    ours = time_in_turns({"ours": build_ours(make_trap_rows(size))}, ROUNDS)["ours"]
    return Measurement(
        group="boa",
        what=f"network {size}",
        against=f"bound of {LARGE_MILLISECONDS:g} ms",
        ours=ours * _MS,
        peer=LARGE_MILLISECONDS,
        unit="ms",
        better="less",
        bound=1.0,
    )


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


def build_ours(rows: Bits) -> Action:
    """Return the action that builds a network and its tables by our kernel."""
    model, rng = BOA(), np.random.default_rng(1)
    return lambda: model.fit(rows, rng)


def search_pgmpy(discovery: Any, rows: Bits) -> Action:
    """Return pgmpy's hill climbing by BIC, which also removes and reverses edges; no tables."""
    search = discovery.HillClimbSearch(
        scoring_method="bic-d",
        max_indegree=BOA().max_parents,
        return_type="dag",
        show_progress=False,
    )
    return lambda: search.fit(rows)
