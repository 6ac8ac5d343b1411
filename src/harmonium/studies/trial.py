"""A trial: one run of one EDA on one problem, wherever it is run, and the record it leaves."""

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
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Literal

import msgspec

from harmonium.environment import describe_environment
from harmonium.importing import importable
from harmonium.interrupts import is_interrupt
from harmonium.models import MODELS
from harmonium.problems.custom import AnyProblem, problem_from_dict, problem_to_dict
from harmonium.search import EDA, Generation, Result, Stop, run
from harmonium.search.threads import one_blas_thread
from harmonium.specs import Spec, SpecError, from_dict, to_json

ALGORITHM = 1
"""Raised when the same specification gives other results than before; part of every key."""

Status = Literal["done", "failed"]


@dataclass(frozen=True)
class Trial:
    """One run; its key is the hash of its specification."""

    problem: AnyProblem
    eda: EDA
    stop: Stop
    seed: int

    @cached_property
    def spec(self) -> str:
        """Everything that decides the result, as canonical JSON: every field, sorted keys."""
        return str(self.seed).join(self._frame)

    @property
    def _frame(self) -> tuple[str, str]:
        """The specification before and after the seed."""
        return (
            f'{{"algorithm":{ALGORITHM},"eda":{_encode(self.eda)},"problem":'
            f'{_encode_problem(self.problem)},"seed":',
            f',"stop":{_encode(self.stop)}}}',
        )

    def repeat(self, seeds: Iterable[int]) -> Iterator["Trial"]:
        """Yield the same trial with other seeds, specified and hashed at once: there are many."""
        before, after = self._frame
        begun = hashlib.sha256(before.encode())
        for seed in seeds:
            trial = Trial(self.problem, self.eda, self.stop, seed)
            rest = f"{seed}{after}"
            whole = begun.copy()
            whole.update(rest.encode())
            vars(trial).update(spec=before + rest, key=whole.hexdigest())
            yield trial

    @cached_property
    def key(self) -> str:
        """The SHA-256 of the specification, 64 hexadecimal digits."""
        return hashlib.sha256(self.spec.encode()).hexdigest()


@lru_cache(1024)
def _encode(spec: Spec) -> str:
    return to_json(spec)


def _encode_problem(problem: AnyProblem) -> str:
    if isinstance(problem, Spec):
        return _encode(problem)
    # Not cached: settings of the user's own may be equal and yet differ, as 1 and true do.
    return msgspec.json.encode(problem_to_dict(problem), order="sorted").decode()


def read_trial(spec: str) -> Trial:
    """Make a trial again from its specification."""
    plain = msgspec.json.decode(spec)
    if plain["algorithm"] != ALGORITHM:
        raise SpecError(
            f"a trial of algorithm {plain['algorithm']}, but this harmonium runs {ALGORITHM}; "
            "install the same version everywhere"
        )
    eda = dict(plain["eda"], model=MODELS.from_dict(plain["eda"]["model"]))
    return Trial(
        problem=problem_from_dict(plain["problem"]),
        eda=from_dict(EDA, eda),
        stop=from_dict(Stop, plain["stop"]),
        seed=plain["seed"],
    )


class Record(msgspec.Struct, frozen=True):
    """What a trial leaves behind; travels from a worker as JSON."""

    status: Status
    result: dict[str, Any]
    """As `Result.to_dict`; empty for a trial that failed."""
    trace: dict[str, list[Any]]
    """Column by column, a value a generation."""
    error: str
    """The traceback of a trial that failed."""
    environment: dict[str, str]
    host: str
    started: str
    """UTC, ISO 8601."""
    wall_seconds: float
    peak_memory: int
    """Bytes resident at most in the worker while the trial ran (kernels and libraries included)."""


def execute(spec: str, folder: str | None) -> bytes:
    """Run the trial of this specification and return its record as JSON.

    What the problem raises is part of the record. `folder` is where modules of the user's own are.
    """
    started, clock = datetime.now(UTC), time.perf_counter()
    _reset_peak_memory()
    result: Result | None = None
    error = ""
    try:
        with importable(None if folder is None else Path(folder)), one_blas_thread():
            trial = read_trial(spec)
            result = run(trial.problem, trial.eda, stop=trial.stop, seed=trial.seed)
    except (Exception, SystemExit) as raised:  # noqa: BLE001  # the user's, for the record
        if is_interrupt(raised):
            raise KeyboardInterrupt from None
        error = traceback.format_exc().encode("utf-8", "backslashreplace").decode()
    return write_record(
        Record(
            status="failed" if result is None else "done",
            result={} if result is None else result.to_dict(),
            trace={} if result is None else turn_trace(result.trace),
            error=error,
            environment=describe_environment(),
            host=platform.node(),
            started=started.isoformat(timespec="milliseconds"),
            wall_seconds=time.perf_counter() - clock,
            peak_memory=_read_peak_memory(),
        )
    )


def fail(error: str) -> Record:
    """Return the record of a trial that nobody could run to its end."""
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
    """Read what `write_record` gave."""
    return msgspec.json.decode(text, type=Record)


def turn_trace(trace: tuple[Generation, ...]) -> dict[str, list[Any]]:
    """Return a trace by column; facts of the model are columns too, null where there are none."""
    columns: dict[str, list[Any]] = {
        name: [getattr(row, name) for row in trace]
        for name in ("generation", "evaluations", "best", "mean")
    }
    for fact in dict.fromkeys(fact for row in trace for fact in row.facts):
        columns[fact] = [row.facts.get(fact) for row in trace]
    return columns


_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def _reset_peak_memory() -> None:
    """Forget the peak of earlier trials in this process, where the system can (Linux)."""
    with suppress(OSError):
        _CLEAR.write_text("5", encoding="ascii")


def _read_peak_memory() -> int:
    """Return the peak of resident memory in bytes, 0 where the system does not tell."""
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
