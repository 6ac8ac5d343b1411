"""The parts of neural models, against plain NumPy."""

import numpy as np
from scipy.special import expit

from harmonium.models.kernels.layers import activate

ONE = np.float32(1.0)


def test_sigmoid_is_the_logistic_function() -> None:
    x = np.linspace(-40, 40, 100_001, dtype=np.float32)[None, :].copy()
    exact = expit(x.astype(np.float64))
    activate(x, np.zeros(x.shape[1], np.float32), ONE)
    assert np.abs(x - exact).max() < 5e-7
    assert x.min() >= 0.0
    assert x.max() <= 1.0
