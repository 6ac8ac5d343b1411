"""Which model for a function one knows nothing of: a short rule from what one evaluation costs.

`benchmarks/choice.py` measures what it rests on: `rbm` needs about half the evaluations of `boa`
where bits interact, and some 30 µs × (length/100)² of its own CPU time for each.
"""

from dataclasses import dataclass
from typing import Literal

from harmonium.models import BOA, MODELS, RBM, UMDA, Model
from harmonium.models.base import Replacement
from harmonium.specs import SpecError, to_dict

LONG = 1000
"""Bits beyond which a network of all pairs takes longer than most evaluations."""


@dataclass(frozen=True)
class Choice:
    """A model, the replacement that goes with it, and why."""

    model: Model
    replacement: Replacement | Literal["auto"]
    why: str


UNDECIDED = Choice(BOA(), "worst", "")
"""Stands in until an evaluation is measured."""


def choose_model(length: int, seconds: float) -> Choice:
    """Choose a model for functions of `length` bits whose evaluation takes `seconds`."""
    price = 50e-6 * (length / 100) ** 2
    cost = f"an evaluation takes {_format(seconds)}"
    if seconds >= price:
        why = f"{cost}, at least {_format(price)}: the model with the fewest evaluations pays"
        return Choice(RBM(), "auto", why)
    if length > LONG:
        why = f"{cost} and there are more than {LONG:,} bits: a plain model is fast"
        return Choice(UMDA(), "auto", why)
    why = f"{cost}, less than {_format(price)}: a fast model pays"
    return Choice(BOA(), "worst", why)


def read_model(model: Model | str) -> Choice:
    """Return the model the user asked for."""
    made = MODELS.parse(model) if isinstance(model, str) else model
    return Choice(made, "worst" if isinstance(made, BOA) else "auto", "as asked")


def check_findable(model: Model) -> None:
    """Refuse a model that a checkpoint could name, but nobody could find again."""
    try:
        found = MODELS.from_dict(to_dict(model)) == model
    except SpecError:
        found = False
    if not found:
        raise ValueError(
            f"model is {model}, of a class of your own; for a checkpoint write it as a text, "
            'model="module:Class:field=value,…"'
        )


def _format(seconds: float) -> str:
    unit, scale = next(
        (pair for pair in (("s", 1.0), ("ms", 1e-3)) if seconds >= pair[1]), ("µs", 1e-6)
    )
    value = seconds / scale
    return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"
