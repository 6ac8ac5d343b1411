"""What the fits of Bayesian networks share."""

from abc import ABC, abstractmethod

import numpy as np

from harmonium.models.base import Interactions


class Network(ABC):
    """A directed network over the bits; its edges are what it has learned of their structure."""

    @property
    @abstractmethod
    def length(self) -> int:
        """Number of bits."""

    @property
    @abstractmethod
    def edges(self) -> list[tuple[int, int]]:
        """The edges (parent, child)."""

    def interactions(self) -> Interactions:
        """Return 1 from parent to child."""
        strengths = np.zeros((self.length, self.length))
        for parent, child in self.edges:
            strengths[parent, child] = 1.0
        return Interactions(strengths, threshold=1.0, directed=True, unit="edge")

    def linkage(self) -> list[tuple[int, ...]]:
        """Return each bit that has parents together with them."""
        families: dict[int, list[int]] = {}
        for parent, child in self.edges:
            families.setdefault(child, [child]).append(parent)
        return [tuple(sorted(families[child])) for child in sorted(families)]
