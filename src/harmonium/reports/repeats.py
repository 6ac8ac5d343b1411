"""Chosen runs of a store, run again to look at their models.

Models are not stored, but a run can be repeated exactly.
"""

import time
from collections.abc import Sequence
from typing import Final

from harmonium.jit import one_blas_thread
from harmonium.reports.learned import Learned, Learning, why_not_scorable
from harmonium.reports.snapshot import Single, Snapshot
from harmonium.runs import run

MAX_LENGTH: Final = 100
"""Bits of a run that is repeated: a map of more is not readable."""
MAX_SECONDS: Final = 3.0
"""CPU seconds that a run may have taken to be repeated."""
BUDGET: Final = 10.0
"""CPU seconds for all repeated runs of a report together."""

Known = dict[str, Learning | str]
"""Runs that were repeated, by the key of the trial; a text says what went wrong."""


def repeat_runs(
    snapshot: Snapshot, known: Known, budget: float = BUDGET
) -> tuple[list[Learned], list[str]]:
    """Run chosen runs of a store again to look at their models.

    Parameters
    ----------
    snapshot : Snapshot
        What is stored.
    known : dict
        Runs that were repeated before; new ones are added.
    budget : float
        CPU seconds for all runs together.

    Returns
    -------
    learned : list of Learned
        What the models of these runs learned.
    remarks : list of str
        What was left out, and why.
    """
    reasons = {one.family: why_not_scorable(one.trial.problem) for one in snapshot.singles}
    remarks = [f"{family} is left out: {why}." for family, why in reasons.items() if why]
    scorable = [one for one in snapshot.singles if is_scorable(one)]
    modelled = [one for one in scorable if _builds_models(one)]
    others = [one for one in scorable if not _builds_models(one)]
    chosen = [*choose_runs(modelled), *choose_runs(others)]
    _repeat_all(chosen, known, time.process_time() + budget)
    learned: list[Learned] = []
    for one in chosen:
        problem, found = f"{one.family}, n = {one.size}", known.get(one.trial.key)
        if found is None and _builds_models(one):
            found = f"the {budget:g} CPU seconds for repeated runs were spent"
        if isinstance(found, str):
            remarks.append(f"{problem}: {one.name} is left out; {found}.")
        elif found and found.scores:  # none if the algorithm has no models that can be scored
            learned.append(Learned(problem, one.name, found, seed=one.trial.seed))
    shown = {(one.family, one.name) for one in chosen}
    why = f"its runs took more than {MAX_SECONDS:g} CPU seconds or have more than {MAX_LENGTH} bits"
    remarks += [
        f"{family}: {name} is left out; {why}."
        for family, name in dict.fromkeys((one.family, one.name) for one in modelled)
        if (family, name) not in shown
    ]
    problems = list(dict.fromkeys(one.problem for one in learned))
    return sorted(learned, key=lambda one: problems.index(one.problem)), remarks


def is_scorable(one: Single) -> bool:
    """Whether a run solved a problem in which some pairs of bits interact, but not all."""
    return one.outcome.figures.solved and not why_not_scorable(one.trial.problem)


def choose_runs(singles: Sequence[Single]) -> list[Single]:
    """Return one run of each family and algorithm to be repeated.

    Of the runs that are short enough it is the one of the largest size, if possible of a size that
    all algorithms of the family have.
    """
    chosen: list[Single] = []
    for family in dict.fromkeys(one.family for one in singles):
        short = [one for one in singles if one.family == family and _is_short(one)]
        sizes: dict[str, set[int]] = {}
        for one in short:
            sizes.setdefault(one.name, set()).add(one.size)
        common = set.intersection(*sizes.values()) if sizes else set()
        largest = {name: max(common or mine) for name, mine in sizes.items()}
        chosen += [one for one in short if one.size == largest[one.name]]
    return chosen


def _is_short(one: Single) -> bool:
    cheap = one.outcome.figures.cpu_seconds.get("total", 0.0) <= MAX_SECONDS
    return cheap and one.trial.problem.length <= MAX_LENGTH


def _builds_models(one: Single) -> bool:
    """Whether a run spent time in building models; other algorithms may have models too."""
    return one.outcome.figures.cpu_seconds.get("building", 0.0) > 0


def _repeat_all(chosen: Sequence[Single], known: Known, end: float) -> None:
    """Repeat the runs that are not known yet, until the time is over."""
    for one in chosen:
        if one.trial.key not in known and time.process_time() < end:
            found = _repeat(one, end)
            if time.process_time() < end:
                known[one.trial.key] = found


def _repeat(one: Single, end: float) -> Learning | str:
    """Run a stored trial again; return what went wrong if it does not go as it did."""
    trial = one.trial
    try:
        learning = Learning(trial.problem, end)
        with one_blas_thread():
            result = run(
                trial.problem, trial.algorithm, stop=trial.stop, seed=trial.seed, callback=learning
            )
    except Exception as error:  # noqa: BLE001  # code of the user
        return f"running it again raised {type(error).__name__}: {error}"
    if learning.scores and result.evaluations != one.outcome.figures.evaluations:
        return "repeated here, the run differs from the stored one (another processor or version?)"
    return learning
