"""Optimise functions of bits by learning what good solutions look like."""

from harmonium.models import BOA, MODELS, RBM, UMDA, Model, PaperRBM
from harmonium.problems import HIFF, NK, PROBLEMS, MaxSat, OneMax, Problem, Trap
from harmonium.search import EDA, Result, Search, Stop, run

__version__ = "0.1.0"

__all__ = [
    "BOA",
    "EDA",
    "HIFF",
    "MODELS",
    "NK",
    "PROBLEMS",
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
    "run",
]
