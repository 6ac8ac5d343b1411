"""Numbers and findings of a study in words, for the terminal and for reports."""

import math
from collections.abc import Callable, Sequence

from harmonium.format import format_count, format_duration, format_seconds
from harmonium.studies.scaling import Crossing, Price
from harmonium.studies.summary import Estimate

__all__ = [
    "choose_prices",
    "describe_crossing",
    "describe_price",
    "format_count",
    "format_duration",
    "format_estimate",
    "format_exponent",
    "format_seconds",
]


def describe_crossing(crossing: Crossing) -> str:
    """Return a sentence: from which size on one algorithm needs less than another."""
    what = {"evaluations": "fewer evaluations", "cpu_total": "less CPU time"}[crossing.metric]
    how = "" if crossing.measured else ", extrapolated"
    low, high = crossing.size.low, crossing.size.high
    known = f"95 % interval {low:,.0f} to {high:,.0f}" if high < 1e6 else "interval unbounded"
    return (
        f"{crossing.family}: {crossing.large} needs {what} than {crossing.small} from "
        f"n ≈ {crossing.size.mean:,.0f} on ({known}{how})."
    )


def describe_price(price: Price) -> str:
    """Return a sentence: from which cost of an evaluation on fewer of them pay off."""
    where = f"{price.family}, n = {price.size}"
    least, most = price.seconds.low, price.seconds.high
    if price.seconds.mean == 0:
        doubt = f", certainly if it takes more than {format_duration(most)}" if most else ""
        return (
            f"{where}: {price.thrifty} is better than {price.cheap} at any cost of an "
            f"evaluation{doubt}."
        )
    return (
        f"{where}: {price.thrifty} is better than {price.cheap} if one evaluation takes more than "
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
    """Return the mean, and if asked what is known of its bounds.

    "12,698 ±4%" shows half of the interval, "60 (>56)" a population where 56 was too small, "≤ 8"
    one where no smaller population was run, "900 (≥ 400)" an interval without an upper bound.
    """
    if estimate is None:
        return "–"
    words = write(estimate.mean)
    if not spread or math.isnan(estimate.high):
        return words
    if not estimate.known:
        return f"≤ {words}"
    if math.isinf(estimate.high):
        return f"{words} (≥ {write(estimate.low)})"
    if estimate.low < estimate.mean == estimate.high:
        return f"{words} (>{write(estimate.low)})"
    wide = (estimate.high - estimate.low) / 2 / (abs(estimate.mean) or 1.0)
    return f"{words} ±{wide:.0%}"


def format_exponent(exponent: Estimate) -> str:
    """Return an exponent and half the width of its interval: "1.68 ±0.20"."""
    wide = f" ±{(exponent.high - exponent.low) / 2:.2f}" if exponent.known else ""
    return f"{exponent.mean:.2f}{wide}"
