"""Binary quadratic models of dimod: as problems, and a sampler for them."""

from typing import Any

import dimod
import numpy as np
from scipy.sparse import csr_array

from harmonium.arrays import Bits, Fitness
from harmonium.optimize import maximize
from harmonium.problems import Blocks

_make_samples: Any = dimod.SampleSet.from_samples_bqm


class QuadraticProblem:
    """A binary quadratic model as a problem: the fitness is minus the energy.

    Parameters
    ----------
    model : dimod.BinaryQuadraticModel
        Of spins or of bits; bit i of a row is its i-th variable, and a spin is 2·bit − 1.

    Examples
    --------
    >>> import dimod
    >>> import harmonium as hm
    >>> from harmonium.interop.dimod import QuadraticProblem
    >>> model = dimod.BinaryQuadraticModel("SPIN")
    >>> model.add_quadratic_from({(i, (i + 1) % 8): -1 for i in range(8)})
    >>> hm.run(QuadraticProblem(model), hm.Pyramid(), stop=hm.Stop(max_evaluations=500)).fun
    8.0
    """

    optimum = None

    def __init__(self, model: Any) -> None:
        self.variables = list(model.variables)
        """Names of the bits, in their order."""
        self.vartype = model.vartype
        self.length = len(self.variables)
        vectors = model.change_vartype("BINARY", inplace=False).to_numpy_vectors(self.variables)
        self._linear, (rows, columns, weights), self._offset = vectors
        shape = (self.length, self.length)
        self._quadratic = csr_array((weights, (rows, columns)), shape=shape)
        pairs = zip(rows.tolist(), columns.tolist(), strict=True)
        self.structure: Blocks = tuple(pairs)

    def __call__(self, bits: Bits) -> Fitness:
        """Return minus the energy of each row."""
        wide = bits.astype(np.float64)
        pairs = ((wide @ self._quadratic) * wide).sum(axis=1)
        fitness: Fitness = -(wide @ self._linear + pairs + self._offset)
        return fitness


class Sampler(dimod.Sampler):  # type: ignore[misc, name-defined]  # dimod has few types
    """A sampler that searches the lowest energy by `maximize`, once for each read.

    Examples
    --------
    >>> from harmonium.interop.dimod import Sampler
    >>> samples = Sampler().sample_ising({"a": 1.0}, {("a", "b"): -1.0}, seed=1)
    >>> float(samples.first.energy)
    -2.0
    """

    properties: dict[str, Any] = {}  # noqa: RUF012  # as dimod declares it
    parameters: dict[str, list[Any]] = {  # noqa: RUF012
        name: [] for name in ("num_reads", "seed", "max_calls", "max_seconds", "algorithm")
    }

    def sample(self, bqm: Any, num_reads: int = 1, seed: int = 1, **parameters: Any) -> Any:
        """Search the lowest energy of a binary quadratic model.

        Parameters
        ----------
        bqm : dimod.BinaryQuadraticModel
            The model.
        num_reads : int
            Number of searches; each returns its best sample.
        seed : int
            Seed of the first search; each further one has the next seed.
        **parameters
            Options of `maximize`: max_calls, max_seconds, algorithm.

        Returns
        -------
        dimod.SampleSet
        """
        options = self.remove_unknown_kwargs(**parameters)
        problem = QuadraticProblem(bqm)
        if not problem.length:
            empty = np.empty((num_reads, 0), dtype=np.int8)
            return _make_samples((empty, []), bqm)
        best = [
            maximize(problem, problem.length, batch=True, seed=seed + read, **options).x
            for read in range(num_reads)
        ]
        rows = np.array(best, dtype=np.int8)
        if problem.vartype is dimod.SPIN:
            rows = 2 * rows - 1
        return _make_samples((rows, problem.variables), bqm)
