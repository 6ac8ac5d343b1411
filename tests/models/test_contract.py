"""What every registered model promises, whatever it learns: the checks of `harmonium.testing`."""

from collections.abc import Callable
from itertools import count

import numpy as np
import pytest

import harmonium as hm
from harmonium import clock
from harmonium.models import MODELS, Fitted, Model
from harmonium.testing import MODEL_CHECKS
from tests.rows import random_rows

EVERY_MODEL = [pytest.param(cls(), id=cls.name) for cls in MODELS]


@pytest.mark.parametrize("model", EVERY_MODEL)
@pytest.mark.parametrize("check", MODEL_CHECKS, ids=lambda check: check.__name__)
def test_contract(check: Callable[[Model], None], model: Model) -> None:
    check(model)


LONG = [
    *(hm.RBM(), hm.PaperRBM(max_epochs=5), hm.DBN(), hm.DBM(), hm.DAE(), hm.Helmholtz()),
    *(hm.BOA(), hm.HBOA(price=0.0)),
]


@pytest.mark.parametrize("model", LONG, ids=str)
def test_the_time_is_checked_between_the_steps_of_a_fit(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    parents = random_rows(400, 30, seed=1)
    plain = model.fit(parents, np.random.default_rng(2))
    # However small the steps are, the result is the same.
    monkeypatch.setattr("harmonium.models.neural._STEP_PRODUCTS", 1)
    monkeypatch.setattr("harmonium.models.boa._STEP_COUNTS", 1)
    monkeypatch.setattr("harmonium.models.hboa._STEP_COUNTS", 1)

    def fit(limit: int) -> tuple[Fitted, int]:
        """Let the time be up at so many checks; return the fit and the checks."""
        checks = count(1)
        monkeypatch.setattr(clock, "now", lambda: next(checks))
        with clock.deadline(limit):
            return model.fit(parents, np.random.default_rng(2)), next(checks) - 1

    fitted, steps = fit(10**9)
    assert steps >= 20
    sample, again = (one.sample(600, np.random.default_rng(3)) for one in (plain, fitted))
    np.testing.assert_array_equal(again, sample)
    for limit in (1, 2, steps):
        with pytest.raises(clock.TimeUp):
            fit(limit)
