"""Checks for custom models: what every model promises to the algorithms that use it."""

from collections.abc import Callable
from typing import Final

import numpy as np

from harmonium.arrays import Bits, check_bits
from harmonium.models import (
    MODELS,
    Fitted,
    Interactions,
    Model,
    read_facts,
    read_interactions,
    read_linkage,
    read_weights,
)
from harmonium.specs import SpecError

__all__ = ["MODEL_CHECKS", "ContractError", "check_model"]

MAX_FITS: Final = 30
"""Fits after which a model that learns from generation to generation must know the parents."""


class ContractError(AssertionError):
    """A model does not do what every model promises."""


def check_model(model: Model) -> None:
    """Check that a model does what every model promises; test suites call it once a model.

    The model is fitted to small sets of rows, alone and after a previous fit. Checked are shape and
    values of samples, that the given generators are the only source of randomness, that parents and
    previous fits stay as they are, what a fit may offer, that checkpoints keep what the next fit
    needs, that text and JSON make the same model again, and that the model learns the frequencies
    of the bits.

    Parameters
    ----------
    model : Model
        The model to check.

    Raises
    ------
    ContractError
        If a promise is broken; the message says which. It is an `AssertionError`.

    Examples
    --------
    >>> import harmonium as hm
    >>> from harmonium.testing import check_model
    >>> check_model(hm.UMDA())
    """
    for check in MODEL_CHECKS:
        check(model)


def check_samples(model: Model) -> None:
    """Check that a sample has as many rows as asked for, of zeros and ones."""
    fitted = model.fit(_make_parents(), _rng(2))
    for count in (1, 7, 60, 200):
        _check_sample(model, fitted.sample(count, _rng(3)), (count, 9))


def check_tiny_parents(model: Model) -> None:
    """Check that two rows, and one bit, are enough for a fit."""
    for rows, length in ((2, 1), (4, 2), (5, 3)):
        fitted = model.fit(_draw_rows(rows, length, 13), _rng(14))
        _check_sample(model, fitted.sample(4, _rng(15)), (4, length))


def check_parents(model: Model) -> None:
    """Check that fitting and sampling leave the parents as they are."""
    parents = _make_parents()
    model.fit(parents, _rng(7)).sample(40, _rng(8))
    _require(np.array_equal(parents, _make_parents()), model, "fitting has changed the parents")


def check_randomness(model: Model) -> None:
    """Check that the given generators are the only source of randomness."""
    parents = _make_parents()
    sample = model.fit(parents, _rng(4)).sample(50, _rng(5))
    same = model.fit(parents, _rng(4)).sample(50, _rng(5))
    other = model.fit(parents, _rng(4)).sample(50, _rng(6))
    _require(np.array_equal(same, sample), model, "the same generators give another sample")
    _require(not np.array_equal(other, sample), model, "another generator gives the same sample")


def check_previous(model: Model) -> None:
    """Check that the next fit does not change the previous one."""
    parents = _make_parents()
    first = model.fit(parents, _rng(7))
    sample = first.sample(40, _rng(8))
    model.fit(parents, _rng(9), first).sample(40, _rng(10))
    same = np.array_equal(first.sample(40, _rng(8)), sample)
    _require(same, model, "the next fit has changed the previous one")


def check_kept(model: Model) -> None:
    """Check that a fit read from a checkpoint serves the next fit as the fit itself does."""
    first = model.fit(_make_parents(), _rng(7))
    loaded = model.unpack(model.pack(first))
    children = _draw_rows(60, 9, 2)
    sample = model.fit(children, _rng(8), first).sample(40, _rng(9))
    again = model.fit(children, _rng(8), loaded).sample(40, _rng(9))
    problem = "a checkpoint loses what `fit` uses of `previous`; set `kept` to the type of the fits"
    _require(np.array_equal(again, sample), model, problem)


def check_text(model: Model) -> None:
    """Check that the text and the plain types of a model make the same model again."""
    try:
        parsed, made = MODELS.parse(str(model)), MODELS.from_dict(model.to_dict())
    except SpecError as error:
        raise ContractError(f"{model}: its text or its dict makes no model: {error}") from None
    for form, again in (("text", parsed), ("dict", made)):
        same = again == model and hash(again) == hash(model)
        _require(same, model, f"its {form} makes another model, {again}")


def check_convergence(model: Model) -> None:
    """Check that equal parents are sampled nearly unchanged, after some fits at most."""
    parents = np.repeat(_draw_rows(1, 40, 11), 200, axis=0)
    changed = _learn(model, parents, lambda sample: float((sample != parents[0]).mean()), 0.03)
    problem = f"{changed:.0%} of the sampled bits differ; expected at most 3 %"
    _require(changed <= 0.03, model, f"fitted to equal parents, {problem}")


def check_frequencies(model: Model) -> None:
    """Check that bits have the frequencies of the parents, after some fits at most."""
    wanted = np.linspace(0.2, 0.8, 8)
    parents = (_rng(16).random((4000, 8)) < wanted).astype(np.uint8)

    def measure(sample: Bits) -> float:
        return float(np.abs(sample.mean(axis=0) - wanted).max())

    off = _learn(model, parents, measure, 0.1)
    problem = f"a frequency is off by {off:.2f}; expected at most 0.1"
    _require(off <= 0.1, model, f"fitted to independent bits, {problem}")


def check_offers(model: Model) -> None:
    """Check that facts, interactions, linkage and weights are well-formed, where they exist."""
    blocks = np.repeat(_draw_rows(200, 3, 4), 3, axis=1)
    converged = np.ones((50, 6), dtype=np.uint8)
    for parents in (_make_parents(), _draw_rows(4, 2, 2), _draw_rows(2, 1, 3), blocks, converged):
        first = model.fit(parents, _rng(1))
        for fitted in (first, model.fit(parents, _rng(2), first)):
            _check_offers(model, fitted, parents.shape[1])


MODEL_CHECKS: Final[tuple[Callable[[Model], None], ...]] = (
    *(check_samples, check_tiny_parents, check_parents, check_randomness, check_previous),
    *(check_kept, check_text, check_offers, check_convergence, check_frequencies),
)
"""All checks, each a function of a model, for test suites that run them one by one."""


def _check_sample(model: Model, sample: Bits, shape: tuple[int, int]) -> None:
    try:
        bits = check_bits(sample, shape[1])
    except ValueError as error:
        raise ContractError(f"{model}: sampled {error}") from None
    _require(bits.shape == shape, model, f"sampled {len(bits)} rows; expected {shape[0]}")


def _check_offers(model: Model, fitted: Fitted, length: int) -> None:
    try:
        facts = read_facts(fitted)
    except ValueError as error:
        raise ContractError(f"{model}: {error}") from None
    for label, fact in facts.items():
        _require(np.isfinite(fact), model, f"the fact {label!r} is {fact}; expected a number")
    _check_interactions(model, read_interactions(fitted), length)
    _check_linkage(model, read_linkage(fitted), length)
    weights = read_weights(fitted)
    if weights is not None:
        formed = weights.ndim == 2 and len(weights) == length and np.isfinite(weights).all()
        _require(formed, model, f"weights() is not a finite array of shape ({length}, units)")


def _check_interactions(model: Model, interactions: Interactions | None, length: int) -> None:
    if interactions is None:
        return
    strengths = interactions.strengths
    known = strengths.shape == (length, length) and np.isfinite(strengths).all()
    _require(known, model, f"strengths are not finite numbers of shape ({length}, {length})")
    _require((strengths >= 0).all(), model, "a strength is below 0")
    _require(not strengths.diagonal().any(), model, "a bit interacts with itself")
    symmetric = interactions.directed or np.array_equal(strengths, strengths.T)
    _require(symmetric, model, "strengths are not symmetric, and `directed` is not set")
    _require(interactions.threshold > 0, model, "the threshold of interactions is not above 0")


def _check_linkage(model: Model, linkage: list[tuple[int, ...]] | None, length: int) -> None:
    for bits in linkage or []:
        known = all(type(bit) is int and 0 <= bit < length for bit in bits)
        formed = isinstance(bits, tuple) and known and list(bits) == sorted(set(bits))
        expected = f"a tuple of two or more bits, as sorted integers below {length}"
        _require(formed and len(bits) > 1, model, f"linkage has {bits!r}; expected {expected}")
    once = linkage is None or len(set(linkage)) == len(linkage)
    _require(once, model, "linkage has the same bits twice")


def _learn(model: Model, parents: Bits, measure: Callable[[Bits], float], near: float) -> float:
    """Fit until a sample is near enough, each fit after the previous one; return how far it is."""
    fitted, distance = None, np.inf
    for number in range(MAX_FITS):
        fitted = model.fit(parents, _rng(100 + number), fitted)
        distance = measure(fitted.sample(len(parents), _rng(200 + number)))
        if distance <= near:
            break
    return distance


def _make_parents() -> Bits:
    """Return sixty rows whose first three bits are equal, the last always one."""
    rows = _draw_rows(60, 9, 1)
    rows[:, 1:3] = rows[:, :1]
    rows[:, 8] = 1
    return rows


def _draw_rows(count: int, length: int, seed: int) -> Bits:
    return _rng(seed).integers(0, 2, (count, length), dtype=np.uint8)


def _rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def _require(kept: object, model: Model, message: str) -> None:
    if not kept:
        raise ContractError(f"{model}: {message}")
