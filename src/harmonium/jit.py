"""Numba with our settings; the decorators keep the types of the functions.

Compiled code is cached on disk beside the source (or in the user's cache folder), so that only the
first use waits for the compiler. Where neither can be written, it is cached in a private folder for
temporary files, or not at all. Cached files have a checksum: what is damaged is compiled again.
"""

import multiprocessing
import os
import pickle
import stat
import tempfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba import njit
from numba.core.caching import FunctionCache, IndexDataCacheFile

from harmonium.system import held_interrupts

Function = TypeVar("Function", bound=Callable[..., Any])

_FAST = {"error_model": "numpy", "fastmath": {"contract", "nnan"}}
_ANY_ORDER = {"error_model": "numpy", "fastmath": {"contract", "nnan", "reassoc"}}

_remarks: dict[Path | None, str] = {}
"""By folder, where compiled code is cached if not where it should be, as long as nobody knows."""

_unsaved: set[str] = set()
"""Folders in which compiled code could not be saved; each is remarked on once."""

_CHECKSUM_BYTES = 4

_TOLD = "told"
"""File in a private folder: the user has been told about it."""


def jit(function: Function) -> Function:
    """Compile a function of arrays."""
    return _compile(function)


def jit_fast(function: Function) -> Function:
    """Compile a function with loops over floats so that they vectorise.

    Zero divisors are not checked, multiply and add may be fused, and minima and maxima ignore NaN.
    Otherwise the passes over activations would take 50 % longer.
    """
    return _compile(function, **_FAST)


def jit_sums(function: Function) -> Function:
    """Compile like `jit_fast`, with sums in any order so that they vectorise too.

    Their last digits then depend on the processor.
    """
    return _compile(function, **_ANY_ORDER)


def jit_inline(function: Function) -> Function:
    """Compile a small function like `jit_fast`, and inline it into the loops that call it."""
    return _compile(function, **_FAST, inline="always")


def take_remark() -> str:
    """Return what to tell the user about the cache, once; empty if there is nothing to tell."""
    if not _remarks or multiprocessing.parent_process() is not None:  # workers do not repeat it
        return ""
    folder, words = _remarks.popitem()
    if folder is not None:
        with suppress(OSError):
            (folder / _TOLD).touch()
    return f"compiled code {words}; set NUMBA_CACHE_DIR to a folder that is writable"


def find_cache() -> Path | None:
    """Return the folder in which compiled code of this file is cached; none if it is not."""
    compiled: Any = jit(find_cache)
    folder = getattr(compiled.stats, "cache_path", None)
    return None if folder is None else Path(folder)


def _compile(function: Function, **settings: Any) -> Function:
    try:
        return _compile_cached(function, settings)
    except RuntimeError:  # neither the source folder nor the user's cache folder can be written
        folder = _make_private_folder()
    if folder is None:
        _remarks[None] = "is not cached, so that every process compiles it: no folder is writable"
        return cast("Function", njit(**settings)(function))
    if not (folder / _TOLD).exists():
        _remarks[folder] = f"is cached in {folder}: neither its own folder nor the home is writable"
    config: Any = numba.config
    before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
    try:
        return _compile_cached(function, settings)
    finally:
        config.CACHE_DIR = before


def _compile_cached(function: Function, settings: dict[str, Any]) -> Function:
    """Compile a function as `njit(cache=True)` does, with a cache that survives damage."""
    compiled: Any = njit(**settings)(function)
    compiled._cache = _CheckedCache(function)
    return cast("Function", compiled)


class _CheckedFile(IndexDataCacheFile):
    """Files of compiled code with checksums; damaged ones count as missing, and are replaced."""

    def _dump(self, obj: object) -> bytes:
        content: bytes = super()._dump(obj)
        return content + _sum_up(content)

    def _load_index(self) -> dict[Any, str]:
        head = pickle.dumps(self._version, protocol=-1)
        try:
            content = _read_regular(self._index_path)
        except OSError:
            return {}
        if not (content.startswith(head) and _is_intact(content[len(head) :])):
            return {}
        overloads: dict[Any, str] = super()._load_index()
        return overloads

    def _load_data(self, name: str) -> Any:
        path = self._data_path(name)
        if not _is_intact(_read_regular(path)):
            raise OSError(f"{path} is damaged")  # Numba then compiles the function
        return super()._load_data(name)


class _CheckedCache(FunctionCache):
    """The cache of a compiled function; one that cannot be written is done without."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file.__class__ = _CheckedFile

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        # Loading calls back into Python, and an exception in there crashes the process.
        with held_interrupts():
            return super().load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)
        except OSError as error:
            folder = str(self.cache_path)
            if folder not in _unsaved:
                why = f"{folder} cannot be written ({error.strerror})"
                _remarks[None] = f"is not cached, so that every process compiles it: {why}"
            _unsaved.add(folder)


def _read_regular(path: str) -> bytes:
    if not Path(path).is_file():  # reading a pipe would wait for ever
        raise OSError(f"{path} is not a regular file")
    return Path(path).read_bytes()


def _sum_up(content: bytes) -> bytes:
    return zlib.crc32(content).to_bytes(_CHECKSUM_BYTES, "little")


def _is_intact(content: bytes) -> bool:
    body = content[:-_CHECKSUM_BYTES]
    return bool(body) and content[-_CHECKSUM_BYTES:] == _sum_up(body)


def _make_private_folder() -> Path | None:
    """Return a folder for temporary files that only this user can write, or none.

    Whoever can write into it could run code as this user: it must belong to the user, and to
    nobody else.
    """
    user = os.getuid() if hasattr(os, "getuid") else "user"
    try:
        folder = Path(tempfile.gettempdir()) / f"harmonium-{user}"
        folder.mkdir(mode=0o700, exist_ok=True)
        facts = folder.lstat()
    except OSError:
        return None
    private = stat.S_ISDIR(facts.st_mode) and not facts.st_mode & 0o077
    ours = not hasattr(os, "getuid") or facts.st_uid == os.getuid()
    return folder if private and ours and os.access(folder, os.W_OK) else None


@jit
def count_ones(word: np.uint64) -> np.uint64:
    """Count the ones of a word by parallel sums: one instruction where the processor has it."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + (
        (word >> np.uint64(2)) & np.uint64(0x3333333333333333)
    )
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (word * np.uint64(0x0101010101010101)) >> np.uint64(56)
