"""Fitness: the number of bits that each problem reads in a second."""

from collections.abc import Iterator

import numpy as np

from harmonium.arrays import Bits
from harmonium.bench.peers import Modules
from harmonium.bench.results import Measurement
from harmonium.bench.scale import Scale
from harmonium.bench.timing import Action, time_in_turns
from harmonium.problems import ProblemSpec

MIN_MILLION_READS = 20.0
"""Bound on the speed, in million bits a second."""


def measure_fitness(scale: Scale, peers: Modules) -> Iterator[Measurement]:
    """Measure every problem on random rows."""
    rng = np.random.default_rng(1)
    actions: dict[str, Action] = {}
    for work in scale.evaluated:
        shape = (scale.evaluated_rows, work.problem.length)
        rows = rng.integers(0, 2, shape, dtype=np.uint8)
        actions[str(work)] = evaluate(work.problem, rows)
    seconds = time_in_turns(actions, scale.rounds)
    for work in scale.evaluated:
        name, reads = str(work), work.reads * scale.evaluated_rows
        yield Measurement(
            group="fitness",
            what=name,
            against=f"bound of {MIN_MILLION_READS:g}",
            ours=reads / seconds[name] / 1e6,
            peer=MIN_MILLION_READS,
            unit="million bits/s",
            bound=1.0,
        )


def evaluate(problem: ProblemSpec, rows: Bits) -> Action:
    """Return the action that evaluates these rows."""
    return lambda: problem(rows)
