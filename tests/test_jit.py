"""Kernels: where compiled code is kept, what clocks do not count, and the line about a pause."""

import errno
import io
import os
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core import caching

from harmonium import clock, jit


@pytest.fixture(autouse=True)
def cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Keep compiled code in a temporary folder, so that every test compiles."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(jit._listener, "told", False)
    monkeypatch.setattr(jit._listener, "cached", True)
    return tmp_path


def double(numbers: Any) -> Any:
    return numbers * 2


def double_all(decorate: Any = jit.jit) -> Any:
    """Return a kernel that was used once."""
    kernel = decorate(double)
    np.testing.assert_array_equal(kernel(np.arange(3)), [0, 2, 4])
    return kernel


@pytest.mark.parametrize("decorate", [jit.jit, jit.jit_fast, jit.jit_sums, jit.jit_inline])
def test_compiled_code_is_kept_and_loaded(decorate: Any, cache_folder: Path) -> None:
    assert not double_all(decorate).stats.cache_hits
    assert list(cache_folder.rglob("*.nbi"))
    assert double_all(decorate).stats.cache_hits  # as in another process


@pytest.mark.parametrize("full", [True, False])
def test_kernels_work_on_a_full_disk_and_where_no_folder_is_writable(
    full: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if full:
        monkeypatch.setattr(caching.IndexDataCacheFile, "_open_for_write", fail)
    else:
        monkeypatch.setattr(numba.config, "CACHE_DIR", "")
        for name in ("InTreeCacheLocator", "UserWideCacheLocator"):
            monkeypatch.setattr(getattr(caching, name), "from_function", lambda *_: None)
    double_all()
    assert not jit._listener.cached
    assert full or jit.find_cache() is None


def test_no_clock_counts_compiling_or_loading() -> None:
    for _ in range(2):
        cpu, elapsed = clock.compiling.cpu, clock.compiling.elapsed
        run = clock.Clock()
        began = clock.now()
        with run.charge("building"):
            double_all()
        assert 0 <= run.total < clock.compiling.cpu - cpu
        assert 0 <= clock.now() - began < clock.compiling.elapsed - elapsed


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def nest(numbers: Any) -> Any:
    return _twice(numbers) + 1


_twice = jit.jit(double)


@pytest.mark.parametrize(
    ("stream", "seconds", "line"),
    [
        (Terminal, 0.0, "harmonium: compiling kernels, once …\n"),
        (Terminal, 1e9, ""),
        (io.StringIO, 0.0, ""),
    ],
)
def test_a_long_pause_is_explained_once_on_a_terminal(
    stream: type[io.StringIO], seconds: float, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = stream()
    monkeypatch.setattr("sys.stderr", shown)
    monkeypatch.setattr(jit, "SILENT_SECONDS", seconds)
    for _ in range(2):
        jit.jit(nest)(np.arange(3))
    assert shown.getvalue() == line


def test_blas_has_one_thread_inside_the_block() -> None:
    from threadpoolctl import threadpool_info

    with jit.one_blas_thread():
        threads = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    assert threads
    assert set(threads) == {1}
