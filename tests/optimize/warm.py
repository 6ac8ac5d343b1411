"""Loads the kernels when it is imported: what a fork server does once for all its processes."""

import harmonium as hm
from tests.optimize.killed import LENGTH

for _model in ("boa", "rbm"):
    hm.maximize(lambda bits: float(bits.sum()), LENGTH, model=_model, max_calls=100, seed=1)
