"""What is learned: models by name."""

from harmonium.models.base import Fitted, Model
from harmonium.models.umda import UMDA
from harmonium.specs import Registry

models: Registry[Model] = Registry("model", [UMDA])
"""The models that come with harmonium."""

__all__ = ["UMDA", "Fitted", "Model", "models"]
