"""Engines: executors that run the trials, each trial on one core.

Results do not depend on the engine: a trial carries all that decides its result.
"""

import logging
import os
import re
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Literal, ParamSpec, TypeVar, get_args

from harmonium.specs import SpecError
from harmonium.studies.processes import Processes, WorkerDied, check_open, no_interrupts

__all__ = [
    "ENGINES",
    "Engine",
    "EngineLost",
    "EngineName",
    "Processes",
    "Serial",
    "WorkerDied",
    "check_engine",
    "count_cores",
    "open_engine",
]

EngineName = Literal["serial", "processes", "dask"]
ENGINES: tuple[EngineName, ...] = get_args(EngineName)

P = ParamSpec("P")
T = TypeVar("T")


class EngineLost(RuntimeError):  # noqa: N818  # says what happened
    """An engine cannot run trials any more; those that had ended are stored."""


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
        check_open(self._closed)
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


@contextmanager
def _open_serial() -> Iterator[Engine]:
    yield Engine(Serial(), lambda: 1, lambda: None)


@contextmanager
def _open_processes(workers: int) -> Iterator[Engine]:
    try:
        executor = Processes(workers)
    except OSError as error:  # too many processes or files
        words = f"{workers} workers cannot be started: {error.strerror}; use fewer"
        raise SpecError(words) from error
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


def _count_slots(client: Any) -> int:
    """Return the number of workers; raise for one with several threads, whose times would mix."""
    try:
        threads = client.nthreads()
    except (OSError, RuntimeError) as error:
        raise EngineLost(
            "the Dask scheduler is gone; trials that had ended are stored: run again to continue"
        ) from error
    for address, count in threads.items():
        if count > 1:
            raise SpecError(
                f"the Dask worker at {address} has {count} threads; expected one thread for each "
                "worker, so that CPU times are those of one trial"
            )
    return len(threads)
