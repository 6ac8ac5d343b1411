"""A problem of pymoo
==================

Optimise a problem of pymoo with harmonium, and with pymoo's genetic algorithm.
"""

import numpy as np
from pymoo.algorithms.soo.nonconvex.ga import GA
from pymoo.core.problem import Problem
from pymoo.operators.crossover.ux import UX
from pymoo.operators.mutation.bitflip import BitflipMutation
from pymoo.operators.sampling.rnd import BinaryRandomSampling
from pymoo.optimize import minimize

import harmonium as hm

CALLS = 5000


class Traps(Problem):
    """Minus the sum of 12 deceptive traps of 5 bits; the optimum is -60."""

    def __init__(self) -> None:
        super().__init__(n_var=60, n_obj=1, xl=0, xu=1, vtype=bool)

    def _evaluate(self, x: np.ndarray, out: dict, *args: object, **kwargs: object) -> None:
        ones = x.reshape(len(x), 12, 5).sum(axis=2)
        out["F"] = -np.where(ones == 5, 5, 4 - ones).sum(axis=1)


problem = Traps()
result = hm.minimize(
    lambda rows: problem.evaluate(rows.astype(bool))[:, 0],
    problem.n_var,
    batch=True,
    max_calls=CALLS,
    seed=1,
)
ga = GA(pop_size=100, sampling=BinaryRandomSampling(), crossover=UX(), mutation=BitflipMutation())
other = minimize(problem, ga, ("n_eval", CALLS), seed=1)
print(f"harmonium {result.fun:g} after {result.calls:,} calls")
print(f"pymoo's GA {other.F[0]:g} after {other.algorithm.evaluator.n_eval:,} calls")
