"""How it is searched: algorithms by name, or by the path `module:Class`."""

from harmonium.algorithms.base import Algorithm, Learned, Search, Status
from harmonium.algorithms.eda import EDA
from harmonium.algorithms.incremental import Incremental, PaperTree
from harmonium.algorithms.pyramid import Pyramid
from harmonium.algorithms.structure import Structure
from harmonium.registry import Registry

ALGORITHMS: Registry[Algorithm] = Registry(
    "algorithm",
    Algorithm,  # type: ignore[type-abstract]
    [EDA, Pyramid, Structure, Incremental, PaperTree],
)

__all__ = [
    "ALGORITHMS",
    "EDA",
    "Algorithm",
    "Incremental",
    "Learned",
    "PaperTree",
    "Pyramid",
    "Search",
    "Status",
    "Structure",
]
