"""Optimise functions of bits by learning what good solutions look like."""

from harmonium.models import BOA, RBM, UMDA, Model, PaperRBM, models
from harmonium.problems import HIFF, NK, MaxSat, OneMax, Problem, Trap, problems
from harmonium.search import EDA, Result, Search, Stop, run

__version__ = "0.1.0"

__all__ = [
    "BOA",
    "EDA",
    "HIFF",
    "NK",
    "RBM",
    "UMDA",
    "MaxSat",
    "Model",
    "OneMax",
    "PaperRBM",
    "Problem",
    "Result",
    "Search",
    "Stop",
    "Trap",
    "models",
    "problems",
    "run",
]
