"""A run in a process of its own, which tests kill."""

import json
import time
from pathlib import Path
from typing import Any

import numpy as np

import harmonium as hm
from harmonium.arrays import Bits
from harmonium.runs import runner
from tests.functions import timeless

LENGTH = 30


def evaluate(bits: Bits) -> float:
    """Return 5-traps, slowly."""
    time.sleep(0.0006)
    ones = bits.reshape(-1, 5).sum(axis=1)
    return float(np.where(ones == 5, 5, 4 - ones).sum())


def describe(result: hm.Result) -> str:
    """Return all of a result that does not depend on time."""
    return json.dumps(timeless(result))


def run(checkpoint: Path, answer: Path, options: dict[str, Any]) -> None:
    """Resume from the checkpoint, or start; write the result to a file."""
    runner.CHECKPOINT_TIME_SHARE = 0.5  # often, so that kills strike at many points
    if checkpoint.exists():
        result = hm.resume(checkpoint, evaluate)
    else:
        result = hm.maximize(evaluate, LENGTH, checkpoint=checkpoint, **options)
    answer.write_text(describe(result))
