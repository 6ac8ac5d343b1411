"""One run: a problem, an EDA, a seed, and rules when to stop. Written on ask/tell alone."""

import secrets
import time
from collections.abc import Callable

import numpy as np

from harmonium.bits import check_fitness
from harmonium.problems import AnyProblem, Problem
from harmonium.search.compiling import compile_kernels
from harmonium.search.distinct import Distinct
from harmonium.search.eda import EDA, AnySearch
from harmonium.search.result import Generation, Result
from harmonium.search.search import Search
from harmonium.search.stopping import Reason, Stop, default_stop, is_solved


def run(
    problem: Problem,
    eda: EDA,
    *,
    stop: Stop | None = None,
    seed: int | None = None,
    callback: Callable[[AnySearch], object] | None = None,
) -> Result:
    """Search for the best bits of `problem` and tell what happened.

    The same seed gives the same result, times apart; without one, a fresh seed is drawn and told in
    the result. `callback` is called after every generation; the run ends when it returns True.
    """
    _check(problem, eda, stop)
    compile_kernels(problem, eda)
    optimum = problem.optimum  # may itself be a search: before the clocks start
    optimum = None if optimum is None else float(optimum)
    stop = stop or default_stop(eda)
    search = eda.start(problem.length, secrets.randbits(32) if seed is None else seed)
    started = time.perf_counter()
    trace: list[Generation] = []
    distinct = Distinct()
    reason: Reason | None = None
    while reason is None:
        bits = search.ask()[: stop.rows_left(search)]
        with search.clock.charge("fitness"):
            fitness = check_fitness(problem(bits.copy()), len(bits))  # it may change its copy
        _check_optimum(float(fitness.max()), optimum)
        search.tell(bits, fitness)
        distinct.add(bits)
        reason = stop.reason(search, optimum, time.perf_counter() - started)
        if not search.waiting:
            trace.append(_trace(search))
            if callback and callback(search):
                reason = reason or "callback"
    assert search.best_bits is not None  # noqa: S101  # at least one row was told
    return Result(
        problem=str(problem) if isinstance(problem, AnyProblem) else type(problem).__name__,
        model=str(eda.model),
        population=search.size if isinstance(search, Search) else search.improved_by,
        replacement=eda.replacement,
        seed=search.seed,
        solved=is_solved(search.best_fitness, optimum),
        best_fitness=search.best_fitness,
        optimum=optimum,
        best_bits=search.best_bits,
        evaluations=search.evaluations,
        unique_evaluations=distinct.count,
        generations=search.generation,
        stopped_by=reason,
        cpu_seconds=dict(search.clock.seconds),
        wall_seconds=time.perf_counter() - started,
        trace=tuple(trace),
    )


def _check(problem: object, eda: object, stop: object) -> None:
    """Refuse what is no problem, EDA or stopping rules, and say what would be."""
    if isinstance(problem, type) or not isinstance(problem, Problem):
        raise TypeError(
            f"problem is {problem!r}; expected an object with length, optimum (or None) and "
            "__call__(bits), or a problem of harmonium such as OneMax(length=20)"
        )
    if isinstance(problem.length, bool) or not isinstance(problem.length, int | np.integer):
        raise TypeError(f"problem.length is {problem.length!r}; expected an integer")
    if not isinstance(problem.optimum, int | float | np.number | None):
        raise TypeError(f"problem.optimum is {problem.optimum!r}; expected a number or None")
    if not isinstance(eda, EDA):
        raise TypeError(f"eda is {eda!r}; expected an EDA, such as EDA(RBM(), population=4000)")
    if not isinstance(stop, Stop | None):
        raise TypeError(f"stop is {stop!r}; expected a Stop, such as Stop(max_generations=50)")


def _check_optimum(fitness: float, optimum: float | None) -> None:
    """Refuse a fitness above the optimum by more than the rounding that `is_solved` allows."""
    if optimum is not None and fitness > optimum and not is_solved(optimum, fitness):
        raise ValueError(
            f"fitness {fitness:.12g} exceeds the optimum {optimum:.12g}, the largest possible "
            "fitness; mend problem.optimum"
        )


def _trace(search: AnySearch) -> Generation:
    assert search.population is not None  # noqa: S101  # all asked rows were told
    return Generation(
        generation=search.generation,
        evaluations=search.evaluations,
        best=search.best_fitness,
        mean=search.population.mean,
        facts=dict(search.facts),
    )
