"""One seed → independent, reproducible streams for every part and every generation of a run.

A stream is named by (seed, part, generation), never by how many numbers were drawn before it. So a
search needs no generator state to go on, a generation that failed can be asked for again, and a
change in one part does not move the draws of another.
"""

import zlib
from typing import Final

import numpy as np

# The numbers are part of what a seed means: append new parts, never renumber.
_PARTS: Final = {
    "mask": 0,
    "population": 1,
    "selection": 2,
    "building": 3,
    "sampling": 4,
    "replacement": 5,
    "repair": 6,
}
_OTHER: Final = 2**31  # parts of other algorithms: three numbers, so that they never meet the above


def check_seed(seed: object) -> int:
    """Return `seed` as a non-negative int, or raise."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ValueError(f"seed is {seed!r}; expected an integer ≥ 0")
    return int(seed)


def stream(seed: int, part: str, number: int = 0) -> np.random.Generator:
    """Return the random generator of one part of a run.

    Parameters
    ----------
    seed : int
        Seed of the run.
    part : str
        What the numbers are for, such as "selection"; any name gives a stream of its own.
    number : int
        Which repetition of the part: a generation or a step.
    """
    key = (_PARTS[part], number) if part in _PARTS else (_OTHER, zlib.crc32(part.encode()), number)
    sequence = np.random.SeedSequence(seed, spawn_key=key)
    return np.random.Generator(np.random.PCG64(sequence))


def draw_key(rng: np.random.Generator) -> np.uint64:
    """Draw the 64-bit key under which a kernel makes its own counter-based stream."""
    return np.uint64(rng.integers(0, 2**64, dtype=np.uint64))
