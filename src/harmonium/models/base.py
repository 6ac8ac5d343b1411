"""The contract of a model: fit to parents, then sample; no half-made object in between."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from harmonium.bits import Bits
from harmonium.specs import Spec

Replacement = Literal["keep-parents", "worst", "rtr"]
"""Who makes room for the offspring; `search/replacement.py` has what each does."""


class Fitted(Protocol):
    """A distribution over bits, learned from parents."""

    @property
    def facts(self) -> Mapping[str, float]:
        """What there is to tell about the fit, by name: epochs, edges, error …."""

    def sample(self, count: int, rng: np.random.Generator) -> Bits:
        """Draw `count` rows."""


@dataclass(frozen=True)
class Model(Spec, ABC):
    """Base of the models: a spec whose fields are its hyperparameters."""

    replacement: ClassVar[Replacement] = "keep-parents"
    """The replacement that suits the model best: what `EDA(replacement="auto")` takes."""

    def __init_subclass__(cls) -> None:
        """Name a model that gives itself no name after its class."""
        if "name" not in vars(cls):
            cls.name = cls.__name__.lower()

    @abstractmethod
    def fit(
        self, parents: Bits, rng: np.random.Generator, previous: Fitted | None = None
    ) -> Fitted:
        """Learn the distribution of `parents`; `previous` is the last generation's fit."""

    def pack(self, fitted: Fitted) -> dict[str, NDArray[Any]]:
        """Return what the next fit needs of this one, as arrays; nothing for most models."""
        return {}

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> Fitted | None:
        """Return the fit that was packed, or none where the next one does not need it."""
        return None
