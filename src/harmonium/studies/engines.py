"""Engines: they run trials, each trial on one core.

Results do not depend on the engine: a trial carries all that decides its result.
"""

import concurrent.futures
import logging
import multiprocessing
import os
import re
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

from harmonium.specs import SpecError
from harmonium.studies.trial import execute

ENGINES = ("serial", "processes", "dask")

_ATTEMPTS = 3
"""How often a trial is started whose worker dies."""


class EngineLost(RuntimeError):  # noqa: N818  # says what happened
    """An engine cannot run trials any more; those that had ended are stored."""


class WorkerDied(RuntimeError):  # noqa: N818  # says what happened
    """A worker died while it ran a trial, in every attempt."""


class Job(NamedTuple):
    """The arguments of `execute`."""

    spec: str
    folder: str | None
    learn: bool = False


Answer = bytes | Exception
"""The record of a trial as JSON, or why there is none."""


class Engine(ABC):
    """Runs jobs; `wait` returns those that have ended."""

    @abstractmethod
    def slots(self) -> int:
        """Return how many jobs can run at once."""

    @abstractmethod
    def submit(self, job: Job) -> None:
        """Start a job; only to be called while a slot is free."""

    @abstractmethod
    def wait(self, seconds: float) -> list[tuple[Job, Answer]]:
        """Return the jobs that have ended, with their answers; wait for one for some time.

        A job that was lost has no answer: it is returned with a `CancelledError`.
        """

    @abstractmethod
    def stop(self) -> None:
        """End at once and abandon running jobs."""


def check_engine(name: str, workers: int | None, scheduler: str | None) -> None:
    """Raise for an engine that does not exist or settings that do not go together."""
    if scheduler is not None and name != "dask":
        raise SpecError(f"scheduler is {scheduler!r}; only the engine dask has one")
    if scheduler is not None and workers is not None:
        raise SpecError("workers and scheduler are both given; a scheduler has its own workers")
    if name not in ENGINES:
        raise SpecError(f"unknown engine {name!r}; known: {', '.join(ENGINES)}")
    if name == "serial" and workers not in (None, 1):
        raise SpecError(f"workers is {workers}; the engine serial has one")


@contextmanager
def open_engine(name: str, workers: int | None, scheduler: str | None) -> Iterator[Engine]:
    """Start an engine and end it with the block; running trials are abandoned."""
    check_engine(name, workers, scheduler)
    with ExitStack() as stack:
        if name == "dask":
            opened: Engine = stack.enter_context(_open_dask(workers or count_cores(), scheduler))
        else:
            opened = Serial() if name == "serial" else Processes(workers or count_cores())
            stack.callback(opened.stop)
        yield opened


def count_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Serial(Engine):
    """Runs each job in this process, when it is waited for."""

    def __init__(self) -> None:
        self._jobs: list[Job] = []

    def slots(self) -> int:
        return 1

    def submit(self, job: Job) -> None:
        self._jobs.append(job)

    def wait(self, seconds: float) -> list[tuple[Job, Answer]]:
        jobs, self._jobs = self._jobs, []
        return [(job, execute(*job)) for job in jobs]

    def stop(self) -> None:
        """Nothing runs between two waits."""


class Processes(Engine):
    """Worker processes, each at the end of a pipe; one that dies is replaced.

    The standard pool breaks as a whole when a worker dies. Here the others continue, and the trial
    is run again, up to three times. Workers end when the driver ends, even if it is killed.
    """

    def __init__(self, workers: int) -> None:
        self._workers: list[_Worker] = []
        try:
            for _ in range(workers):
                self._workers.append(_Worker())
        except OSError as error:  # too many processes or files
            self.stop()
            raise SpecError(
                f"{workers} workers cannot be started: {error.strerror}; use fewer"
            ) from error

    def slots(self) -> int:
        return len(self._workers)

    def submit(self, job: Job) -> None:
        next(worker for worker in self._workers if worker.job is None).begin(job)

    def wait(self, seconds: float) -> list[tuple[Job, Answer]]:
        busy = {worker: worker.job for worker in self._workers if worker.job is not None}
        ends = [end for worker in busy for end in (worker.pipe, worker.process.sentinel)]
        ready = set(wait(ends, seconds)) if ends else set()
        ended = [worker for worker in busy if ready & {worker.pipe, worker.process.sentinel}]
        answers = [(busy[worker], worker.receive()) for worker in ended]
        return [(job, answer) for job, answer in answers if answer is not None]

    def stop(self) -> None:
        for worker in self._workers:
            worker.end()


class _Worker:
    """A process, the pipe to it, and the job that it runs."""

    def __init__(self) -> None:
        self.job: Job | None = None
        self._deaths = 0
        self._start()

    def _start(self) -> None:
        """Start the process in a new interpreter, so that no thread or lock is inherited."""
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs,), daemon=True)
        with theirs, no_interrupts():
            self.process.start()

    def begin(self, job: Job) -> None:
        self.job, self._deaths = job, 0
        with suppress(OSError):  # it has died, which `receive` notices
            self.pipe.send(job)

    def receive(self) -> Answer | None:
        """Return the answer to the job; none if the worker has died and another one tries."""
        try:
            if not self.pipe.poll():
                raise EOFError  # noqa: TRY301  # it has died without a word
            answer: Answer = self.pipe.recv_bytes()
        except (EOFError, OSError):
            self.end()
            code = self.process.exitcode
            self._deaths += 1
            self._start()
            if self._deaths < _ATTEMPTS:
                self.pipe.send(self.job)
                return None
            answer = WorkerDied(
                f"the worker died {_ATTEMPTS} times, the last time with exit code {code}"
            )
        self.job = None
        return answer

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _work(pipe: Connection) -> None:
    """Run jobs until the pipe closes: the main loop of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    with suppress(EOFError, OSError):
        while True:
            pipe.send_bytes(execute(*pipe.recv()))


def _end_with(parent: int) -> None:
    """Wait until the driver ends, then end too: its results are no longer needed."""
    wait([parent])
    os._exit(1)


@contextmanager
def no_interrupts() -> Iterator[None]:
    """Block Ctrl-C for a child process until it ignores the signal itself."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # now: when it is started, it lets SIGINT through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Dask(Engine):
    """Workers of a Dask cluster."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._executor = client.get_executor(pure=False, retries=0)
        self._jobs: dict[concurrent.futures.Future[bytes], Job] = {}

    def slots(self) -> int:
        """Return the number of workers; raise for one with several threads: times would mix."""
        try:
            threads = self._client.nthreads()
        except (OSError, RuntimeError) as error:
            reason = "trials that had ended are stored: run again to continue"
            raise EngineLost(f"the Dask scheduler is gone; {reason}") from error
        for address, count in threads.items():
            if count > 1:
                raise SpecError(
                    f"the Dask worker at {address} has {count} threads; expected one thread for "
                    "each worker, so that CPU times are those of one trial"
                )
        return len(threads)

    def submit(self, job: Job) -> None:
        self._jobs[self._executor.submit(execute, *job)] = job

    def wait(self, seconds: float) -> list[tuple[Job, Answer]]:
        if not self._jobs:
            time.sleep(seconds)  # no worker is there at the moment: one may join
        first = concurrent.futures.FIRST_COMPLETED
        done, _ = concurrent.futures.wait(self._jobs, seconds, return_when=first)
        return [(self._jobs.pop(future), _read_future(future)) for future in done]

    def stop(self) -> None:
        """Leave the cluster; end one on this machine, with its workers if they run trials."""
        self._client.close(timeout=1)
        if self._client.cluster is not None:
            for nanny in self._client.cluster.workers.values() if self._jobs else ():
                if nanny.pid:
                    os.kill(nanny.pid, signal.SIGKILL)
            self._client.cluster.close()


def _read_future(future: "concurrent.futures.Future[bytes]") -> Answer:
    try:
        return future.result()
    except (Exception, concurrent.futures.CancelledError) as error:  # noqa: BLE001  # an answer
        return error


@contextmanager
def _open_dask(workers: int, scheduler: str | None) -> Iterator[Engine]:
    try:
        import dask  # noqa: PLC0415  # an extra
        import distributed  # noqa: PLC0415
    except ImportError:
        raise SpecError("the engine dask needs Dask; pip install 'harmonium[dask]'") from None
    with dask.config.set({"distributed.admin.log-format": "%(message)s"}):
        engine = Dask(_connect(distributed, workers, scheduler))
        try:
            yield engine
        finally:
            engine.stop()


def _connect(distributed: Any, workers: int, scheduler: str | None) -> Any:
    """Return a client of a running scheduler, or of a new cluster on this machine."""
    for handler in logging.getLogger("distributed").handlers:
        handler.setLevel(logging.CRITICAL + 1)  # errors are reported in one line
    if scheduler is None:
        with no_interrupts():  # threads and workers inherit it
            cluster = distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, dashboard_address=":0", silence_logs=50
            )
        return distributed.Client(cluster)
    if not re.fullmatch(r"\w+://[^/\s]+:\d+", scheduler):
        raise SpecError(f"scheduler is {scheduler!r}; expected tcp://host:port")
    try:
        return distributed.Client(scheduler, timeout=10, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise SpecError(
            f"no Dask scheduler answers at {scheduler}: {reason}; expected an address such as "
            "tcp://host:8786 where `dask scheduler` runs"
        ) from None
