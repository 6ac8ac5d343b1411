"""What the function is: which bits interact, and its terms, learned from evaluations."""

from harmonium.learn.function import Interaction, Polynomial
from harmonium.learn.scout import Scout
from harmonium.learn.scout import State as ScoutState

__all__ = ["Interaction", "Polynomial", "Scout", "ScoutState"]
