"""A function that takes its time, evaluated by all cores at once, and safe from interruptions.

Twenty milliseconds each stand for a simulation. A checkpoint is kept; `hm.resume` would go on from
it to the same result. Functions for processes must be importable, hence the guard at the end.
"""

import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

import harmonium as hm


def simulate(bits: np.ndarray) -> float:
    """Return a number after a while: every one counts, and every pair of ones counts double."""
    time.sleep(0.02)
    return float(bits.sum() + 2 * (bits[::2] & bits[1::2]).sum())


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor() as executor:
        result = hm.maximize(
            simulate,
            length=40,
            target=80,
            executor=executor,
            max_evaluations=1500,
            checkpoint=Path(folder) / "run.ckpt",
            seed=1,
        )
    print(f"best {result.fun:g} after {result.nfev} evaluations: {result.message}")
    print(f"{result.seconds:.1f} s instead of {result.nfev * 0.02:.1f} s one after the other")
