"""A search on disk: a line that says what it is, a checksum, then facts and arrays. No pickle."""

import hashlib
import io
import os
from pathlib import Path

import msgspec
import numpy as np

from harmonium.search.snapshot import Snapshot

_MAGIC = b"harmonium checkpoint 1\n"


class CheckpointError(ValueError):
    """A file that is no checkpoint, or a damaged one; one clear line."""


def save(path: Path, snapshot: Snapshot) -> None:
    """Write a snapshot in one step: a kill leaves the file before or the file after."""
    body = io.BytesIO()
    facts = np.frombuffer(msgspec.json.encode(snapshot.facts), dtype=np.uint8)
    np.savez(body, allow_pickle=False, **{"facts": facts, **snapshot.arrays})
    content = body.getvalue()
    checksum = hashlib.sha256(content).hexdigest().encode()
    unfinished = path.with_name(path.name + ".part")
    with unfinished.open("wb") as file:
        file.write(_MAGIC + checksum + b"\n" + content)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)


def load(path: Path) -> Snapshot:
    """Read a snapshot, or say why not."""
    try:
        text = path.read_bytes()
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
    return Snapshot(facts, everything)
