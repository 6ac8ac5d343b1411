"""Numbers and findings of a study in words, for the terminal and for reports."""

import math
from collections.abc import Callable, Sequence

from harmonium.studies.comparisons import Comparison
from harmonium.studies.scaling import Crossing, Price
from harmonium.studies.summary import Estimate
from harmonium.text import format_count, format_duration, format_seconds

__all__ = [
    "choose_comparisons",
    "choose_prices",
    "describe_crossing",
    "describe_price",
    "format_count",
    "format_duration",
    "format_estimate",
    "format_exponent",
    "format_p_value",
    "format_ratio",
    "format_seconds",
    "is_too_wide",
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


def choose_comparisons(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons at the largest size of each family, population, pair and cost."""
    largest: dict[tuple[str, int | None, str, str, str], Comparison] = {}
    for one in comparisons:
        which = (one.family, one.population, one.name, one.other, one.cost)
        if which not in largest or one.size > largest[which].size:
            largest[which] = one
    return list(largest.values())


def format_estimate(
    estimate: Estimate | None, write: Callable[[float], str], *, spread: bool = False
) -> str:
    """Return the mean, and if asked what is known of its bounds.

    "12,698 ±4%" shows half of the interval, "60 (>56)" a population where 56 was too small, "≤ 8"
    one where no smaller population was run.
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
    """Return an exponent and half of its interval: "1.68 ±0.20", or "6.04 ±4.31, too wide"."""
    if not exponent.known:
        return f"{exponent.mean:.2f}"
    wide = ", too wide" if is_too_wide(exponent) else ""
    return f"{exponent.mean:.2f} ±{(exponent.high - exponent.low) / 2:.2f}{wide}"


def is_too_wide(exponent: Estimate) -> bool:
    """Whether the interval of an exponent says nothing: its half is over 0.5 and half the mean."""
    half = (exponent.high - exponent.low) / 2
    return exponent.known and half > max(0.5, abs(exponent.mean) / 2)


def format_p_value(p: float) -> str:
    """Return a p value with three decimals, or "<0.001"."""
    return "<0.001" if p < 0.0005 else f"{p:.3f}"


def format_ratio(comparison: Comparison) -> str:
    """Return the cost of the first algorithm, as a multiple of the other's."""
    mean, other = comparison.mean, comparison.other_mean
    if not math.isfinite(other) or other <= 0:
        return "–"
    return f"{mean / other:.2f}" if math.isfinite(mean) else "∞"
