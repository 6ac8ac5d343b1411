"""Models, by name or by the path `module:Class`."""

from harmonium.models.base import (
    Fitted,
    Interactions,
    Model,
    Replacement,
    read_facts,
    read_interactions,
    read_linkage,
    read_weights,
    with_check,
)
from harmonium.models.boa import BOA
from harmonium.models.dae import DAE
from harmonium.models.dbm import DBM
from harmonium.models.dbn import DBN
from harmonium.models.helmholtz import Helmholtz
from harmonium.models.rbm import RBM, PaperRBM
from harmonium.models.umda import UMDA
from harmonium.registry import Registry

MODELS: Registry[Model] = Registry(
    "model",
    Model,  # type: ignore[type-abstract]
    [RBM, PaperRBM, BOA, UMDA, DBN, DBM, DAE, Helmholtz],
)

__all__ = [
    "BOA",
    "DAE",
    "DBM",
    "DBN",
    "MODELS",
    "RBM",
    "UMDA",
    "Fitted",
    "Helmholtz",
    "Interactions",
    "Model",
    "PaperRBM",
    "Replacement",
    "read_facts",
    "read_interactions",
    "read_linkage",
    "read_weights",
    "with_check",
]
