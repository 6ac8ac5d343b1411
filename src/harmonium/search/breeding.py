"""Breeding: fit a model to the parents, and sample it. The model sees bits through an XOR mask."""

from typing import NamedTuple

import numpy as np

from harmonium.arrays import Bits, check_bits
from harmonium.clock import Clock, check_time, compiling, deadline
from harmonium.jit import one_blas_thread
from harmonium.models import Fitted, Model, read_facts
from harmonium.state import CheckpointError, Snapshot


class Brood(NamedTuple):
    """A fitted model and its offspring."""

    fitted: Fitted
    """It describes `bits ^ mask`."""
    facts: dict[str, float]
    offspring: Bits


class Streams(NamedTuple):
    """The random generators of the two steps."""

    building: np.random.Generator
    sampling: np.random.Generator


def load_fitted(model: Model, snapshot: Snapshot, length: int) -> Fitted | None:
    """Return the fit of a snapshot, or raise if its rows are of another length."""
    fitted = model.unpack(snapshot.get("fitted").arrays)
    if fitted is not None:
        width = fitted.sample(1, np.random.default_rng(0)).shape[1]
        if width != length:
            raise CheckpointError(f"its model is of {width} bits; expected {length}")
    return fitted


def breed(
    model: Model,
    parents: Bits,
    count: int,
    mask: Bits,
    streams: Streams,
    previous: Fitted | None,
    clock: Clock,
) -> Brood:
    """Algorithm 1, lines 4 and 5: build a model of the parents, sample `count` offspring."""
    with one_blas_thread(), deadline(clock.deadline - compiling.elapsed):
        with clock.charge("building"):
            fitted = model.fit(parents ^ mask, streams.building, previous)
        with clock.charge("sampling"):
            check_time()
            sampled = fitted.sample(count, streams.sampling)
    offspring = _check_sampled(sampled, (count, parents.shape[1]), model) ^ mask
    return Brood(fitted, read_facts(fitted), offspring)


def _check_sampled(bits: Bits, shape: tuple[int, int], model: Model) -> Bits:
    """Refuse what a model of the user's own may sample by mistake."""
    try:
        checked = check_bits(bits, shape[1])
    except ValueError as error:
        raise ValueError(f"{model} sampled what it should not: {error}") from None
    if checked.shape != shape:
        raise ValueError(f"{model} sampled {len(checked)} rows; expected {shape[0]}, as asked for")
    return checked
