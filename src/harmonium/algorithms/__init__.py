"""How it is searched: algorithms by name, or by the path `module:Class`."""

from harmonium.algorithms.base import Algorithm, Search, Status
from harmonium.algorithms.eda import EDA
from harmonium.algorithms.pyramid import Pyramid
from harmonium.algorithms.structure import Structure
from harmonium.registry import Registry

ALGORITHMS: Registry[Algorithm] = Registry("algorithm", Algorithm, [EDA, Pyramid, Structure])  # type: ignore[type-abstract]

__all__ = ["ALGORITHMS", "EDA", "Algorithm", "Pyramid", "Search", "Status", "Structure"]
