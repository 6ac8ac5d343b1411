"""How it is searched: selection, replacement, the EDA loop, stopping, and what comes out."""

from harmonium.search.eda import EDA, Search
from harmonium.search.result import Generation, Result
from harmonium.search.run import run
from harmonium.search.stopping import Stop

__all__ = ["EDA", "Generation", "Result", "Search", "Stop", "run"]
