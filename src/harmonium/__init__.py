"""Optimise functions of bits by learning what good solutions look like."""

from harmonium.models import BOA, MODELS, RBM, UMDA, Model, PaperRBM
from harmonium.optimize import (
    CheckpointError,
    EvaluationError,
    Optimum,
    maximize,
    minimize,
    resume,
)
from harmonium.problems import HIFF, NK, PROBLEMS, MaxSat, OneMax, Problem, Trap
from harmonium.search import EDA, Result, Search, Stop, run
from harmonium.search.snapshot import Snapshot

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
    "CheckpointError",
    "EvaluationError",
    "MaxSat",
    "Model",
    "OneMax",
    "Optimum",
    "PaperRBM",
    "Problem",
    "Result",
    "Search",
    "Snapshot",
    "Stop",
    "Trap",
    "maximize",
    "minimize",
    "resume",
    "run",
]
