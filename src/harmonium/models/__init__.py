"""What is learned: models by name, or by the path of a class of the user's own."""

import sys

from harmonium.importing import find_function, hash_source
from harmonium.models.base import Fitted, Model
from harmonium.models.boa import BOA
from harmonium.models.rbm import RBM, PaperRBM
from harmonium.models.umda import UMDA
from harmonium.specs import PATH, Registry, SpecError


class Models(Registry[Model]):
    """The models that come with harmonium, and those at a path `module:Class`."""

    def __getitem__(self, name: str) -> type[Model]:
        return super().__getitem__(name) if name in self or not PATH.match(name) else _find(name)


def _find(path: str) -> type[Model]:
    """Return the class at a path; it is known by that path from now on."""
    found = find_function(path)
    if not (isinstance(found, type) and issubclass(found, Model)):
        raise SpecError(f"{path}: is no model; expected a subclass of harmonium.Model")
    module = path.partition(":")[0]
    if found.__module__ != module:
        raise SpecError(f"{path}: is defined in {found.__module__}; write it with that module")
    found.name = path
    found.source = hash_source(sys.modules[module])
    return found


MODELS = Models("model", [RBM, PaperRBM, BOA, UMDA])

__all__ = ["BOA", "MODELS", "RBM", "UMDA", "Fitted", "Model", "PaperRBM"]
