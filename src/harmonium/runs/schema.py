"""The structure of a checkpoint: what is read is checked before a run is made of it.

A file with a valid checksum may still have been edited. Searches check their own part of it.
"""

from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta

from harmonium.runs.stopping import Reason
from harmonium.space.codec import read_plain
from harmonium.state import CheckpointError, Snapshot

Number = Annotated[int, Meta(ge=0)]
Seconds = Annotated[float, Meta(ge=0)]


class _Options(msgspec.Struct):
    batch: bool
    sign: float
    cached: bool
    on_error: Literal["raise", "worst"]


class _Counts(msgspec.Struct):
    calls: Number
    failures: Number
    infeasible: Number
    seconds: Seconds
    elapsed: Seconds
    name: str


class _Tally(msgspec.Struct):
    evaluations: Number
    best_found_at: Number
    best_found_by: Number | None
    last_improved_generation: Number


class _Variable(msgspec.Struct):
    """A variable that is not a bit: its name, and a range or its values."""

    name: str
    range: tuple[int, int, int] | None = None
    values: list[str | int | float | bool | None] | None = None


class _Step(msgspec.Struct, forbid_unknown_fields=True):
    step: Number
    evaluations: Number
    calls: Number
    best: float | None
    """None where nothing had a value yet: JSON has no infinity."""
    generation: Number | None
    population: Number | None
    mean: float | None
    facts: dict[str, float | None]


class _Phases(msgspec.Struct, forbid_unknown_fields=True):
    fitness: float
    selection: float
    building: float
    sampling: float


class _Facts(msgspec.Struct):
    """All facts of a checkpoint but those of its search."""

    algorithm: dict[str, Any]
    seed: Number
    length: Annotated[int, Meta(ge=1)]
    ones: tuple[Number, Number]
    exactly_one: list[list[Number]]
    variables: list[_Variable] | None
    feasible: bool
    stop: dict[str, Any]
    evaluator: _Options
    counts: _Counts
    tally: _Tally
    improvements: list[tuple[Number, float]]
    trace: list[_Step]
    stride: Annotated[int, Meta(ge=1)]
    steps: Number
    seconds: Seconds
    cpu_seconds: _Phases
    logged: tuple[str, Number] | None
    improved: bool
    complete: bool
    noise: bool
    ended: Reason | None = None


def check_structure(snapshot: Snapshot) -> None:
    """Raise for a checkpoint that has facts or arrays that no run has written.

    Raises
    ------
    CheckpointError
        If something is missing or of another kind; the message says what.
    """
    try:
        facts = msgspec.convert(snapshot.facts, _Facts)
    except msgspec.ValidationError as error:
        raise CheckpointError(str(error)) from None
    length, (fewest, most) = facts.length, facts.ones
    if abs(facts.evaluator.sign) != 1:
        raise CheckpointError(f"its sign is {facts.evaluator.sign:g}; expected 1 or -1")
    if not fewest <= most <= length:
        raise CheckpointError(f"its bounds on ones are {fewest} and {most}, of {length} bits")
    if any(bit >= length for group in facts.exactly_one for bit in group):
        raise CheckpointError(f"a group has a bit beyond its {length} bits")
    if facts.variables is not None:
        _check_variables(facts, length)
    steps = [-1, *(row.step for row in facts.trace), facts.steps]
    if bool(facts.steps) > bool(facts.trace) or any(np.diff(steps) < 1):
        raise CheckpointError("the steps of its trace are not in order")
    places = snapshot.array("places", "int64", (None,), below=length)
    if len(np.unique(places)) < len(places):
        raise CheckpointError("a bit is fixed twice")
    snapshot.bits("values", places.shape)
    snapshot.bits("initial", (None, length))
    snapshot.array("target", "float64", ())
    snapshot.array("distinct", "uint64", (None,))
    best = float(snapshot.array("extremes", "float64", (3,))[2])
    _check_cache(snapshot, length)
    if np.isfinite(best):
        snapshot.bits("best_bits", (length,))
    elif best != -np.inf or "best_bits" in snapshot.arrays:
        raise CheckpointError(f"its best has the fitness {best:g}; expected a finite number")


def _check_cache(snapshot: Snapshot, length: int) -> None:
    """Raise for cached values that do not fit the rows or the best value of the function."""
    keys = snapshot.array("cache_keys", "uint8", (None, -(-length // 8)))
    values = snapshot.array("cache_values", "float64", (len(keys),), finite=True)
    best = snapshot.arrays["extremes"][1:].max()
    if (values > best).any():
        raise CheckpointError(f"its cache has a fitness above {best:g}, its best")


def _check_variables(facts: _Facts, length: int) -> None:
    """Raise for variables that do not fit the bits."""
    try:
        variables = read_plain([msgspec.to_builtins(one) for one in facts.variables or ()])
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"its variables are wrong: {error}") from None
    if variables.length != length or list(map(list, variables.groups)) != facts.exactly_one:
        raise CheckpointError(f"its variables do not fit its {length} bits")
