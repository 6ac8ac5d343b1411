"""What both groups share: results, sizes, timing, and the packages to compare with."""

import math
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, NamedTuple

Action = Callable[[], object]

PEERS = {"scikit-learn": "sklearn.neural_network", "pgmpy": "pgmpy.causal_discovery"}
"""The module that is used of each package."""

Modules = Mapping[str, Any]
"""Modules of the installed peers, by the name of the package."""


class Measurement(NamedTuple):
    """One comparison: our value and the value of the peer."""

    what: str
    against: str
    """The peer; an absolute bound counts as a peer that meets it exactly."""
    ours: float
    peer: float
    unit: str
    bound: float | None = None
    """Smallest acceptable ratio; none if there is no requirement."""

    @property
    def ratio(self) -> float:
        """How many times better ours is: of a time, the smaller value is the better one."""
        return self.peer / self.ours if self.unit == "ms" else self.ours / self.peer

    @property
    def kept(self) -> bool:
        return self.bound is None or self.ratio >= self.bound


class Size(NamedTuple):
    """Number of rows and bits; an RBM on them has half as many hidden units as bits."""

    rows: int
    bits: int
    bound: float | None = None
    """Smallest acceptable ratio on this size."""

    @property
    def hidden(self) -> int:
        return self.bits // 2

    def __str__(self) -> str:
        return f"{self.rows}×{self.bits}"


def load_peers() -> tuple[dict[str, Any], dict[str, str]]:
    """Return the modules of the installed peers, and why the others are skipped."""
    modules: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    for name, module in PEERS.items():
        try:
            modules[name] = import_module(module)
        except ImportError as error:
            skipped[name] = f"{error}; pip install 'harmonium[bench]'"
    return modules, skipped


def time_in_turns(actions: Mapping[str, Action], rounds: int = 15) -> dict[str, float]:
    """Return the shortest time of each action in seconds; each round calls every action once.

    Noise of the machine then affects all of them equally. With more than one round, a first one is
    not measured: it compiles, allocates and fills caches.
    """
    least = dict.fromkeys(actions, math.inf)
    if rounds > 1:
        time_in_turns(actions, 1)
    for _ in range(rounds):
        for name, action in actions.items():
            start = time.perf_counter()
            action()
            least[name] = min(least[name], time.perf_counter() - start)
    return least
