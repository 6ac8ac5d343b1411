"""A trial: one run of one algorithm on one problem, the record that it leaves, and its outcome.

A trial is plain data: the JSON of its problem, algorithm and stopping rules, and a seed. Only
`execute`, which runs it, makes objects of them.
"""

import hashlib
import multiprocessing
import platform
import re
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import msgspec

from harmonium.environment import describe_environment
from harmonium.jit import one_blas_thread
from harmonium.problems import PROBLEMS, AnyProblem
from harmonium.runs import Result, Runner, Stop, run
from harmonium.runs.record import to_columns
from harmonium.search import ALGORITHMS, Algorithm
from harmonium.specs import SpecError, from_dict, importable
from harmonium.studies.learning import MAX_MAP_LENGTH, Learned, Learning, why_not_scorable
from harmonium.system import is_interrupt

VERSION = 4
"""Version of the results: raised when the same spec gives other results. Part of every key."""

Status = Literal["done", "failed"]


@dataclass(frozen=True)
class Trial:
    """One run; its key is the hash of its spec."""

    algorithm: str
    """Canonical JSON: every field, sorted keys. So are problem and stopping rules."""
    problem: str
    stop: str
    seed: int

    @cached_property
    def frame(self) -> str:
        """The spec without the seed; many trials share it."""
        return self._write()

    @cached_property
    def spec(self) -> str:
        """Everything that decides the result, as canonical JSON."""
        return self._write(f'"seed":{self.seed},')

    def _write(self, seed: str = "") -> str:
        parts = f'"algorithm":{self.algorithm},"problem":{self.problem},{seed}"stop":{self.stop}'
        return f'{{{parts},"version":{VERSION}}}'

    @cached_property
    def key(self) -> str:
        """The SHA-256 of the spec, 64 hexadecimal digits."""
        return hashlib.sha256(self.spec.encode()).hexdigest()


class Record(msgspec.Struct, frozen=True):
    """What a trial leaves; a worker sends it as JSON."""

    status: Status
    result: dict[str, Any] = {}
    """As `Result.to_dict`; empty for a trial that failed."""
    trace: dict[str, Any] = {}
    """As `runs.record.to_columns` returns it; empty for a trial that failed."""
    error: str = ""
    """The traceback of a trial that failed."""
    environment: dict[str, str] = msgspec.field(default_factory=describe_environment)
    host: str = msgspec.field(default_factory=platform.node)
    started: str = msgspec.field(default_factory=lambda: _write_time(datetime.now(UTC)))
    """UTC, ISO 8601."""
    wall_seconds: float = 0.0
    peak_memory: int = 0
    """Peak of resident bytes of the worker during the trial, kernels and libraries included."""
    learned: Learned | str | None = None
    """What the models of the run learned, or why that is not known; none if nobody asked."""


class Outcome(msgspec.Struct, gc=False):
    """How a trial ended: what plans and summaries need of its record.

    There may be a million; the garbage collector would search them for cycles in vain.
    """

    solved: bool = False
    evaluations: int = 0
    unique_evaluations: int = 0
    generations: int | None = 0
    cpu_seconds: dict[str, float] = {}
    """By phase, and in total."""
    status: Status = "done"
    error: str = ""
    peak_memory: int = 0
    wall_seconds: float = 0.0

    @property
    def cpu_total(self) -> float:
        return self.cpu_seconds.get("total", 0.0)


def execute(spec: str, folder: str | None, learn: bool = False) -> bytes:
    """Run the trial of a spec and return its record as JSON.

    An error of the problem or algorithm is part of the record. `folder` holds modules of the user.
    With `learn`, the record says what the models of the run learned.
    """
    multiprocessing.current_process().daemon = False  # a problem may start processes
    started, clock = datetime.now(UTC), time.perf_counter()
    _reset_peak_memory()
    result: Result | None = None
    watch: _Follower | None = None
    error = ""
    try:
        with importable(None if folder is None else Path(folder)), one_blas_thread():
            problem, algorithm, stop, seed = read_spec(spec)
            watch = _Follower(problem) if learn else None
            result = run(problem, algorithm, stop=stop, seed=seed, callback=watch)
    except BaseException as raised:  # noqa: BLE001  # of the user's code: recorded
        if is_interrupt(raised) and _can_be_interrupted():
            raise KeyboardInterrupt from None
        error = traceback.format_exc().encode("utf-8", "backslashreplace").decode()
    return msgspec.json.encode(
        Record(
            status="failed" if result is None else "done",
            result={} if result is None else result.to_dict(),
            trace={} if result is None else to_columns(result.trace, result.improvements),
            error=error,
            started=_write_time(started),
            wall_seconds=time.perf_counter() - clock,
            peak_memory=_read_peak_memory(),
            learned=watch.find_learned() if result is not None and watch is not None else None,
        )
    )


def read_spec(spec: str) -> tuple[AnyProblem, Algorithm, Stop, int]:
    plain = msgspec.json.decode(spec)
    if plain["version"] != VERSION:
        raise SpecError(
            f"a trial of version {plain['version']}, but this harmonium runs version {VERSION}; "
            "install the same harmonium everywhere"
        )
    return (
        PROBLEMS.from_dict(plain["problem"]),
        ALGORITHMS.from_dict(plain["algorithm"]),
        from_dict(Stop, plain["stop"]),
        plain["seed"],
    )


class _Follower:
    """Follows what the models of a run learn: a callback; errors in that do not end the run."""

    def __init__(self, problem: AnyProblem) -> None:
        self._learning: Learning | None = None
        self._why = f"it has more than {MAX_MAP_LENGTH} bits"
        if problem.length <= MAX_MAP_LENGTH:
            with self._explained():
                self._why = why_not_scorable(problem)
                self._learning = None if self._why else Learning(problem)

    def __call__(self, runner: Runner) -> bool:
        with self._explained():
            if self._learning is not None:
                self._learning(runner)
        return False

    def find_learned(self) -> Learned | str | None:
        """Return what was learned, or why that is not known; none if there were no models."""
        with self._explained():
            if self._learning is not None:
                return self._learning.learned
        return self._why

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Follow no longer after an error of the user's code, and say why."""
        try:
            yield
        except Exception as error:  # noqa: BLE001
            self._learning = None
            self._why = f"looking at its models raised {type(error).__name__}: {error}"


def read_record(text: bytes) -> Record:
    """Read what `execute` returned."""
    return msgspec.json.decode(text, type=Record)


def _write_time(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds")


def _can_be_interrupted() -> bool:
    """Whether Ctrl-C can reach this code; workers ignore it, and only main threads receive it."""
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    return not ignored and threading.current_thread() is threading.main_thread()


_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def _reset_peak_memory() -> None:
    """Reset the peak of this process, where the system supports it (Linux)."""
    with suppress(OSError):
        _CLEAR.write_text("5", encoding="ascii")


def _read_peak_memory() -> int:
    """Return the peak of resident memory in bytes, 0 where the system does not report it."""
    with suppress(OSError):
        peak = re.search(r"VmHWM:\s*(\d+) kB", _STATUS.read_text(encoding="ascii"))
        if peak:
            return int(peak[1]) * 1024
    try:
        import resource  # noqa: PLC0415  # not on Windows
    except ImportError:
        return 0
    scale = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * scale
