"""Binary quadratic models as problems, and the sampler."""

import unittest
from typing import Any

import dimod
import numpy as np
import pytest

import harmonium as hm
from harmonium.interop.dimod import QuadraticProblem, Sampler
from tests.rows import every_row

library: Any = dimod


@pytest.fixture(params=["SPIN", "BINARY"])
def model(request: pytest.FixtureRequest) -> Any:
    rng = np.random.default_rng(1)
    made = library.BinaryQuadraticModel(request.param)
    for name in "abcdefgh":
        made.add_linear(name, rng.normal())
    for one, other in ("ab", "bc", "cd", "de", "ef", "fg", "gh", "ha", "ae", "bf"):
        made.add_quadratic(one, other, rng.normal())
    made.offset = 1.5
    return made


def test_fitness_is_minus_the_energy(model: Any) -> None:
    problem = QuadraticProblem(model)
    rows = every_row(8)
    values = rows if model.vartype is library.BINARY else 2 * rows.astype(int) - 1
    assert problem(rows) == pytest.approx(-model.energies((values, list(model.variables))))
    assert len(problem.structure) == 10
    assert problem.variables == list("abcdefgh")


def test_the_lowest_energy_is_found(model: Any) -> None:
    exact = library.ExactSolver().sample(model).first.energy
    assert hm.run(QuadraticProblem(model), hm.Pyramid(), seed=1).fun == pytest.approx(-exact)
    samples = Sampler().sample(model, num_reads=3, seed=5, max_calls=200)
    assert len(samples) == 3
    assert samples.first.energy == pytest.approx(exact)


def test_the_sampler_has_the_interface_of_dimod() -> None:
    library.testing.assert_sampler_api(Sampler())
    with pytest.warns(library.exceptions.SamplerUnknownArgWarning, match="beta"):
        Sampler().sample_qubo({(0, 0): -1.0}, beta=3)


@library.testing.load_sampler_bqm_tests(Sampler)
class TestSampler(unittest.TestCase):
    """Gets the tests that dimod has for samplers."""


def test_the_same_seed_gives_the_same_samples() -> None:
    model = library.generators.gnp_random_bqm(30, 0.3, "SPIN", random_state=1)
    one, other = (Sampler().sample(model, seed=7, max_calls=500) for _ in range(2))
    assert one == other
