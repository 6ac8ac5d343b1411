"""A run in a process of its own, which tests kill."""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import harmonium as hm
from harmonium.bits import Bits
from harmonium.optimize import optimization

LENGTH = 30


def evaluate(bits: Bits) -> float:
    """Return 5-traps, slowly."""
    time.sleep(0.0006)
    ones = bits.reshape(-1, 5).sum(axis=1)
    return float(np.where(ones == 5, 5, 4 - ones).sum())


def describe(result: hm.Optimum) -> str:
    """Return all of a result that does not depend on time."""
    plain = result.to_dict()
    for timed in ("seconds", "cpu_seconds"):
        del plain[timed]
    return json.dumps({**plain, "trace": [vars(row) for row in result.trace]})


def run(checkpoint: Path, answer: Path, options: dict[str, Any]) -> None:
    """Go on from the checkpoint, or begin; write what came of it."""
    optimization.SAVE_SHARE = 0.5  # often, so that kills find all kinds of moments
    if checkpoint.exists():
        result = hm.resume(checkpoint, evaluate)
    else:
        result = hm.maximize(evaluate, LENGTH, checkpoint=checkpoint, **options)
    answer.write_text(describe(result))
