"""A trial: one run of one algorithm on one problem, and the record that it leaves."""

import hashlib
import platform
import re
import sys
import time
import traceback
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import msgspec

from harmonium.algorithms import ALGORITHMS, Algorithm
from harmonium.blas import one_blas_thread
from harmonium.environment import describe_environment
from harmonium.interrupts import is_interrupt
from harmonium.problems import PROBLEMS, AnyProblem
from harmonium.registry import importable
from harmonium.runs import Result, Stop, run
from harmonium.runs.trace import to_columns
from harmonium.specs import Spec, SpecError, from_dict, to_json

VERSION = 2
"""Version of the results: raised when the same spec gives other results. Part of every key."""

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
        return hashlib.sha256(self.spec.encode()).hexdigest()

    def repeat(self, seeds: Iterable[int]) -> Iterator["Trial"]:
        """Yield the trial with other seeds; the parts that they share are encoded only once."""
        parts, frame = self._parts, self.frame
        for seed in seeds:
            trial = Trial(self.problem, self.algorithm, self.stop, seed)
            key = hashlib.sha256(_encode_spec(parts, seed)).hexdigest()
            vars(trial).update(frame=frame, key=key)
            yield trial

    @property
    def _parts(self) -> _Frame:
        specs: tuple[Spec, ...] = (self.algorithm, self.problem, self.stop)
        algorithm, problem, stop = (msgspec.Raw(to_json(spec).encode()) for spec in specs)
        return _Frame(algorithm, problem, stop, VERSION)


def _encode_spec(parts: _Frame, seed: int) -> bytes:
    return _encoder.encode(_Spec(parts.algorithm, parts.problem, seed, parts.stop, parts.version))


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


def execute(spec: str, folder: str | None) -> bytes:
    """Run the trial of a spec and return its record as JSON.

    An error of the problem or algorithm is part of the record. `folder` holds modules of the user.
    """
    started, clock = datetime.now(UTC), time.perf_counter()
    _reset_peak_memory()
    result: Result | None = None
    error = ""
    try:
        with importable(None if folder is None else Path(folder)), one_blas_thread():
            trial = read_trial(spec)
            result = run(trial.problem, trial.algorithm, stop=trial.stop, seed=trial.seed)
    except (Exception, SystemExit) as raised:  # noqa: BLE001  # of the user's code: recorded
        if is_interrupt(raised):
            raise KeyboardInterrupt from None
        error = traceback.format_exc().encode("utf-8", "backslashreplace").decode()
    return write_record(
        Record(
            status="failed" if result is None else "done",
            result={} if result is None else result.to_dict(),
            trace={} if result is None else to_columns(result.trace),
            error=error,
            environment=describe_environment(),
            host=platform.node(),
            started=started.isoformat(timespec="milliseconds"),
            wall_seconds=time.perf_counter() - clock,
            peak_memory=_read_peak_memory(),
        )
    )


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
