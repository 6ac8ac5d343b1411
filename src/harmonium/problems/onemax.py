"""Onemax: count the ones."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from harmonium.bits import Bits, Fitness
from harmonium.problems.base import ProblemSpec
from harmonium.specs import Length


@dataclass(frozen=True)
class OneMax(ProblemSpec):
    """The number of ones; every bit counts alone."""

    name: ClassVar[str] = "onemax"

    length: Length

    @property
    def optimum(self) -> float:
        """All ones."""
        return float(self.length)

    def __call__(self, bits: Bits) -> Fitness:
        """Return the number of ones of each row."""
        return bits.sum(axis=1, dtype=np.float64)
