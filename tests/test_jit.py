"""Compiled code where no folder of it is writable: a private temporary cache, or none."""

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
