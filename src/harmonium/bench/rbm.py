"""RBMs: CD-1 and Gibbs sampling, against scikit-learn, torch, NumPy and a matrix product."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harmonium.bench.peers import Modules
from harmonium.bench.plain import PlainRBM
from harmonium.bench.results import Measurement
from harmonium.bench.scale import Scale, Size
from harmonium.bench.timing import Action, repeat, time_in_turns
from harmonium.models.kernels import rbm as kernels
from harmonium.models.kernels.layers import Floats
from harmonium.models.kernels.rbm import Machine, Rule

BATCH = 100
RATE = 0.05
MOMENTUM = 0.5
WEIGHT_COST = 0.0001
_KEY = np.uint64(1)


def measure_training(scale: Scale, peers: Modules) -> Iterator[Measurement]:
    """Compare an epoch of CD-1 on each size with peers, and its GFLOP/s with a matrix product."""
    for size in scale.training:
        yield from compare_training(size, scale, peers)
    yield measure_arithmetic(scale)


def compare_training(size: Size, scale: Scale, peers: Modules) -> Iterator[Measurement]:
    """Compare the number of rows a second in CD-1."""
    rows = make_rows(size)
    epochs = scale.epochs
    actions = {
        "ours": repeat(train_ours(rows, make_machine(size)), epochs),
        "NumPy": repeat(train_numpy(rows, make_plain(size)), epochs),
    }
    if "torch" in peers:
        train = train_torch(peers["torch"], rows, make_machine(size))
        actions["torch"] = repeat(train, epochs)
    for precision in (np.float32, np.float64) if "scikit-learn" in peers else ():
        # Both fits include the same start, so that the difference is the time of the epochs.
        name, same = f"scikit-learn {precision.__name__}", rows.astype(precision)
        rbm = peers["scikit-learn"].BernoulliRBM
        actions[f"start of {name}"] = fit_sklearn(rbm, same, size.hidden, epochs=1)
        actions[name] = fit_sklearn(rbm, same, size.hidden, epochs=1 + epochs)
    seconds = time_in_turns(actions, scale.rounds)
    thousands = size.rows * epochs / 1000
    for name in actions:
        if name == "ours" or name.startswith("start of "):
            continue
        yield Measurement(
            group="rbm",
            what=f"CD-1 {size}",
            against=name,
            ours=thousands / seconds["ours"],
            peer=thousands / (seconds[name] - seconds.get(f"start of {name}", 0.0)),
            unit="1000 rows/s",
            bound=size.bound if name.startswith("scikit-learn") else None,
        )


def measure_arithmetic(scale: Scale) -> Measurement:
    """Compare the floating-point operations a second of CD-1 with those of one matrix product.

    An epoch has five products a row: 5·2·bits·hidden operations. Draws, sigmoids and updates are
    not counted.
    """
    size = scale.peak
    matrix = np.random.default_rng(1).random((scale.product, scale.product), dtype=np.float32)
    product = np.empty_like(matrix)
    seconds = time_in_turns(
        {
            "ours": train_ours(make_rows(size), make_machine(size)),
            "sgemm": lambda: np.matmul(matrix, matrix, out=product),
        },
        scale.rounds,
    )
    return Measurement(
        group="rbm",
        what=f"CD-1 {size}",
        against=f"sgemm {scale.product}×{scale.product}",
        ours=5 * 2 * size.bits * size.hidden * size.rows / seconds["ours"] / 1e9,
        peer=2 * scale.product**3 / seconds["sgemm"] / 1e9,
        unit="GFLOP/s",
        bound=size.bound,
    )


def measure_gibbs(scale: Scale, peers: Modules) -> Iterator[Measurement]:
    """Compare the number of row-steps a second in Gibbs sampling."""
    size, steps = scale.gibbs, scale.gibbs_steps
    rows = make_rows(size)
    machine, plain = make_machine(size), make_plain(size)
    chains, numbers = rows.copy(), rows.astype(np.float64)
    rng = np.random.default_rng(1)
    seconds = time_in_turns(
        {
            "ours": lambda: kernels.gibbs(chains, machine, steps, _KEY),
            "NumPy": lambda: plain.walk(numbers, steps, rng),
        },
        scale.long_rounds,
    )
    millions = size.rows * steps / 1e6
    yield Measurement(
        group="gibbs",
        what=f"{steps} Gibbs steps {size}",
        against="NumPy",
        ours=millions / seconds["ours"],
        peer=millions / seconds["NumPy"],
        unit="million row-steps/s",
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


def make_plain(size: Size) -> PlainRBM:
    """Return the RBM of `make_machine` for NumPy."""
    weights, visible_bias, hidden_bias = (part.astype(np.float64) for part in make_machine(size))
    return PlainRBM(
        weights, visible_bias, hidden_bias, np.zeros_like(weights), RATE, MOMENTUM, WEIGHT_COST
    )


def make_order(rows: Floats) -> NDArray[np.int64]:
    """Return the order of the rows in an epoch."""
    return np.random.default_rng(3).permutation(len(rows))


def train_ours(rows: Floats, machine: Machine) -> Action:
    """Return the action of one epoch of our kernel, with the learning rule of the paper."""
    order = make_order(rows)
    last = Machine(*(np.zeros_like(part) for part in machine))
    connected = np.ones_like(machine.W)
    scratch = kernels.make_scratch(BATCH, *machine.W.shape)
    rule = Rule(
        batch=BATCH,
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
    return lambda: kernels.train_epoch(
        rows, order, machine, last, connected, no_chains, rule, scratch, _KEY, 0
    )


def train_numpy(rows: Floats, plain: PlainRBM) -> Action:
    """Return the action of one epoch in NumPy."""
    numbers, order, rng = rows.astype(np.float64), make_order(rows), np.random.default_rng(1)
    return lambda: plain.train_epoch(numbers, order, BATCH, rng)


def fit_sklearn(rbm: Any, rows: NDArray[Any], hidden: int, epochs: int) -> Action:
    """Return a whole fit of scikit-learn's RBM: as many products, but persistent chains."""
    settings = {"n_components": hidden, "batch_size": BATCH, "learning_rate": RATE}
    return lambda: rbm(**settings, n_iter=epochs, random_state=1).fit(rows)


def train_torch(torch: Any, rows: Floats, machine: Machine) -> Action:
    """Return one epoch in torch: float32, CPU, one thread; it changes `machine` in place."""
    torch.set_num_threads(1)
    weights, visible_bias, hidden_bias = (torch.from_numpy(part) for part in machine)
    data, order = torch.from_numpy(rows), torch.from_numpy(make_order(rows))
    last_step = torch.zeros_like(weights)

    def draw(inputs: Any) -> Any:
        probabilities = inputs.sigmoid_()
        return torch.rand_like(probabilities).lt_(probabilities)  # half the time of bernoulli

    def train_batch(batch: Any) -> None:
        drawn = draw(torch.addmm(hidden_bias, batch, weights))
        model = draw(torch.addmm(visible_bias, drawn, weights.T))
        model_hidden = torch.addmm(hidden_bias, model, weights).sigmoid_()
        share = RATE / len(batch)
        last_step.mul_(MOMENTUM).add_(weights, alpha=-RATE * WEIGHT_COST)
        last_step.addmm_(batch.T, drawn, alpha=share).addmm_(model.T, model_hidden, alpha=-share)
        weights.add_(last_step)
        visible_bias.add_((batch - model).sum(0), alpha=share)
        hidden_bias.add_((drawn - model_hidden).sum(0), alpha=share)

    def train_epoch() -> None:
        with torch.inference_mode():
            for first in range(0, len(order), BATCH):
                train_batch(data[order[first : first + BATCH]])

    return train_epoch
