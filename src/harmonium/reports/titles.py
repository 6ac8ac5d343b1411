"""Problems, runs and powers in words, for the titles and legends of figures."""

import re
from collections.abc import Iterable
from typing import Final

from harmonium.problems import PROBLEMS
from harmonium.text import format_count

_NAMES: Final = {
    "onemax": "OneMax",
    "hiff": "HIFF",
    "ising": "Ising",
    "maxsat": "MAX-3-SAT",
    "nk": "NK",
}
_SUPERSCRIPTS: Final = str.maketrans("0123456789.-", "⁰¹²³⁴⁵⁶⁷⁸⁹·⁻")
_DIGITS: Final = {script: digit for digit, script in _SUPERSCRIPTS.items()}


def title_problem(text: str) -> str:
    """Return the text of a problem or family in words; unchanged for custom problems.

    Examples
    --------
    >>> from harmonium.reports.titles import title_problem
    >>> title_problem("trap:order=5")
    '5-traps'
    >>> title_problem("nk:length=20,k=4,instance=3")
    'NK, k = 4, n = 20, instance 3'
    """
    name, _, rest = text.partition(":")
    parts = [part.partition("=") for part in rest.split(",") if part]
    if name not in PROBLEMS or not all(value for _, _, value in parts):
        return text
    settings = {key: value for key, _, value in parts}
    words = [_NAMES.get(name, name)]
    if name == "trap" and "order" in settings:
        words = [f"{settings.pop('order')}-traps"]
    length, instance = settings.pop("length", ""), settings.pop("instance", "")
    words += [f"{key} = {value}" for key, value in settings.items()]
    words += [f"n = {length}"] if length else []
    words += [f"instance {instance}"] if instance else []
    return ", ".join(words)


def title_runs(
    algorithm: str, populations: Iterable[int | None], seeds: Iterable[int | None]
) -> str:
    """Return which runs of an algorithm are drawn: "rbm, population 240, seed 1"."""
    sizes = sorted({size for size in populations if size})
    numbers = sorted({seed for seed in seeds if seed is not None})
    return ", ".join(
        [
            algorithm,
            *_list_numbers("population", [format_count(size) for size in sizes]),
            *_list_numbers("seed", [str(number) for number in numbers]),
        ]
    )


def _list_numbers(what: str, numbers: list[str]) -> list[str]:
    """Return "seed 1", "seeds 1 and 2" or, of more than two, their range; nothing for none."""
    if len(numbers) < 2:
        return [f"{what} {number}" for number in numbers]
    return [f"{what}s {numbers[0]} {'and' if len(numbers) == 2 else 'to'} {numbers[-1]}"]


def write_power(exponent: str) -> str:
    """Return a power of n with a superscript.

    Examples
    --------
    >>> from harmonium.reports.titles import write_power
    >>> write_power("1.68")
    'n¹·⁶⁸'
    """
    return f"n{exponent.translate(_SUPERSCRIPTS)}"


def raise_superscripts(svg: str) -> str:
    """Return a picture in which superscripts are raised digits of the font around them.

    Many fonts lack some of the superscript characters, and a whole line would be drawn in another
    font.
    """
    return re.sub("(<text[^>]*>)([^<]*)", _raise, svg)


def _raise(text: re.Match[str]) -> str:
    power = re.search("n([⁰¹²³⁴⁵⁶⁷⁸⁹·⁻]+)", text[2])
    if not power:
        return text[0]
    before, after = text[2][: power.start(1)], text[2][power.end(1) :]
    exponent = f'<tspan dy="-0.5em" font-size="70%">{power[1].translate(_DIGITS)}</tspan>'
    rest = f'<tspan dy="0.35em">{after}</tspan>' if after else ""
    return f"{text[1]}{before}{exponent}{rest}"
