"""Counts, times and the texts of users as short text, for terminals, tables and reports."""

import math
from typing import Final

_COMMANDS: Final = {
    code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
    for code in (
        *(code for code in range(0x20) if chr(code) not in "\t\n"),
        *range(0x7F, 0xA0),
        *(0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)),
    )
}
"""Characters that command a terminal or reverse what it shows, each with a text that shows it."""


def escape(text: str) -> str:
    """Return a text that a terminal shows and does not obey, whoever wrote it."""
    return text.translate(_COMMANDS)


def one_line(text: str) -> str:
    """Return a text in one line that a terminal shows and does not obey."""
    return escape(" ".join(text.split()))


def format_count(value: float) -> str:
    """Return a whole number with separators."""
    return f"{value:,.0f}"


def shorten_count(value: int) -> str:
    """Return a count in at most six letters: "65,536", "131k", "1.2M"."""
    if value < 100_000:
        return f"{value:,}"
    for unit, scale in (("k", 1e3), ("M", 1e6), ("G", 1e9)):
        if value < 999.5 * scale:
            return f"{value / scale:.{0 if value >= 99.5 * scale else 1}f}{unit}"
    return f"{value / 1e12:.1f}T"


def format_seconds(value: float) -> str:
    """Return at least two significant digits, never an exponent."""
    if value <= 0:
        return "0"
    digits = max(0, 1 - math.floor(math.log10(value)))
    return f"{value:,.{digits}f}"


def format_duration(seconds: float) -> str:
    """Return a measured time in the unit that suits it: "7.0 µs", "12 s", "3.5 h"."""
    for unit, scale in (("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3)):
        if seconds >= 1.5 * scale:
            return f"{format_seconds(seconds / scale)} {unit}"
    return f"{format_seconds(seconds / 1e-6)} µs"


def format_time(seconds: float) -> str:
    """Return a waiting time in at most six letters: "< 1 s", "45 s", "90 min", "3.5 h"."""
    if seconds < 1:
        return "< 1 s"
    for unit, scale in (("s", 1.0), ("min", 60.0), ("h", 3600.0)):
        if seconds < 99.5 * scale:
            digits = 1 if unit == "h" and seconds < 9.95 * scale else 0
            return f"{seconds / scale:.{digits}f} {unit}"
    return f"{min(seconds / 86400, 9999):.0f} d"
