"""The driver: walks the plans of a study, has their trials run, and writes what comes back."""

import gc
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from msgspec.structs import replace

from harmonium.specs import SpecError
from harmonium.studies.engines import Engine
from harmonium.studies.plans import Bisect, Walk
from harmonium.studies.store import Outcome, Store, StoreError
from harmonium.studies.study import Study, read_study
from harmonium.studies.summary import Row, summarize
from harmonium.studies.trial import Record, Trial, execute, fail, read_record

Watch = Callable[["Driver"], None]


class Stopped(Exception):  # noqa: N818  # an end, not an error
    """The user asked to stop; what had ended is stored."""


@dataclass(frozen=True)
class _Flight:
    trial: Trial
    walk: Walk


class Driver:
    """Runs a study to its end, from wherever its store is."""

    def __init__(self, study: Study, store: Store, *, retry_failed: bool = False) -> None:
        self.study = study
        self.started = time.monotonic()
        self.ran = 0
        """Trials run by this driver."""
        self.failed = 0
        """Those of them that failed."""
        self._store = store
        self._outcomes = {
            key: outcome
            for key, outcome in store.outcomes().items()
            if not (retry_failed and outcome.status == "failed")
        }
        self.reused = len(self._outcomes)
        """Trials that were in the store before."""
        self.walks = walk_study(study, self._outcomes)
        self._open = [walk for walk in self.walks if not walk.advance()]
        self._flying: dict[Future[bytes], _Flight] = {}
        self._stopping = False

    def run(self, engine: Engine, watch: Watch = lambda driver: None) -> None:
        """Run what is missing; raise `Stopped` when interrupted.

        At the first Ctrl-C nothing new is begun and trials under way are finished; at the second
        they are abandoned.
        """
        with self._interruptible(engine):
            while True:
                if not self._stopping:
                    self._submit(engine)
                watch(self)
                if not self._flying and (self._stopping or not self._open):
                    break
                if not self._flying:
                    time.sleep(0.2)  # no worker yet, or none any more: one may come
                done, _ = wait(self._flying, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in done:
                    self._land(future)
                self._recall(engine)
        if self._stopping:
            raise Stopped

    @property
    def finished(self) -> bool:
        """Whether nothing is left to run."""
        return not self._open

    @property
    def stopping(self) -> bool:
        """Whether an interrupt was seen."""
        return self._stopping

    def flying(self, walk: Walk) -> int:
        """Return how many trials of a walk are under way."""
        return sum(flight.walk is walk for flight in self._flying.values())

    def _submit(self, engine: Engine) -> None:
        """Fill the free slots: first one trial for each walk in order, then more of the same.

        A population is given up at its first failure, so two walks side by side waste less than
        two runs of one.
        """
        self._open = [walk for walk in self._open if not walk.advance()]
        free = engine.slots() - len(self._flying)
        if free <= 0:
            return
        for flight in self._choose(free):
            folder = None if self.study.folder is None else str(self.study.folder)
            future = engine.executor.submit(execute, flight.trial.spec, folder)
            self._flying[future] = flight

    def _choose(self, free: int) -> list[_Flight]:
        flying = {flight.trial.key for flight in self._flying.values()}
        busy = {id(flight.walk) for flight in self._flying.values()}
        first: list[_Flight] = []
        more: list[_Flight] = []
        for walk in self._open:
            if len(first) >= free:
                break
            left = [trial for trial in walk.wanted() if trial.key not in flying]
            flights = [_Flight(trial, walk) for trial in left[:free]]
            flying.update(flight.trial.key for flight in flights)
            if id(walk) in busy:
                more += flights
            else:
                first += flights[:1]
                more += flights[1:]
        return (first + more)[:free]

    def _land(self, future: Future[bytes]) -> None:
        flight = self._flying.pop(future)
        try:
            record = read_record(future.result())
        except CancelledError:
            return
        except Exception as error:  # noqa: BLE001  # of the engine: the trial itself cannot raise
            record = _explain(error)
        self._keep(flight, record)

    def _keep(self, flight: _Flight, record: Record) -> None:
        record = _check_optimum(flight, record)
        outcome = self._store.append(flight.trial, record)
        self._outcomes[flight.trial.key] = outcome
        self.ran += 1
        self.failed += record.status == "failed"
        flight.walk.advance()

    def _recall(self, engine: Engine) -> None:
        """Cancel what is not begun and not wanted any more."""
        for future, flight in list(self._flying.items()):
            wanted = {trial.key for trial in flight.walk.wanted()}
            unwanted = self._stopping or flight.trial.key not in wanted
            if unwanted and engine.recall(future):
                del self._flying[future]

    @contextmanager
    def _interruptible(self, engine: Engine) -> Iterator[None]:
        """Turn the first Ctrl-C into a polite stop; the second ends the engine."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def interrupt(number: int, frame: FrameType | None) -> None:
            if self._stopping:
                raise KeyboardInterrupt
            self._stopping = True

        before = signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        except KeyboardInterrupt:
            self._rescue()
            engine.stop_now()
            raise Stopped from None
        finally:
            signal.signal(signal.SIGINT, before)

    def _rescue(self) -> None:
        """Store what has ended in the meantime."""
        for future in [future for future in self._flying if future.done()]:
            self._land(future)


def walk_study(study: Study, outcomes: dict[str, Outcome]) -> list[Walk]:
    """Return the walk of each case, as far as the outcomes lead."""
    walks = [Walk(case, outcomes) for case in study.cases]
    for walk in walks:
        walk.advance()
    return walks


def _explain(error: Exception) -> Record:
    """Return the record of a trial whose worker died; an engine that is gone ends the study."""
    if isinstance(error, SpecError):
        raise error
    return fail(f"{type(error).__name__}: {error}")


def _check_optimum(flight: _Flight, record: Record) -> Record:
    """Let a run of a bisection fail whose optimum turned out to be unknown: none can be solved."""
    bisected = isinstance(flight.walk.case.plan, Bisect)
    if not bisected or record.status == "failed" or record.result["optimum"] is not None:
        return record
    error = (
        f"ValueError: the optimum of {flight.trial.problem} is not known, but a bisection needs "
        "one to tell what is solved; measure given populations with [grid] and --retry-failed"
    )
    return replace(record, status="failed", result={}, trace={}, error=error)


def read_walks(store: Store) -> tuple[Study, list[Walk]]:
    """Return the study that a store holds, and its walks as far as the stored trials lead."""
    facts = store.describe()
    if not facts:
        raise StoreError(f"{store.path}: holds no study yet")
    folder = Path(facts["folder"]) if facts["folder"] else None
    study = read_study(facts["file"], str(store.path), folder)
    with uncollected():
        return study, walk_study(study, store.outcomes())


@contextmanager
def uncollected() -> Iterator[None]:
    """Let the garbage collector rest: it would go through all outcomes for cycles none has."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def read_rows(store: Store) -> tuple[Study, list[Row]]:
    """Return the study that a store holds, and what is known of it."""
    study, walks = read_walks(store)
    return study, summarize(walks)


def bind(study: Study, store: Store) -> str:
    """Note the study in its store; refuse the store of another. Return a remark, or nothing."""
    known = store.describe()
    facts = {"name": study.name, "seed": str(study.seed), "file": study.text}
    if known and known["name"] != study.name:
        raise SpecError(
            f"{store.path}: holds the study {known['name']!r}, not {study.name!r}; "
            "name another file with --store"
        )
    store.note(**facts, folder="" if study.folder is None else str(study.folder))
    changed = known and known["file"] != study.text
    return "the study file has changed; stored trials that still fit are used" if changed else ""
