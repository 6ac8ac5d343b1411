"""The kernel that reads numbers from text: each is the float nearest to its digits."""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from harmonium.jit import jit

# Why a scan ended: all numbers are there, the file ended, a word is not a number, a line has too
# many or too few numbers, or a number has too many digits.
ALL: Final = 0
END: Final = 1
WORD: Final = 2
WIDTH: Final = 3
LONG: Final = 4

_EXACT: Final = 2**53
_MAX_MANTISSA: Final = (2**64 - 10) // 10
"""Largest mantissa that can take one more digit."""

_POWERS: Final = 10.0 ** np.arange(23)
"""The powers of ten that are exact as floats."""

_INTEGER_POWERS: Final = np.array([10**power for power in range(19)], dtype=np.uint64)
"""Those that the division of 64-bit integers can use: below 2^60."""

_ZERO, _ONE, _TWO, _THREE, _TEN = (np.uint64(number) for number in (0, 1, 2, 3, 10))
_BIT_54, _BIT_55 = np.uint64(1 << 54), np.uint64(1 << 55)


@jit
def scan(
    content: NDArray[np.uint8],
    place: int,
    values: NDArray[np.float64],
    found: int,
    limit: int,
    width: int,
    flags: bool,
) -> tuple[int, int, int]:
    """Read numbers into `values[found:limit]`.

    Return how many there are now, the position behind the last of them, or of what is wrong, and
    why the scan ended. Lines that begin with `c` or `#` are comments, and `%` ends the file. With a
    width, every line has so many numbers. With flags, a line may begin with `h`, read as NaN.
    """
    total = len(content)
    first = place == 0 or _is_line_end(content[place - 1])
    while True:
        before = place
        place, first = skip(content, place, first)
        ended = place == total or (first and content[place] == ord("%"))
        if width and found % width and (first or ended):
            return found, before, WIDTH
        if ended or found == limit:
            return found, place, END if ended else ALL
        if width and not first and found % width == 0:
            return found, place, WIDTH
        if flags and first and content[place] == ord("h"):
            end, value, ending = place + 1, math.nan, ALL
        else:
            end, value, ending = _read_number(content, place)
        if ending == ALL and end < total and not _is_blank(content[end]):
            ending = WORD
        if ending != ALL:
            return found, place, ending
        values[found] = value
        found, place, first = found + 1, end, False


@jit
def skip(content: NDArray[np.uint8], place: int, first: bool) -> tuple[int, bool]:
    """Return the position of the next word that is not in a comment, and if it begins a line."""
    total = len(content)
    while place < total:
        if _is_blank(content[place]):
            first = first or _is_line_end(content[place])
            place += 1
        elif first and content[place] in (ord("c"), ord("#")):
            while place < total and not _is_line_end(content[place]):
                place += 1
        else:
            break
    return place, first


@jit
def _is_blank(byte: int) -> bool:
    return byte == 32 or 9 <= byte <= 13


@jit
def _is_line_end(byte: int) -> bool:
    return byte in (10, 13)


@jit
def _read_number(content: NDArray[np.uint8], place: int) -> tuple[int, float, int]:
    """Return the position behind a number, its value, and whether it is one."""
    total = len(content)
    negative = content[place] == ord("-")
    if negative or content[place] == ord("+"):
        place += 1
    mantissa, digits, exponent, point, long = _ZERO, 0, 0, False, False
    while place < total:
        byte = content[place]
        if ord("0") <= byte <= ord("9"):
            long = long or bool(mantissa > np.uint64(_MAX_MANTISSA))
            mantissa = mantissa * _TEN + np.uint64(byte - ord("0"))
            digits += 1
            exponent -= point
        elif byte == ord(".") and not point:
            point = True
        else:
            break
        place += 1
    if digits == 0:
        return place, 0.0, WORD
    if place < total and content[place] in (ord("e"), ord("E")):
        place, shift = _read_exponent(content, place + 1)
        if place < 0:
            return place, 0.0, WORD
        exponent += shift
    value, exact = _scale(mantissa, exponent)
    if long or not exact:
        return place, 0.0, LONG if place == total or _is_blank(content[place]) else WORD
    return place, -value if negative else value, ALL


@jit
def _read_exponent(content: NDArray[np.uint8], place: int) -> tuple[int, int]:
    """Return the position behind an exponent, or -1 if it has no digits, and its value."""
    total = len(content)
    sign = 1
    if place < total and content[place] in (ord("-"), ord("+")):
        sign = -1 if content[place] == ord("-") else 1
        place += 1
    value, start = 0, place
    while place < total and ord("0") <= content[place] <= ord("9"):
        value = min(value * 10 + (content[place] - ord("0")), 10_000)
        place += 1
    return (-1 if place == start else place), sign * value


@jit
def _scale(mantissa: np.uint64, exponent: int) -> tuple[float, bool]:
    """Return mantissa·10^exponent, and whether it is correctly rounded."""
    if mantissa == _ZERO:
        return 0.0, True
    if mantissa <= np.uint64(_EXACT) and -22 <= exponent <= 22:
        value = np.float64(mantissa)
        return (value * _POWERS[exponent] if exponent >= 0 else value / _POWERS[-exponent]), True
    if -18 <= exponent <= 0:
        return _divide(mantissa, _INTEGER_POWERS[-exponent]), True
    return 0.0, False


@jit
def _divide(mantissa: np.uint64, power: np.uint64) -> float:
    """Return the float nearest to mantissa / power, ties to even, by long division to 55 bits."""
    quotient, rest = mantissa // power, mantissa % power
    exponent = 0
    while quotient < _BIT_54:
        rest, quotient = rest << _ONE, quotient << _ONE
        if rest >= power:
            rest, quotient = rest - power, quotient | _ONE
        exponent -= 1
    sticky = rest != _ZERO
    while quotient >= _BIT_55:
        sticky = sticky or (quotient & _ONE) != _ZERO
        quotient = quotient >> _ONE
        exponent += 1
    low, quotient = quotient & _THREE, quotient >> _TWO
    if low == _THREE or (low == _TWO and (sticky or (quotient & _ONE) != _ZERO)):
        quotient += _ONE
    return math.ldexp(np.float64(quotient), exponent + 2)
