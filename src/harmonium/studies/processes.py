"""Worker processes, each fed by a thread over a socket, and replaced when it dies."""

import itertools
import multiprocessing
import os
import queue
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any, ParamSpec, TypeVar, cast

from harmonium.interrupts import continue_stopped
from harmonium.studies.channel import TOKEN_BYTES, Channel, pack, unpack

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
        """Raise if the process had ended at the last look; let one that is stopped continue.

        The channel alone does not tell: a child of the process may have it, too.
        """
        if self._ended:
            raise EOFError
        self._ended = self._process.exitcode is not None
        if not self._ended:
            continue_stopped(cast("int", self._process.pid))


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
