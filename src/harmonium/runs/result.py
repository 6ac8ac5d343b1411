"""What a run found, what it cost, and why it ended; the same for `run` and `maximize`."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from html import escape
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from harmonium.arrays import Bits, Row, format_bits
from harmonium.clock import Phase
from harmonium.learn import Interaction, Polynomial
from harmonium.runs.record import Improvement, Solution, Step
from harmonium.runs.stop import OWN_ENDS, Reason
from harmonium.search import Learned
from harmonium.space.codec import Variables

MAX_SHOWN_BITS = 200


@dataclass(frozen=True, eq=False)
class Result:
    """The outcome of one run; `print` shows one fact a line.

    Examples
    --------
    >>> import harmonium as hm
    >>> result = hm.maximize(lambda bits: bits.sum(), length=20, seed=1, target=20)
    >>> result.fun, result.success, result.calls <= result.evaluations
    (20.0, True, True)
    >>> print(str(result).splitlines()[1])
          fun: 20, the largest found
    >>> len(result.solutions), result.solutions[0].fun
    (10, 20.0)
    """

    x: Row
    """The best bits found, shape (length,)."""
    variables: Variables | None = field(repr=False)
    """What the bits stand for, with `space`; `decode` turns those of `solutions` into dicts."""
    fun: float
    """The value of `x`; with `noise` the mean of repeated calls."""
    noisy: bool
    """Whether the search was told that the function is noisy."""
    fun_error: float | None
    """Standard error of `fun`; none without `noise`, or if `x` was not called twice again."""
    solutions: tuple[Solution, ...] = field(repr=False)
    """The ten best different solutions, best first; of equal ones the first that was found."""
    success: bool
    """Whether the target was reached; without a target, whether the search came to its own end, or
    knew the best solution of the learned function at its limit."""
    message: str
    """Why the run ended, in words."""
    stopped_by: Reason
    """Why the run ended, in a word."""
    problem: str
    """The problem, or the name of the function."""
    algorithm: str
    """The algorithm with its settings, as text."""
    label: str
    """Short name of the algorithm: the model of an EDA."""
    seed: int
    minimized: bool
    """Whether `fun` is the smallest value found, not the largest."""
    solved: bool
    """Whether the optimum of the problem, or the target, was reached."""
    optimum: float | None
    """The optimum of the problem, or the target; none if there is none."""
    evaluations: int
    """Rows asked for, including those served from the cache."""
    calls: int
    """Function calls, one a row."""
    unique_evaluations: int
    """Different rows among those evaluated."""
    best_found_at: int
    """Number of evaluations when the best was found."""
    best_found_by: int | None
    """Size of the population that found the best; none without one, or for initial solutions."""
    generations: int | None
    """Models built; none for algorithms without generations."""
    failures: int
    """Rows for which the function raised an error or returned no finite number."""
    repairs: int
    """Rows that the search had to change to keep to `fixed` and `subset_size`."""
    cpu_seconds: dict[Phase, float]
    """CPU time of this process by phase."""
    seconds: float
    """Time on the clock."""
    trace: tuple[Step, ...] = field(repr=False)
    """The course of the run; long ones are thinned out to 1,000 rows at most."""
    improvements: tuple[Improvement, ...] = field(repr=False)
    """Evaluations and value of each row that was better than all before it; never thinned out."""
    function: Polynomial | None = field(default=None, repr=False)
    """The function as a sum of terms, if it was learned: it predicts every row that was checked."""
    learned: Learned | None = None
    """How the best solution of the learned function is known: "proven", or "found" and not proven;
    none if it is not known."""
    pairs: NDArray[np.int64] | None = field(default=None, repr=False)
    """Pairs of bits that were seen to interact, (pairs, 2); none if the algorithm does not look."""

    @property
    def best(self) -> dict[str, Any] | None:
        """The best values by name; none without `space`."""
        return None if self.variables is None else self.variables.decode(self.x)

    @property
    def nfev(self) -> int:
        """Function calls: scipy's name for `calls`."""
        return self.calls

    @property
    def interactions(self) -> list[Interaction]:
        """Pairs of bits that interact, the strongest first; all of them if `function` is known.

        Without a known function they are those that were seen to interact, and have no strength.

        Examples
        --------
        >>> import harmonium as hm
        >>> result = hm.maximize(lambda bits: 3 * bits[0] * bits[1] + bits.sum(), 30, seed=1)
        >>> [(pair.one, pair.other, round(pair.strength, 6)) for pair in result.interactions]
        [(0, 1, 0.75)]
        """
        if self.function is not None:
            return self.function.interactions
        pairs = [] if self.pairs is None else self.pairs.tolist()
        return [Interaction(one, other, None) for one, other in pairs]

    @property
    def cpu_total(self) -> float:
        """CPU seconds of all phases."""
        return sum(self.cpu_seconds.values())

    def report(self, path: str | os.PathLike[str], name: str | None = None) -> None:
        """Write a page about the result: what was found, what it cost, and what to do next.

        Parameters
        ----------
        path : path
            The HTML file to write.
        name : str, optional
            Title of the page; by default the name of the function or problem.

        Examples
        --------
        >>> import harmonium as hm
        >>> result = hm.maximize(sum, 30, seed=1, max_calls=500)
        >>> result.report("ones.html")  # doctest: +SKIP
        """
        from harmonium.reports import write_result_report  # noqa: PLC0415  # slow to import

        file = Path(path)
        if file.is_dir() or not file.parent.is_dir():
            raise FileNotFoundError(f"path is {file}; expected a file in an existing folder")
        write_result_report(file, self, name)

    def change_rows(self, change: Callable[[Bits], Bits]) -> "Result":
        """Return the result with other rows of the same fitness; equal solutions count once."""

        def convert(row: Row) -> Row:
            changed = change(row[None].astype(np.uint8)).astype(np.int64)
            return changed.reshape(-1)

        distinct: dict[bytes, Solution] = {}
        for one in self.solutions:
            solution = one._replace(x=convert(one.x))
            distinct.setdefault(solution.x.tobytes(), solution)
        return replace(self, x=convert(self.x), solutions=tuple(distinct.values()))

    def __str__(self) -> str:
        lines = (f"{name:>9}: {text}" for name, text in self._list_facts().items())
        return "\n".join([self.message, *lines])

    def _repr_html_(self) -> str:
        """Return a table for notebooks: what happened, in plain words."""
        words = f"Ended: {self.message}. {describe_course(self)} {advise(self)}"
        rows = "".join(
            f"<tr><th style='text-align: left'>{name}</th>"
            f"<td style='text-align: left; overflow-wrap: anywhere'>{escape(text)}</td></tr>"
            for name, text in self._list_facts().items()
        )
        return f"<p>{escape(words)}</p><table>{rows}</table>"

    def _list_facts(self) -> dict[str, str]:
        """Return what there is to say about the result, by name."""
        error = "" if self.fun_error is None else f" ± {self.fun_error:.2g} (standard error)"
        bits = format_bits(self.x[:MAX_SHOWN_BITS]) + "…" * (len(self.x) > MAX_SHOWN_BITS)
        ones = f"{int(self.x.sum()):,} of {len(self.x):,} are ones"
        by = f", by a population of {self.best_found_by:,}" if self.best_found_by else ""
        facts = {
            "fun": f"{self.fun:.10g}{error}, the {'smallest' if self.minimized else 'largest'} "
            "found",
            "values": self.variables.describe(self.x) if self.variables else "",
            "x": "" if self.variables else f"{bits} ({ones})",
            "optimal": describe_optimality(self),
            "success": str(self.success),
            "calls": self._describe_calls(),
            "best": f"found at evaluation {self.best_found_at:,}{by}",
            "failures": f"{self.failures:,}" if self.failures else "",
            "repairs": f"{self.repairs:,}" if self.repairs else "",
            "algorithm": self.algorithm,
            "seed": str(self.seed),
            "seconds": f"{self.seconds:.3g}",
        }
        return {name: text for name, text in facts.items() if text}

    def _describe_calls(self) -> str:
        """Return calls, and how many rows came from the cache; with noise how many were repeats."""
        more = self.evaluations - self.calls
        if self.noisy and more < 0:
            return f"{self.calls:,}, {-more:,} of them repeats"
        if not self.noisy and more > 0:
            return f"{self.calls:,}, and {more:,} from the cache"
        return f"{self.calls:,}"

    def to_dict(self) -> dict[str, Any]:
        """Return the result in plain types, the bits as a string of 0 and 1.

        With `space` it has the best values too. Trace, improvements, function and pairs are left
        out.
        """
        left_out = ("trace", "improvements", "function", "pairs", "variables")
        plain = {key: value for key, value in vars(self).items() if key not in left_out}
        plain["x"] = format_bits(self.x)
        plain["solutions"] = [solution.to_dict() for solution in self.solutions]
        plain["cpu_seconds"] = {"total": self.cpu_total, **self.cpu_seconds}
        if self.variables is not None:
            plain["best"] = self.best
        return plain


_ADVICE: Final[dict[Reason, str]] = {
    "optimum": "The target is reached: there is nothing left to do.",
    "bound": "No solution can be better: there is nothing left to do.",
    "exhausted": "Every valid solution was evaluated: there is no better one.",
    "failed": "Correct the function for the row that failed, then search again.",
}

_PROOFS: Final[dict[Reason, str]] = {
    "bound": "proven: it is the upper bound of the problem",
    "exhausted": "proven: every valid solution was evaluated",
}


def describe_optimality(result: "Result") -> str:
    """Return whether a better solution may exist, as far as that is known."""
    reason = result.stopped_by
    if reason in _PROOFS:
        return _PROOFS[reason]
    if result.learned == "proven":
        return "proven for the learned function, which predicted all rows checked"
    if reason == "optimum":
        return "if no solution can be better than the target"
    if result.learned == "found":
        return "likely, not proven: annealing found no better solution of the learned function"
    if reason == "confirmed":
        return "likely, not proven: many independent attempts found nothing better"
    return "unknown"


def describe_course(result: "Result") -> str:
    """Return when the best was found, and whether anything improved after that."""
    words = f"The best was found at evaluation {result.best_found_at:,} of {result.evaluations:,}."
    if _improved_late(result):
        return words
    return f"{words} Nothing improved in the second half of the search."


def advise(result: "Result") -> str:
    """Return what to do next."""
    reason = result.stopped_by
    if reason in _ADVICE:
        return _ADVICE[reason]
    if result.learned == "proven":
        return (
            "The function is known, and none of its solutions is better: there is nothing left to "
            "do."
        )
    if 2 * result.failures > result.calls:
        return (
            "More than half of the calls failed: exclude rows that cannot be evaluated with "
            "fixed bits or bounds on the number of ones, or return a low value that differs "
            "between them."
        )
    if reason in OWN_ENDS or result.learned is not None:
        return (
            "Search again with another seed: if it ends at the same value, a better one is "
            "unlikely, but not excluded."
        )
    if reason in ("interrupted", "callback") or _improved_late(result):
        return "The search was cut short: a longer one may find a better solution."
    return (
        "A larger budget alone is unlikely to help soon: search again with another seed or another "
        "algorithm, and compare."
    )


def _improved_late(result: "Result") -> bool:
    return 2 * result.best_found_at > result.evaluations
