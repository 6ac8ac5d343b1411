"""Snapshots: the state of a search or a whole run as plain facts and arrays.

On disk: a line that says what it is, a checksum, then facts and arrays. No pickle.
"""

import hashlib
import io
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from harmonium.files import write_atomically

Arrays = dict[str, NDArray[Any]]

VERSION = 2
"""Raised when checkpoints change; files of other versions are refused."""

_KIND = b"harmonium checkpoint "
_MAGIC = _KIND + str(VERSION).encode() + b"\n"


class CheckpointError(ValueError):
    """A file is not a checkpoint, is damaged or does not fit; the message is one line."""


@dataclass
class Snapshot:
    """Facts that JSON can hold, and arrays by name."""

    facts: dict[str, Any] = field(default_factory=dict)
    arrays: Arrays = field(default_factory=dict)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file in one step: a kill leaves the old file or the new one."""
        body = io.BytesIO()
        facts = np.frombuffer(msgspec.json.encode(self.facts), dtype=np.uint8)
        np.savez(body, allow_pickle=False, **{"facts": facts, **self.arrays})
        content = body.getvalue()
        checksum = hashlib.sha256(content).hexdigest().encode()
        with write_atomically(path) as file:
            file.write(_MAGIC + checksum + b"\n" + content)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Snapshot":
        """Read a file, or raise `CheckpointError`."""
        try:
            text = Path(path).read_bytes()
        except OSError as error:
            raise CheckpointError(f"{path}: cannot be read: {error.strerror}") from None
        if not text.startswith(_KIND):
            raise CheckpointError(f"{path}: is not a harmonium checkpoint")
        if not text.startswith(_MAGIC):
            kind = text[:40].split(b"\n")[0].decode("ascii", "replace")
            raise CheckpointError(
                f"{path}: is a {kind!r}; this harmonium reads version {VERSION}: start again, or "
                "resume with the version that wrote it"
            )
        checksum, _, content = text[len(_MAGIC) :].partition(b"\n")
        if hashlib.sha256(content).hexdigest().encode() != checksum:
            raise CheckpointError(f"{path}: is damaged: its checksum does not match")
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
                everything = {name: arrays[name] for name in arrays.files}
            facts = msgspec.json.decode(everything.pop("facts").tobytes())
        except Exception as error:  # noqa: BLE001  # whatever reading zip, npy and JSON can raise
            raise CheckpointError(f"{path}: is damaged: {error}") from None
        return cls(facts, everything)

    def put(self, name: str, inner: "Snapshot") -> None:
        """Add another snapshot under a name."""
        self.facts[name] = inner.facts
        self.arrays |= {f"{name}/{key}": array for key, array in inner.arrays.items()}

    def get(self, name: str) -> "Snapshot":
        """Return the snapshot that was put under a name."""
        start = f"{name}/"
        arrays = {
            key.removeprefix(start): array
            for key, array in self.arrays.items()
            if key.startswith(start)
        }
        return Snapshot(self.facts[name], arrays)

    def optional(self, name: str, array: NDArray[Any] | None) -> None:
        """Add an array, unless it is none."""
        if array is not None:
            self.arrays[name] = np.asarray(array)
