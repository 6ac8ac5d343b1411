"""EDA: an estimation of distribution algorithm, Algorithm 1 of the paper."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from msgspec import Meta

from harmonium.models import MODELS, UMDA, Model, Replacement
from harmonium.search.base import Algorithm, Search
from harmonium.search.interleaved import InterleavedSearch
from harmonium.search.population import PopulationSearch
from harmonium.search.selection import Pairing
from harmonium.space import Space

if TYPE_CHECKING:
    from harmonium.search.incremental import Incremental


@dataclass(frozen=True)
class EDA(Algorithm):
    """An estimation of distribution algorithm: a model and the population around it.

    Parameters
    ----------
    model : Model or str
        What is learned of the selected rows: ``RBM()``, or a text such as "boa:max_parents=4".
    population : int or "auto"
        Number of rows, even. "auto" interleaves populations of doubling size.
    tournament : int
        Size of a tournament.
    pairing : str
        Which rows meet in a tournament: "any", or "parent-offspring".
    replacement : str
        Which rows make room for the offspring: "keep-parents", "worst", "rtr" or "rtr-prune".
        "auto" uses what suits the model.

    Examples
    --------
    >>> search = EDA("boa", population=400).start(60, seed=1)
    >>> bits = search.ask()
    >>> search.tell(bits, bits.sum(axis=1))
    """

    name: ClassVar[str] = "eda"

    model: Model
    population: Annotated[
        Annotated[int, Meta(ge=8, le=100_000_000)] | Literal["auto"],
        Meta(description="its size, even; auto: interleaved populations of doubling size"),
    ] = "auto"
    tournament: Annotated[int, Meta(ge=2, description="size of a tournament")] = 2
    pairing: Annotated[
        Pairing, Meta(description="who meets in a tournament: anyone, or a parent and an offspring")
    ] = "any"
    replacement: Annotated[
        Replacement | Literal["auto"],
        Meta(description="who makes room for the offspring; auto: what suits the model"),
    ] = "auto"

    if TYPE_CHECKING:  # a text is accepted too, and made a model

        def __init__(
            self,
            model: Model | str,
            population: int | Literal["auto"] = ...,
            tournament: int = ...,
            pairing: Pairing = ...,
            replacement: Replacement | Literal["auto"] = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        resolve_model(self)
        if self.replacement == "auto":  # resolved here, so that an EDA says what it does
            paired = self.pairing == "parent-offspring"
            suitable = "keep-parents" if paired else self.model.replacement
            object.__setattr__(self, "replacement", suitable)
        self._check_sizes()

    def _check_sizes(self) -> None:
        """Raise if population, tournament and pairing do not go together."""
        if self.population != "auto":
            if self.population % 2:
                raise self.field_error("population", "an even number")
            if self.tournament > self.population // 2:
                raise self.field_error("tournament", "at most half the population")
        if self.pairing == "parent-offspring":
            if self.replacement != "keep-parents":
                raise self.field_error("replacement", "keep-parents with pairing=parent-offspring")
            if self.tournament != 2:
                raise self.field_error("tournament", "2 with pairing=parent-offspring")

    @property
    def label(self) -> str:
        """The model: what distinguishes one EDA from another in tables and charts."""
        return str(self.model)

    @property
    def endless(self) -> bool:
        """Whether searches never end by themselves: a larger population can always be tried."""
        return self.population == "auto"

    @property
    def smallest_population(self) -> int:
        """The smallest population with these tournaments."""
        return max(8, 2 * self.tournament)

    def start(self, space: Space | int, seed: int) -> Search:
        """Start a search over the rows of a space, or over that many free bits."""
        kind = InterleavedSearch if self.population == "auto" else PopulationSearch
        return kind(self, space, seed)

    def with_population(self, population: int) -> "EDA":
        """Return the same EDA with a population of this size."""
        return replace(self, population=population)

    def compile(self) -> None:
        """Exercise the kernels of model and replacement on a few bits, once a process.

        Numba keeps the compiled code on disk, so later processes only load it. A model of the user
        is never called here.
        """
        known = any(type(self.model) is model for model in MODELS)
        model = self.model if known else UMDA()
        few = {name: min(2, getattr(model, name)) for name in model.step_fields}
        model = replace(model, **few)
        kind = (model, self.replacement)  # fields too: they choose which kernels run
        if kind in _compiled:
            return
        search = replace(self, model=model, population=max(20, self.smallest_population)).start(
            6, seed=0
        )
        for _ in range(3):
            bits = search.ask()
            search.tell(bits, bits.sum(axis=1))
        _compiled.add(kind)


def resolve_model(algorithm: "EDA | Incremental") -> None:
    """Make the field `model`, given as a text or in the form of JSON, a model; or raise."""
    model: object = algorithm.model
    if isinstance(model, str):
        model = MODELS.parse(model)
    elif isinstance(model, dict):
        model = MODELS.from_dict(model)
    if not isinstance(model, Model):
        raise algorithm.field_error(
            "model", "a model, such as harmonium.RBM(), or a subclass of harmonium.Model"
        )
    object.__setattr__(algorithm, "model", model)


_compiled: set[object] = set()
