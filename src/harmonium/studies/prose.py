"""Numbers and findings of a study in words; the terminal and the report say the same."""

import math
from collections.abc import Callable, Sequence

from harmonium.studies.scaling import Crossing, Price
from harmonium.studies.summary import Estimate


def describe_crossing(crossing: Crossing) -> str:
    """Say in a sentence from which size on one model needs less than another."""
    what = {"evaluations": "fewer evaluations", "cpu_total": "less CPU time"}[crossing.metric]
    how = "" if crossing.measured else ", extrapolated"
    low, high = crossing.size.low, crossing.size.high
    known = f"95 % interval {low:,.0f} to {high:,.0f}" if high < 1e6 else "interval unbounded"
    return (
        f"{crossing.family}: {crossing.large} needs {what} than {crossing.small} from "
        f"n ≈ {crossing.size.mean:,.0f} on ({known}{how})."
    )


def describe_price(price: Price) -> str:
    """Say in a sentence what an evaluation must cost for the model with fewer of them to pay."""
    where = f"{price.family}, n = {price.size}"
    least, most = price.seconds.low, price.seconds.high
    if price.seconds.mean == 0:
        doubt = f", surely where it takes more than {format_duration(most)}" if most else ""
        return (
            f"{where}: {price.thrifty} is better than {price.cheap} whatever an evaluation "
            f"costs{doubt}."
        )
    return (
        f"{where}: {price.thrifty} pays against {price.cheap} where one evaluation takes more than "
        f"{format_duration(price.seconds.mean)} (95 % interval {format_duration(least)} to "
        f"{format_duration(most)})."
    )


def choose_prices(prices: Sequence[Price]) -> list[Price]:
    """Return the prices at the largest size of each family and pair."""
    last: dict[tuple[str, frozenset[str]], Price] = {}
    for price in prices:
        pair = (price.family, frozenset((price.cheap, price.thrifty)))
        if pair not in last or price.size > last[pair].size:
            last[pair] = price
    return list(last.values())


def format_estimate(
    estimate: Estimate | None, write: Callable[[float], str], *, spread: bool = False
) -> str:
    """Return the mean, and where asked what is known of its bounds.

    "12,698 ±4%" is half of an interval, "60 (>56)" a population of which 56 was too few, "≤ 8" one
    of which none smaller was run.
    """
    if estimate is None:
        return "–"
    words = write(estimate.mean)
    if not spread or math.isnan(estimate.high):
        return words
    if not estimate.known:
        return f"≤ {words}"
    if estimate.low < estimate.mean == estimate.high:
        return f"{words} (>{write(estimate.low)})"
    wide = (estimate.high - estimate.low) / 2 / (abs(estimate.mean) or 1.0)
    return f"{words} ±{wide:.0%}"


def format_exponent(exponent: Estimate) -> str:
    """Return an exponent and half the width of its interval: "1.68 ±0.20"."""
    wide = f" ±{(exponent.high - exponent.low) / 2:.2f}" if exponent.known else ""
    return f"{exponent.mean:.2f}{wide}"


def format_count(value: float) -> str:
    """Return a whole number with separators."""
    return f"{value:,.0f}"


def format_seconds(value: float) -> str:
    """Return two significant digits, and never an exponent."""
    if value <= 0:
        return "0"
    digits = max(0, 1 - math.floor(math.log10(value)))
    return f"{value:,.{digits}f}"


def format_duration(seconds: float) -> str:
    """Return a time in a unit that suits it: "7.0 µs", "12 s", "3.5 h"."""
    for unit, scale in (("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3)):
        if seconds >= 1.5 * scale:
            return f"{format_seconds(seconds / scale)} {unit}"
    return f"{format_seconds(seconds / 1e-6)} µs"
