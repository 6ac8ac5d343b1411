"""The groups of the bench by name, each with its peers, and the loop that measures them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from harmonium.bench.boa import measure_networks
from harmonium.bench.fitness import measure_fitness
from harmonium.bench.peers import PEERS, Modules, load_peers
from harmonium.bench.rbm import measure_gibbs, measure_training
from harmonium.bench.results import Outcome
from harmonium.bench.runner import measure_runner
from harmonium.bench.scale import Scale
from harmonium.bench.solve import measure_solving
from harmonium.blas import one_blas_thread
from harmonium.environment import describe_environment
from harmonium.specs import SpecError


@dataclass(frozen=True)
class Group:
    """Measurements that belong together."""

    measure: Callable[[Scale, Modules], Iterator[Outcome]]
    peers: tuple[str, ...] = ()


GROUPS: Final = {
    "rbm": Group(measure_training, ("scikit-learn", "torch")),
    "gibbs": Group(measure_gibbs),
    "boa": Group(measure_networks, ("pgmpy",)),
    "fitness": Group(measure_fitness),
    "solve": Group(measure_solving, ("gomea",)),
    "runner": Group(measure_runner),
}


def choose_groups(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of these groups in the order of the bench; all names if none is given."""
    for name in names:
        if name not in GROUPS:
            raise SpecError(f"unknown group {name!r}; known: {', '.join(GROUPS)}")
    return tuple(name for name in GROUPS if name in names or not names)


def run_groups(
    names: Sequence[str], scale: Scale, announce: Callable[[str], object]
) -> Iterator[Outcome]:
    """Measure group by group with one BLAS thread; `announce` gets the next step in words."""
    announce("importing the peers")
    # Import all peers first: only a BLAS that is loaded can be limited to one thread.
    loaded = {name: load_peers(GROUPS[name].peers) for name in names}
    for number, (name, (peers, skipped)) in enumerate(loaded.items(), start=1):
        announce(f"{name}, group {number} of {len(loaded)}")
        yield from skipped
        outcomes = GROUPS[name].measure(scale, peers)
        while outcome := _measure_next(outcomes):
            yield outcome


def _measure_next(outcomes: Iterator[Outcome]) -> Outcome | None:
    with one_blas_thread():
        return next(outcomes, None)


def describe_setting() -> dict[str, str]:
    """Return what the measurements depend on: the machine, its BLAS, and versions."""
    return describe_environment(tuple(PEERS))
