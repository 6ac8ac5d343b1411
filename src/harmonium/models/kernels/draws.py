"""A counter-based random stream: the draw for (key, index) is a hash; there is no state.

The draws do not depend on how the work is split, and loops over them vectorise. Every step casts
back to uint32; otherwise Numba would use 64 bits, and half as many SIMD lanes.
"""

import numpy as np

from harmonium.jit import jit, jit_inline

_U32 = np.uint32
_MULTIPLIERS = (_U32(0x9E3779B1), _U32(0x85EBCA6B), _U32(0xC2B2AE35))  # odd, with well mixed bits


@jit
def fork(key: np.uint64, stream: int) -> tuple[np.uint32, np.uint32]:
    """Return an independent key for sub-stream `stream`, as two 32-bit halves (splitmix64)."""
    word = np.uint64(key) + np.uint64(stream + 1) * np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    word ^= word >> np.uint64(31)
    return np.uint32(word & np.uint64(0xFFFFFFFF)), np.uint32(word >> np.uint64(32))


@jit_inline
def uniform(low: np.uint32, high: np.uint32, index: np.uint32) -> np.float32:
    """Return draw `index` of the stream (low, high): a float32 in [0, 1) with 24 random bits.

    The counter passes three rounds of multiply and xorshift. One half of the key is added in the
    first round, the other is mixed in by the second, so that two keys do not give shifted copies of
    one sequence.
    """
    word = _U32(_U32(index) * _MULTIPLIERS[0] + low)
    word = _U32(word ^ _U32(word >> _U32(16)))
    word = _U32(_U32(word * _MULTIPLIERS[1]) ^ high)
    word = _U32(word ^ _U32(word >> _U32(15)))
    word = _U32(word * _MULTIPLIERS[2])
    word = _U32(word ^ _U32(word >> _U32(16)))
    return np.float32(_U32(word >> _U32(8))) * np.float32(2.0**-24)
