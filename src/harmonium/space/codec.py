"""Variables that are not bits: integers, choices and switches, and the bits that stand for them.

A variable of several values is a group of bits of which exactly one is one, so that a search
changes and copies whole values. A range of many integers is written with several digits, each a
group: neighbouring integers then differ in one digit.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits
from harmonium.text import one_line

Domain = Mapping[str, Any]
"""By name, the values of a variable: a range, a list or tuple of choices, or `bool`."""

MAX_GROUP_SIZE = 16
"""Integers that are written as one group; more of them need digits."""

MEAN_DIGIT_SIZE = 8
"""Values of a digit, at most on average. With 500 and 2,000 evaluations, digits of 8 values were
better than those of 4, than bits and than one large group (`benchmarks/variables.py`)."""

_EXPECTED = "expected a range, a list of values, or bool"


@dataclass(frozen=True)
class Variable:
    """One variable: its values, and the sizes of the digits that number them.

    A digit of size 2 is a single bit, one of a larger size a group of bits. Without digits there
    is one value.
    """

    name: str
    values: Sequence[Any]
    digits: tuple[int, ...]

    @property
    def length(self) -> int:
        return sum(map(_count_bits, self.digits))

    @property
    def places(self) -> dict[Any, int]:
        """The number of each value."""
        return {_key(value): number for number, value in enumerate(self.values)}

    def decode(self, bits: NDArray[Any]) -> Any:
        code, place = 0, 0
        for size in self.digits:
            width = _count_bits(size)
            digit = int(bits[place]) if width == 1 else int(bits[place : place + width].argmax())
            code = code * size + (size - 1 - digit if code % 2 else digit)
            place += width
        return self.values[code * len(self.values) // math.prod(self.digits)]

    def encode(self, value: Any) -> list[int]:
        """Return the bits that stand for a value; raise KeyError for one that it cannot have."""
        if isinstance(self.values, range) and type(value) is int and value in self.values:
            number = self.values.index(value)  # without a list of all integers
        else:
            number = self.places[_key(value)]
        code = -(-number * math.prod(self.digits) // len(self.values))
        bits: list[int] = []
        for size in reversed(self.digits):
            code, digit = divmod(code, size)
            digit = size - 1 - digit if code % 2 else digit
            bits[:0] = [digit] if size == 2 else [int(place == digit) for place in range(size)]
        return bits


class Variables:
    """Named variables, one after the other in a row of bits.

    Parameters
    ----------
    domain : mapping
        By name, the values of a variable: a range of integers, a list or tuple of choices, or
        `bool`.

    Examples
    --------
    >>> from harmonium.space.codec import Variables
    >>> variables = Variables({"layers": range(1, 4), "bias": bool})
    >>> variables.length, variables.groups
    (4, [(0, 1, 2)])
    >>> variables.encode({"layers": 2, "bias": True}).tolist()
    [0, 1, 0, 1]
    """

    def __init__(self, domain: Domain) -> None:
        if not isinstance(domain, Mapping) or not domain:
            raise TypeError(
                f"space is {_show(domain)}; expected variables with their values, such as "
                '{"layers": range(1, 9), "kind": ["a", "b"], "bias": bool}'
            )
        self.variables = [_read_variable(name, values) for name, values in domain.items()]
        self.length = sum(variable.length for variable in self.variables)
        if not self.length:
            raise ValueError("every variable of space has one value; expected a choice")
        self.groups: list[tuple[int, ...]] = []
        """Groups of bits of which exactly one is one."""
        place = 0
        for width in (_count_bits(size) for one in self.variables for size in one.digits):
            if width > 1:
                self.groups.append(tuple(range(place, place + width)))
            place += width

    def decode(self, row: NDArray[Any]) -> dict[str, Any]:
        values, place = {}, 0
        for variable in self.variables:
            values[variable.name] = variable.decode(row[place : place + variable.length])
            place += variable.length
        return values

    def encode(self, values: Mapping[str, Any]) -> Bits:
        """Return the row of bits for the values of all variables; raise for others."""
        if not isinstance(values, Mapping):
            raise TypeError(f"{_show(values)} is not a dict of the variables of space")
        names = [variable.name for variable in self.variables]
        for name in (*names, *values):
            if name not in values or name not in names:
                wrong = "has no value for" if name in names else "has the unknown variable"
                raise ValueError(f"{_show(dict(values))} {wrong} {name!r}")
        bits: list[int] = []
        for variable in self.variables:
            value = values[variable.name]
            try:
                bits += variable.encode(value)
            except (KeyError, TypeError):
                raise ValueError(
                    f"{variable.name} is {_show(value)}; expected one of {_show(variable.values)}"
                ) from None
        return np.array(bits, dtype=np.uint8)

    def wrap(self, function: Any, batch: bool = False) -> "NamedFunction":
        """Return a function of values as a function of a row, or of a batch of rows."""
        return NamedFunction(function, self, batch)

    def read_rows(self, initial: Any) -> Bits:
        many = [initial] if isinstance(initial, Mapping) else initial
        if isinstance(many, str | bytes) or not isinstance(many, Iterable):
            raise TypeError(f"initial is {_show(initial)}; expected a dict, or a list of them")
        rows = []
        for number, values in enumerate(many):
            try:
                rows.append(self.encode(values))
            except (TypeError, ValueError) as error:
                raise type(error)(f"initial, solution {number}: {error}") from None
        return np.array(rows, dtype=np.uint8).reshape(-1, self.length)

    def list_texts(self, row: NDArray[Any]) -> dict[str, str]:
        """Return the values of all variables as short texts, by name."""
        return {one_line(name): _show(value) for name, value in self.decode(row).items()}

    def describe(self, row: NDArray[Any]) -> str:
        """Return the values of all variables as one line of text."""
        return ", ".join(f"{name}={text}" for name, text in self.list_texts(row).items())

    def to_plain(self) -> list[dict[str, Any]]:
        """Return names and values in the types of JSON; raise for values of other types."""
        return [_to_plain(variable) for variable in self.variables]


def read_plain(plain: Sequence[Mapping[str, Any]]) -> Variables:
    """Return the variables of which `to_plain` was saved."""
    return Variables(
        {one["name"]: range(*one["range"]) if "range" in one else one["values"] for one in plain}
    )


class NamedFunction:
    """A function of the values of variables, as a function of a row, or of a batch of rows."""

    def __init__(self, function: Any, variables: Variables, batch: bool = False) -> None:
        self.function, self.variables, self.batch = function, variables, batch
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def __call__(self, bits: NDArray[Any]) -> Any:
        if self.batch:
            return self.function([self.variables.decode(row) for row in bits])
        return self.function(self.variables.decode(bits))


def _read_variable(name: object, values: Any) -> Variable:
    if not isinstance(name, str):
        raise TypeError(f"space has the name {_show(name)}; expected a text")
    if values is bool:
        return Variable(name, (False, True), (2,))
    if not isinstance(values, range | list | tuple | np.ndarray):
        raise TypeError(f"{name} in space is {_show(values)}; {_EXPECTED}")
    choices = values.tolist() if isinstance(values, np.ndarray) else values
    if not len(choices):
        raise ValueError(f"{name} in space has no values; {_EXPECTED}")
    if isinstance(choices, range):
        return Variable(name, choices, _choose_digits(len(choices)))
    variable = Variable(name, tuple(choices), (len(choices),) if len(choices) > 1 else ())
    if len(variable.places) < len(choices):
        raise ValueError(f"{name} in space has a value twice: {_show(choices)}")
    return variable


def _choose_digits(count: int) -> tuple[int, ...]:
    """Return sizes of digits, about equal, whose product is at least `count`."""
    if count <= MAX_GROUP_SIZE:
        return (count,) if count > 1 else ()
    digits = []
    for left in range(math.ceil(math.log(count, MEAN_DIGIT_SIZE) - 1e-9), 0, -1):
        digits.append(math.ceil(count ** (1 / left) - 1e-9))
        count = -(-count // digits[-1])
    return tuple(digits)


def _count_bits(size: int) -> int:
    return 1 if size == 2 else size


def _key(value: Any) -> Any:
    """Return what tells a value from others; True and 1 are different."""
    plain = value.item() if isinstance(value, np.generic) else value
    try:
        hash(plain)
    except TypeError:
        return id(plain)
    return isinstance(plain, bool), plain


def _to_plain(variable: Variable) -> dict[str, Any]:
    values = variable.values
    listed = () if isinstance(values, range) else values
    for value in (variable.name, *listed):
        infinite = isinstance(value, float) and not math.isfinite(value)
        # A text may not be Unicode: the name of a file that could not be decoded.
        broken = isinstance(value, str) and any("\ud800" <= one <= "\udfff" for one in value)
        if infinite or broken or not isinstance(value, str | int | float | None):
            raise TypeError(
                f"{variable.name} has the value {_show(value)}, which a checkpoint cannot keep; "
                "expected texts, finite numbers, True, False or None"
            )
    if isinstance(values, range):
        return {"name": variable.name, "range": [values.start, values.stop, values.step]}
    return {"name": variable.name, "values": list(values)}


def _show(value: object) -> str:
    """Return a value as one short line."""
    text = one_line(repr(list(value) if isinstance(value, tuple) else value))
    return text if len(text) <= 100 else f"{text[:100]}…"
