"""Other libraries, for `rivals.py` and `anytime.py`: gomea, pymoo's GA and nevergrad.

Each searches with its default settings until it is done or the function raises `BudgetSpent`.
"""

import warnings
from collections.abc import Callable
from typing import Any

import gomea
import nevergrad as ng
import numpy as np
from benchmarks.decisions.functions import BudgetSpent
from pymoo.algorithms.soo.nonconvex.ga import GA
from pymoo.core.problem import ElementwiseProblem
from pymoo.core.repair import Repair
from pymoo.core.termination import Termination
from pymoo.operators.crossover.ux import UX
from pymoo.operators.mutation.bitflip import BitflipMutation
from pymoo.operators.sampling.rnd import BinaryRandomSampling
from pymoo.optimize import minimize

import harmonium as hm

Function = Callable[[np.ndarray], float]


def run_gomea(
    function: Function,
    length: int,
    seed: int,
    *,
    budget: int,
    target: float = 1e300,
    filtered: bool = False,
) -> None:
    """Run GOMEA with a linkage tree; it chooses the population size itself."""

    class BlackBox(gomea.fitness.BBOFitnessFunctionDiscrete):
        def objective_function(self, objective_index: int, variables: np.ndarray) -> float:
            try:
                return function(variables)
            except BudgetSpent:  # must not pass through compiled code
                return -1e300

    linkage = gomea.linkage.LinkageTree(filtered=filtered)  # must live as long as the search
    search = gomea.DiscreteGOMEA(
        fitness=BlackBox(length, value_to_reach=target),
        linkage_model=linkage,
        max_number_of_evaluations=budget,
        random_seed=seed,
    )
    search.run()


def run_pymoo(
    function: Function, length: int, seed: int, *, size: int = 100, ones: int | None = None
) -> None:
    """Run pymoo's GA with the settings of its documentation for bits.

    If the number of ones is given, an operator repairs rows: random bits change.
    """

    class Problem(ElementwiseProblem):
        def __init__(self) -> None:
            super().__init__(n_var=length, n_obj=1, xl=0, xu=1, vtype=bool)

        def _evaluate(self, x: np.ndarray, out: dict[str, Any], *args: Any, **kwargs: Any) -> None:
            out["F"] = -function(x)

    class SetOnes(Repair):
        def _do(self, problem: Any, rows: np.ndarray, **kwargs: Any) -> np.ndarray:
            return rows if ones is None else repair(rows, ones, rng)

    class Never(Termination):
        def _update(self, algorithm: Any) -> float:
            return 0.0

    rng = np.random.default_rng(seed)
    algorithm = GA(
        pop_size=size,
        sampling=BinaryRandomSampling(),
        crossover=UX(),
        mutation=BitflipMutation(),
        repair=SetOnes(),
        eliminate_duplicates=True,
    )
    minimize(Problem(), algorithm, Never(), seed=seed)


def repair(rows: np.ndarray, ones: int, rng: np.random.Generator) -> np.ndarray:
    """Return rows with this number of ones; random bits change where they have to."""
    space = hm.Space(rows.shape[1], fewest=ones, most=ones)
    return space.repair(rows.astype(np.uint8), rng).astype(bool)


def run_nevergrad(function: Function, length: int, seed: int, *, budget: int) -> None:
    """Run nevergrad's DiscreteLenglerOnePlusOne on integers, the fastest of its ways to have bits.

    `Choice` samples from learned probabilities and is far worse; `TransitionChoice` is as good.
    """
    bits = ng.p.Array(shape=(length,), lower=0, upper=1).set_integer_casting()
    bits.random_state.seed(seed)
    search = ng.optimizers.registry["DiscreteLenglerOnePlusOne"](bits, budget=budget)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while True:
            asked = search.ask()
            search.tell(asked, -function(asked.value.astype(np.uint8)))
