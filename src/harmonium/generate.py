"""Instances with known optima, written to files: planted, or solved exactly.

`maxsat`, `nk` and `ising` are the problems of these names; `qubo` and `knapsack` are made here.
"""

import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import IO, Annotated, Any, ClassVar, Final

import numpy as np
from msgspec import Meta

from harmonium.arrays import Bits
from harmonium.problems import NK, PROBLEMS, FileProblem, Ising, MaxSat, load
from harmonium.problems.nk import Landscape, write_nk
from harmonium.problems.packing import Items, write_knapsack
from harmonium.problems.quadratic import WeightedPairs, write_ising, write_qubo
from harmonium.problems.reader import Format
from harmonium.problems.sat import write_cnf
from harmonium.specs import Length, Spec, SpecError, make
from harmonium.system import write_atomically

MAX_NODES: Final = 2_000
"""Limit of the exact search for the optimum of a knapsack; beyond it the optimum is unknown."""

_LOOP: Final = 6  # spins in a loop of a planted QUBO


@dataclass(frozen=True)
class PlantedQubo(Spec):
    """A QUBO whose optimum is planted: a sum of frustrated loops of spins.

    Each loop (Hen et al., 2015) has couplings that the planted solution satisfies, except for one,
    which no solution satisfies without violating another. So the planted solution is an optimum of
    every loop, and of their sum.
    """

    name: ClassVar[str] = "qubo"

    length: Annotated[int, Meta(ge=3, le=100_000, description="number of bits")]
    loops: Annotated[int, Meta(ge=0, le=1_000_000, description="loops; 0: one a bit")] = 0
    instance: Annotated[int, Meta(ge=0, description="number of the random instance")] = 0

    @property
    def planted(self) -> Bits:
        """An optimal solution, shape (length,)."""
        return self._draw_spins(self._words())

    def make(self) -> WeightedPairs:
        """Return the entries of the matrix, with the optimum."""
        words = self._words()
        spins = 2 * self._draw_spins(words).astype(np.int64) - 1
        size = min(_LOOP, self.length)
        loops = self.loops or self.length
        couplings: Counter[tuple[int, int]] = Counter()
        for _ in range(loops):
            members: dict[int, None] = {}
            while len(members) < size:
                members[int(words.random_raw()) % self.length] = None
            loop = list(members)
            broken = int(words.random_raw()) % size
            for place, (one, other) in enumerate(zip(loop, loop[1:] + loop[:1], strict=True)):
                sign = -1 if place == broken else 1
                pair = (min(one, other), max(one, other))
                couplings[pair] += sign * int(spins[one] * spins[other])
        return self._to_qubo(couplings, loops * (size - 2))

    def _to_qubo(self, couplings: Mapping[tuple[int, int], int], best: int) -> WeightedPairs:
        """Return ΣJss, whose largest value is `best`, as x'Qx; spin s is 2x - 1."""
        pairs = np.array(sorted(couplings), dtype=np.int64)
        weights = np.array([couplings[pair] for pair in sorted(couplings)])
        linear = np.zeros(self.length)
        for column in (0, 1):
            np.add.at(linear, pairs[:, column], -2.0 * weights)
        some, single = weights != 0, np.flatnonzero(linear)
        return WeightedPairs(
            self.length,
            pairs[some, 0],
            pairs[some, 1],
            2.0 * weights[some],
            single,
            linear[single],
            float(best - weights.sum()),
        )

    def _words(self) -> np.random.PCG64:
        name = [self.length, self.loops or self.length, self.instance]
        return np.random.PCG64(np.random.SeedSequence(name))

    def _draw_spins(self, words: np.random.PCG64) -> Bits:
        return (words.random_raw(self.length) >> np.uint64(63)).astype(np.uint8)


@dataclass(frozen=True)
class RandomKnapsack(Spec):
    """A knapsack with values that are correlated with the weights (Chu and Beasley, 1998)."""

    name: ClassVar[str] = "knapsack"

    length: Length
    constraints: Annotated[int, Meta(ge=1, le=1_000, description="number of constraints")] = 1
    instance: Annotated[int, Meta(ge=0, description="number of the random instance")] = 0

    def make(self) -> Items:
        """Return the items, with the optimum if the exact search finds it."""
        name = [self.length, self.constraints, self.instance]
        words = np.random.PCG64(np.random.SeedSequence(name))
        raw = words.random_raw((self.constraints + 1, self.length)) >> np.uint64(1)
        weights = (raw[:-1] % np.uint64(1000)).astype(np.int64) + 1
        values = weights.sum(axis=0) // self.constraints + (raw[-1] % np.uint64(500)).astype(int)
        items = (values.astype(float), weights.astype(float), (weights.sum(axis=1) // 2.0))
        return Items(*items, _solve_knapsack(*items))


def _solve_knapsack(values: Any, weights: Any, capacities: Any) -> float | None:
    """Return the largest value, all numbers being integers; none if it is not proved."""
    from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415  # slow to import

    found = milp(
        -values,
        integrality=np.ones(len(values), dtype=int),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(weights, ub=capacities),
        options={"node_limit": MAX_NODES, "mip_rel_gap": 0.0},
    )
    if found.x is None or found.mip_dual_bound is None:
        return None
    row = np.round(found.x)
    value = float(values @ row)
    proved = (weights @ row <= capacities).all() and value + 1 > -found.mip_dual_bound + 1e-6
    return value if proved else None


def _write_maxsat(file: IO[str], spec: MaxSat) -> None:
    members, wanted = spec.formula
    clauses = np.where(wanted, members + 1, -members - 1).tolist()
    write_cnf(file, spec.length, clauses, spec.optimum)


def _write_nk(file: IO[str], spec: NK) -> None:
    optimum = None if spec.optimum is None else spec.optimum * spec.length
    write_nk(file, Landscape(spec.groups, spec.tables, optimum))


def _write_ising(file: IO[str], spec: Ising) -> None:
    first, second = np.array(spec.structure, dtype=np.int64).T
    weights = spec.couplings.reshape(-1).astype(float)
    none = np.empty(0, dtype=np.int64)
    couplings = (first, second, weights, none, none.astype(float))
    write_ising(file, WeightedPairs(spec.length, *couplings, spec.optimum))


Writer = Callable[[IO[str], Any], None]

GENERATORS: Final[dict[str, tuple[type[Spec], Format, Writer]]] = {
    "maxsat": (MaxSat, "cnf", _write_maxsat),
    "nk": (NK, "nk", _write_nk),
    "ising": (Ising, "ising", _write_ising),
    "qubo": (PlantedQubo, "qubo", lambda file, spec: write_qubo(file, spec.make())),
    "knapsack": (RandomKnapsack, "knapsack", lambda file, spec: write_knapsack(file, spec.make())),
}
"""By name, what describes an instance, the format of its file, and what writes it."""


def write_instance(text: str, path: str | os.PathLike[str]) -> FileProblem:
    """Write an instance to a file, and read it.

    Parameters
    ----------
    text : str
        "name:field=value,…"; the names are maxsat, nk, ising, qubo and knapsack.
    path : path-like
        The file; it is replaced if it exists.

    Returns
    -------
    FileProblem
        The problem as it is read from the file.

    Raises
    ------
    SpecError
        If the text names no instance.

    Examples
    --------
    >>> from harmonium.generate import write_instance
    >>> problem = write_instance("maxsat:length=20,clauses=80", "planted.cnf")
    >>> problem.length, problem.optimum
    (20, 80.0)
    """
    name, settings = PROBLEMS.split(text)
    if name not in GENERATORS:
        raise SpecError(f"cannot generate {name!r}; expected one of {', '.join(GENERATORS)}")
    cls, told, write = GENERATORS[name]
    spec = make(cls, settings)
    with write_atomically(path, "w") as file:
        write(file, spec)
    return load(path, format=told)
