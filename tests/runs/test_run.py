"""`run`: what it takes, what ends it, and what the result reports."""

import json
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from harmonium import EDA, NK, UMDA, OneMax, Problem, Result, Runner, Stop, Trap, run
from harmonium.arrays import Bits, Fitness, format_bits
from harmonium.problems import nk
from harmonium.search.eda import PopulationSearch
from tests.search.examples import SETTINGS
from tests.search.one_plus_one import OnePlusOne
from tests.spies import SpyModel, SpyProblem

SMALL = EDA(UMDA(), population=20)


def without_times(result: Result) -> dict[str, Any]:
    shown = result.to_dict() | {"trace": [asdict(row) for row in result.trace]}
    del shown["cpu_seconds"], shown["seconds"]
    return shown


@pytest.mark.parametrize("way", SETTINGS, ids=str)
def test_the_same_seed_gives_the_same_result(way: dict[str, Any]) -> None:
    eda = EDA(UMDA(), population=60, **way)
    stop = Stop(max_generations=8)
    one, again, other = (run(Trap(40, 4), eda, stop=stop, seed=seed) for seed in (5, 5, 6))
    assert without_times(one) == without_times(again)
    assert format_bits(one.x) != format_bits(other.x)
    assert [row.mean for row in one.trace] != [row.mean for row in other.trace]


def test_the_result_as_a_dict_is_plain() -> None:
    result = run(OneMax(8), SMALL, seed=3)
    shown = result.to_dict()
    assert shown["x"] == format_bits(result.x)
    assert shown["cpu_seconds"].pop("total") == result.cpu_total
    assert sum(shown["cpu_seconds"].values()) == result.cpu_total
    assert "trace" not in shown
    assert {type(value) for value in shown.values()} == {
        *(str, int, float, bool, dict, list, type(None))
    }
    assert json.loads(json.dumps(shown)) == shown


def test_the_trace_follows_every_generation() -> None:
    problem = SpyProblem(40)
    seen: list[float] = []
    stop = Stop(max_generations=6)
    result = run(
        problem, SMALL, stop=stop, seed=1, callback=lambda runner: seen.append(mean_of(runner))
    )
    bests = [batch.sum(axis=1).max() for batch in problem.batches]
    assert [row.generation for row in result.trace] == list(range(7))
    assert [row.evaluations for row in result.trace] == [20 + 10 * row for row in range(7)]
    assert [row.best for row in result.trace] == np.maximum.accumulate(bests).tolist()
    assert [row.mean for row in result.trace] == seen
    assert result.fun == max(bests)


def mean_of(runner: Runner) -> float:
    assert isinstance(runner.search, PopulationSearch)
    assert runner.search.state.population is not None
    return float(runner.search.state.population.bits.sum(axis=1).mean())


def test_the_trace_has_the_facts_of_the_model() -> None:
    result = run(OneMax(40), EDA(SpyModel(), population=20), stop=Stop(max_generations=2), seed=1)
    assert [row.facts for row in result.trace] == [{}, {"parents": 10.0}, {"parents": 10.0}]


def test_a_budget_spent_within_the_last_generation_is_the_reason() -> None:
    stop = Stop(max_generations=1, max_evaluations=21)
    assert run(OneMax(50), SMALL, stop=stop, seed=1).stopped_by == "evaluations"
    stop = Stop(max_generations=1, max_evaluations=30)
    assert run(OneMax(50), SMALL, stop=stop, seed=1).stopped_by == "generations"


def test_an_optimum_that_was_given_up_is_never_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nk, "MAX_NODES", 3)
    result = run(NK(30, 4, instance=77), EDA(UMDA(), population=100), seed=1)  # known nowhere else
    assert result.optimum is None
    assert not result.solved
    assert result.stopped_by != "optimum"


def test_a_fitness_above_the_optimum_is_named() -> None:
    with pytest.raises(
        ValueError, match=r"^fitness 18 exceeds the optimum 16, .*correct problem\.opti"
    ):
        run(Scaled(18, optimum=16.0, step=3), EDA(UMDA(), population=100), seed=1)
    with pytest.raises(ValueError, match=r"^fitness 1\.00000001 exceeds the optimum 1, "):
        run(Scaled(1 + 1e-8, optimum=1.0), EDA(UMDA(), population=100), seed=1)


@pytest.mark.parametrize(
    ("top", "optimum"), [(1 + 1e-12, 1), (0.3, 0.1 + 0.2), (1e12 + 100, 1e12), (-1.0, -1.0)]
)
def test_a_fitness_above_the_optimum_by_rounding_is_solved(top: float, optimum: float) -> None:
    result = run(Scaled(top, optimum, step=abs(optimum)), EDA(UMDA(), population=100), seed=1)
    assert (result.solved, result.fun) == (True, top)


class Scaled:
    """Onemax of 12 bits, in steps, shifted so that the best fitness is `top`."""

    length = 12

    def __init__(self, top: float, optimum: float, step: float = 1) -> None:
        self.top, self.optimum, self.step = top, optimum, step

    def __call__(self, bits: Bits) -> Fitness:
        missing: Fitness = (1 - bits.astype(float)).sum(axis=1)
        return self.top - self.step * missing


def test_a_custom_problem_needs_no_spec() -> None:
    problem = SpyProblem(12, optimum=12.0)
    result = run(problem, EDA(UMDA(), population=100), seed=1)
    assert isinstance(problem, Problem)
    assert (result.problem, result.solved, result.stopped_by) == ("SpyProblem", True, "optimum")


def test_without_a_population_size_the_result_says_which_one_found_the_best() -> None:
    result = run(OneMax(40), EDA(UMDA()), seed=1)
    assert (result.solved, result.stopped_by) == (True, "optimum")
    sizes = {row.population for row in result.trace}
    assert sizes == {32 * 2**number for number in range(len(sizes))}
    assert result.best_found_by in sizes
    assert [row.step for row in result.trace] == list(range(len(result.trace)))
    # Random first populations are no generations.
    assert result.generations == len(result.trace) - len(sizes) == result.trace[-1].generation


def test_an_algorithm_without_generations_has_none_in_its_result() -> None:
    result = run(OneMax(20), OnePlusOne(), seed=1)
    assert (result.solved, result.generations, result.best_found_by) == (True, None, None)
    assert result.best_found_at == result.evaluations
    assert result.algorithm == "tests.search.one_plus_one:OnePlusOne"
    assert result.label == "OnePlusOne"
    assert {(row.generation, row.population, row.mean) for row in result.trace} == {(None,) * 3}


def test_umda_fails_on_traps() -> None:
    # Seen alone, every bit is better as zero: with the rest of its trap at random, a zero is worth
    # 2 on average, a one 1.375. So the marginals go to zero, and 12 traps never all become ones.
    eda = EDA(UMDA(), population=400)
    results = [run(Trap(60, 5), eda, seed=seed) for seed in range(3)]
    assert not any(result.solved for result in results)
    assert all((result.trace[-1].mean or 0) > 40 for result in results)


class Halves:
    length: Any = 8
    optimum: Any = None

    def __call__(self, bits: Bits) -> Any:
        return bits.sum(axis=1)


@pytest.mark.parametrize(
    ("problem", "algorithm", "stop", "message"),
    [
        ("onemax:length=8", EDA(UMDA(), population=8), None, "expected an object with length"),
        (lambda bits: bits.sum(1), EDA(UMDA(), population=8), None, "expected an object with len"),
        (Halves, EDA(UMDA(), population=8), None, "expected an object with length"),
        (Halves(), UMDA(), None, "algorithm is .*; expected an algorithm, such as EDA"),
        (Halves(), "umda", None, "algorithm is 'umda'; expected an algorithm"),
        (Halves(), EDA(UMDA(), population=8), 5, "stop is 5; expected a Stop"),
    ],
)
def test_what_is_not_a_problem_algorithm_or_stop_is_refused(
    problem: Any, algorithm: Any, stop: Any, message: str
) -> None:
    with pytest.raises(TypeError, match=message):
        run(problem, algorithm, stop=stop, seed=1)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("length", "8", "problem.length is '8'; expected an integer"),
        ("length", 8.0, "problem.length is 8.0; expected an integer"),
        ("optimum", "8", "problem.optimum is '8'; expected a number or None"),
    ],
)
def test_a_problem_of_wrong_types_is_refused(field: str, value: Any, message: str) -> None:
    problem = Halves()
    setattr(problem, field, value)
    with pytest.raises(TypeError, match=message):
        run(problem, EDA(UMDA(), population=8), seed=1)


def test_a_problem_may_change_the_rows_it_was_given() -> None:
    class Greedy(Halves):
        def __call__(self, bits: Bits) -> Any:
            total = bits.sum(axis=1)
            bits[:] = 1
            return total

    result = run(Greedy(), EDA(UMDA(), population=20), seed=1)
    assert result.x.sum() == result.fun


def test_a_wrong_fitness_is_named_and_errors_pass_through() -> None:
    class Broken(Halves):
        def __call__(self, bits: Bits) -> Any:
            if self.optimum:
                raise LookupError("no such file")
            return np.where(np.arange(len(bits)) >= 7, np.nan, 0.0)

    problem = Broken()
    with pytest.raises(ValueError, match="fitness has nan in row 7 of 20; return a finite number"):
        run(problem, SMALL, seed=1)
    problem.optimum = 8.0
    with pytest.raises(LookupError, match="no such file"):
        run(problem, SMALL, seed=1)
