"""Time of actions, interleaved so that noise of the machine affects all of them equally."""

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
    """Return the shortest time of each action in seconds; each round calls every action once.

    A first round is not measured: it compiles, allocates and fills caches.
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
