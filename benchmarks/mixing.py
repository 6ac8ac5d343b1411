"""How far a sample walks from the parent it starts at: dense and sparse RBMs on a 4-trap.

    python benchmarks/mixing.py > mixing.jsonl

For each generation the share of bits in which offspring differ from the parents their chains began
with, over the share in which two random parents differ: 1 is perfect mixing, 0 a copy.
"""

import json
import sys

import numpy as np

import harmonium as hm

MODELS = {
    "dense": (
        "rbm:connections=all,chain_start=parents,weight_spread=0.001,gibbs_steps=25,max_epochs=20"
    ),
    "sparse": "rbm:chain_start=parents",
    "sparse, recombined": "rbm",
}
GENERATIONS = 30


def main() -> None:
    """Print a JSON object for each model and generation."""
    problem = hm.Trap(60, 4)
    for name, text in MODELS.items():
        eda = hm.EDA(hm.MODELS.parse(text), population=2500, replacement="keep-parents")
        search = eda.start(problem.length, seed=3)
        while search.generation < GENERATIONS and search.best_fitness < problem.optimum:
            bits = search.ask()
            fitness = problem(bits)
            if search.fitted is not None:
                parents = search.fitted.parents ^ search.mask  # type: ignore[attr-defined]  # an RBM's
                means = parents.mean(axis=0)
                apart = float((2 * means * (1 - means)).mean())
                row = {
                    "model": name,
                    "generation": search.generation + 1,
                    "mixing": float((bits != parents).mean()) / apart,
                    "offspring": float(fitness.mean()),
                    "parents": float(np.mean(problem(parents))),
                }
                sys.stdout.write(json.dumps(row) + "\n")
            search.tell(bits, fitness)


if __name__ == "__main__":
    main()
