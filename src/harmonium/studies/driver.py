"""The driver: follows the plans of a study, submits their trials and stores the records."""

import gc
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import msgspec
from msgspec.structs import replace

from harmonium.analysis.findings import Row
from harmonium.runs import compile_kernels
from harmonium.specs import SpecError
from harmonium.studies.engines import Engine, EngineLost
from harmonium.studies.plans import Bisect, Walk
from harmonium.studies.store import Store, StoreError
from harmonium.studies.study import Study
from harmonium.studies.summary import summarize
from harmonium.studies.trial import Figures, Outcome, Record, Trial, execute, fail, read_record

Watch = Callable[["Driver"], None]


_MAX_WRONG_ANSWERS = 3
"""After so many answers to a trial that are not its own, it has failed."""


class Stopped(Exception):  # noqa: N818  # an end, not an error
    """The user interrupted a study; trials that had ended are stored."""


@dataclass(frozen=True)
class _Submitted:
    trial: Trial
    walk: Walk


class Driver:
    """Runs the trials of a study that its store does not hold yet."""

    def __init__(self, study: Study, store: Store, *, retry_failed: bool = False) -> None:
        self.study = study
        self.started = time.monotonic()
        self.ran = 0
        """Trials run by this driver."""
        self.failed = 0
        """How many of them failed."""
        self._store = store
        self.damage = store.remove_damaged()
        """Which stored trials were damaged and are run again, in words; empty if none were."""
        self._outcomes = {
            key: outcome
            for key, outcome in store.outcomes().items()
            if not (retry_failed and outcome.status == "failed")
        }
        self.reused = len(self._outcomes)
        """Trials that the store held before."""
        self.walks = walk_study(study, self._outcomes)
        self._open = [walk for walk in self.walks if not walk.advance()]
        self._running: dict[Future[bytes], _Submitted] = {}
        self._wrong_answers: Counter[str] = Counter()
        """By key of the trial that was submitted."""
        self._stopping = False

    def run(self, engine: Engine, watch: Watch = lambda driver: None) -> None:
        """Run what is missing; raise `Stopped` when interrupted.

        At the first Ctrl-C no new trials are started and running ones are finished; at the second
        they are abandoned.
        """
        with self._interruptible(engine):
            while True:
                if not self._stopping:
                    self._submit(engine)
                watch(self)
                if not self._running and (self._stopping or not self._open):
                    break
                if not self._running:
                    time.sleep(0.2)  # no worker is there at the moment: one may join
                done, _ = wait(self._running, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in done:
                    self._receive(future)
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

    def count_running(self, walk: Walk) -> int:
        """Return how many trials of a walk are running."""
        return sum(submitted.walk is walk for submitted in self._running.values())

    def _submit(self, engine: Engine) -> None:
        """Fill the free slots: first one trial for each walk in order, then more of the same.

        A population is given up at its first failure, so one run of each of two walks wastes less
        than two runs of one walk.
        """
        self._open = [walk for walk in self._open if not walk.advance()]
        free = engine.slots() - len(self._running)
        if free <= 0:
            return
        for submitted in self._choose(free):
            folder = None if self.study.folder is None else str(self.study.folder)
            future = engine.executor.submit(execute, submitted.trial.spec, folder)
            self._running[future] = submitted

    def _choose(self, free: int) -> list[_Submitted]:
        running = {submitted.trial.key for submitted in self._running.values()}
        busy = {id(submitted.walk) for submitted in self._running.values()}
        first: list[_Submitted] = []
        more: list[_Submitted] = []
        for walk in self._open:
            if len(first) >= free:
                break
            wanted = walk.wanted(free + len(running))
            left = [trial for trial in wanted if trial.key not in running]
            chosen = [_Submitted(trial, walk) for trial in left[:free]]
            running.update(one.trial.key for one in chosen)
            if id(walk) in busy:
                more += chosen
            else:
                first += chosen[:1]
                more += chosen[1:]
        return (first + more)[:free]

    def _receive(self, future: Future[bytes]) -> None:
        submitted = self._running.pop(future)
        try:
            record = _read_answer(submitted.trial, future.result())
        except CancelledError:
            return  # lost: the trial is still wanted, and is submitted again
        except Exception as error:  # noqa: BLE001  # of the engine: a trial records its own
            record = _explain(error)
        if record is None:
            self._wrong_answers[submitted.trial.key] += 1
            if self._wrong_answers[submitted.trial.key] < _MAX_WRONG_ANSWERS:
                return  # submitted again
            record = fail(f"WrongAnswer: {_MAX_WRONG_ANSWERS} answers were not those of this trial")
        self._keep(submitted, record)

    def _keep(self, submitted: _Submitted, record: Record) -> None:
        record = _check_optimum(submitted, record)
        outcome = self._store.append(submitted.trial, record)
        self._outcomes[submitted.trial.key] = outcome
        self.ran += 1
        self.failed += record.status == "failed"
        submitted.walk.advance()

    def _recall(self, engine: Engine) -> None:
        """Cancel trials that have not started and are no longer needed."""
        for future, submitted in list(self._running.items()):
            unwanted = self._stopping or not submitted.walk.wants(submitted.trial)
            if unwanted and engine.recall(future):
                del self._running[future]

    @contextmanager
    def _interruptible(self, engine: Engine) -> Iterator[None]:
        """Stop after running trials at the first Ctrl-C; end the engine at the second."""
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
        """Store trials that have ended in the meantime."""
        for future in [future for future in self._running if future.done()]:
            self._receive(future)


def compile_study(study: Study) -> None:
    """Compile the kernels of a study once, before each of several workers would do it."""
    for case in {str(case.algorithm): case for case in study.cases}.values():
        compile_kernels(case.algorithm)


def walk_study(study: Study, outcomes: dict[str, Outcome]) -> list[Walk]:
    """Return the walk of each case, advanced as far as the outcomes allow."""
    walks = [Walk(case, outcomes) for case in study.cases]
    for walk in walks:
        walk.advance()
    return walks


def _read_answer(trial: Trial, answer: bytes) -> Record | None:
    """Return the record that an engine answered with; none if it is not that of the trial."""
    try:
        record = read_record(answer)
        if record.status == "done":
            msgspec.convert(record.result, Figures)
    except (msgspec.DecodeError, TypeError):
        return None
    explained = record.status == "done" or record.error
    return record if explained and record.belongs_to(trial) else None


def _explain(error: Exception) -> Record:
    """Return the record of a trial whose worker died; an engine that is gone ends the study."""
    if isinstance(error, SpecError | EngineLost):
        raise error
    return fail(f"{type(error).__name__}: {error}")


def _check_optimum(submitted: _Submitted, record: Record) -> Record:
    """Turn a run of a bisection into a failure if its problem has no known optimum."""
    bisected = isinstance(submitted.walk.case.plan, Bisect)
    if not bisected or record.status == "failed" or record.result["optimum"] is not None:
        return record
    error = (
        f"ValueError: the optimum of {submitted.trial.problem} is not known, but a bisection needs "
        "one to tell what is solved; use the plan `grid` or `runs`, and retry failed trials"
    )
    return replace(record, status="failed", result={}, trace={}, error=error)


def read_walks(store: Store) -> tuple[Study, list[Walk]]:
    """Return the study of a store, and its walks as far as the stored trials allow."""
    facts = store.describe()
    if not facts and not store.damage:
        raise StoreError(f"{store.path}: holds no study yet")
    if not facts.keys() >= {"name", "study", "text", "folder"}:
        raise StoreError(f"{store.path}: what it says of its study is damaged; run the study again")
    folder = Path(facts["folder"]) if facts["folder"] else None
    try:
        study = Study.from_json(facts["study"], folder=folder, toml=facts["text"])
    except SpecError as error:
        raise StoreError(f"{store.path}: {error}") from error
    with uncollected():
        return study, walk_study(study, store.outcomes())


@contextmanager
def uncollected() -> Iterator[None]:
    """Disable the garbage collector: it would search all outcomes for cycles in vain."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def read_rows(store: Store) -> tuple[Study, list[Row]]:
    """Return the study of a store, and its rows."""
    study, walks = read_walks(store)
    return study, summarize(walks)


def bind(study: Study, store: Store) -> str:
    """Write the study into its store; raise for that of another. Return a remark, or nothing."""
    known = store.describe()
    facts = {"name": study.name, "study": study.to_json(), "text": study.text}
    name = known.get("name", study.name)
    if name != study.name:
        raise SpecError(
            f"{store.path}: holds the study {name!r}, not {study.name!r}; use another file"
        )
    store.note(**facts, folder="" if study.folder is None else str(study.folder))
    changed = known and known.get("study") != facts["study"]
    return "the study has changed; stored trials that still fit are used" if changed else ""
