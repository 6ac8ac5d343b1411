"""Compile kernels before the clocks start, so that no run is charged for the first use."""

import numpy as np

from harmonium.runs.distinct import hash_rows
from harmonium.search import Algorithm


def compile_kernels(_algorithm: Algorithm) -> None:
    """Compile or load what every run needs, once a process."""
    hash_rows(np.zeros((1, 6), dtype=np.uint8))
