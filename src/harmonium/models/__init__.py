"""What is learned: models by name."""

from harmonium.models.base import Fitted, Model
from harmonium.models.boa import BOA
from harmonium.models.rbm import RBM, PaperRBM
from harmonium.models.umda import UMDA
from harmonium.specs import Registry

MODELS: Registry[Model] = Registry("model", [RBM, PaperRBM, BOA, UMDA])
"""The models that come with harmonium."""

__all__ = ["BOA", "MODELS", "RBM", "UMDA", "Fitted", "Model", "PaperRBM"]
