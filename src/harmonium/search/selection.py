"""Selection: tournaments without replacement, half the population wins.

In each round every individual fights in exactly one tournament. Tournaments of two give the
wanted half of the population in one round; larger ones take more rounds.
"""

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Fitness

Pairing = Literal["any", "parent-offspring"]

Indices = NDArray[np.intp]


def select(fitness: Fitness, tournament: int, rng: np.random.Generator) -> Indices:
    """Return the winners, half as many as the population, ties going to a random one."""
    wanted = len(fitness) // 2
    tournaments = len(fitness) // tournament
    rounds = math.ceil(wanted / tournaments)
    winners = [_fight(_draw_round(len(fitness), tournament, rng), fitness) for _ in range(rounds)]
    return np.concatenate(winners)[:wanted]


def select_pairs(fitness: Fitness, rng: np.random.Generator) -> Indices:
    """Return the winners where each tournament is one parent against one offspring.

    Parents are the first half of the population, offspring the second.
    """
    half = len(fitness) // 2
    pairs = np.column_stack([np.arange(half), half + rng.permutation(half)])
    return _fight(rng.permuted(pairs, axis=1), fitness)


def _draw_round(population: int, tournament: int, rng: np.random.Generator) -> Indices:
    """Put every individual into one tournament: (tournaments, tournament).

    Where the population is no multiple of the tournament size, the rest sits out.
    """
    tournaments = population // tournament
    return rng.permutation(population)[: tournaments * tournament].reshape(-1, tournament)


def _fight(tournaments: Indices, fitness: Fitness) -> Indices:
    """Return the best of each row; members are in random order, so the first of equals is fair."""
    best = fitness[tournaments].argmax(axis=1)
    return np.take_along_axis(tournaments, best[:, None], axis=1)[:, 0]
