"""`harmonium.testing` finds what is wrong with a model."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.models import UMDA, Fitted, Interactions, Model
from harmonium.testing import ContractError, check_model

GLOBAL = np.random.default_rng(1)
MEMORY: dict[str, Any] = {}


@dataclass(frozen=True)
class FittedFaulty:
    """Frequencies, sampled with one fault."""

    fault: str
    frequencies: NDArray[np.float64]

    @property
    def facts(self) -> Mapping[str, float]:
        if self.fault == "fact":
            return {"note": "hello"}  # type: ignore[dict-item]
        return {"share": np.nan if self.fault == "undefined" else self.frequencies.mean()}

    def sample(self, count: int, rng: np.random.Generator) -> Bits:
        count -= self.fault == "few rows" and count > 1
        draws = (GLOBAL if self.fault == "global" else rng).random((count, self.frequencies.size))
        if self.fault == "deterministic":
            draws[:] = 0.5
        if self.fault == "changed" and "frequencies" in MEMORY:
            draws /= 2
        rows = (draws < self.frequencies).astype(np.uint8)
        return rows * np.uint8(2) if self.fault == "twos" else rows

    def interactions(self) -> Interactions:
        one = np.eye(self.frequencies.size)
        strengths = {
            "asymmetric": np.triu(1 - one, 1),
            "itself": np.ones_like(one),
            "negative": one - 1,
            "shape": (1 - one)[:-1],
        }.get(self.fault, 1 - one)
        return Interactions(strengths, threshold=0.0 if self.fault == "threshold" else 1.0)

    def linkage(self) -> list[tuple[int, ...]]:
        faults = {
            "single": [(0,)],
            "unsorted": [(1, 0)],
            "too large": [(0, 99)],
            "floats": [(0, 1.0)],
            "twice": [(0, 1), (0, 1)],
        }
        return faults.get(self.fault, [(0, 1)]) if self.frequencies.size > 1 else []  # type: ignore[return-value]

    def weights(self) -> NDArray[np.float64]:
        return np.ones((self.frequencies.size + (self.fault == "weights"), 2))


@dataclass(frozen=True)
class Faulty(Model):
    """Independent bits and one fault."""

    fault: str = ""

    def fit(
        self, parents: Bits, rng: np.random.Generator, previous: Fitted | None = None
    ) -> FittedFaulty:
        frequencies = parents.mean(axis=0)
        if self.fault == "parents":
            parents[0] = 1
        if self.fault == "changed" and previous is not None:
            MEMORY["frequencies"] = frequencies
        if self.fault == "flat":
            frequencies = np.where((frequencies > 0) & (frequencies < 1), 0.5, frequencies)
        if self.fault == "noisy":
            frequencies = 0.9 * frequencies + 0.05
        if isinstance(previous, FittedFaulty) and self.fault in ("slow", "lost", "packed"):
            frequencies = 0.7 * previous.frequencies + 0.3 * frequencies
        elif self.fault == "slow":
            frequencies = 0.35 + 0.3 * frequencies
        return FittedFaulty(self.fault, frequencies)

    def pack(self, fitted: Fitted) -> dict[str, NDArray[Any]]:
        return {} if self.fault == "lost" else {"f": fitted.frequencies}  # type: ignore[attr-defined]

    def unpack(self, arrays: Mapping[str, NDArray[Any]]) -> FittedFaulty | None:
        return FittedFaulty(self.fault, arrays["f"]) if arrays else None

    def __str__(self) -> str:
        return str(replace(self, fault="")) if self.fault == "text" else super().__str__()


@pytest.mark.parametrize("model", [UMDA(), Faulty(), Faulty("slow"), Faulty("packed")], ids=str)
def test_a_sound_model_passes(model: Model) -> None:
    check_model(model)


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("few rows", "sampled 6 rows; expected 7"),
        ("twos", "expected 0 or 1"),
        ("global", "the same generators give another sample"),
        ("deterministic", "another generator gives the same sample"),
        ("parents", "fitting has changed the parents"),
        ("changed", "the next fit has changed the previous one"),
        ("lost", "a checkpoint loses what `fit` uses of `previous`"),
        ("text", "its text makes another model"),
        ("fact", "the model's fact 'note' is 'hello'; expected a number"),
        ("undefined", "the fact 'share' is nan; expected a number"),
        ("shape", "strengths are not finite numbers of shape (9, 9)"),
        ("negative", "a strength is below 0"),
        ("itself", "a bit interacts with itself"),
        ("asymmetric", "strengths are not symmetric"),
        ("threshold", "the threshold of interactions is not above 0"),
        ("single", "linkage has (0,); expected a tuple of two or more bits"),
        ("unsorted", "linkage has (1, 0); expected a tuple"),
        ("too large", "linkage has (0, 99); expected a tuple"),
        ("floats", "linkage has (0, 1.0); expected a tuple"),
        ("twice", "linkage has the same bits twice"),
        ("weights", "weights() is not a finite array of shape (9, units)"),
        ("noisy", "fitted to equal parents, 5% of the sampled bits differ; expected at most 3 %"),
        ("flat", "a frequency is off by 0."),
    ],
)
def test_a_fault_is_named(fault: str, message: str) -> None:
    MEMORY.clear()
    with pytest.raises(ContractError) as caught:
        check_model(Faulty(fault))
    assert message in str(caught.value)
    assert str(caught.value).count("\n") == 0
