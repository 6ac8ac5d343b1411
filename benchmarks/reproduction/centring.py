"""Measure what centred gradients change, on the same parents: docs/reproduction.md.

    python -m benchmarks.reproduction.centring #  ten CPU minutes; results/centring.jsonl

The parents are those of the first generations of a run on 4-traps of 40 bits. Centred and uncentred
RBMs are trained on them, with the same seed and through the same masks as in readings.py, so that
nothing but the gradients differs. A line of the file has one fit; fits in the file are kept.
"""

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from benchmarks.reproduction.readings import BITS, MASKS, ORDER, POPULATION, RESULTS, SETTINGS
from numpy.typing import NDArray

import harmonium as hm
from harmonium.arrays import Bits
from harmonium.jit import one_blas_thread
from harmonium.models import MODELS
from harmonium.models.rbm import RBM, FittedRBM
from harmonium.search.population import PopulationSearch

FILE = RESULTS / "centring.jsonl"
GENERATIONS, SEEDS = 5, 20
FIRST_EPOCHS = 5
"""Training epochs after which the gradient is measured."""


def list_parents(seed: int) -> Iterator[Bits]:
    """Yield the parents of the first generations of a run, unmasked."""
    problem = hm.Trap(length=BITS, order=ORDER)
    search = hm.EDA(SETTINGS["centred"], population=POPULATION).start(BITS, seed)
    for generation in range(GENERATIONS + 1):
        bits = search.ask()
        search.tell(bits, problem(bits))
        if generation and isinstance(search, PopulationSearch):
            fitted = search.fitted
            if isinstance(fitted, FittedRBM):
                yield fitted.parents ^ search.mask


def measure(parents: Bits, masks: str, setting: str, seed: int) -> dict[str, Any]:
    """Fit and sample once; return how the blocks of the offspring differ from the parents'."""
    model = MODELS.parse(SETTINGS[setting])
    if not isinstance(model, RBM):
        raise TypeError(f"the model is a {type(model).__name__}; expected an RBM")
    mask = np.array(list(MASKS[masks] or "") * (BITS // ORDER), dtype=np.uint8)
    shown = parents ^ mask
    early = hm.PaperRBM(centered=model.centered, max_epochs=FIRST_EPOCHS)
    fitted = model.fit(shown, np.random.default_rng(seed))
    sampled = fitted.sample(len(shown), np.random.default_rng(seed + 1000))
    first = early.fit(shown, np.random.default_rng(seed))
    offspring = sampled ^ mask
    return {
        "epochs": fitted.facts["epochs"],
        "gradient": find_gradient(first, shown, centered=model.centered),
        "coupling": find_coupling(fitted),
        "ones": float(sampled.mean() - shown.mean()),
        "optimum": count_blocks(offspring) / count_blocks(parents),
        "attractor": count_blocks(1 - offspring) / count_blocks(1 - parents),
    }


def count_blocks(bits: Bits) -> float:
    """Return the share of blocks that have only ones."""
    return float(bits.reshape(-1, ORDER).all(axis=1).mean())


def find_coupling(fitted: FittedRBM) -> float:
    """Return the mean size of the log odds ratio of two bits of a block."""
    strengths = fitted.interactions().strengths
    block = np.arange(BITS) // ORDER
    inside = (block[:, None] == block) & ~np.eye(BITS, dtype=bool)
    return float(strengths[inside].mean())


def find_gradient(fitted: FittedRBM, shown: Bits, *, centered: bool) -> float:
    """Return the size of the gradient of the weights of a block, over all parents.

    Contrastive divergence as in training, with probabilities instead of draws.
    """
    weights, visible, hidden = (part.astype(np.float64) for part in fitted.machine)
    bits = shown.astype(np.float64)
    units = activate(bits @ weights + hidden)
    model_bits = activate(units @ weights.T + visible)
    model_units = activate(model_bits @ weights + hidden)
    means = (bits.mean(axis=0), units.mean(axis=0)) if centered else (0.0, 0.0)
    positive = (bits - means[0]).T @ (units - means[1])
    negative = (model_bits - means[0]).T @ (model_units - means[1])
    slopes = (positive - negative) / len(bits)
    return float(np.sqrt((slopes**2).reshape(BITS // ORDER, -1).sum(axis=1)).mean())


def activate(inputs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities of units with these inputs."""
    return np.asarray(1 / (1 + np.exp(-inputs)))


def main() -> None:
    """Fit what the file does not have yet."""
    lines = FILE.read_text("utf-8").splitlines() if FILE.exists() else []
    keys = ("seed", "generation", "masks", "setting")
    done = {tuple(fit[key] for key in keys) for fit in map(json.loads, lines)}
    given = [masks for masks, block in MASKS.items() if block]
    with FILE.open("a", encoding="utf-8") as file, one_blas_thread():
        for seed in range(1, SEEDS + 1):
            for generation, parents in enumerate(list_parents(seed), start=1):
                for masks, setting in product(given, SETTINGS):
                    place = (seed, generation, masks, setting)
                    if place not in done:
                        found = measure(parents, masks, setting, seed)
                        head = dict(zip(keys, place, strict=True))
                        file.write(json.dumps(head | found) + "\n")
                        file.flush()


if __name__ == "__main__":
    main()
