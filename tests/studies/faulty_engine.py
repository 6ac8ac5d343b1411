"""An engine that loses, delays, duplicates, swaps and damages answers, by a seed."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor, Future
from random import Random
from typing import Any

from harmonium.studies.engines import Engine

FAULTS = ("lose", "duplicate", "swap", "damage")
MAX_WRONG_ANSWERS = 2
"""So many answers to a trial are wrong at most; at the third a driver gives up."""


class FaultyExecutor(Executor):
    """Runs calls in this process and answers late, in any order, and half of the time wrongly."""

    def __init__(self, seed: int, slots: int, known: dict[str, bytes]) -> None:
        self.faults: Counter[str] = Counter()
        self._rng = Random(seed)  # noqa: S311  # to be repeated
        self._slots = slots
        self._known = known
        """Answers by the first argument, the spec: a trial always gives the same."""
        self._waiting: list[tuple[Future[Any], str]] = []
        self._wrong: Counter[str] = Counter()
        self._last = b""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Make the call; its answer waits until there are as many as slots."""
        spec = args[0]
        if spec not in self._known:
            self._known[spec] = fn(*args, **kwargs)
        future: Future[Any] = Future()
        self._waiting.append((future, spec))
        if len(self._waiting) >= self._slots:
            self.answer()
        return future

    def count_slots(self) -> int:
        """Return the number of slots; a driver asks now and then, and may get an answer."""
        self.answer()
        return self._slots

    def answer(self) -> None:
        """Answer one call, any of those that wait."""
        self._waiting = [one for one in self._waiting if not one[0].cancelled()]
        if not self._waiting:
            return
        future, spec = self._waiting.pop(self._rng.randrange(len(self._waiting)))
        fault = self._rng.choice(FAULTS) if self._rng.random() < 0.5 else ""
        affected = [spec, *(one[1] for one in self._waiting[-1:] if fault == "swap")]
        patient = all(self._wrong[one] < MAX_WRONG_ANSWERS for one in affected)
        if not patient or (fault == "swap" and not self._waiting):
            fault = ""
        self.faults[fault] += 1
        answer = self._known[spec]
        match fault:
            case "lose":
                future.cancel()
                future.set_running_or_notify_cancel()
                return
            case "duplicate":
                self._give(future, spec, self._last)
            case "damage":
                self._give(future, spec, answer[: self._rng.randrange(len(answer))])
            case "swap":
                other, its_spec = self._waiting.pop()
                self._give(future, spec, self._known[its_spec])
                self._give(other, its_spec, answer)
            case _:
                self._give(future, spec, answer)
        self._last = answer

    def _give(self, future: Future[Any], spec: str, answer: bytes) -> None:
        self._wrong[spec] += answer != self._known[spec]
        future.set_result(answer)


def make_faulty_engine(executor: FaultyExecutor) -> Engine:
    return Engine(executor, executor.count_slots, lambda: None)
