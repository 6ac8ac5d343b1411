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
from harmonium.models.hboa import HBOA
from harmonium.models.rbm import RBM, PaperRBM
from harmonium.models.umda import UMDA
from harmonium.registry import Registry

MODELS: Registry[Model] = Registry("model", Model, [RBM, PaperRBM, BOA, UMDA, HBOA])  # type: ignore[type-abstract]

__all__ = [
    "BOA",
    "HBOA",
    "MODELS",
    "RBM",
    "UMDA",
    "Fitted",
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
