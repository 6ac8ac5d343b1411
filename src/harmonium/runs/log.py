"""A log on disk: one line of JSON for every generation, or every improvement."""

import json
import os
from pathlib import Path
from typing import Any

from harmonium.system import FileRefusedError, read_file, warn

MAX_BYTES = 1_000_000_000
"""Size of the lines after a checkpoint up to which they are read."""

Place = tuple[str, int]
"""A log file, and its size in bytes so far."""


class Log:
    """A file to which lines are appended; when it cannot be written, warn and continue."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path).absolute()
        self._file = open(path, "ab", buffering=0)  # noqa: SIM115  # see close

    def rewind(self, seen: Place, seed: int) -> None:
        """Drop the lines of this search after a place, as they are written again; keep others."""
        if seen[0] != str(self._path) or not self._path.is_file():
            return
        try:
            later = read_file(self._path, MAX_BYTES)[seen[1] :]
        except FileRefusedError as error:
            warn(f"the log {self._path} {error}; lines of this search may be in it twice")
            return
        lines = later.splitlines(keepends=True)
        kept = b"".join(line for line in lines if not _is_of(line, seed))
        if len(kept) < len(later):
            self._file.truncate(seen[1])
            self._file.write(kept)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @property
    def place(self) -> Place | None:
        """Where the next line goes; none for a pipe."""
        try:
            return str(self._path), self._file.seek(0, os.SEEK_END)
        except OSError:
            return None

    def write(self, line: dict[str, Any]) -> None:
        """Add a line."""
        try:
            self._file.write(json.dumps(line).encode() + b"\n")
        except OSError as error:
            warn_unwritten("log", self._path, error)


def _is_of(line: bytes, seed: int) -> bool:
    try:
        return bool(json.loads(line)["seed"] == seed)
    except (ValueError, TypeError, KeyError):
        return False


def warn_unwritten(what: str, path: Path, error: OSError) -> None:
    """Warn that a file cannot be written; the search is not lost for that."""
    reason = error.strerror or type(error).__name__
    warn(f"the {what} {path} cannot be written: {reason}; the search continues without it")
