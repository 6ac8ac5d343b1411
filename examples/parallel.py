"""Evaluate on all cores
=====================

Evaluate a slow function on all cores, with a checkpoint.

Each call waits 20 ms, in place of a simulation. After an interruption `hm.resume` would continue
from the checkpoint to the same result. Functions for processes must be importable, hence the guard
`if __name__ == "__main__"`.
"""

import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import harmonium as hm


def simulate(bits: np.ndarray) -> float:
    """Wait, then return the number of ones, plus 2 for each pair of neighbours that are ones."""
    time.sleep(0.02)
    return float(bits.sum() + 2 * (bits[::2] & bits[1::2]).sum())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor() as executor:
        result = hm.maximize(
            simulate,
            length=40,
            target=80,
            executor=executor,
            model="rbm",  # slower than the default, but it needs fewer calls
            max_calls=1500,
            checkpoint=Path(folder) / "run.ckpt",
            seed=1,
        )
    print(f"best {result.fun:g} after {result.calls} calls: {result.message}")
    print(f"{result.seconds:.1f} s instead of {result.calls * 0.02:.1f} s without the executor")

    found = [(step.evaluations, step.best) for step in result.improvements]
    plt.figure(figsize=(6, 3.5), layout="constrained")
    plt.step(*zip(*found, strict=True), where="post")
    plt.xlabel("evaluations")
    plt.ylabel("best so far")
    plt.show()
