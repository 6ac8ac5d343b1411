"""Compiled code where no folder of it is writable: a private temporary cache, or none."""

import errno
import os
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core import caching

from harmonium import jit


@pytest.fixture(autouse=True)
def _unwritable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let neither the source folder nor the home folder be writable, and find no remark."""
    for name in ("InTreeCacheLocator", "UserWideCacheLocator"):
        monkeypatch.setattr(getattr(caching, name), "from_function", lambda *_: None)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(jit, "_remarks", {})
    monkeypatch.setattr(jit, "_unsaved", set())


def double(numbers: Any) -> Any:
    return numbers * 2


def find_folder(tmp_path: Path) -> Path:
    [folder] = tmp_path.glob("harmonium-*")
    return folder


@pytest.mark.parametrize("decorate", [jit.jit, jit.jit_fast, jit.jit_inline])
def test_code_is_cached_in_a_private_folder_and_that_is_said_once(
    decorate: Any, tmp_path: Path
) -> None:
    config: Any = numba.config
    before = config.CACHE_DIR
    compiled = decorate(double)
    np.testing.assert_array_equal(compiled(np.arange(3)), [0, 2, 4])
    folder = find_folder(tmp_path)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert list(folder.rglob("*.nbi"))
    assert before == config.CACHE_DIR
    assert jit.take_remark() == (
        f"compiled code is cached in {folder}: neither its own folder nor the home is writable; "
        "set NUMBA_CACHE_DIR to a folder that is writable"
    )
    assert jit.take_remark() == ""
    decorate(double)  # as in another process
    assert jit.take_remark() == ""


@pytest.mark.parametrize("spoil", ["open", "file", "link"])
def test_a_folder_that_others_could_write_is_not_used(spoil: str, tmp_path: Path) -> None:
    jit.jit(double)
    folder = find_folder(tmp_path)
    if spoil == "open":
        folder.chmod(0o770)
    else:
        folder.rename(tmp_path / "other")
        folder.touch() if spoil == "file" else folder.symlink_to(tmp_path / "other")
    jit._remarks.clear()
    compiled = jit.jit(double)
    np.testing.assert_array_equal(compiled(np.arange(3)), [0, 2, 4])
    assert list(tmp_path.rglob("*.nbi")) == []
    assert jit.take_remark().startswith("compiled code is not cached, so that every process")


def damage(path: Path, how: str) -> None:
    content = path.read_bytes()
    half, after = content[: len(content) // 2], content[len(content) // 2 :]
    flipped = half + bytes([after[0] ^ 4]) + after[1:]
    path.write_bytes({"empty": b"", "cut": half, "flipped": flipped}[how])


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
@pytest.mark.parametrize("how", ["empty", "cut", "flipped"])
def test_damaged_files_are_compiled_again_and_replaced(how: str, kind: str, tmp_path: Path) -> None:
    jit.jit(double)(np.arange(3))
    [path] = find_folder(tmp_path).rglob(f"*.{kind}")
    whole = path.read_bytes()
    damage(path, how)
    compiled: Any = jit.jit(double)  # as in another process
    np.testing.assert_array_equal(compiled(np.arange(3)), [0, 2, 4])
    assert not compiled.stats.cache_hits
    assert len(path.read_bytes()) == len(whole)
    again: Any = jit.jit(double)
    np.testing.assert_array_equal(again(np.arange(3)), [0, 2, 4])
    assert again.stats.cache_hits


def test_a_full_disk_is_remarked_on_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*_: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(caching.IndexDataCacheFile, "_open_for_write", fail)
    np.testing.assert_array_equal(jit.jit(double)(np.arange(3)), [0, 2, 4])
    assert "is not cached, so that every process compiles it: " in (words := jit.take_remark())
    assert "cannot be written (No space left on device); set NUMBA_CACHE_DIR to a fol" in words
    np.testing.assert_array_equal(jit.jit_fast(double)(np.arange(3)), [0, 2, 4])
    assert jit.take_remark() == ""
