"""Numba with our settings, the time that it takes, random draws in kernels, one BLAS thread.

Kernels are compiled when they are first called. Numba keeps compiled code on disk, beside the
source or in the user's cache folder, so that later processes only load it.
"""

import multiprocessing
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
from numba.core import event
from numba.core.caching import FunctionCache
from threadpoolctl import ThreadpoolController

from harmonium.clock import compiling
from harmonium.system import held_interrupts

Function = TypeVar("Function", bound=Callable[..., Any])

_FAST = {"error_model": "numpy", "fastmath": {"contract", "nnan"}}
_ANY_ORDER = {"error_model": "numpy", "fastmath": {"contract", "nnan", "reassoc"}}

SILENT_SECONDS = 1.0
"""Seconds of compiling after which the user is told why there is a pause."""


def jit(function: Function) -> Function:
    """Compile a function of arrays."""
    return _compile(function)


def jit_fast(function: Function) -> Function:
    """Compile a function with loops over floats so that they vectorise.

    Zero divisors are not checked, multiply and add may be fused, and minima and maxima ignore NaN.
    Otherwise the passes over activations would take 50 % longer.
    """
    return _compile(function, **_FAST)


def jit_sums(function: Function) -> Function:
    """Compile like `jit_fast`, with sums in any order so that they vectorise too.

    Their last digits then depend on the processor.
    """
    return _compile(function, **_ANY_ORDER)


def jit_inline(function: Function) -> Function:
    """Compile a small function like `jit_fast`, and inline it into the loops that call it."""
    return _compile(function, **_FAST, inline="always")


def find_cache() -> Path | None:
    """Return the folder in which compiled code of this file is cached; none if it is not."""
    compiled: Any = jit(find_cache)
    folder = getattr(compiled.stats, "cache_path", None)
    return None if folder is None else Path(folder)


def one_blas_thread() -> AbstractContextManager[Any]:
    """Limit every BLAS in the process to one thread inside the block, and restore it after.

    The matrix products of models are too small for several threads. Studies use the other cores for
    other runs, and CPU times by phase stay comparable.
    """
    limit: AbstractContextManager[Any] = _control_blas().limit(limits=1, user_api="blas")
    return limit


@cache
def _control_blas() -> ThreadpoolController:
    import scipy.linalg.cython_blas  # noqa: F401, PLC0415  # Numba's BLAS; it must be loaded

    return ThreadpoolController()


def _compile(function: Function, **settings: Any) -> Function:
    compiled: Any = njit(**settings)(function)
    try:
        compiled._cache = _Cache(function)
    except RuntimeError:  # no folder is writable: every process compiles the function
        _listener.cached = False
    return cast("Function", compiled)


class _Cache(FunctionCache):
    """Numba's cache on disk; interrupts wait while it loads, and a full disk does no harm."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        # Loading calls back into Python, and an exception in there crashes the process.
        with held_interrupts():
            return super().load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError:
            _listener.cached = False


class _Listener(event.Listener):
    """Adds up the time that kernels take to compile or load, and says what the user waits for."""

    def __init__(self) -> None:
        self.cached = True
        self.told = False
        self.began = threading.local()

    def on_start(self, event: Any) -> None:
        depth = getattr(self.began, "depth", 0)
        self.began.depth = depth + 1
        if depth == 0:
            self.began.times = (time.thread_time(), time.perf_counter())
        elif not self.told and event.kind == "numba:compile":
            self.tell(compiling.elapsed + time.perf_counter() - self.began.times[1])

    def on_end(self, event: Any) -> None:
        self.began.depth -= 1
        if self.began.depth == 0:
            cpu, elapsed = self.began.times
            compiling.cpu += time.thread_time() - cpu
            compiling.elapsed += time.perf_counter() - elapsed

    def tell(self, seconds: float) -> None:
        """Explain a pause on a terminal or in a notebook, once; workers stay silent."""
        if seconds < SILENT_SECONDS:
            return
        self.told = True
        shown = sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)
        if shown and multiprocessing.parent_process() is None:
            often = "once" if self.cached else "in every process (no cache folder is writable)"
            sys.stderr.write(f"harmonium: compiling kernels, {often} …\n")
            sys.stderr.flush()


_listener = _Listener()
event.register("numba:compiler_lock", _listener)  # held while a kernel is compiled or loaded
event.register("numba:compile", _listener)


@jit
def count_ones(word: np.uint64) -> np.uint64:
    """Count the ones of a word by parallel sums: one instruction where the processor has it."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)


_U32 = np.uint32
_MULTIPLIERS = (_U32(0x9E3779B1), _U32(0x85EBCA6B), _U32(0xC2B2AE35))  # odd, with well mixed bits


@jit
def fork(key: np.uint64, stream: int) -> tuple[np.uint32, np.uint32]:
    """Return an independent key for sub-stream `stream`, as two 32-bit halves (splitmix64).

    The draws of kernels have no state: the draw for a key and an index is a hash of both. They do
    not depend on how the work is split, and loops over them vectorise.
    """
    word = np.uint64(key) + np.uint64(stream + 1) * np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word ^= word >> np.uint64(31)
    return np.uint32(word & np.uint64(0xFFFFFFFF)), np.uint32(word >> np.uint64(32))


@jit_inline
def uniform(low: np.uint32, high: np.uint32, index: np.uint32) -> np.float32:
    """Return draw `index` of the stream (low, high): a float32 in [0, 1) with 24 random bits.

    The index passes three rounds of multiply and xorshift. One half of the key is added in the
    first round, the other is mixed in by the second, so that two keys do not give shifted copies of
    one sequence. Every step casts back to uint32; otherwise Numba would use 64 bits, and half as
    many SIMD lanes.
    """
    word = _U32(_U32(index) * _MULTIPLIERS[0] + low)
    word = _U32(word ^ _U32(word >> _U32(16)))
    word = _U32(_U32(word * _MULTIPLIERS[1]) ^ high)
    word = _U32(word ^ _U32(word >> _U32(15)))
    word = _U32(word * _MULTIPLIERS[2])
    word = _U32(word ^ _U32(word >> _U32(16)))
    return np.float32(_U32(word >> _U32(8))) * np.float32(2.0**-24)
