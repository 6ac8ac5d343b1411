"""An EDA says what is wanted: a model, the population around it, who is selected and replaced."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from msgspec import Meta

from harmonium.models import Model
from harmonium.models.base import Replacement
from harmonium.search.interleaved import Interleaved
from harmonium.search.search import Repair, Search
from harmonium.search.selection import Pairing
from harmonium.search.snapshot import Snapshot, describe
from harmonium.specs import Spec

AnySearch = Search | Interleaved
"""What `EDA.start` begins: one population, or several that take turns."""


@dataclass(frozen=True)
class EDA(Spec):
    """An estimation of distribution algorithm: a model and the population around it."""

    name: ClassVar[str] = "eda"

    model: Model
    population: Annotated[
        Annotated[int, Meta(ge=8, le=100_000_000)] | Literal["auto"],
        Meta(description="its size, even; auto: populations of doubling size take turns"),
    ] = "auto"
    tournament: Annotated[int, Meta(ge=2, description="size of a tournament")] = 2
    pairing: Annotated[
        Pairing, Meta(description="who meets in a tournament: anyone, or a parent and an offspring")
    ] = "any"
    replacement: Annotated[
        Replacement | Literal["auto"],
        Meta(description="who makes room for the offspring; auto: what suits the model"),
    ] = "auto"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.model, Model):
            raise self.refusal(
                "model", "a model, such as harmonium.RBM(), or your own harmonium.Model"
            )
        if self.replacement == "auto":  # settled here, so that an EDA says what it does
            paired = self.pairing == "parent-offspring"
            suitable = "keep-parents" if paired else self.model.replacement
            object.__setattr__(self, "replacement", suitable)
        if self.population != "auto":
            if self.population % 2:
                raise self.refusal("population", "an even number")
            if self.tournament > self.population // 2:
                raise self.refusal("tournament", "at most half the population")
        if self.pairing == "parent-offspring":
            if self.replacement != "keep-parents":
                raise self.refusal("replacement", "keep-parents with pairing=parent-offspring")
            if self.tournament != 2:
                raise self.refusal("tournament", "2 with pairing=parent-offspring")

    def start(self, length: int, seed: int, repair: Repair | None = None) -> AnySearch:
        """Begin a search over strings of `length` bits; `repair` makes sampled rows valid."""
        kind = Interleaved if self.population == "auto" else Search
        return kind(self, length, seed, repair)

    def restore(
        self, length: int, seed: int, snapshot: Snapshot, repair: Repair | None = None
    ) -> AnySearch:
        """Return the search of which `search.snapshot()` was taken, with the same settings."""
        of = describe(self, length, seed)
        if (saved := snapshot.facts.get("of")) != of:
            raise ValueError(f"the snapshot is of {saved or 'no search'}; restored was {of}")
        kind = Interleaved if self.population == "auto" else Search
        return kind.restore(self, length, seed, snapshot, repair)
