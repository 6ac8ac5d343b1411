"""What the function is: which bits interact, and its terms, learned from evaluations."""

from harmonium.structure.annealing import anneal
from harmonium.structure.optimum import eliminate
from harmonium.structure.polynomial import Interaction, Polynomial
from harmonium.structure.scout import Scout
from harmonium.structure.values import ValueScout

__all__ = ["Interaction", "Polynomial", "Scout", "ValueScout", "anneal", "eliminate"]
