"""Optimise functions of bits by learning what good solutions look like."""

from harmonium.algorithms import ALGORITHMS, EDA, Algorithm, Pyramid, Search, Status
from harmonium.models import BOA, HBOA, MODELS, RBM, UMDA, Interactions, Model, PaperRBM
from harmonium.optimize import maximize, minimize, resume
from harmonium.options import Options
from harmonium.problems import (
    HIFF,
    NK,
    PROBLEMS,
    Ising,
    MaxSat,
    OneMax,
    Problem,
    ProblemSpec,
    Trap,
)
from harmonium.runs import EvaluationError, Result, Runner, Step, Stop, run
from harmonium.snapshots import CheckpointError, Snapshot
from harmonium.space import Space
from harmonium.studies import Bisect, Family, Grid, Runs, Study, read_study
from harmonium.version import __version__

__all__ = [
    "ALGORITHMS",
    "BOA",
    "EDA",
    "HBOA",
    "HIFF",
    "MODELS",
    "NK",
    "PROBLEMS",
    "RBM",
    "UMDA",
    "Algorithm",
    "Bisect",
    "CheckpointError",
    "EvaluationError",
    "Family",
    "Grid",
    "Interactions",
    "Ising",
    "MaxSat",
    "Model",
    "OneMax",
    "Options",
    "PaperRBM",
    "Problem",
    "ProblemSpec",
    "Pyramid",
    "Result",
    "Runner",
    "Runs",
    "Search",
    "Snapshot",
    "Space",
    "Status",
    "Step",
    "Stop",
    "Study",
    "Trap",
    "__version__",
    "maximize",
    "minimize",
    "read_study",
    "resume",
    "run",
]
