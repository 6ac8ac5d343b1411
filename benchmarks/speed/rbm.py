"""RBMs: CD-1 and Gibbs sampling, against scikit-learn, NumPy and a matrix product."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harmonium.models import rbm as kernels
from harmonium.models.neural import Floats, Machine, Part
from harmonium.models.rbm import Rule

from .measure import Action, Measurement, Modules, Size, time_in_turns

BATCH = 100
RATE = 0.05
MOMENTUM = 0.5
WEIGHT_COST = 0.0001
TINY = Size(500, 20)
_KEY = np.uint64(1)


def measure_training(quick: bool, peers: Modules) -> Iterator[Measurement]:
    """Compare an epoch of CD-1 on each size with peers, and its GFLOP/s with a matrix product."""
    for size in [TINY] if quick else [Size(2000, 100, bound=4.0), Size(8000, 200, bound=3.0)]:
        yield from compare_training(size, 5, peers)
    if quick:
        yield measure_arithmetic(TINY, 100)
    else:
        yield measure_arithmetic(Size(8000, 200, bound=0.5), 1000)


def compare_training(size: Size, epochs: int, peers: Modules) -> Iterator[Measurement]:
    """Compare the number of rows a second in CD-1."""
    rows = make_rows(size)
    train, start = train_ours(rows, make_machine(size)), "start of "
    actions: dict[str, Action] = {"ours": lambda: [train() for _ in range(epochs)]}
    for precision in (np.float32, np.float64) if "scikit-learn" in peers else ():
        # Both fits include the same start, so that the difference is the time of the epochs.
        name, same = f"scikit-learn {precision.__name__}", rows.astype(precision)
        rbm = peers["scikit-learn"].BernoulliRBM
        actions[start + name] = fit_sklearn(rbm, same, size.hidden, epochs=1)
        actions[name] = fit_sklearn(rbm, same, size.hidden, epochs=1 + epochs)
    seconds = time_in_turns(actions)
    thousands = size.rows * epochs / 1000
    ours = thousands / seconds["ours"]
    for name in (name for name in actions if start + name in actions):
        peer = thousands / (seconds[name] - seconds[start + name])
        yield Measurement(f"CD-1 {size}", name, ours, peer, "1000 rows/s", size.bound)


def measure_arithmetic(size: Size, width: int) -> Measurement:
    """Compare the floating-point operations a second of CD-1 with those of one matrix product.

    An epoch has five products a row: 5·2·bits·hidden operations. Draws, sigmoids and updates are
    not counted.
    """
    matrix = np.random.default_rng(1).random((width, width), dtype=np.float32)
    product = np.empty_like(matrix)
    seconds = time_in_turns(
        {
            "ours": train_ours(make_rows(size), make_machine(size)),
            "sgemm": lambda: np.matmul(matrix, matrix, out=product),
        }
    )
    return Measurement(
        what=f"CD-1 {size}",
        against=f"sgemm {width}×{width}",
        ours=5 * 2 * size.bits * size.hidden * size.rows / seconds["ours"] / 1e9,
        peer=2 * width**3 / seconds["sgemm"] / 1e9,
        unit="GFLOP/s",
        bound=size.bound,
    )


def make_rows(size: Size) -> Floats:
    """Return random bits as float32, the type of the kernels; speed does not depend on values."""
    rng = np.random.default_rng(1)
    return rng.integers(0, 2, (size.rows, size.bits)).astype(np.float32)


def make_machine(size: Size) -> Machine:
    """Return an RBM with small random weights."""
    shape = (size.bits, size.hidden)
    weights = np.random.default_rng(2).normal(0.0, 0.1, shape).astype(np.float32)
    return Machine(weights, np.zeros(size.bits, np.float32), np.zeros(size.hidden, np.float32))


def train_ours(rows: Floats, machine: Machine) -> Action:
    """Return the action of one epoch of our kernel, with the learning rule of the paper."""
    order = np.random.default_rng(3).permutation(len(rows))
    last = Machine(*(np.zeros_like(part) for part in machine))
    connected = np.ones_like(machine.W)
    rule = Rule(
        steps=1,
        rate=np.float32(RATE),
        bias_rate=np.float32(RATE),
        momentum=np.float32(MOMENTUM),
        bias_momentum=np.float32(0.0),
        weight_cost=np.float32(WEIGHT_COST),
        centered=False,
        sampled=True,
    )
    no_chains = rows[:0]
    batches = -(-len(rows) // BATCH)
    part = Part(order, batches, 0, batches, _KEY, 0)
    return lambda: kernels.train_batches(part, rows, machine, last, connected, no_chains, rule)


def fit_sklearn(rbm: Any, rows: NDArray[Any], hidden: int, epochs: int) -> Action:
    """Return a whole fit of scikit-learn's RBM: as many products, but persistent chains."""
    settings = {"n_components": hidden, "batch_size": BATCH, "learning_rate": RATE}
    return lambda: rbm(**settings, n_iter=epochs, random_state=1).fit(rows)
