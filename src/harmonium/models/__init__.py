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
)
from harmonium.models.boa import BOA
from harmonium.models.dae import DAE
from harmonium.models.deep import DBM, DBN
from harmonium.models.ecga import ECGA
from harmonium.models.forests import BMDA, MIMIC, Tree
from harmonium.models.ga import GA
from harmonium.models.hboa import HBOA
from harmonium.models.helmholtz import Helmholtz
from harmonium.models.marginals import PBIL, UMDA
from harmonium.models.mrf import MRF
from harmonium.models.rbm import RBM, PaperRBM
from harmonium.specs import Registry

MODELS: Registry[Model] = Registry(
    "model",
    Model,  # type: ignore[type-abstract]
    [
        *(RBM, PaperRBM, BOA, UMDA, DBN, DBM, DAE, Helmholtz),
        *(PBIL, MIMIC, BMDA, Tree, ECGA, MRF, GA, HBOA),
    ],
)

__all__ = [
    "BMDA",
    "BOA",
    "DAE",
    "DBM",
    "DBN",
    "ECGA",
    "GA",
    "HBOA",
    "MIMIC",
    "MODELS",
    "MRF",
    "PBIL",
    "RBM",
    "UMDA",
    "Fitted",
    "Helmholtz",
    "Interactions",
    "Model",
    "PaperRBM",
    "Replacement",
    "Tree",
    "read_facts",
    "read_interactions",
    "read_linkage",
    "read_weights",
]
