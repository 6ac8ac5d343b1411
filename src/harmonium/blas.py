"""Limit BLAS to one thread while models are built and sampled.

Their matrix products are too small for several threads. Studies use the other cores for other runs,
and CPU times by phase stay comparable.
"""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from scipy.linalg import cython_blas  # noqa: F401  # the BLAS of Numba; only a loaded one can be limited
from threadpoolctl import ThreadpoolController


def one_blas_thread() -> AbstractContextManager[Any]:
    """Limit every BLAS in the process to one thread inside the block, and restore it after."""
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
