"""What the function is: which bits interact, and its terms, learned from evaluations."""

from harmonium.learn.annealing import anneal
from harmonium.learn.optimum import eliminate
from harmonium.learn.polynomial import Interaction, Polynomial
from harmonium.learn.scout import Scout
from harmonium.learn.values import ValueScout

__all__ = ["Interaction", "Polynomial", "Scout", "ValueScout", "anneal", "eliminate"]
