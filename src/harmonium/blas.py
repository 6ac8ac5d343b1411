"""One BLAS thread while models are built and sampled: their products are too small to share out.

Studies fill the cores with runs instead, and CPU times by phase stay comparable.
"""

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from scipy.linalg import cython_blas  # noqa: F401  # Numba's BLAS; must be loaded to be limited
from threadpoolctl import ThreadpoolController


def one_blas_thread() -> AbstractContextManager[Any]:
    """Limit every BLAS in the process to one thread inside the block, and restore it after."""
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
