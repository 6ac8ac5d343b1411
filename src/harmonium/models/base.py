"""The interface of a model: `fit` takes parents and returns a distribution to sample from."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Protocol

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.specs import Spec
from harmonium.state import decode, encode

Replacement = Literal["keep-parents", "worst", "rtr", "rtr-prune"]
"""Which rows the offspring replace; see `search/replacement.py`."""

Steps = Annotated[int, Meta(ge=1, le=1_000_000)]
"""Type of a field that counts epochs, Gibbs steps and the like."""

Rng = np.random.Generator
Indices = NDArray[np.int64]
Matrix = NDArray[np.float64]

DOUBLED_ODDS = float(np.log(2))
"""Log odds ratio of a learned pair: one bit at least doubles the odds of the other."""


@dataclass(frozen=True)
class Interactions:
    """How strongly a fitted model couples each pair of bits.

    Examples
    --------
    >>> import numpy as np
    >>> from harmonium import Interactions
    >>> strengths = np.array([[0.0, 0.9, 0.0], [0.9, 0.0, 0.1], [0.0, 0.1, 0.0]])
    >>> Interactions(strengths, threshold=0.5).pairs.astype(int).tolist()
    [[0, 1, 0], [1, 0, 0], [0, 0, 0]]
    """

    strengths: Matrix
    """(length, length), 0 where two bits are not coupled. In a directed model [i, j] is i → j."""
    threshold: float
    """Strength from which a pair counts as learned."""
    directed: bool = False
    unit: str = "strength"
    """What a strength is, in words."""

    @property
    def pairs(self) -> NDArray[np.bool_]:
        """Which pairs are learned: (length, length), symmetric."""
        learned = self.strengths >= self.threshold
        return learned | learned.T


class Fitted(Protocol):
    """A distribution over bits, learned from parents.

    Besides `sample` and `facts` a fit may offer any of these, which reports and algorithms use
    where they exist:

    - ``interactions() -> Interactions``: how strongly pairs of bits are coupled;
    - ``linkage() -> list of tuples of int``: sets of bits that belong together;
    - ``weights() -> array (length, units)``: the weights between bits and hidden units.

    A `sample` that takes long calls `harmonium.clock.check_time` between its steps.

    Examples
    --------
    >>> import numpy as np
    >>> import harmonium as hm
    >>> parents = np.array([[0, 0, 1], [1, 1, 1], [0, 0, 1], [1, 1, 1]], dtype=np.uint8)
    >>> rng = np.random.default_rng(1)
    >>> fitted = hm.BOA().fit(parents, rng)
    >>> fitted.sample(5, rng).shape
    (5, 3)
    """

    @property
    def facts(self) -> Mapping[str, float]:
        """Numbers about the fit by label, shown in traces and reports: epochs, edges, error."""
        return {}

    def sample(self, count: int, rng: Rng) -> Bits:
        """Draw `count` rows."""


@dataclass(frozen=True)
class Model(Spec, ABC):
    """Base class of the models: a spec whose fields are hyperparameters.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> import harmonium as hm
    >>> @dataclass(frozen=True)
    ... class Copies(hm.Model):
    ...     def fit(self, parents, rng, previous=None):
    ...         return FittedCopies(parents)
    >>> class FittedCopies:
    ...     facts = {}
    ...
    ...     def __init__(self, parents):
    ...         self.parents = parents
    ...
    ...     def sample(self, count, rng):
    ...         return rng.permuted(rng.choice(self.parents, count), axis=0)
    >>> hm.run(hm.OneMax(length=20), hm.EDA(Copies(), population=200), seed=1).solved
    True
    """

    replacement: ClassVar[Replacement] = "keep-parents"
    """The replacement that suits the model best: what `EDA(replacement="auto")` uses."""
    growing_replacement: ClassVar[Replacement | None] = None
    """The replacement that `maximize` uses instead, if another suits growing populations better."""
    kept: ClassVar[type | None] = None
    """Type of the fits that the next fit uses as `previous`, a dataclass of numbers and arrays.

    Checkpoints hold such fits. A model whose `fit` does not use `previous` leaves it at none.
    """

    @abstractmethod
    def fit(self, parents: Bits, rng: Rng, previous: Fitted | None = None) -> Fitted:
        """Learn the distribution of the parents.

        A fit that takes long calls `harmonium.clock.check_time` between its steps, which raises
        when the time of the run is up.

        Parameters
        ----------
        parents : Bits
            Selected rows, shape (rows, length).
        rng : numpy.random.Generator
            The only source of randomness.
        previous : Fitted, optional
            The fit of the generation before.
        """

    def pack(self, fitted: Fitted) -> dict[str, NDArray[Any]]:
        """Return what the next fit needs of this one, as arrays; nothing unless `kept` is set."""
        if self.kept is None or not isinstance(fitted, self.kept):
            return {}
        return {"fitted": np.frombuffer(encode(fitted), np.uint8)}

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> Fitted | None:
        """Return the packed fit, or none if the next fit does not need it."""
        if self.kept is None or "fitted" not in arrays:
            return None
        fitted: Fitted = decode(self.kept, arrays["fitted"].tobytes())
        return fitted


def check_length(before: int, length: int, model: str) -> None:
    """Raise if the previous fit has another number of bits than the parents."""
    if before != length:
        raise ValueError(f"the {model} before has {before} bits, its parents {length}")


def read_interactions(fitted: object) -> Interactions | None:
    """Return the interactions of a fit, or none if it does not offer them."""
    return fitted.interactions() if hasattr(fitted, "interactions") else None


def read_linkage(fitted: object) -> list[tuple[int, ...]] | None:
    """Return the sets of linked bits of a fit, or none if it does not offer them."""
    return fitted.linkage() if hasattr(fitted, "linkage") else None


def read_weights(fitted: object) -> Matrix | None:
    """Return the weights between bits and hidden units of a fit, or none if it has none."""
    return fitted.weights() if hasattr(fitted, "weights") else None


def read_facts(fitted: Fitted) -> dict[str, float]:
    """Return the facts of a fit as plain numbers, or raise for one that is not a number."""
    facts = {}
    for label, value in (getattr(fitted, "facts", None) or {}).items():
        try:
            facts[str(label)] = float(value)
        except (TypeError, ValueError):
            raise ValueError(
                f"the model's fact {label!r} is {value!r}; expected a number"
            ) from None
    return facts
