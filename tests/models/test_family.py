"""UMDA, PBIL, forests, ECGA, MRF and GA as models; kernels have tests of their own."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from harmonium import BMDA, ECGA, GA, MIMIC, MRF, PBIL, UMDA, Tree
from harmonium.arrays import Bits
from harmonium.models import read_facts, read_interactions, read_linkage, read_weights
from tests.models.oracles import assert_drawn_from, rng
from tests.models.test_mrf import enumerate_probabilities, make_field
from tests.rows import every_row, random_rows


def rows_of(*texts: str) -> Bits:
    return np.array([list(map(int, text)) for text in texts], dtype=np.uint8)


def test_pbil_moves_by_its_rate() -> None:
    first, second = rows_of("11", "10", "10", "10"), rows_of("00", "01")
    model = PBIL(rate=0.25)
    fitted = model.fit(first, rng())
    np.testing.assert_allclose(fitted.marginals, [1.0, 0.25])
    np.testing.assert_allclose(model.fit(second, rng(), fitted).marginals, [0.75, 0.3125])
    half = PBIL(rate=0.25, start="half")
    np.testing.assert_allclose(half.fit(first, rng()).marginals, [0.625, 0.4375])


def test_umda_offers_nothing() -> None:
    fitted = UMDA().fit(random_rows(20, 5, seed=1), rng())
    assert [read(fitted) for read in (read_interactions, read_linkage, read_weights)] == [None] * 3
    assert fitted.facts == {}


def test_a_fact_that_is_not_a_number_is_refused() -> None:
    assert read_facts(SimpleNamespace(facts={"epochs": np.float32(3)})) == {"epochs": 3.0}
    with pytest.raises(ValueError, match="the model's fact 'note' is 'hello'; expected a number"):
        read_facts(SimpleNamespace(facts={"note": "hello"}))


def test_pair_counts_decay() -> None:
    """Counts are of (ones of bit 0, ones of bit 1, both) and the total, by hand."""
    model = Tree(decay=0.5, prior=10.0)
    first = model.fit(rows_of("11", "10"), rng())
    assert first.counts.total == 2 + 0.5 * 40
    np.testing.assert_allclose(first.counts.ones, np.array([[12.0, 6.0], [6.0, 11.0]]))
    second = model.fit(rows_of("01"), rng(), first)
    assert second.counts.total == 1 + 0.5 * 22
    np.testing.assert_allclose(second.counts.ones, np.array([[6.0, 3.0], [3.0, 6.5]]))


def test_a_forest_has_only_significant_edges() -> None:
    """Of 200 independent pairs at 5 %, a forest over 20 bits finds edges; at χ² > 20 none."""
    rows = random_rows(300, 20, seed=3)
    assert len(Tree().fit(rows, rng()).edges) == 19
    assert len(MIMIC().fit(rows, rng()).edges) == 19
    assert 0 < len(BMDA().fit(rows, rng()).edges) < 19
    assert BMDA(significance=20.0).fit(rows, rng()).edges == []
    rows[:, 7] = rows[:, 2]
    assert BMDA(significance=20.0).fit(rows, rng()).edges == [(2, 7)]


@pytest.mark.parametrize("model", [Tree(), BMDA(), MIMIC()], ids=str)
def test_forests_offer_the_mutual_information_of_their_edges(model: Tree | BMDA | MIMIC) -> None:
    rows = random_rows(400, 6, seed=4)
    rows[:, 5] = rows[:, 1]
    fitted = model.fit(rows, rng())
    interactions = fitted.interactions()
    assert interactions.strengths[1, 5] == pytest.approx(1.0, abs=0.01)  # one bit
    assert interactions.threshold == pytest.approx(np.log2(400) / 800)
    assert fitted.linkage() == [(1, 5)]
    assert fitted.facts == {"edges": float(len(fitted.edges))}


def test_ecga_draws_each_block_from_the_parents() -> None:
    """Blocks (0, 2, 3) and (1, 4): rows of a block as in the parents, blocks independent."""
    rows = random_rows(500, 5, seed=5)
    rows[:, 3] = rows[:, 0] | rows[:, 2]
    rows[:, 4] = rows[:, 1]
    fitted = ECGA().fit(rows, rng())
    assert fitted.blocks == fitted.linkage() == [(0, 2, 3), (1, 4)]
    sample = fitted.sample(20_000, rng(2))
    np.testing.assert_array_equal(sample[:, 3], sample[:, 0] | sample[:, 2])
    np.testing.assert_array_equal(sample[:, 4], sample[:, 1])
    np.testing.assert_allclose(sample.mean(axis=0), rows.mean(axis=0), atol=0.02)
    assert abs(np.corrcoef(sample[:, 0], sample[:, 1])[0, 1]) < 0.04
    strengths = fitted.interactions().strengths
    assert {(int(i), int(j)) for i, j in np.argwhere(strengths) if i < j} == {
        *((0, 2), (0, 3), (2, 3), (1, 4)),
    }


def test_a_random_field_is_recovered_from_its_rows() -> None:
    """Pseudo-likelihood is consistent: 40,000 rows give the log odds ratios 4·J within 0.15."""
    fields, couplings = make_field(5, seed=7, scale=0.3)
    probabilities = enumerate_probabilities(fields, couplings)
    rows = every_row(5)[rng().choice(32, 40_000, p=probabilities)]
    fitted = MRF(significance=0.0, weight_cost=0.0).fit(rows, rng())
    np.testing.assert_allclose(fitted.log_odds, 4 * couplings, atol=0.15)
    np.testing.assert_allclose(fitted.biases, 2 * fields - 2 * couplings.sum(axis=0), atol=0.15)


def test_only_correlated_bits_are_neighbours() -> None:
    rows = random_rows(500, 6, seed=9)
    rows[:, 5] = rows[:, 2] ^ (rng().random(500) < 0.2)
    fitted = MRF(significance=2.0).fit(rows, rng())
    assert {(int(i), int(j)) for i, j in np.argwhere(fitted.log_odds) if i < j} == {(2, 5)}
    assert fitted.linkage() == [(2, 5)]
    dense = MRF(significance=0.0).fit(rows, rng())
    assert np.count_nonzero(dense.log_odds) == 30
    assert dense.linkage() == [(2, 5)]


def test_chains_start_at_parents_or_at_independent_bits() -> None:
    """With two bits that are always equal, one sweep from independent bits makes them so again."""
    rows = np.repeat(random_rows(400, 1, seed=10), 2, axis=1)
    same = {}
    for start in ("parents", "marginals"):
        model = MRF(weight_cost=0.0, sweeps=1, chain_start=start)
        sample = model.fit(rows, rng()).sample(400, rng(2))
        assert (sample[:, 0] == sample[:, 1]).mean() > 0.98
        same[start] = (sample == rows).mean()
    assert same["marginals"] < 0.7
    assert same["parents"] > 0.98


def count_changes(row: Bits) -> int:
    """Count where a row changes from one bit to the next, also from the last to the first."""
    return sum(int(one != other) for one, other in pairwise([*row.tolist(), int(row[0])]))


def test_two_points_cut_one_stretch() -> None:
    parents = rows_of("0" * 20, "1" * 20)
    fitted = GA(crossover="two-point", mutation=0.0).fit(parents, rng())
    sample = fitted.sample(2000, rng(2))
    changes = [count_changes(row) for row in sample]
    assert set(changes) == {0, 2}
    assert changes.count(0) / 2000 == pytest.approx(1 / 20, abs=0.02)  # both cuts at one place
    np.testing.assert_allclose(sample.mean(axis=0), 0.5, atol=0.06)  # no bit is favoured


def test_uniform_crossover_takes_every_bit_from_either_parent() -> None:
    fitted = GA(mutation=0.0).fit(rows_of("000000", "111111"), rng())
    assert_drawn_from(fitted.sample(6400, rng(2)), np.full(64, 1 / 64))


def test_rates_of_crossover_and_mutation() -> None:
    parents = rows_of("0000000000", "1111111111")
    copies = GA(crossover_rate=0.0, mutation=0.0).fit(parents, rng()).sample(100, rng(2))
    assert copies.sum() == 500  # every parent equally often
    assert {tuple(row) for row in copies.tolist()} == {(0,) * 10, (1,) * 10}
    half = GA(crossover_rate=0.5, mutation=0.0).fit(parents, rng()).sample(4000, rng(2))
    assert np.isin(half.sum(axis=1), (0, 10)).mean() == pytest.approx(0.5, abs=0.04)
    flipped = GA(crossover_rate=0.0, mutation=0.1).fit(parents[:1], rng()).sample(4000, rng(2))
    assert flipped.mean() == pytest.approx(0.1, abs=0.01)
