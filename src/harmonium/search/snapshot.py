"""The state of a search as plain facts and arrays, so that it can be saved and gone on with.

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

Arrays = dict[str, NDArray[Any]]

_MAGIC = b"harmonium checkpoint 1\n"


def describe(eda: object, length: int, seed: int) -> str:
    """Say what search a snapshot is of."""
    return f"{eda}, length {length}, seed {seed}"


class CheckpointError(ValueError):
    """A file that is no checkpoint, or a damaged one; one clear line."""


@dataclass
class Snapshot:
    """Facts that JSON can hold, and arrays by name."""

    facts: dict[str, Any] = field(default_factory=dict)
    arrays: Arrays = field(default_factory=dict)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file in one step: a kill leaves the file before or the file after."""
        body = io.BytesIO()
        facts = np.frombuffer(msgspec.json.encode(self.facts), dtype=np.uint8)
        np.savez(body, allow_pickle=False, **{"facts": facts, **self.arrays})
        content = body.getvalue()
        checksum = hashlib.sha256(content).hexdigest().encode()
        unfinished = Path(path).with_name(Path(path).name + ".part")
        try:
            with unfinished.open("wb") as file:
                file.write(_MAGIC + checksum + b"\n" + content)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(path)
        except OSError:
            unfinished.unlink(missing_ok=True)
            raise

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Snapshot":
        """Read one from a file, or say why not."""
        try:
            text = Path(path).read_bytes()
        except OSError as error:
            raise CheckpointError(f"{path}: cannot be read: {error.strerror}") from None
        if not text.startswith(b"harmonium checkpoint "):
            raise CheckpointError(f"{path}: is no checkpoint of harmonium")
        if not text.startswith(_MAGIC):
            version = text[:40].split(b"\n")[0].decode("ascii", "replace")
            raise CheckpointError(f"{path}: is a {version!r}; this harmonium reads version 1")
        checksum, _, content = text[len(_MAGIC) :].partition(b"\n")
        if hashlib.sha256(content).hexdigest().encode() != checksum:
            raise CheckpointError(f"{path}: is damaged: its checksum does not fit")
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
                everything = {name: arrays[name] for name in arrays.files}
            facts = msgspec.json.decode(everything.pop("facts").tobytes())
        except Exception as error:  # noqa: BLE001  # whatever reading zip, npy and JSON can raise
            raise CheckpointError(f"{path}: is damaged: {error}") from None
        return cls(facts, everything)

    def put(self, name: str, inner: "Snapshot") -> None:
        """Take in another snapshot under a name."""
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
        """Take in an array that may not be there."""
        if array is not None:
            self.arrays[name] = np.asarray(array)
