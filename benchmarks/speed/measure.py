"""What all groups share: results, sizes, timing, and the packages to compare with."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

Action = Callable[[], object]

PEERS = {
    "scikit-learn": "sklearn.neural_network",
    "pgmpy": "pgmpy.causal_discovery",
}
"""The module that is used of each package."""

Modules = Mapping[str, Any]
"""Modules of the installed peers, by the name of the package."""


@dataclass(frozen=True)
class Measurement:
    """One comparison: our value, the value of the peer, and how many times better ours is."""

    group: str
    what: str
    against: str
    """The peer; an absolute bound counts as a peer that meets it exactly."""
    ours: float
    peer: float
    unit: str
    better: Literal["more", "less"] = "more"
    """Whether a larger value is better, as for a speed, or a smaller one, as for a time."""
    bound: float | None = None
    """Smallest acceptable ratio; none if there is no requirement."""

    @property
    def ratio(self) -> float:
        """How many times better ours is: above 1 ours is better, below 1 the peer."""
        return self.ours / self.peer if self.better == "more" else self.peer / self.ours

    @property
    def kept(self) -> bool:
        """Whether the ratio meets its bound."""
        return self.bound is None or self.ratio >= self.bound


@dataclass(frozen=True)
class Size:
    """Number of rows and bits; an RBM on them has half as many hidden units as bits."""

    rows: int
    bits: int
    bound: float | None = None
    """Smallest acceptable ratio on this size."""

    @property
    def hidden(self) -> int:
        """Hidden units of an RBM."""
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


def time_once(action: Action) -> float:
    """Return the seconds of one call."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def time_in_turns(actions: Mapping[str, Action], rounds: int) -> dict[str, float]:
    """Return the shortest time of each action in seconds; each round calls every action once.

    Noise of the machine then affects all of them equally. A first round is not measured: it
    compiles, allocates and fills caches.
    """
    least = dict.fromkeys(actions, math.inf)
    for action in actions.values():
        action()
    for _ in range(rounds):
        for name, action in actions.items():
            least[name] = min(least[name], time_once(action))
    return least


def repeat(action: Action, times: int) -> Action:
    """Return an action that calls another a number of times."""

    def call_repeatedly() -> None:
        for _ in range(times):
            action()

    return call_repeatedly
