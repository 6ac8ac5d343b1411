"""What every registered model promises, whatever it learns."""

import json

import numpy as np
import pytest

from harmonium.bits import Bits
from harmonium.models import MODELS, Model
from harmonium.specs import to_json
from tests.rows import random_rows

EVERY_MODEL = [pytest.param(cls(), id=cls.name) for cls in MODELS]


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def parents() -> Bits:
    """Sixty rows whose first three bits are equal, the last always one."""
    rows = random_rows(60, 9, seed=1)
    rows[:, 1:3] = rows[:, :1]
    rows[:, 8] = 1
    return rows


@pytest.mark.parametrize("model", EVERY_MODEL)
@pytest.mark.parametrize("count", [1, 7, 60, 200])
def test_samples_are_rows_of_bits(model: Model, parents: Bits, count: int) -> None:
    sample = model.fit(parents, rng(2)).sample(count, rng(3))
    assert sample.shape == (count, 9)
    assert sample.dtype == np.uint8
    assert set(np.unique(sample)) <= {0, 1}
    assert sample.flags.c_contiguous


@pytest.mark.parametrize("model", EVERY_MODEL)
def test_the_same_generators_give_the_same_sample(model: Model, parents: Bits) -> None:
    sample = model.fit(parents, rng(4)).sample(50, rng(5))
    np.testing.assert_array_equal(model.fit(parents, rng(4)).sample(50, rng(5)), sample)
    assert (model.fit(parents, rng(4)).sample(50, rng(6)) != sample).any()


@pytest.mark.parametrize("model", EVERY_MODEL)
def test_fitting_leaves_the_parents_and_the_previous_fit_alone(model: Model, parents: Bits) -> None:
    before = parents.copy()
    first = model.fit(parents, rng(7))
    sample = first.sample(40, rng(8))
    model.fit(parents, rng(9), first).sample(40, rng(10))
    np.testing.assert_array_equal(parents, before)
    np.testing.assert_array_equal(first.sample(40, rng(8)), sample)


@pytest.mark.parametrize("model", EVERY_MODEL)
def test_a_packed_fit_serves_the_next_one_as_the_fit_itself(model: Model, parents: Bits) -> None:
    first = model.fit(parents, rng(7))
    packed = model.pack(first)
    assert all(array.dtype != object for array in packed.values())
    copies = {name: array.copy() for name, array in packed.items()}
    children = random_rows(60, 9, seed=2)
    sample = model.fit(children, rng(8), first).sample(40, rng(9))
    again = model.fit(children, rng(8), model.unpack(copies)).sample(40, rng(9))
    np.testing.assert_array_equal(again, sample)


@pytest.mark.parametrize("model", EVERY_MODEL)
def test_a_converged_population_is_modelled_as_such(model: Model) -> None:
    parents = np.tile(np.array([[1, 0, 1, 1, 0, 0]], dtype=np.uint8), (200, 1))
    sample = model.fit(parents, rng(11)).sample(500, rng(12))
    assert (sample == parents[0]).mean() > 0.97


@pytest.mark.parametrize("model", EVERY_MODEL)
@pytest.mark.parametrize("shape", [(2, 1), (4, 2), (5, 3)])
def test_tiny_populations_and_lengths_work(model: Model, shape: tuple[int, int]) -> None:
    sample = model.fit(random_rows(*shape, seed=13), rng(14)).sample(4, rng(15))
    assert sample.shape == (4, shape[1])


@pytest.mark.parametrize("model", EVERY_MODEL)
def test_marginals_are_kept(model: Model) -> None:
    """Frequencies 0.2 to 0.8 of 4,000 parents; a tenth is what an RBM may be off after 25 steps."""
    wanted = np.linspace(0.2, 0.8, 8)
    parents = (rng(16).random((4000, 8)) < wanted).astype(np.uint8)
    sample = model.fit(parents, rng(17)).sample(4000, rng(18))
    np.testing.assert_allclose(sample.mean(axis=0), wanted, atol=0.1)


@pytest.mark.parametrize("model", EVERY_MODEL)
def test_models_travel_as_text_and_json(model: Model) -> None:
    assert MODELS.parse(str(model)) == model
    settings = json.loads(to_json(model))
    assert MODELS.make(settings.pop("name"), settings) == model
    assert hash(model) == hash(type(model)())


@pytest.mark.parametrize("model", EVERY_MODEL)
def test_facts_are_plain_numbers(model: Model, parents: Bits) -> None:
    facts = model.fit(parents, rng(19)).facts
    assert all(isinstance(name, str) and np.isfinite(fact) for name, fact in facts.items())
