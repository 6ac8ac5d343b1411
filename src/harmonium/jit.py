"""Numba with our settings, and without losing the types of what it compiles.

Compiled code is kept on disk beside the source (or in the user's cache), so that only the first use
waits for the compiler.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def jit(function: Function) -> Function:
    """Compile a function of arrays."""
    return cast("Function", njit(cache=True)(function))


def jit_fast(function: Function) -> Function:
    """Compile a loop over floats so that it vectorises.

    No test for zero divisors, fused multiply-add, no care for NaN in minima and maxima: without
    these the passes over activations take half as long again.
    """
    compiler = njit(cache=True, error_model="numpy", fastmath={"contract", "nnan"})
    return cast("Function", compiler(function))


def jit_inline(function: Function) -> Function:
    """Compile a scalar function into the loops that call it, as `jit_fast` does."""
    compiler = njit(cache=True, error_model="numpy", fastmath={"contract", "nnan"}, inline="always")
    return cast("Function", compiler(function))
