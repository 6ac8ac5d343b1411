"""A trial: one run of one algorithm on one problem, and the record that it leaves."""

import hashlib
import multiprocessing
import platform
import re
import signal
import sys
import threading
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, overload

import msgspec

from harmonium.environment import describe_environment
from harmonium.jit import one_blas_thread
from harmonium.problems import PROBLEMS, AnyProblem, name_problem
from harmonium.runs import Result, Stop, run
from harmonium.runs.trace import to_columns
from harmonium.search import ALGORITHMS, Algorithm
from harmonium.specs import Spec, SpecError, from_dict, importable, to_json
from harmonium.system import is_interrupt

VERSION = 4
"""Version of the results: raised when the same spec gives other results. Part of every key."""


MAX_ERROR_CHARACTERS = 100_000
"""Length of the text of an error up to which it is stored whole."""


Status = Literal["done", "failed"]


class _Frame(msgspec.Struct, frozen=True):
    """A spec without its seed, the parts already encoded; fields are sorted by name."""

    algorithm: msgspec.Raw
    problem: msgspec.Raw
    stop: msgspec.Raw
    version: int


class _Spec(msgspec.Struct, frozen=True):
    """A whole spec, the parts already encoded; fields are sorted by name."""

    algorithm: msgspec.Raw
    problem: msgspec.Raw
    seed: int
    stop: msgspec.Raw
    version: int


_encoder = msgspec.json.Encoder()


@dataclass(frozen=True)
class Trial:
    """One run; its key is the hash of its spec."""

    problem: AnyProblem
    algorithm: Algorithm
    stop: Stop
    seed: int

    @cached_property
    def spec(self) -> str:
        """Everything that decides the result, as canonical JSON: every field, sorted keys."""
        return _encode_spec(self._parts, self.seed).decode()

    @cached_property
    def frame(self) -> str:
        """The spec without the seed, as canonical JSON; many trials share it."""
        return _encoder.encode(self._parts).decode()

    @cached_property
    def key(self) -> str:
        """The SHA-256 of the spec, 64 hexadecimal digits."""
        return _hash(self.spec.encode())

    def repeat(self, seeds: Sequence[int]) -> "Trials":
        """Return the trial with each of these seeds."""
        return Trials(self, seeds)

    @property
    def _parts(self) -> _Frame:
        specs: tuple[Spec, ...] = (self.algorithm, self.problem, self.stop)
        algorithm, problem, stop = (msgspec.Raw(to_json(spec).encode()) for spec in specs)
        return _Frame(algorithm, problem, stop, VERSION)


def _encode_spec(parts: _Frame, seed: int) -> bytes:
    return _encoder.encode(_Spec(parts.algorithm, parts.problem, seed, parts.stop, parts.version))


def _hash(spec: bytes) -> str:
    return hashlib.sha256(spec).hexdigest()


class Trials(Sequence[Trial]):
    """Trials that differ only in their seeds, each made when it is first asked for.

    A study may have millions of them. The parts that they share are encoded only once.
    """

    def __init__(self, first: Trial, seeds: Sequence[int]) -> None:
        self._first = first
        self._seeds = seeds
        self._made: dict[int, Trial] = {}
        """By number."""

    @cached_property
    def _parts(self) -> _Frame:
        return self._first._parts

    def __len__(self) -> int:
        return len(self._seeds)

    @overload
    def __getitem__(self, number: int) -> Trial: ...
    @overload
    def __getitem__(self, number: slice) -> "Trials": ...
    def __getitem__(self, number: int | slice) -> "Trial | Trials":
        if isinstance(number, slice):
            return Trials(self._first, self._seeds[number])
        if number not in self._made:
            first, seed = self._first, self._seeds[number]
            trial = Trial(first.problem, first.algorithm, first.stop, seed)
            vars(trial).update(frame=first.frame, key=self.key(number))
            self._made[number] = trial
        return self._made[number]

    def key(self, number: int) -> str:
        """Return the key of a trial without making it."""
        return _hash(_encode_spec(self._parts, self._seeds[number]))

    def __contains__(self, trial: object) -> bool:
        return (
            isinstance(trial, Trial)
            and trial.seed in self._seeds
            and trial.frame == self._first.frame
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trials):
            return NotImplemented
        return (self._first.frame, self._seeds) == (other._first.frame, other._seeds)

    def __hash__(self) -> int:
        return hash((self._first.frame, len(self)))


def read_trial(spec: str) -> Trial:
    """Make a trial again from its spec."""
    plain = msgspec.json.decode(spec)
    if plain["version"] != VERSION:
        raise SpecError(
            f"a trial of version {plain['version']}, but this harmonium runs version {VERSION}; "
            "install the same harmonium everywhere"
        )
    return Trial(
        problem=PROBLEMS.from_dict(plain["problem"]),
        algorithm=ALGORITHMS.from_dict(plain["algorithm"]),
        stop=from_dict(Stop, plain["stop"]),
        seed=plain["seed"],
    )


class Record(msgspec.Struct, frozen=True):
    """What a trial leaves; a worker sends it as JSON."""

    status: Status
    result: dict[str, Any]
    """As `Result.to_dict`; empty for a trial that failed."""
    trace: dict[str, Any]
    """As `runs.trace.to_columns` returns it; empty for a trial that failed."""
    error: str
    """The traceback of a trial that failed."""
    environment: dict[str, str]
    host: str
    started: str
    """UTC, ISO 8601."""
    wall_seconds: float
    peak_memory: int
    """Peak of resident bytes of the worker during the trial, kernels and libraries included."""
    key: str = ""
    """Key of the trial that was run; empty in a record that the driver makes itself."""

    def belongs_to(self, trial: Trial) -> bool:
        """Whether a worker that ran this trial sent the record."""
        if self.key != trial.key:
            return False
        ran = (self.result.get("problem"), self.result.get("seed"))
        return self.status == "failed" or ran == (name_problem(trial.problem), trial.seed)


def execute(spec: str, folder: str | None) -> bytes:
    """Run the trial of a spec and return its record as JSON.

    An error of the problem or algorithm is part of the record. `folder` holds modules of the user.
    """
    multiprocessing.current_process().daemon = False  # a problem may start processes
    started, clock = datetime.now(UTC), time.perf_counter()
    _reset_peak_memory()
    result: Result | None = None
    error = ""
    try:
        with importable(None if folder is None else Path(folder)), one_blas_thread():
            trial = read_trial(spec)
            result = run(trial.problem, trial.algorithm, stop=trial.stop, seed=trial.seed)
    except BaseException as raised:  # noqa: BLE001  # of the user's code: recorded
        if is_interrupt(raised) and _can_be_interrupted():
            raise KeyboardInterrupt from None
        result = None
        error = _shorten(traceback.format_exc()).encode("utf-8", "backslashreplace").decode()
    return write_record(
        Record(
            status="failed" if result is None else "done",
            result={} if result is None else result.to_dict(),
            trace={} if result is None else to_columns(result.trace, result.improvements),
            error=error,
            environment=describe_environment(),
            host=platform.node(),
            started=started.isoformat(timespec="milliseconds"),
            wall_seconds=time.perf_counter() - clock,
            peak_memory=_read_peak_memory(),
            key=_hash(spec.encode()),
        )
    )


def _shorten(error: str) -> str:
    """Return the beginning and the end of a text that is too long to be stored."""
    surplus = len(error) - MAX_ERROR_CHARACTERS
    if surplus <= 0:
        return error
    half = MAX_ERROR_CHARACTERS // 2
    return f"{error[:half]}\n… {surplus:,} characters are left out …\n{error[-half:]}"


def _can_be_interrupted() -> bool:
    """Whether Ctrl-C can reach this code; workers ignore it, and only main threads receive it."""
    ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    return not ignored and threading.current_thread() is threading.main_thread()


def fail(error: str) -> Record:
    """Return the record of a trial that could not be run to its end."""
    return Record(
        status="failed",
        result={},
        trace={},
        error=error,
        environment=describe_environment(),
        host=platform.node(),
        started=datetime.now(UTC).isoformat(timespec="milliseconds"),
        wall_seconds=0.0,
        peak_memory=0,
    )


def write_record(record: Record) -> bytes:
    """Return a record as JSON."""
    return msgspec.json.encode(record)


def read_record(text: bytes) -> Record:
    """Read what `write_record` returned."""
    return msgspec.json.decode(text, type=Record)


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


class Figures(msgspec.Struct, frozen=True):
    """The numbers of a result that plans and summaries need."""

    solved: bool
    evaluations: int
    unique_evaluations: int
    generations: int | None
    cpu_seconds: dict[str, float]


class Outcome(NamedTuple):
    """How a stored trial ended."""

    status: Status
    figures: Figures
    peak_memory: int
    wall_seconds: float
    error: str


read_figures = msgspec.json.Decoder(Figures)


NOTHING = Figures(False, 0, 0, 0, {})
