"""How it is run: the runner, evaluation, stopping rules, results and checkpoints."""

import secrets

from harmonium.problems import Problem, check_problem, read_repair
from harmonium.runs.evaluate import EvaluationError, ProblemEvaluator
from harmonium.runs.record import Step
from harmonium.runs.result import Result
from harmonium.runs.runner import Callback, Runner
from harmonium.runs.stop import Reason, Stop, default_stop, is_solved
from harmonium.search import Algorithm
from harmonium.seeds import check_seed
from harmonium.space import Space

__all__ = [
    "Callback",
    "EvaluationError",
    "Reason",
    "Result",
    "Runner",
    "Step",
    "Stop",
    "default_stop",
    "is_solved",
    "run",
]


def run(
    problem: Problem,
    algorithm: Algorithm,
    *,
    stop: Stop | None = None,
    seed: int | None = None,
    callback: Callback | None = None,
) -> Result:
    """Search for the best bits of a problem.

    Every row that the algorithm asks for is evaluated: nothing is cached, so that counts of
    different algorithms can be compared. `maximize` is for custom functions.

    Parameters
    ----------
    problem : Problem
        Anything with `length`, `optimum` (or None) and ``__call__(bits)``.
    algorithm : Algorithm
        How to search, such as ``EDA(RBM(), population=1000)``.
    stop : Stop, optional
        When to end; by default what suits the algorithm.
    seed : int, optional
        The same seed gives the same result, times apart; by default a fresh one, which the result
        reports.
    callback : callable, optional
        Called with the `Runner` after every batch; the run ends when it returns True.

    Returns
    -------
    Result

    Raises
    ------
    KeyboardInterrupt
        At Ctrl-C: a run is a measurement, and half of one is none.

    Examples
    --------
    >>> import harmonium as hm
    >>> result = hm.run(hm.OneMax(length=40), hm.EDA("umda", population=100), seed=1)
    >>> result.solved, result.evaluations
    (True, 650)
    """
    check_problem(problem)
    if not isinstance(algorithm, Algorithm):
        raise TypeError(
            f"algorithm is {algorithm!r}; expected an algorithm, such as EDA(RBM(), population=400)"
        )
    if not isinstance(stop, Stop | None):
        raise TypeError(f"stop is {stop!r}; expected a Stop, such as Stop(max_generations=50)")
    runner = Runner(
        algorithm,
        Space(problem.length),
        secrets.randbits(32) if seed is None else check_seed(seed),
        ProblemEvaluator(problem),
        stop or default_stop(algorithm),
    )
    runner.callback = callback
    result = runner.conclude(runner.run())
    assert result is not None  # noqa: S101  # at least one row was told
    repair = read_repair(problem)
    return result if repair is None else result.change_rows(repair)
