"""Snapshots: the state of a search or a whole run as plain facts and arrays.

On disk: a line that says what it is, a checksum, then facts and arrays. No pickle.
"""

import hashlib
import os
from dataclasses import dataclass, field
from typing import Any, TypeVar, get_args, get_origin

import msgspec
import numpy as np
from numpy.typing import NDArray

from harmonium.system import FileRefusedError, read_file, write_atomically

Arrays = dict[str, NDArray[Any]]
T = TypeVar("T")

VERSION = 3
"""Raised when checkpoints change; files of other versions are refused."""

MAX_BYTES = 16_000_000_000
"""Size up to which a checkpoint is read: far above any that a run writes."""

_KIND = b"harmonium checkpoint "
_MAGIC = _KIND + str(VERSION).encode() + b"\n"


class CheckpointError(ValueError):
    """A file is not a checkpoint, is damaged or does not fit; the message is one line.

    Examples
    --------
    >>> import harmonium as hm
    >>> try:
    ...     hm.resume("missing.ckpt", sum)
    ... except hm.CheckpointError as error:
    ...     print(error)
    missing.ckpt: cannot be read: No such file or directory
    """


def encode(state: object) -> bytes:
    """Return a state as bytes: dataclasses, named tuples, plain types and arrays, nested."""
    return _encoder.encode(state)


def decode(kind: type[T], state: bytes) -> T:
    """Return the state of this type that `encode` returned.

    Raises
    ------
    CheckpointError
        If it is anything else; the message names the place.
    """
    try:
        return msgspec.msgpack.decode(state, type=kind, dec_hook=_check_array, ext_hook=_read_array)
    except (msgspec.MsgspecError, TypeError, ValueError) as error:
        raise CheckpointError(f"its state does not fit: {error}") from None


def _write_array(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    if not isinstance(value, np.ndarray) or value.dtype.hasobject:
        raise NotImplementedError(f"a state cannot hold {type(value).__name__}")
    content = (value.dtype.str, value.shape, np.ascontiguousarray(value).tobytes())
    return msgspec.msgpack.Ext(1, msgspec.msgpack.encode(content))


def _read_array(code: int, content: memoryview) -> NDArray[Any]:
    kind, shape, numbers = msgspec.msgpack.decode(content, type=tuple[str, tuple[int, ...], bytes])
    return np.frombuffer(numbers, np.dtype(kind)).reshape(shape).copy()


def _check_array(kind: Any, value: Any) -> Any:
    """Return an array of the type that a field is annotated with, or raise."""
    if get_origin(kind) is not np.ndarray or not isinstance(value, np.ndarray):
        raise TypeError(f"{type(value).__name__}; expected {kind}")
    [wanted] = get_args(get_args(kind)[1])
    if wanted is not Any and value.dtype != np.dtype(wanted):
        raise TypeError(f"array is {value.dtype}; expected {np.dtype(wanted)}")
    return value


_encoder = msgspec.msgpack.Encoder(enc_hook=_write_array)


@dataclass
class Snapshot:
    """Plain facts, and arrays by name: the state of a search without a type of its own.

    Examples
    --------
    >>> import harmonium as hm
    >>> eda = hm.EDA("umda", population=20)
    >>> search = eda.start(10, seed=1)
    >>> bits = search.ask()
    >>> search.snapshot().save("search.snapshot")
    >>> again = eda.restore(10, 1, hm.Snapshot.load("search.snapshot"))
    >>> (again.ask() == bits).all().item()
    True
    """

    facts: dict[str, Any] = field(default_factory=dict)
    arrays: Arrays = field(default_factory=dict)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file in one step: a kill leaves the old file or the new one."""
        content = encode(self)
        checksum = hashlib.sha256(content).hexdigest().encode()
        with write_atomically(path) as file:
            file.write(_MAGIC + checksum + b"\n" + content)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Snapshot":
        """Read a file, or raise `CheckpointError`."""
        try:
            text = read_file(path, MAX_BYTES)
        except FileRefusedError as error:
            raise CheckpointError(f"{path}: {error}") from None
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
            return decode(cls, content)
        except CheckpointError as error:
            raise CheckpointError(f"{path}: is damaged: {error}") from None
