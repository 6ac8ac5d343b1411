"""Engines: executors that run the trials, each trial on one core.

Results do not depend on the engine: a trial carries all that decides its result.
"""

import itertools
import logging
import multiprocessing
import os
import pickle
import queue
import re
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any, Final, Literal, ParamSpec, TypeVar, cast, get_args
from zlib import crc32

from harmonium.specs import SpecError

_HEADER: Final = struct.Struct("!16sQQI")
"""Token, number of the call, size and CRC-32 of the pickled message."""


TOKEN_BYTES: Final = 16


LOOK_SECONDS: Final = 1.0
"""Longest wait without a look at the other end."""


_PIECE_BYTES: Final = 2**20


class WrongMessage(Exception):  # noqa: N818  # says what happened
    """Something arrived that is not a message of the other end."""


class Channel:
    """One end of a socket, for pickled messages with numbers.

    A message begins with a token that only the two ends know. Other bytes, which a trial may write
    into the socket, do not have it, so their lengths are not believed.

    Parameters
    ----------
    end : socket
        This end.
    token : bytes
        Random bytes, the same at the other end.
    look : callable, optional
        Called every second of a wait for the other end; it raises to end the wait.
    """

    def __init__(
        self, end: socket.socket, token: bytes, look: Callable[[], None] | None = None
    ) -> None:
        self._socket, self._token, self._look = end, token, look
        end.settimeout(None if look is None else LOOK_SECONDS)

    def close(self) -> None:
        """Close this end."""
        self._socket.close()

    def send(self, number: int, payload: bytes) -> None:
        """Send a message."""
        header = _HEADER.pack(self._token, number, len(payload), crc32(payload))
        left = memoryview(header + payload)
        while left:
            left = left[self._wait(self._socket.send, left) :]

    def receive(self) -> tuple[int, bytes]:
        """Return the number and the bytes of the next message.

        Raises
        ------
        EOFError
            If the other end is closed.
        WrongMessage
            If something else arrives.
        """
        token, number, size, checksum = _HEADER.unpack(self._read(_HEADER.size))
        if token != self._token:
            raise WrongMessage
        payload = self._read(size)
        if crc32(payload) != checksum:
            raise WrongMessage
        return number, payload

    def _read(self, size: int) -> bytes:
        read = bytearray()
        while len(read) < size:
            piece = self._wait(self._socket.recv, min(size - len(read), _PIECE_BYTES))
            if not piece:
                raise EOFError
            read += piece
        return bytes(read)

    def _wait(self, act: Callable[[Any], Any], argument: object) -> Any:
        """Send or receive; look at the other end while that has to wait."""
        while True:
            try:
                return act(argument)
            except TimeoutError:
                if self._look is not None:
                    self._look()


def pack(message: object) -> bytes:
    """Return a message as bytes."""
    return pickle.dumps(message)


def unpack(payload: bytes) -> Any:
    """Return the message that was packed by the other end."""
    return pickle.loads(payload)  # noqa: S301  # of our own process


P = ParamSpec("P")


T = TypeVar("T")


_ATTEMPTS = 3
"""How often a trial is started whose worker dies."""


class WorkerDied(RuntimeError):  # noqa: N818  # says what happened
    """A worker died while it ran a trial, in every attempt."""


class _WrongAnswer(Exception):  # noqa: N818  # says what happened
    """A worker sent something that is not the answer to its call."""


def check_open(closed: bool) -> None:
    """Raise for a call after the end of an executor."""
    if closed:
        raise RuntimeError("cannot run more after shutdown()")


class Processes(Executor):
    """Worker processes, each fed by its own thread; one that dies is replaced.

    The standard pool breaks as a whole when a worker dies. Here the others continue, and the trial
    is run again, up to three times. Workers end when the driver ends, even if it is killed. Each
    call has a number: a worker whose answer has another number is replaced as if it had died.
    """

    def __init__(self, workers: int) -> None:
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._killed = threading.Event()
        self._closed = False
        self._numbers = itertools.count(1)
        _open_standard_streams()
        self._workers: list[_Worker] = []
        try:
            for _ in range(workers):
                self._workers.append(_Worker())
        except BaseException:
            self.kill()
            for worker in self._workers:
                worker.end()
            raise
        self._threads = [
            threading.Thread(target=self._feed, args=(worker,), daemon=True)
            for worker in self._workers
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Queue a call for the next free worker."""
        check_open(self._closed)
        future: Future[T] = Future()
        number = next(self._numbers)
        self._jobs.put(_Job(cast("Future[Any]", future), number, fn, args, kwargs))
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
        end = ""
        for _ in range(_ATTEMPTS):
            try:
                done, value = worker.call(job)
            except (EOFError, OSError, _WrongAnswer) as error:
                if not self._killed.is_set():
                    end = self._replace(worker, error)
                if self._killed.is_set():
                    worker.kill()  # the new one, too
                    job.future.set_exception(WorkerDied("killed"))
                    return
                continue
            except Exception as error:  # noqa: BLE001  # the call cannot be pickled
                job.future.set_exception(error)
                return
            if done:
                job.future.set_result(value)
            else:
                job.future.set_exception(value)
            return
        words = f"the worker died {_ATTEMPTS} times, the last time {end}"
        job.future.set_exception(WorkerDied(words))

    def _replace(self, worker: "_Worker", error: Exception) -> str:
        """Replace a worker after an error; return how it ended, in words."""
        try:
            code = worker.replace()
        except OSError as failure:  # too many processes or files
            return f"and could not be replaced: {failure}"
        return str(error) if isinstance(error, _WrongAnswer) else f"with exit code {code}"


@dataclass(frozen=True)
class _Job:
    future: "Future[Any]"
    number: int
    fn: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class _Worker:
    """A process and the channel to it."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Start the process in a new interpreter, so that no thread or lock is inherited."""
        context = multiprocessing.get_context("spawn")
        ours, theirs = socket.socketpair()
        token = os.urandom(TOKEN_BYTES)
        self._channel, self._ended = Channel(ours, token, self._look), False
        process = context.Process(target=_work, args=(theirs, token), daemon=True)
        try:
            with theirs, no_interrupts():
                process.start()
        except BaseException:
            ours.close()
            raise
        self._process = process  # only now: another thread may kill it at any time

    def call(self, job: _Job) -> tuple[bool, Any]:
        """Make a call; return whether it succeeded, and what it returned or raised."""
        self._channel.send(job.number, pack((job.fn, job.args, job.kwargs)))
        try:
            number, payload = self._channel.receive()
            done, value = unpack(payload)
        except (EOFError, OSError):
            raise
        except Exception as error:
            raise _WrongAnswer("after an answer that cannot be read") from error
        if number != job.number:
            raise _WrongAnswer("after an answer to another call")
        return done, value

    def end(self) -> None:
        """Close the channel and wait for the process to end."""
        self._channel.close()
        self._await_end(5.0)
        self.kill()

    def replace(self) -> int | None:
        """End the process, start another, and return the exit code of the first."""
        code = self.kill()
        self._channel.close()
        self.start()
        return code

    def kill(self) -> int | None:
        """End the process now; return its exit code. Another thread may be waiting for it."""
        self._await_end(0.1)  # to report the exit code of one that died
        self._process.kill()
        self._process.join()
        return self._process.exitcode

    def _await_end(self, seconds: float) -> None:
        """Wait for the process to end; `join` would believe a pipe that a trial can write to."""
        deadline = time.monotonic() + seconds
        while self._process.exitcode is None and time.monotonic() < deadline:
            time.sleep(0.005)

    def _look(self) -> None:
        """Raise if the process had ended at the last look.

        The channel alone does not tell: a child of the process may have it, too.
        """
        if self._ended:
            raise EOFError
        self._ended = self._process.exitcode is not None


def _work(end: socket.socket, token: bytes) -> None:
    """Make calls until the channel closes: the main loop of a worker process.

    If a call forks, its child process loses the channel, and ends when the call returns in it, or
    when the worker ends.
    """
    _ignore_interrupts()
    channel = Channel(end, token)
    process = os.getpid()
    if hasattr(os, "register_at_fork"):
        life = multiprocessing.Pipe(duplex=False)
        os.register_at_fork(after_in_child=partial(_follow, channel, *life))
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    while True:
        try:
            number, payload = channel.receive()
        except (EOFError, OSError):
            return
        answer = _answer(payload)
        if os.getpid() != process:
            os._exit(0)
        try:
            channel.send(number, answer)
        except OSError:  # the call has closed the channel, or the driver has ended
            os._exit(1)


def _follow(channel: Channel, life: Connection, held: Connection) -> None:
    """Let a forked process end with its worker, the only process that holds one end of a pipe."""
    channel.close()
    held.close()
    threading.Thread(target=_end_with, args=(life,), daemon=True).start()


def _answer(payload: bytes) -> bytes:
    """Make a call; return whether it succeeded, and what it returned or raised."""
    try:
        fn, args, kwargs = unpack(payload)
        answer = (True, fn(*args, **kwargs))
    except Exception as error:  # noqa: BLE001  # sent to the caller
        answer = (False, error)
    except BaseException as error:  # noqa: BLE001  # it would end the caller too
        answer = (False, RuntimeError(f"{type(error).__name__}: {error}"))
    try:
        return pack(answer)
    except Exception as error:  # noqa: BLE001  # whatever the result does when it is pickled
        words = f"the result cannot be sent between processes: {error}"
        return pack((False, RuntimeError(words)))


def _open_standard_streams() -> None:
    """Open those that are closed: workers would print into whatever has their number instead."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the smallest free number


def _end_with(parent: int | Connection) -> None:
    """Wait until the driver ends, then end too: its results are no longer needed."""
    with suppress(OSError, ValueError):  # a problem may close all files
        wait([parent])
        os._exit(1)


@contextmanager
def no_interrupts() -> Iterator[None]:
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


EngineName = Literal["serial", "processes", "dask"]


ENGINES: tuple[EngineName, ...] = get_args(EngineName)


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
