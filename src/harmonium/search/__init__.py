"""How it is searched: algorithms by name, or by the path `module:Class`."""

from harmonium.search.anneal import Anneal
from harmonium.search.base import Algorithm, Learned, Search, Status
from harmonium.search.eda import EDA, Incremental, PaperTree
from harmonium.search.portfolio import Structure
from harmonium.search.pyramid import Pyramid
from harmonium.specs import Registry

ALGORITHMS: Registry[Algorithm] = Registry(
    "algorithm",
    Algorithm,  # type: ignore[type-abstract]
    [EDA, Pyramid, Structure, Anneal, Incremental, PaperTree],
)

__all__ = [
    "ALGORITHMS",
    "EDA",
    "Algorithm",
    "Anneal",
    "Incremental",
    "Learned",
    "PaperTree",
    "Pyramid",
    "Search",
    "Status",
    "Structure",
]
