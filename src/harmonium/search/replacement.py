"""Replacement: which of parents, offspring and the rest make the next population."""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits, Fitness
from harmonium.jit import count_ones, jit
from harmonium.models import Replacement

Indices = NDArray[np.intp]


class Population(NamedTuple):
    """Solutions and their fitness, row by row."""

    bits: Bits
    fitness: Fitness

    @property
    def mean(self) -> float | None:
        """The mean fitness of the rows that have one; none if no row has, or it is too large."""
        usable = self.fitness[self.fitness > -np.inf]
        with np.errstate(over="ignore"):
            mean = float(usable.mean()) if len(usable) else np.inf
        return mean if np.isfinite(mean) else None

    def take(self, rows: Indices) -> "Population":
        return Population(self.bits[rows], self.fitness[rows])

    def join(self, other: "Population") -> "Population":
        return Population(
            np.concatenate([self.bits, other.bits]), np.concatenate([self.fitness, other.fitness])
        )


Replace = Callable[[Population, Indices, Population, np.random.Generator], Population]
"""A replacement: the next population, as large, from this one, its parents and their offspring."""


def keep_parents(
    population: Population, parents: Indices, offspring: Population, rng: np.random.Generator
) -> Population:
    """Algorithm 1 of the paper: parents ∪ offspring, parents first."""
    return population.take(parents).join(offspring)


def replace_worst(
    population: Population, parents: Indices, offspring: Population, rng: np.random.Generator
) -> Population:
    """Let the offspring take the places of the worst, ties at random."""
    shuffled = rng.permutation(len(population.fitness))
    order = shuffled[np.argsort(population.fitness[shuffled], kind="stable")]
    return population.take(order[len(offspring.fitness) :]).join(offspring)


def replace_restricted(
    population: Population, parents: Indices, offspring: Population, rng: np.random.Generator
) -> Population:
    """Restricted tournament replacement (Harik 1995), which keeps niches apart.

    Each offspring in turn meets a window of members drawn at random and takes the place of the one
    nearest to it in Hamming distance, if it is fitter. Window: min(length, population / 20).
    """
    return _hold_tournaments(population, offspring, rng)[0]


def replace_restricted_and_prune(
    population: Population, parents: Indices, offspring: Population, rng: np.random.Generator
) -> Population:
    """Restricted tournament replacement; then members far worse than all offspring are replaced.

    Such a member is no niche, but it is rarely the nearest to an offspring: without niches, as in
    OneMax, half of the population would stay what it was at first. It makes room for one of the
    offspring that won no tournament, drawn at random; the worst member comes first. Far worse is
    below the worst offspring by more than half its distance from the median offspring.
    """
    renewed, entered = _hold_tournaments(population, offspring, rng)
    losers = rng.permutation(np.flatnonzero(~entered))
    ascending = np.sort(offspring.fitness)
    worst, median = ascending[0], ascending[len(ascending) // 2]
    with np.errstate(over="ignore", invalid="ignore"):  # NaN if half the offspring failed
        bound = worst - (median - worst) / 2
    order = np.argsort(renewed.fitness, kind="stable")
    replaced = order[renewed.fitness[order] < bound][: len(losers)]
    renewed.bits[replaced] = offspring.bits[losers[: len(replaced)]]
    renewed.fitness[replaced] = offspring.fitness[losers[: len(replaced)]]
    return renewed


def _hold_tournaments(
    population: Population, offspring: Population, rng: np.random.Generator
) -> tuple[Population, NDArray[np.bool_]]:
    """Return the population after restricted tournaments, and which offspring won theirs."""
    size, length = population.bits.shape
    window = max(1, min(length, size // 20))
    windows = rng.integers(0, size, (len(offspring.fitness), window), dtype=np.int32)
    bits, fitness = population.bits.copy(), population.fitness.copy()
    packed, new_packed = _pack(bits), _pack(offspring.bits)
    entered = _replace_nearest(bits, packed, fitness, *offspring, new_packed, windows)
    return Population(bits, fitness), entered


def _pack(bits: Bits) -> NDArray[np.uint64]:
    """Pack rows into 64-bit words: (rows, ⌈length / 64⌉)."""
    words = -(-bits.shape[1] // 64)
    packed = np.zeros((len(bits), words * 8), dtype=np.uint8)
    filled = np.packbits(bits, axis=1)
    packed[:, : filled.shape[1]] = filled
    return packed.view(np.uint64)


@jit
def _replace_nearest(
    bits: Bits,
    packed: NDArray[np.uint64],
    fitness: Fitness,
    new_bits: Bits,
    new_fitness: Fitness,
    new_packed: NDArray[np.uint64],
    windows: NDArray[np.int32],
) -> NDArray[np.bool_]:
    """Hold the tournaments in place; return which rows won."""
    entered = np.zeros(new_fitness.size, np.bool_)
    for row in range(new_fitness.size):
        nearest = -1
        least = np.uint64(0xFFFFFFFFFFFFFFFF)
        for place in range(windows.shape[1]):
            member = windows[row, place]
            distance = np.uint64(0)
            for word in range(packed.shape[1]):
                distance += count_ones(packed[member, word] ^ new_packed[row, word])
            if distance < least:
                least = distance
                nearest = member
        if new_fitness[row] > fitness[nearest]:
            fitness[nearest] = new_fitness[row]
            # Loops, since Numba takes a second longer to compile an assignment of rows.
            for word in range(packed.shape[1]):
                packed[nearest, word] = new_packed[row, word]
            for bit in range(bits.shape[1]):
                bits[nearest, bit] = new_bits[row, bit]
            entered[row] = True
    return entered


REPLACEMENTS: Final[dict[Replacement, Replace]] = {
    "keep-parents": keep_parents,
    "worst": replace_worst,
    "rtr": replace_restricted,
    "rtr-prune": replace_restricted_and_prune,
}
