"""Optimise functions of bits by learning what good solutions look like."""

from harmonium.algorithms import ALGORITHMS, EDA, Algorithm, Pyramid, Search, Status, Structure
from harmonium.models import (
    BOA,
    DAE,
    DBM,
    DBN,
    MODELS,
    RBM,
    UMDA,
    Helmholtz,
    Interactions,
    Model,
    PaperRBM,
)
from harmonium.optimize import maximize, minimize, resume
from harmonium.options import Options
from harmonium.problems import (
    HIFF,
    NK,
    PROBLEMS,
    FileProblem,
    Ising,
    MaxSat,
    OneMax,
    Problem,
    ProblemSpec,
    Trap,
    load,
)
from harmonium.runs import EvaluationError, Result, Runner, Step, Stop, run
from harmonium.snapshots import CheckpointError, Snapshot
from harmonium.space import Space
from harmonium.structure import Interaction, Polynomial
from harmonium.studies import Bisect, Family, Grid, Runs, Study, read_study
from harmonium.version import __version__

__all__ = [
    "ALGORITHMS",
    "BOA",
    "DAE",
    "DBM",
    "DBN",
    "EDA",
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
    "FileProblem",
    "Grid",
    "Helmholtz",
    "Interaction",
    "Interactions",
    "Ising",
    "MaxSat",
    "Model",
    "OneMax",
    "Options",
    "PaperRBM",
    "Polynomial",
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
    "Structure",
    "Study",
    "Trap",
    "__version__",
    "load",
    "maximize",
    "minimize",
    "read_study",
    "resume",
    "run",
]
