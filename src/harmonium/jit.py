"""Numba with our settings; the decorators keep the types of the functions.

Compiled code is cached on disk beside the source (or in the user's cache folder), so that only the
first use waits for the compiler.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])


def jit(function: Function) -> Function:
    """Compile a function of arrays."""
    return cast("Function", njit(cache=True)(function))


def jit_fast(function: Function) -> Function:
    """Compile a function with loops over floats so that they vectorise.

    Zero divisors are not checked, multiply and add may be fused, and minima and maxima ignore NaN.
    Otherwise the passes over activations would take 50 % longer.
    """
    compiler = njit(cache=True, error_model="numpy", fastmath={"contract", "nnan"})
    return cast("Function", compiler(function))


def jit_inline(function: Function) -> Function:
    """Compile a scalar function like `jit_fast`, and inline it into the loops that call it."""
    compiler = njit(cache=True, error_model="numpy", fastmath={"contract", "nnan"}, inline="always")
    return cast("Function", compiler(function))
