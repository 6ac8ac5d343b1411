"""A result in plain words: how the search went, and what to do next."""

from typing import TYPE_CHECKING, Final

from harmonium.runs.stopping import OWN_ENDS, Reason

if TYPE_CHECKING:
    from harmonium.runs.result import Result


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
