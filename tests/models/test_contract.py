"""What every registered model promises, whatever it learns: the checks of `harmonium.testing`."""

from collections.abc import Callable

import numpy as np
import pytest

from harmonium.models import MODELS, Model
from harmonium.testing import MODEL_CHECKS
from tests.rows import random_rows

EVERY_MODEL = [pytest.param(cls(), id=cls.name) for cls in MODELS]


@pytest.mark.parametrize("model", EVERY_MODEL)
@pytest.mark.parametrize("check", MODEL_CHECKS, ids=lambda check: check.__name__)
def test_contract(check: Callable[[Model], None], model: Model) -> None:
    check(model)


@pytest.mark.parametrize("model", EVERY_MODEL)
def test_samples_need_no_conversion(model: Model) -> None:
    fitted = model.fit(random_rows(60, 9, seed=1), np.random.default_rng(2))
    sample = fitted.sample(7, np.random.default_rng(3))
    assert sample.dtype == np.uint8
    assert sample.flags.c_contiguous
