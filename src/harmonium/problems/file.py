"""Problems that are read from instance files; their content is part of their key."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, fields
from typing import Annotated, ClassVar, Final, Literal

from msgspec import Meta

from harmonium.arrays import Bits, Fitness
from harmonium.problems.base import ArrayProblem, Blocks, ProblemSpec
from harmonium.problems.nk import read_nk
from harmonium.problems.packing import Infeasible, read_knapsack, read_setcover
from harmonium.problems.quadratic import read_ising, read_maxcut, read_qubo
from harmonium.problems.reader import Format, Reader, detect_format
from harmonium.problems.sat import read_formula
from harmonium.specs import Length, SpecError, format_spec
from harmonium.system import resolve

MINIMISED_SUFFIXES: Final = (".sparse", ".bq")
"""Suffixes of the collections whose QUBO instances are minimised."""


@dataclass(frozen=True)
class FileProblem(ProblemSpec):
    r"""An instance read from a file: CNF, QUBO, Ising, MAX-CUT, NK, knapsack or set cover.

    Parameters
    ----------
    length : int
        Number of bits; it comes from the file.
    path : str
        The file. A relative path starts from the current folder, in a study from its folder.
    format : str
        "cnf" (also WCNF), "qubo", "ising", "maxcut", "nk", "knapsack" or "setcover"; "auto" tells
        it from content and name.
    sense : {"auto", "max", "min"}
        Whether a QUBO is maximised; "auto" minimises the files of Biq Mac, `.sparse` and `.bq`.
    infeasible : {"repair", "penalty"}
        What to do with rows that violate a constraint of a knapsack or a set cover: count as the
        feasible row that `repair` makes of them, or have a penalty.
    instance : int
        Which of several instances in a file, counted from 0 on.
    content : str
        SHA-256 of the file; if it is given, a file with other content is refused.

    Examples
    --------
    >>> import harmonium as hm
    >>> from pathlib import Path
    >>> _ = Path("cut, small.mc").write_text("3 2\n1 2 5\n2 3 1\n")
    >>> problem = hm.load("cut, small.mc")
    >>> problem.length, problem([[0, 1, 0], [0, 0, 1]]).tolist()
    (3, [6.0, 1.0])
    >>> str(problem)
    'file:path=(cut, small.mc)'
    """

    name: ClassVar[str] = "file"

    length: Length = 0
    _: KW_ONLY
    path: Annotated[str, Meta(min_length=1, description="the instance file")]
    format: Annotated[
        Literal["auto"] | Format, Meta(description="auto: told by content and name")
    ] = "auto"
    sense: Annotated[
        Literal["auto", "max", "min"],
        Meta(description="of a QUBO; auto: min for the files of Biq Mac, otherwise max"),
    ] = "auto"
    infeasible: Annotated[
        Infeasible, Meta(description="rows that violate a constraint of a knapsack or set cover")
    ] = "repair"
    instance: Annotated[
        int, Meta(ge=0, le=2**31, description="which of the instances of the file")
    ] = 0
    content: Annotated[
        str, Meta(description="SHA-256 of the file, which must not change; empty: any")
    ] = ""

    def __post_init__(self) -> None:
        given = self.length
        if not given:
            self._set(length=1)
        super().__post_init__()
        content = _read(self.path)
        digest = hashlib.sha256(content).hexdigest()
        if self.content not in ("", digest):
            raise self.field_error("content", f"{digest!r}: {self.path} has changed")
        made = self._make(content)
        self._set(length=made.length, content=digest, _made=made)
        if given not in (0, made.length):
            raise SpecError(f"{self.path}: length is {given}; expected {made.length} or none")

    def _make(self, content: bytes) -> ArrayProblem:
        """Make the problem that the file describes."""
        reader = Reader(content, self.path)
        told = detect_format(self.path, reader) if self.format == "auto" else self.format
        if self.instance and told not in ("qubo", "knapsack"):
            raise self.field_error("instance", "0: the file has one instance")
        if self.sense != "auto" and told != "qubo":
            raise self.field_error("sense", f"auto: it is for QUBO, and the format is {told}")
        if self.infeasible != "repair" and told not in ("knapsack", "setcover"):
            raise self.field_error("infeasible", f"repair: {told} has no constraints")
        return _MAKERS[told](reader, self)

    @property
    def made(self) -> ArrayProblem:
        """The problem that the file describes."""
        made: ArrayProblem = vars(self)["_made"]
        return made

    @property
    def optimum(self) -> float | None:
        return self.made.optimum

    @property
    def bound(self) -> float | None:
        """A fitness that no row exceeds, such as the weight of all clauses; none if unknown."""
        return self.made.bound

    @property
    def structure(self) -> Blocks:
        return self.made.structure

    def evaluate(self, bits: Bits) -> Fitness:
        return self.made.evaluate(bits)

    def repair(self, bits: Bits) -> Bits:
        """Return the rows whose value the fitness is: feasible ones, if they are repaired."""
        return self.made.repair(bits) if self.infeasible == "repair" else bits

    def __str__(self) -> str:
        given = {
            one.name: getattr(self, one.name)
            for one in fields(self)
            if one.name not in ("length", "content") and getattr(self, one.name) != one.default
        }
        return format_spec(self.name, given)


def _read(path: str) -> bytes:
    try:
        return resolve(path).read_bytes()
    except (OSError, ValueError) as error:  # a path with a null byte is a ValueError
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise SpecError(f"{path}: cannot be read: {reason}") from None


def _make_qubo(reader: Reader, spec: FileProblem) -> ArrayProblem:
    minimised = spec.path.lower().endswith(MINIMISED_SUFFIXES)
    sense = ("min" if minimised else "max") if spec.sense == "auto" else spec.sense
    return read_qubo(reader, spec.instance, sense)


_MAKERS: Final[dict[str, Callable[[Reader, FileProblem], ArrayProblem]]] = {
    "cnf": lambda reader, _: read_formula(reader),
    "qubo": _make_qubo,
    "ising": lambda reader, _: read_ising(reader),
    "maxcut": lambda reader, _: read_maxcut(reader),
    "nk": lambda reader, _: read_nk(reader),
    "knapsack": lambda reader, spec: read_knapsack(reader, spec.instance, spec.infeasible),
    "setcover": lambda reader, spec: read_setcover(reader, spec.infeasible),
}
"""By format, what makes the problem."""


def load(
    path: str | os.PathLike[str],
    *,
    format: Literal["auto"] | Format = "auto",  # noqa: A002  # as the field is called
    sense: Literal["auto", "max", "min"] = "auto",
    infeasible: Infeasible = "repair",
    instance: int = 0,
) -> FileProblem:
    r"""Read a problem from an instance file.

    Parameters
    ----------
    path : path-like
        The file; a relative path starts from the current folder.
    format, sense, infeasible, instance
        As `FileProblem` has them.

    Returns
    -------
    FileProblem
        A problem for `run`, `maximize` and studies; `made` is the problem that the file describes.

    Raises
    ------
    SpecError
        If the file cannot be read; the message names file, line and what was expected.

    Examples
    --------
    >>> import harmonium as hm
    >>> from pathlib import Path
    >>> _ = Path("two.cnf").write_text("p cnf 2 2\n1 -2 0\n2 0\n")
    >>> hm.load("two.cnf")([[0, 0], [1, 1]]).tolist()
    [1.0, 2.0]
    """
    return FileProblem(
        path=os.fspath(path), format=format, sense=sense, infeasible=infeasible, instance=instance
    )
