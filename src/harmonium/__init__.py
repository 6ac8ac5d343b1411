"""Optimise functions of bits by learning what good solutions look like."""

from harmonium.algorithms import ALGORITHMS, EDA, Algorithm, Search, Status
from harmonium.models import BOA, MODELS, RBM, UMDA, Interactions, Model, PaperRBM
from harmonium.optimize import Options, maximize, minimize, resume
from harmonium.problems import HIFF, NK, PROBLEMS, MaxSat, OneMax, Problem, ProblemSpec, Trap
from harmonium.runs import EvaluationError, Result, Runner, Step, Stop, run
from harmonium.snapshots import CheckpointError, Snapshot
from harmonium.space import Space
from harmonium.version import __version__

__all__ = [
    "ALGORITHMS",
    "BOA",
    "EDA",
    "HIFF",
    "MODELS",
    "NK",
    "PROBLEMS",
    "RBM",
    "UMDA",
    "Algorithm",
    "CheckpointError",
    "EvaluationError",
    "Interactions",
    "MaxSat",
    "Model",
    "OneMax",
    "Options",
    "PaperRBM",
    "Problem",
    "ProblemSpec",
    "Result",
    "Runner",
    "Search",
    "Snapshot",
    "Space",
    "Status",
    "Step",
    "Stop",
    "Trap",
    "__version__",
    "maximize",
    "minimize",
    "resume",
    "run",
]
