"""Engines: executors that run the trials, each trial on one core.

Results do not depend on the engine: a trial carries all that decides its result.
"""

import logging
import multiprocessing
import os
import queue
import re
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from pickle import PicklingError
from typing import Any, Literal, ParamSpec, TypeVar, cast, get_args

from harmonium.specs import SpecError

EngineName = Literal["serial", "processes", "dask"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)

P = ParamSpec("P")
T = TypeVar("T")

_ATTEMPTS = 3
"""How often a trial is started whose worker dies."""


class WorkerDied(RuntimeError):  # noqa: N818  # says what happened
    """A worker died while it ran a trial, in every attempt."""


@dataclass(frozen=True)
class Engine:
    """An executor, and how many trials it can run at once."""

    executor: Executor
    slots: Callable[[], int]
    stop_now: Callable[[], None]
    """Stop at once and abandon running trials."""
    recall: Callable[["Future[Any]"], bool] = Future.cancel
    """Cancel a trial that has not started; return whether it was cancelled."""


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
    """Start an engine and end it with the block; after an error running trials are abandoned."""
    check_engine(name, workers, scheduler)
    opened: dict[str, Callable[[], AbstractContextManager[Engine]]] = {
        "serial": _open_serial,
        "processes": lambda: _open_processes(workers or count_cores()),
        "dask": lambda: _open_dask(workers or count_cores(), scheduler),
    }
    with opened[name]() as engine:
        yield engine


def count_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Serial(Executor):
    """Runs each trial in this process, when it is submitted."""

    _closed = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run now."""
        _check_open(self._closed)
        future: Future[T] = Future()
        future.set_running_or_notify_cancel()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  # the future raises it
            future.set_exception(error)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Accept no more calls; none is running."""
        self._closed = True


def _check_open(closed: bool) -> None:
    if closed:
        raise RuntimeError("cannot run more after shutdown()")


@contextmanager
def _open_serial() -> Iterator[Engine]:
    yield Engine(Serial(), lambda: 1, lambda: None)


class Processes(Executor):
    """Worker processes, each fed by its own thread; one that dies is replaced.

    The standard pool breaks as a whole when a worker dies. Here the others continue, and the trial
    is run again, up to three times. Workers end when the driver ends, even if it is killed.
    """

    def __init__(self, workers: int) -> None:
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._killed = threading.Event()
        self._closed = False
        self._workers = [_Worker() for _ in range(workers)]
        self._threads = [
            threading.Thread(target=self._feed, args=(worker,), daemon=True)
            for worker in self._workers
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Queue a call for the next free worker."""
        _check_open(self._closed)
        future: Future[T] = Future()
        self._jobs.put(_Job(cast("Future[Any]", future), fn, args, kwargs))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers when the submitted calls are done; optionally drop those not started."""
        self._closed = True
        if cancel_futures:
            self._drop_jobs()
        for _ in self._threads:
            self._jobs.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def kill(self) -> None:
        """End the workers at once and abandon their calls."""
        self._closed = True
        self._killed.set()
        self._drop_jobs()
        for worker in self._workers:
            worker.kill()

    def _drop_jobs(self) -> None:
        while True:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return
            if job is not None:
                job.future.cancel()

    def _feed(self, worker: "_Worker") -> None:
        while (job := self._jobs.get()) is not None and not self._killed.is_set():
            if job.future.set_running_or_notify_cancel():
                self._run(worker, job)
        worker.end()

    def _run(self, worker: "_Worker", job: "_Job") -> None:
        code: int | None = None
        for _ in range(_ATTEMPTS):
            try:
                done, value = worker.call(job)
            except (EOFError, OSError):
                if self._killed.is_set():
                    job.future.set_exception(WorkerDied("killed"))
                    return
                code = worker.kill()
                worker.start()
                continue
            except Exception as error:  # noqa: BLE001  # the call cannot be pickled
                job.future.set_exception(error)
                return
            if done:
                job.future.set_result(value)
            else:
                job.future.set_exception(value)
            return
        words = f"the worker died {_ATTEMPTS} times, the last time with exit code {code}"
        job.future.set_exception(WorkerDied(words))


@dataclass(frozen=True)
class _Job:
    future: "Future[Any]"
    fn: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class _Worker:
    """A process and the pipe to it."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Start the process in a new interpreter, so that no thread or lock is inherited."""
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_work, args=(theirs,), daemon=True)
        with _no_interrupts():
            self._process.start()
        theirs.close()

    def call(self, job: _Job) -> tuple[bool, Any]:
        """Make a call; return whether it succeeded, and what it returned or raised."""
        self._pipe.send((job.fn, job.args, job.kwargs))
        return cast("tuple[bool, Any]", self._pipe.recv())

    def end(self) -> None:
        """Close the pipe and wait for the process to end."""
        self._pipe.close()
        self._process.join(timeout=5)
        self.kill()

    def kill(self) -> int | None:
        """End the process now; return its exit code."""
        self._process.join(timeout=0.1)  # to report the exit code of one that died
        self._process.kill()
        self._process.join()
        return self._process.exitcode


def _work(pipe: Connection) -> None:
    """Make calls until the pipe closes: the main loop of a worker process."""
    _ignore_interrupts()
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    while True:
        try:
            fn, args, kwargs = pipe.recv()
        except EOFError:
            return
        try:
            answer = (True, fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  # sent to the caller
            answer = (False, error)
        try:
            pipe.send(answer)
        except (TypeError, AttributeError, ValueError, PicklingError) as error:
            pipe.send(
                (False, RuntimeError(f"the result cannot be sent between processes: {error}"))
            )


def _end_with(sentinel: int) -> None:
    """Wait until the driver ends, then end too: its results are no longer needed."""
    wait([sentinel])
    os._exit(1)


@contextmanager
def _no_interrupts() -> Iterator[None]:
    """Block Ctrl-C for a child process until it ignores the signal itself."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # now: when it is started, it lets SIGINT through again
    came: list[int] = []
    main = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, lambda number, _: came.append(number)) if main else None
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if main:
            signal.signal(signal.SIGINT, handler)
        if came:
            signal.raise_signal(signal.SIGINT)


def _ignore_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


@contextmanager
def _open_processes(workers: int) -> Iterator[Engine]:
    executor = Processes(workers)
    try:
        yield Engine(executor, lambda: workers, executor.kill)
        executor.shutdown(wait=True, cancel_futures=True)
    except BaseException:
        executor.kill()
        raise


@contextmanager
def _open_dask(workers: int, scheduler: str | None) -> Iterator[Engine]:
    try:
        import dask  # noqa: PLC0415  # an extra
        import distributed  # noqa: PLC0415
    except ImportError:
        raise SpecError("the engine dask needs Dask; pip install 'harmonium[dask]'") from None
    quiet = {"distributed.admin.log-format": "%(message)s"}
    with dask.config.set(quiet):
        client = _connect(distributed, workers, scheduler)

        def stop_now() -> None:
            client.close(timeout=1)
            for nanny in client.cluster.workers.values() if scheduler is None else ():
                if nanny.pid:
                    os.kill(nanny.pid, signal.SIGKILL)

        try:
            yield Engine(
                client.get_executor(pure=False, retries=0),
                lambda: _count_slots(client),
                stop_now,
                lambda future: False,  # Dask's futures can be cancelled while they run
            )
        finally:
            client.close()
            if scheduler is None:
                client.cluster.close()


def _connect(distributed: Any, workers: int, scheduler: str | None) -> Any:
    """Return a client of a running scheduler, or of a new cluster on this machine."""
    for handler in logging.getLogger("distributed").handlers:
        handler.setLevel(logging.CRITICAL + 1)  # errors are reported in one line
    if scheduler is None:
        with _no_interrupts():  # threads and workers inherit it
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


def _count_slots(client: Any) -> int:
    """Return the number of workers; raise for one with several threads, whose times would mix."""
    try:
        threads = client.nthreads()
    except (OSError, RuntimeError) as error:
        raise SpecError(
            "the Dask scheduler is gone; trials that had ended are stored: run again to continue"
        ) from error
    for address, count in threads.items():
        if count > 1:
            raise SpecError(
                f"the Dask worker at {address} has {count} threads; expected one thread for each "
                "worker, so that CPU times are those of one trial"
            )
    return len(threads)
