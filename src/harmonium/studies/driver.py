"""The driver: follows the plans of a study, submits their trials and stores the records."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from msgspec.structs import replace

from harmonium.specs import SpecError
from harmonium.studies.engines import Answer, Engine, EngineLost, Job, check_engine, open_engine
from harmonium.studies.plans import Bisect, Case, Walk
from harmonium.studies.store import About, Store
from harmonium.studies.study import Study
from harmonium.studies.trial import Record, Trial, read_record

Watch = Callable[["Driver"], None]


class Stopped(Exception):  # noqa: N818  # an end, not an error
    """The user interrupted a study; trials that had ended are stored."""


class Driver:
    """Runs the trials of a study that its store does not hold yet."""

    def __init__(self, study: Study, store: Store, *, retry_failed: bool = False) -> None:
        self.study = study
        self.remark = bind(study, store)
        """What to say of the study that the store held before; empty if there is nothing."""
        self.started = time.monotonic()
        self.ran = 0
        """Trials run by this driver."""
        self.failed = 0
        """How many of them failed."""
        self.stopping = False
        """Whether an interrupt was seen."""
        self._store = store
        self._outcomes = {
            key: outcome
            for key, outcome in store.outcomes().items()
            if not (retry_failed and outcome.status == "failed")
        }
        self.reused = len(self._outcomes)
        """Trials that the store held before."""
        self.walks = [Walk(case, self._outcomes) for case in study.cases]
        self._open = [walk for walk in self.walks if not walk.advance()]
        self._running: dict[Job, tuple[Trial, Walk]] = {}

    def run(self, engine: Engine, watch: "Watch | None" = None) -> None:
        """Run what is missing; raise `Stopped` when interrupted.

        At the first Ctrl-C no new trials are started and running ones are finished; at the second
        they are abandoned.
        """
        with self._interruptible(engine):
            while True:
                if not self.stopping:
                    self._submit(engine)
                if watch is not None:
                    watch(self)
                if not self._running and (self.stopping or not self._open):
                    break
                for job, answer in engine.wait(0.2):
                    self._receive(job, answer)
        if self.stopping:
            raise Stopped

    @property
    def finished(self) -> bool:
        """Whether nothing is left to run."""
        return not self._open

    def count_running(self, walk: Walk) -> int:
        """Return how many trials of a walk are running."""
        return sum(one is walk for _, one in self._running.values())

    def _submit(self, engine: Engine) -> None:
        """Fill the free slots: first one trial for each walk in order, then more of the same.

        A population is given up at its first failure, so one run of each of two walks wastes less
        than two runs of one walk.
        """
        self._open = [walk for walk in self._open if not walk.advance()]
        for trial, walk in self._choose(engine.slots() - len(self._running)):
            job = Job(trial.spec, str(self.study.folder), learn=trial.seed == walk.case.seed)
            engine.submit(job)
            self._running[job] = trial, walk

    def _choose(self, free: int) -> list[tuple[Trial, Walk]]:
        running = {trial.key for trial, _ in self._running.values()}
        busy = {id(walk) for _, walk in self._running.values()}
        first: list[tuple[Trial, Walk]] = []
        more: list[tuple[Trial, Walk]] = []
        for walk in self._open:
            if len(first) >= free:
                break
            wanted = walk.wanted(free + len(running))
            chosen = [(trial, walk) for trial in wanted if trial.key not in running][:free]
            running.update(trial.key for trial, _ in chosen)
            count = 0 if id(walk) in busy else 1
            first += chosen[:count]
            more += chosen[count:]
        return (first + more)[: max(0, free)]

    def _receive(self, job: Job, answer: Answer) -> None:
        """Store the record of a trial; one that was lost is still wanted, and submitted again."""
        trial, walk = self._running.pop(job)
        if isinstance(answer, CancelledError):
            return
        if isinstance(answer, SpecError | EngineLost):  # the engine is gone
            raise answer
        if isinstance(answer, bytes):
            record = _check_optimum(walk.case, read_record(answer))
        else:
            record = Record("failed", error=f"{type(answer).__name__}: {answer}")
        self._outcomes[trial.key] = self._store.append(trial, record)
        self.ran += 1
        self.failed += record.status == "failed"
        walk.advance()

    @contextmanager
    def _interruptible(self, engine: Engine) -> Iterator[None]:
        """Stop after running trials at the first Ctrl-C; end the engine at the second."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def interrupt(number: int, frame: FrameType | None) -> None:
            if self.stopping:
                raise KeyboardInterrupt
            self.stopping = True

        before = signal.signal(signal.SIGINT, interrupt)
        try:
            yield
        except KeyboardInterrupt:
            for job, answer in engine.wait(0.0):  # what has ended in the meantime
                self._receive(job, answer)
            engine.stop()
            raise Stopped from None
        finally:
            signal.signal(signal.SIGINT, before)


def _check_optimum(case: Case, record: Record) -> Record:
    """Turn a run of a bisection into a failure if its problem has no known optimum."""
    bisected = isinstance(case.plan, Bisect)
    if not bisected or record.status == "failed" or record.result["optimum"] is not None:
        return record
    error = (
        f"ValueError: the optimum of {case.family} is not known, but a bisection needs one to tell "
        "what is solved; use the plan `grid` or `runs`, and retry failed trials"
    )
    return replace(record, status="failed", result={}, trace={}, error=error)


def drive(
    study: Study,
    path: Path,
    engine: str = "processes",
    workers: int | None = None,
    scheduler: str | None = None,
    *,
    retry_failed: bool = False,
    begin: Watch | None = None,
    watch: Watch | None = None,
) -> list[Walk]:
    """Run what the store at `path` does not hold yet of a study, as `Study.run`; return its walks.

    `begin` is called once with the driver, when the store is open and before anything runs: after
    an exception (`Stopped`, `EngineLost`) the driver still says what was run. `watch` is called
    with it again and again while trials run, some times a second.
    """
    check_engine(engine, workers, scheduler)
    with Store.create(path) as store:
        driver = Driver(study, store, retry_failed=retry_failed)
        if begin is not None:
            begin(driver)
        if not driver.finished:
            with open_engine(engine, workers, scheduler) as opened:
                driver.run(opened, watch)
        return driver.walks


def bind(study: Study, store: Store) -> str:
    """Write a study into its store; raise for that of another. Return a remark, or nothing."""
    known = store.describe()
    name = known.get("name", study.name)
    if name != study.name:
        raise SpecError(
            f"{store.path}: holds the study {name!r}, not {study.name!r}; use another file"
        )
    facts = {
        "name": study.name,
        "seed": str(study.seed),
        "description": study.description,
        "study": study.to_json(),
        "definition": study.definition,
    }
    store.bind(facts, study.cases)
    changed = known and known["study"] != facts["study"]
    return "the study has changed; stored trials that still fit are used" if changed else ""


def read_walks(store: Store) -> tuple[About, list[Walk]]:
    """Return the study of a store, and its walks as far as the stored trials allow."""
    about = store.about()
    outcomes = store.outcomes()
    walks = [Walk(case, outcomes) for case in store.cases()]
    for walk in walks:
        walk.advance()
    return about, walks
