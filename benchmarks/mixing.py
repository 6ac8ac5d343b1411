"""Measure how much samples differ from the parents of their chains: RBMs on a 4-trap.

    python benchmarks/mixing.py [--generations 30] > mixing.jsonl

Mixing is the share of bits in which offspring differ from the parents where their chains started,
divided by the share in which two random parents differ: 1 is perfect mixing, 0 a copy.
"""

import argparse
import json
import sys
from typing import Any

import numpy as np

import harmonium as hm

MODELS = {
    "dense": (
        "rbm:connections=all,chain_start=parents,weight_spread=0.001,gibbs_steps=25,max_epochs=20"
    ),
    "sparse": "rbm:chain_start=parents",
    "sparse, recombined": "rbm",
}


def main() -> None:
    """Print a JSON object for each model and generation."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--generations", type=int, default=30)
    generations = parser.parse_args().generations
    problem = hm.Trap(60, 4)
    for name, text in MODELS.items():
        eda = hm.EDA(text, population=2500, replacement="keep-parents")
        search: Any = eda.start(problem.length, seed=3)  # the mask and parents are those of an RBM
        best = 0.0
        while search.generation < generations and best < problem.optimum:
            bits = search.ask()
            fitness = problem(bits)
            best = max(best, float(fitness.max()))
            if search.fitted is not None:
                parents = search.fitted.parents ^ search.mask
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
