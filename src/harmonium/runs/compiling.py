"""Compile kernels before the clocks start, so that no run is charged for the first use."""

import numpy as np

from harmonium.problems import Problem, compile_problem
from harmonium.runs.distinct import hash_rows
from harmonium.search import Algorithm


def compile_kernels(algorithm: Algorithm, problem: Problem | None = None) -> None:
    """Compile or load the kernels of a run, once a process; functions of users are not called."""
    hash_rows(np.zeros((1, 6), dtype=np.uint8))
    algorithm.compile()
    if problem is not None:
        compile_problem(problem)
