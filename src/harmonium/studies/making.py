"""The cases of a study: every problem instance, algorithm and plan, checked before any run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from functools import partial
from typing import Any

from harmonium.interrupts import is_interrupt
from harmonium.problems import PROBLEMS, AnyProblem
from harmonium.runs import Stop, default_stop
from harmonium.search import Algorithm
from harmonium.specs import SpecError
from harmonium.studies.cases import Case
from harmonium.studies.families import Family, Place, StudyError, locate
from harmonium.studies.plans import Bisect, Plan, StudyPlan

MAX_CASES = 100_000
"""Most cases of a study: problem instances times algorithms, on a grid times populations."""

MAX_TRIALS = 10_000_000
"""Most trials of a study, counted once a case; a bisection may need more."""


def make_cases(
    families: Sequence[Family],
    algorithms: Mapping[str, Algorithm],
    plan: StudyPlan,
    stop: Mapping[str, Any],
    seed: int,
) -> Iterator[Case]:
    """Yield the cases of a study in order; raise for what cannot be measured."""
    _check_total(families, algorithms, plan)
    seen: set[tuple[str, int]] = set()
    for number, family in enumerate(families):
        place = ("families", number)
        plans = _choose_plans(plan, family, place)
        chosen = _choose_algorithms(family, algorithms, place)
        stops = {
            (name, one): _choose_stop(name, algorithm, one, stop, family, place)
            for name, algorithm in chosen.items()
            for one in plans
        }
        seeds = range(seed, seed + family.runs)
        for size, instances in _make_sizes(family, place, plans):
            if (family.problem, size) in seen:
                raise StudyError((*place, "sizes"), f"{family.problem} has size {size} already")
            seen.add((family.problem, size))
            for name, algorithm in chosen.items():
                for one in plans:
                    for instance, problem in instances:
                        yield Case(
                            *(family.problem, size, instance, name, problem, algorithm),
                            *(stops[name, one], seeds, one),
                        )


def _check_total(
    families: Sequence[Family], algorithms: Mapping[str, Algorithm], plan: StudyPlan
) -> None:
    """Raise for a study with more cases or trials than anybody could run, before making any."""
    cases = trials = 0
    for family in families:
        plans = (family.plan or plan).expand()
        chosen = len(family.algorithms or algorithms)
        measured = len(family.sizes or [0]) * (family.instances or 1) * chosen * len(plans)
        cases += measured
        trials += measured * family.runs
    for total, what, most in ((cases, "cases", MAX_CASES), (trials, "trials", MAX_TRIALS)):
        if total > most:
            raise StudyError(
                (),
                f"the study has {total:,} {what} at least; expected at most {most:,}: use fewer "
                "runs, instances, sizes or algorithms, or several studies",
            )


def _choose_plans(common: StudyPlan, family: Family, place: Place) -> Sequence[Plan]:
    plan = family.plan or common
    if plan.name != common.name:
        raise StudyError((*place, "plan"), f"is {plan.name}, but the study's plan is {common.name}")
    return plan.expand()


def _choose_algorithms(
    family: Family, algorithms: Mapping[str, Algorithm], place: Place
) -> Mapping[str, Algorithm]:
    for name in family.algorithms or ():
        if name not in algorithms:
            raise StudyError(
                (*place, "algorithms"), f"unknown name {name!r}; known: {', '.join(algorithms)}"
            )
    return {name: algorithms[name] for name in family.algorithms or algorithms}


def _choose_stop(
    name: str,
    algorithm: Algorithm,
    plan: Plan,
    stop: Mapping[str, Any],
    family: Family,
    place: Place,
) -> Stop:
    """Return the stopping rules of an algorithm; raise if it cannot have the plan's population."""
    where = ("algorithms", name) if family.plan is None else (*place, "plan")
    if plan.first is not None:
        algorithm = locate(where, partial(algorithm.with_population, plan.first))
    return replace(default_stop(algorithm), **stop)


Instances = Sequence[tuple[int | None, AnyProblem]]


def _make_sizes(
    family: Family, place: Place, plans: Sequence[Plan]
) -> Iterator[tuple[int, Instances]]:
    """Yield each size of a problem with its instances."""
    here = (*place, "problem")
    name, settings = locate(here, lambda: PROBLEMS.split(family.problem))
    if not family.sizes and _needs_length(name, settings):
        raise StudyError(place, "sizes is missing")
    any_length = {"length": 1} if family.sizes else {}
    locate(here, lambda: PROBLEMS.check(name, {**settings, **any_length}))
    if family.sizes and "length" in settings:
        raise StudyError(here, "names a length; list it in `sizes` instead")
    known = {one.name for one in fields(PROBLEMS[name])} if name in PROBLEMS else {"instance"}
    if family.instances and "instance" not in known:
        raise StudyError((*place, "instances"), f"{name} has no instances; leave it out")
    if family.instances and "instance" in settings:
        raise StudyError((*place, "instances"), "the problem names an instance already")
    bisected = any(isinstance(plan, Bisect) for plan in plans)
    for number, size in enumerate(family.sizes or (None,)):
        lengths = {**settings, **({} if size is None else {"length": size})}
        variants: list[tuple[int | None, dict[str, Any]]] = (
            [(instance, {**lengths, "instance": instance}) for instance in range(family.instances)]
            if family.instances
            else [(None, lengths)]
        )
        where = here if size is None else (*place, "sizes", number)
        made = [
            (instance, locate(where, partial(PROBLEMS.make, name, variant)))
            for instance, variant in variants
        ]
        for _, problem in made if bisected else ():
            locate(where, partial(_check_optimum, problem))
        for length in dict.fromkeys(problem.length for _, problem in made):
            yield length, [one for one in made if one[1].length == length]


def _needs_length(name: str, settings: Mapping[str, Any]) -> bool:
    """Whether a problem of harmonium has no length without `sizes`."""
    if name not in PROBLEMS or "length" in settings:
        return False
    return any(one.name == "length" and one.default is MISSING for one in fields(PROBLEMS[name]))


def _check_optimum(problem: AnyProblem) -> None:
    """Raise if a bisection could not tell what is solved.

    Problems of harmonium are not asked: an NK landscape would have to search for its optimum. The
    first run does so and the driver reports the error.
    """
    if ":" not in problem.to_dict()["name"]:
        return
    try:
        optimum = problem.optimum
    except BaseException as error:
        if is_interrupt(error):
            raise
        raise SpecError(
            f"the optimum of {problem} raised {type(error).__name__}: {error}"
        ) from error
    if optimum is None:
        raise SpecError(
            f"the optimum of {problem} is None, but a bisection needs one to tell what is solved; "
            "expected a number, or the plan `grid` or `runs`"
        )
