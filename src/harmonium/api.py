"""The public names, which `harmonium` has as its own."""

from harmonium.learn import Interaction, Polynomial
from harmonium.models import (
    BMDA,
    BOA,
    DAE,
    DBM,
    DBN,
    ECGA,
    GA,
    HBOA,
    MIMIC,
    MODELS,
    MRF,
    PBIL,
    RBM,
    UMDA,
    Helmholtz,
    Interactions,
    Model,
    PaperRBM,
    Tree,
)
from harmonium.optimize import maximize, minimize, resume
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
from harmonium.search import (
    ALGORITHMS,
    EDA,
    Algorithm,
    Anneal,
    Incremental,
    PaperTree,
    Pyramid,
    Search,
    Status,
    Structure,
)
from harmonium.space import Space
from harmonium.state import CheckpointError, Snapshot
from harmonium.studies import Bisect, Family, Grid, Runs, Study, read_study

__all__ = ["EvaluationError", "Result", "Runner", "Step", "Stop"]
__all__ += ["maximize", "minimize", "resume", "run"]
__all__ += ["ALGORITHMS", "EDA", "Algorithm", "Anneal", "Incremental", "PaperTree", "Pyramid"]
__all__ += ["CheckpointError", "Search", "Snapshot", "Space", "Status", "Structure"]
__all__ += ["BMDA", "BOA", "DAE", "DBM", "DBN", "ECGA", "GA", "HBOA", "MIMIC", "MRF", "PBIL", "RBM"]
__all__ += ["MODELS", "UMDA", "Helmholtz", "Interactions", "Model", "PaperRBM", "Tree"]
__all__ += ["HIFF", "NK", "PROBLEMS", "FileProblem", "Ising", "MaxSat", "OneMax", "Trap"]
__all__ += ["Interaction", "Polynomial", "Problem", "ProblemSpec", "load"]
__all__ += ["Bisect", "Family", "Grid", "Runs", "Study", "read_study"]
