"""What is learned: models by name."""

from harmonium.models.base import Fitted, Model
from harmonium.models.rbm import RBM, PaperRBM
from harmonium.models.umda import UMDA
from harmonium.specs import Registry

models: Registry[Model] = Registry("model", [RBM, PaperRBM, UMDA])
"""The models that come with harmonium."""

__all__ = ["RBM", "UMDA", "Fitted", "Model", "PaperRBM", "models"]
