"""What fits offer besides samples: interactions, linkage and weights, against enumeration."""

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from harmonium import BOA, UMDA
from harmonium.arrays import Bits
from harmonium.models import read_facts, read_interactions, read_linkage, read_weights
from harmonium.models.base import DOUBLED_ODDS
from harmonium.models.neural import CONTEXTS, Machine
from harmonium.models.rbm import FittedRBM
from tests.rows import every_row, random_rows


def make_rbm(length: int, hidden: int, scale: float, seed: int = 1) -> FittedRBM:
    rng = np.random.default_rng(seed)
    machine = Machine(
        (scale * rng.normal(size=(length, hidden))).astype(np.float32),
        rng.normal(size=length).astype(np.float32),
        rng.normal(size=hidden).astype(np.float32),
    )
    return FittedRBM(machine, random_rows(40, length, seed), 1, False, {})


def enumerate_log_probabilities(fitted: FittedRBM) -> dict[tuple[int, ...], float]:
    """Return log P of every row, up to a constant: the sum over all states of the hidden units."""
    weights, visible, hidden = (part.astype(np.float64) for part in fitted.machine)
    units = every_row(len(hidden))
    logs = {}
    for row in every_row(len(visible)):
        energies = row @ visible + units @ (hidden + row @ weights)
        logs[tuple(row.tolist())] = float(np.logaddexp.reduce(energies))
    return logs


def log_odds_ratios(fitted: FittedRBM) -> NDArray[np.float64]:
    """Return the mean log odds ratio of each pair of bits, given the others as in some parents."""
    logs = enumerate_log_probabilities(fitted)
    length = fitted.parents.shape[1]
    ratios = np.zeros((length, length))
    for one, other in product(range(length), repeat=2):
        if one == other:
            continue
        for parent in fitted.parents[:CONTEXTS].tolist():
            log = {}
            for bits in product((0, 1), repeat=2):
                parent[one], parent[other] = bits
                log[bits] = logs[tuple(parent)]
            ratios[one, other] += log[1, 1] + log[0, 0] - log[1, 0] - log[0, 1]
    return ratios / CONTEXTS


@pytest.mark.parametrize(("length", "hidden"), [(2, 1), (6, 4), (7, 3)])
@pytest.mark.parametrize("scale", [0.1, 1.0, 5.0])
def test_interactions_of_an_rbm_are_log_odds_ratios(length: int, hidden: int, scale: float) -> None:
    fitted = make_rbm(length, hidden, scale)
    interactions = fitted.interactions()
    expected = np.abs(log_odds_ratios(fitted))
    np.testing.assert_allclose(interactions.strengths, expected, rtol=1e-5, atol=1e-6)
    assert (interactions.directed, interactions.threshold) == (False, DOUBLED_ODDS)


def test_the_free_energy_is_the_enumerated_one() -> None:
    fitted = make_rbm(6, 4, 1.0)
    rows = every_row(6)
    logs = np.array(list(enumerate_log_probabilities(fitted).values()))
    np.testing.assert_allclose(-fitted.free_energy(rows), logs, rtol=1e-6)


def test_interactions_of_extreme_weights_are_numbers() -> None:
    strengths = make_rbm(10, 8, 1000.0).interactions().strengths
    assert np.isfinite(strengths).all()
    np.testing.assert_array_equal(strengths, strengths.T)


def test_a_pair_is_learned_where_one_bit_doubles_the_odds_of_the_other() -> None:
    # One unit whose input is -w, 0, 0 or w, with no, one or both bits set.
    for weight, learned in ((0.9, False), (4.0, True)):
        fitted = make_rbm(2, 1, 1.0)
        fitted.machine.W[:] = weight
        fitted.machine.c[:] = -weight
        interactions = fitted.interactions()
        ratio = np.log((1 + np.exp(weight)) * (1 + np.exp(-weight)) / 4)
        assert interactions.strengths[0, 1] == pytest.approx(ratio, rel=1e-5)
        assert bool(interactions.pairs[0, 1]) == (ratio >= np.log(2)) == learned


def test_linkage_of_an_rbm_is_where_its_units_have_their_weights() -> None:
    fitted = make_rbm(5, 6, 1.0)
    fitted.machine.W[:] = np.array(
        [
            [1.0, 0.0, 0.0, 0.0, 5.0, 1.0],
            [1.0, 0.0, 0.0, 0.0, 0.1, 1.0],
            [0.1, -2.0, 0.0, 0.0, 0.1, 0.0],
            [0.1, 2.0, 0.0, 0.0, 0.1, 0.0],
            [0.0, 2.0, 3.0, 0.0, 0.1, 0.0],
        ]
    )
    # The third unit has one bit, the fourth none, the fifth nearly all on one bit; the sixth
    # links the same bits as the first.
    assert fitted.linkage() == [(0, 1), (2, 3, 4)]


@pytest.fixture(scope="module")
def copied() -> Bits:
    """Rows in which bit 3 is bit 1, and bit 5 the majority of bits 0, 2 and 4."""
    rows = random_rows(800, 6, seed=1)
    rows[:, 3] = rows[:, 1]
    rows[:, 5] = rows[:, [0, 2, 4]].sum(axis=1) >= 2
    return rows


def test_interactions_of_boa_are_its_edges(copied: Bits) -> None:
    fitted = BOA().fit(copied, np.random.default_rng(2))
    interactions = fitted.interactions()
    assert interactions.directed
    assert sorted(map(tuple, np.argwhere(interactions.strengths).tolist())) == sorted(fitted.edges)
    assert set(np.unique(interactions.strengths)) == {0.0, 1.0}
    undirected = {(one, other) for pair in fitted.edges for one, other in (pair, pair[::-1])}
    assert {(int(i), int(j)) for i, j in np.argwhere(interactions.pairs)} == undirected
    assert {(1, 3), (3, 1)} <= undirected


def test_linkage_of_boa_is_a_bit_with_its_parents(copied: Bits) -> None:
    fitted = BOA().fit(copied, np.random.default_rng(2))
    families: dict[int, set[int]] = {}
    for parent, child in fitted.edges:
        families.setdefault(child, {child}).add(parent)
    assert sorted(fitted.linkage()) == sorted(tuple(sorted(bits)) for bits in families.values())
    assert (1, 3) in fitted.linkage()


def test_umda_offers_nothing(copied: Bits) -> None:
    fitted = UMDA().fit(copied, np.random.default_rng(1))
    assert read_interactions(fitted) is None
    assert read_linkage(fitted) is None
    assert read_weights(fitted) is None


def test_a_fact_that_is_not_a_number_is_refused() -> None:
    class Told:
        facts = {"epochs": np.float32(3), "note": "hello"}  # noqa: RUF012

        def sample(self, count: int, rng: np.random.Generator) -> Bits:
            return np.zeros((count, 3), dtype=np.uint8)

    with pytest.raises(ValueError, match="the model's fact 'note' is 'hello'; expected a number"):
        read_facts(Told())  # type: ignore[arg-type]
    del Told.facts["note"]
    assert read_facts(Told()) == {"epochs": 3.0}  # type: ignore[arg-type]
