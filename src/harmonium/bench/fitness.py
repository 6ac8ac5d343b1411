"""Fitness: how many bits a second each problem reads."""

from collections.abc import Iterator

import numpy as np

from harmonium.bench.peers import Modules
from harmonium.bench.results import Measurement
from harmonium.bench.scale import Scale
from harmonium.bench.timing import Action, time_in_turns
from harmonium.bits import Bits
from harmonium.problems import NK, MaxSat, ProblemSpec

MILLION_READS = 20.0
"""Promised a second."""


def measure_fitness(scale: Scale, peers: Modules) -> Iterator[Measurement]:
    """Measure every problem on random rows."""
    rng = np.random.default_rng(1)
    actions: dict[str, Action] = {}
    for problem in scale.evaluated:
        rows = rng.integers(0, 2, (scale.evaluated_rows, problem.length), dtype=np.uint8)
        actions[str(problem)] = evaluate(problem, rows)
    seconds = time_in_turns(actions, scale.rounds)
    for problem in scale.evaluated:
        reads = count_reads(problem) * scale.evaluated_rows
        yield Measurement(
            group="fitness",
            what=str(problem),
            against=f"bound of {MILLION_READS:g}",
            ours=reads / seconds[str(problem)] / 1e6,
            peer=MILLION_READS,
            unit="million bits/s",
            bound=1.0,
        )


def evaluate(problem: ProblemSpec, rows: Bits) -> Action:
    """Return the evaluation of these rows."""
    return lambda: problem(rows)


def count_reads(problem: ProblemSpec) -> int:
    """Return how many bits a row takes, at least.

    Each once; of NK once for each table that it indexes, of MAX-SAT one for each clause.
    """
    if isinstance(problem, NK):
        return problem.length * (problem.k + 1)
    return problem.clauses if isinstance(problem, MaxSat) else problem.length
