"""How it is searched: selection, replacement, the EDA loop, stopping, and what comes out."""

from harmonium.search.eda import EDA, AnySearch
from harmonium.search.interleaved import Interleaved
from harmonium.search.result import Generation, Result
from harmonium.search.run import run
from harmonium.search.search import Search
from harmonium.search.stopping import Stop

__all__ = ["EDA", "AnySearch", "Generation", "Interleaved", "Result", "Search", "Stop", "run"]
