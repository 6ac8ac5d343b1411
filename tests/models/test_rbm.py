"""The RBM as a model: where it starts, how the paper's control steers it, what each field does."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from harmonium.arrays import Bits
from harmonium.models import RBM, PaperRBM
from harmonium.models.neural import compute_gamma
from harmonium.models.rbm import Control
from tests.models.oracles import rng
from tests.rows import random_rows


def blocks(count: int, n: int, size: int, seed: int) -> Bits:
    return np.repeat(random_rows(count, n // size, seed), size, axis=1)


def test_the_papers_settings_are_the_papers() -> None:
    paper = PaperRBM()
    assert (paper.hidden, paper.cd_steps, paper.batch) == ("n/2", 1, 100)
    assert (paper.rate, paper.bias_rate, paper.weight_cost) == (0.05, 0.5, 0.0001)
    assert (paper.momentum, paper.final_momentum, paper.momentum_below) == (0.5, 0.8, 0.1)
    assert (paper.halve_below, paper.stop_below, paper.error_every) == (0.05, 0.01, 2)
    assert (paper.validation, paper.stop_gap, paper.gibbs_steps) == (0.1, 0.02, 25)
    assert (paper.connections, paper.chain_start, paper.replacement) == (
        *("all", "parents", "keep-parents"),
    )
    assert not paper.warm_start
    assert paper.centered
    assert not paper.persistent


def test_training_starts_at_the_log_odds_and_small_weights() -> None:
    parents = (rng(3).random((1000, 6)) < [0.1, 0.3, 0.5, 0.7, 0.9, 1.0]).astype(np.uint8)
    untrained = PaperRBM(rate=0.0, bias_rate=0.0, max_epochs=1, validation=0.0)
    W, b, c = untrained.fit(parents, rng(4)).machine
    marginals = parents.mean(axis=0).clip(0.005, 0.995)
    np.testing.assert_allclose(b, np.log(marginals / (1 - marginals)), rtol=1e-4)
    assert 0 < np.abs(W).max() < 0.01
    assert not c.any()


def test_hidden_units_see_the_bits_correlated_with_their_own() -> None:
    """Two blocks of three equal bits and two bits alone, one of them constant."""
    parents = np.hstack([blocks(500, 6, 3, seed=30), random_rows(500, 2, seed=31)])
    parents[:, 7] = 1
    connected = RBM(significance=1.0).connect(parents.astype(np.float32), hidden=10)
    block = np.ones((3, 3))
    np.testing.assert_array_equal(connected[:3, :3], block)
    np.testing.assert_array_equal(connected[3:6, 3:6], block)
    assert connected[:6, :6].sum() == 18
    assert not connected[6:].any()
    np.testing.assert_array_equal(connected[:, 8:], connected[:, :2])  # units begin again at bit 0


def test_recombined_chains_mix_the_parents_and_keep_what_was_learned() -> None:
    """Blocks that agree in every parent: only hidden units can carry one from parent to parent."""
    parents = np.repeat(random_rows(1000, 1, seed=36), 12, axis=1)
    parents[:, 6:] = np.repeat(random_rows(1000, 1, seed=37), 6, axis=1)
    fitted = RBM().fit(parents, rng(38))
    for seed in range(39, 45):
        fitted = RBM().fit(parents, rng(seed), fitted)
    kept = replace(fitted, recombined=False).sample(1000, rng(46))
    mixed = fitted.sample(1000, rng(46))
    for sample in (kept, mixed):
        ones = sample.reshape(1000, 2, 6).sum(axis=2)
        assert ((ones == 0) | (ones == 6)).mean() > 0.8
    assert (mixed != parents).mean() > (kept != parents).mean() + 0.1


FALLING = [1.0 - 0.02 * time for time in range(17)]
JITTERED = [*FALLING[:-1], FALLING[-1] + 0.07]
THIRD, FOURTH = (0.82 + 0.80 + 0.78 + 0.76) / 4, (0.74 + 0.72 + 0.70 + 0.75) / 4


@pytest.mark.parametrize(
    ("errors", "how", "first_decrease", "gamma"),
    [
        # Epochs 0, 2, 4, 6, 8: the last quarter begins at 6.
        ([1.0, 0.8, 0.7, 0.6, 0.5], "means", 0.0, 0.2),
        ([1.0, 0.8, 0.7, 0.6, 0.5], "points", 0.0, 0.2),
        # One error that jitters does not end the decrease of the means.
        (JITTERED, "points", 0.0, (0.76 - 0.75) / 0.25),
        (JITTERED, "means", 0.0, (THIRD - FOURTH) / (1.0 - FOURTH)),
        # γ counts only after a first decrease, and a rising error is no reason to stop.
        ([1.0, 0.995, 0.99, 0.99, 0.99], "means", 0.0, 0.0),
        ([1.0, 0.995, 0.99, 0.99, 0.99], "means", 0.02, 1.0),
        ([1.0, 1.1, 1.2, 1.3, 1.4], "means", 0.0, 1.0),
    ],
)
def test_gamma_is_the_share_of_the_decrease_in_the_last_quarter(
    errors: list[float], how: Any, first_decrease: float, gamma: float
) -> None:
    assert compute_gamma(errors, how, first_decrease) == pytest.approx(gamma)


@pytest.mark.parametrize(("gamma", "stopped"), [("means", 11), ("points", 5)])
def test_a_change_of_rates_must_be_able_to_show_before_training_stops(
    gamma: Any, stopped: int
) -> None:
    """The fifth error changes the rates; two quarters behind it there are after the tenth."""
    control = Control(PaperRBM(gamma=gamma), 0.5)
    errors = [1.0, 0.9, 0.8, 0.7, 0.7, *[0.7] * 20]
    for count in range(5, len(errors)):
        control.errors = errors[:count]
        control.apply(compute_gamma(control.errors, gamma, 0.02))
        if count == 5:
            assert (control.momentum, control.rate) == (0.8, 0.5)
        if control.stop:
            break
    assert len(control.errors) == stopped


def test_training_stops_when_the_error_no_longer_falls() -> None:
    parents = blocks(1000, 10, 5, seed=12)
    paper = replace(PaperRBM(), stop_gap=0.0)
    epochs = paper.fit(parents, rng(13)).facts["epochs"]
    assert 10 < epochs < 1000
    assert epochs % 2 == 0
    endless = replace(paper, stop_below=0.0, max_epochs=int(epochs) + 50)
    assert endless.fit(parents, rng(13)).facts["epochs"] == epochs + 50


def test_a_rule_that_is_off_never_fires() -> None:
    """Noise makes γ negative, which is below any limit; 0 still means never."""
    off = PaperRBM(
        stop_below=0.0, stop_gap=0.0, first_decrease=0.0, error="samples", max_epochs=300
    )
    for seed in range(3):
        assert off.fit(random_rows(200, 10, seed=40), rng(seed)).facts["epochs"] == 300


def test_a_row_more_than_whole_batches_makes_no_difference_to_what_is_learned() -> None:
    """With 101 rows in batches of 100 a lone row would throw every bias by the full rate."""
    wanted = np.linspace(0.2, 0.8, 10)
    parents = (rng(41).random((101, 10)) < wanted).astype(np.uint8)
    model = PaperRBM(validation=0.0, stop_gap=0.0, rate=0.0, max_epochs=50)
    sample = model.fit(parents, rng(42)).sample(20_000, rng(43))
    np.testing.assert_allclose(sample.mean(axis=0), parents.mean(axis=0), atol=0.08)


def test_training_stops_at_the_gap_to_the_validation_rows() -> None:
    """Forty rows of 30 random bits can only be learned by heart."""
    parents = random_rows(40, 30, seed=14)
    overfit = PaperRBM(rate=0.5, stop_below=0.0, max_epochs=500)
    facts = overfit.fit(parents, rng(15)).facts
    assert facts["epochs"] < 500
    assert facts["gap"] >= 0.02
    relative = replace(overfit, gap="relative").fit(parents, rng(15)).facts
    assert relative["epochs"] <= facts["epochs"]
    assert replace(overfit, stop_gap=0.0).fit(parents, rng(15)).facts["epochs"] == 500


def test_a_relative_gap_to_no_error_at_all_is_a_number() -> None:
    """All rows alike are drawn without an error, also the rows held out."""
    alike = np.ones((40, 4), dtype=np.uint8)
    literal = PaperRBM(error="samples", gap="relative", centered=False, max_epochs=40)
    assert literal.fit(alike, rng(16)).facts["gap"] in (0.0, 1.0)
