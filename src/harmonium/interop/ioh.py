"""harmonium as an algorithm of IOHexperimenter."""

from typing import Any

import ioh

from harmonium.optimize import maximize, minimize
from harmonium.runs import Result


class Optimizer:
    """An algorithm for `ioh.Experiment`: `maximize` or `minimize`, as the problem demands.

    Parameters
    ----------
    max_calls : int
        Function calls of a run.
    seed : int
        Seed of the first run; each further run has the next one.
    **options
        More options of `maximize`, such as ``algorithm="pyramid"``.

    Examples
    --------
    >>> import ioh
    >>> from harmonium.interop.ioh import Optimizer
    >>> problem = ioh.get_problem(2, 1, 20, ioh.ProblemClass.PBO)
    >>> Optimizer(max_calls=2000, seed=1)(problem).fun
    20.0
    """

    def __init__(self, max_calls: int = 10_000, seed: int = 1, **options: Any) -> None:
        self.max_calls, self.seed, self.options = max_calls, seed, options
        self.runs = 0
        """Runs so far."""

    def __call__(self, problem: Any) -> Result:
        """Search the best row of a problem of bits, which logs the calls."""
        data = problem.meta_data
        search = maximize if data.optimization_type == ioh.OptimizationType.MAX else minimize
        optimum = float(problem.optimum.y)
        self.runs += 1
        return search(
            lambda row: problem(row.tolist()),
            data.n_variables,
            max_calls=self.max_calls,
            seed=self.seed + self.runs - 1,
            callback=lambda runner: runner.best == optimum,
            progress=False,
            **self.options,
        )
