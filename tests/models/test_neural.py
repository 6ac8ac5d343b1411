"""What the neural models share: layers of units, fields, warm starts, and what they learn."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import expit

from harmonium import DAE, DBM, DBN, RBM, UMDA, Helmholtz, Model, PaperRBM, Tree
from harmonium.arrays import Bits
from harmonium.models import MODELS, Fitted, neural
from harmonium.models.neural import activate, draw
from tests.models.oracles import KEY, rng
from tests.rows import random_rows

DEEP: list[Any] = [DBN(), DBM(), DAE(), Helmholtz()]


def test_sigmoid_is_the_logistic_function() -> None:
    x = np.linspace(-40, 40, 100_001, dtype=np.float32)[None, :].copy()
    exact = expit(x.astype(np.float64))
    activate(x, np.zeros(x.shape[1], np.float32), np.float32(1.0))
    assert np.abs(x - exact).max() < 5e-7
    assert x.min() >= 0.0
    assert x.max() <= 1.0


def test_draws_have_the_probabilities_of_the_sigmoid() -> None:
    """Five standard deviations for each of 8 units: false alarms 1 in 200,000."""
    bias = np.linspace(-3, 3, 8, dtype=np.float32)
    X = np.full((100_000, 8), 0.5, np.float32)
    draw(X, bias, KEY, 0, 0)
    wanted = expit(0.5 + bias)
    assert set(np.unique(X)) == {0.0, 1.0}
    allowed = 5 * np.sqrt(wanted * (1 - wanted) / len(X))
    assert (np.abs(X.mean(axis=0, dtype=np.float64) - wanted) < allowed).all()


@pytest.mark.parametrize(
    ("weights", "expected"),
    [(5, [(0, 4), (4, 8), (8, 10)]), (1000, [(n, n + 1) for n in range(10)])],
)
def test_an_epoch_is_split_into_parts_of_about_equal_cost(
    monkeypatch: pytest.MonkeyPatch, weights: int, expected: list[tuple[int, int]]
) -> None:
    """Ten batches of five rows; a part costs 100 products of a row and a weight at most."""
    monkeypatch.setattr(neural, "_STEP_PRODUCTS", 100)
    parts = list(DAE(batch=5).split_epoch(3, 47, weights, KEY, rng()))
    assert [(part.begin, part.end) for part in parts] == expected
    assert {(part.batches, part.epoch) for part in parts} == {(10, 3)}
    assert sorted(parts[0].order.tolist()) == list(range(47))


def make_blocks(count: int, seed: int) -> Bits:
    """Return rows of two blocks of three bits, equal but for one bit in twenty."""
    rows = np.repeat(random_rows(count, 2, seed), 3, axis=1)
    noise = rng(seed + 1).random(rows.shape) < 0.05
    return rows ^ noise.astype(np.uint8)


def frequencies(rows: Bits) -> NDArray[np.float64]:
    places = rows.astype(np.int64) @ (1 << np.arange(rows.shape[1]))
    return np.bincount(places, minlength=1 << rows.shape[1]) / len(rows)


def distance(model: Model, parents: Bits) -> float:
    """Return the total variation distance between parents and a sample, after three fits."""
    fitted: Fitted | None = None
    for seed in range(3):  # a warm start is meant to be used
        fitted = model.fit(parents, rng(seed), fitted)
    assert fitted is not None
    sample = fitted.sample(20_000, rng(9))
    return float(np.abs(frequencies(parents) - frequencies(sample)).sum() / 2)


@pytest.mark.parametrize("model", DEEP, ids=str)
def test_a_known_distribution_is_learned_better_than_by_independent_bits(model: Model) -> None:
    """Seen: 0.66 for independent bits."""
    parents = make_blocks(4000, seed=1)
    assert distance(model, parents) < 0.4 * distance(UMDA(), parents)


CHANGES = """
    layers=3 hidden=4 connections=all significance=20 inference_steps=5 persistent=true
    corruption=0.3 batch=20 rate=0.1 momentum=0 weight_cost=0.05 warm_start=false weight_spread=0.5
    max_epochs=3 stop_below=0.9 gibbs_steps=1 rounds=2
"""

PAPER_CHANGES = """
    hidden=n connections=correlated connections=correlated,significance=2 cd_steps=2 persistent=true
    centered=false positive=probabilities batch=20 rate=0.1 bias_rate=0.1 momentum=0
    bias_momentum=true weight_cost=0.01 weight_spread=0.1 warm_start=true marginal_clip=0.499
    max_epochs=4 error=samples error_every=1 gamma=points final_momentum=0.9 momentum_below=0.9
    halve_below=0.9 stop_below=0.9 first_decrease=0.999 validation=0.3 stop_gap=0.0001
    gap=relative gibbs_steps=1 chain_start=recombined
"""


def list_changes() -> list[tuple[Model, str]]:
    cases: list[tuple[Model, str]] = [(PaperRBM(), change) for change in PAPER_CHANGES.split()]
    for model in DEEP:
        names = {field.name for field in fields(model)}
        mine = [change for change in CHANGES.split() if change.split("=")[0] in names]
        assert len(mine) == len(names)
        cases += [(model, change) for change in mine]
    return cases


@pytest.mark.parametrize(("model", "change"), list_changes(), ids=str)
def test_every_field_makes_a_difference(model: Model, change: str) -> None:
    parents = np.hstack([make_blocks(200, seed=2), random_rows(200, 4, seed=3)])

    def sample(model: Model) -> Bits:
        first = model.fit(parents, rng(4))
        return model.fit(parents, rng(5), first).sample(200, rng(6))

    assert (sample(MODELS.parse(f"{model.name}:{change}")) != sample(model)).any()


@pytest.mark.parametrize("model", [RBM, DAE, Helmholtz])
def test_a_warm_start_goes_on_from_the_last_generation(model: Any) -> None:
    parents = make_blocks(200, seed=7)
    first = model().fit(parents, rng(8))
    frozen = {"rate": 0.0, "bias_rate": 0.0} if model is RBM else {"rate": 0.0}
    warm = model(**frozen).fit(parents, rng(9), first)
    np.testing.assert_array_equal(warm.weights(), first.weights())
    cold = model(**frozen, warm_start=False).fit(parents, rng(9), first)
    assert (cold.weights() != first.weights()).any()


@pytest.mark.parametrize("model", [RBM(), *DEEP, Tree(decay=0.5)], ids=str)
def test_a_previous_fit_of_another_length_is_refused(model: Model) -> None:
    before = model.fit(random_rows(20, 5, seed=10), rng(11))
    with pytest.raises(ValueError, match=r"before has 5 bits, its parents 6"):
        model.fit(random_rows(20, 6, seed=10), rng(11), before)


STEPS = {"cd_steps", "inference_steps", "max_epochs", "gibbs_steps", "max_steps", "sweeps"}


@pytest.mark.parametrize("name", ["rbm", "rbm-paper", "dbn", "dbm", "dae", "helmholtz", "mrf"])
def test_steps_beyond_all_reason_are_refused(name: str) -> None:
    model = type(MODELS.parse(name))
    names = {field.name for field in fields(model)}
    assert names & STEPS
    for field in names & (STEPS | {"hidden", "batch"}):
        for number in (0, 2**63):
            with pytest.raises(ValueError, match=f"{field} is .*; expected an integer ≥ 1 and ≤"):
                model(**{field: number})
