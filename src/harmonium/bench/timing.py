"""Seconds of actions that take turns, so that a noisy machine disturbs all of them alike."""

import math
import time
from collections.abc import Callable, Mapping

Action = Callable[[], object]


def time_once(action: Action) -> float:
    """Return the seconds of one call."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def time_in_turns(actions: Mapping[str, Action], rounds: int) -> dict[str, float]:
    """Return the least seconds of each action over rounds in which every one is called once.

    One more round goes first, unmeasured: it compiles, allocates and fills the caches.
    """
    least = dict.fromkeys(actions, math.inf)
    for action in actions.values():
        action()
    for _ in range(rounds):
        for name, action in actions.items():
            least[name] = min(least[name], time_once(action))
    return least


def repeat(action: Action, times: int) -> Action:
    """Return an action that calls another so many times."""

    def all_of_them() -> None:
        for _ in range(times):
            action()

    return all_of_them
