"""Only regular files of a reasonable size are read: devices and pipes may never end."""

import os
from pathlib import Path
from typing import Any

import pytest

import harmonium as hm
from harmonium.files import FileRefusedError, read_regular
from harmonium.text import escape, one_line
from tests.functions import FAST, Calls, weigh


def test_a_regular_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    assert read_regular(path, 10) == b"0123456789"
    assert read_regular(path, 6, start=4) == b"456789"
    assert read_regular(path, 6, start=99) == b""
    assert read_regular(path, 10, magic=b"012") == b"0123456789"
    assert read_regular(path, 1, magic=b"abc") == b"012"  # another kind of file, however large


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    with pytest.raises(FileRefusedError, match="has 10 bytes, too many to read; expected at most"):
        read_regular(path, 9)
    huge = tmp_path / "huge.ckpt"
    huge.write_bytes(b"harmonium checkpoint 2\n")
    os.truncate(huge, 17_000_000_000)  # takes no room on the disk
    with pytest.raises(hm.CheckpointError, match=r"huge\.ckpt: has 17,000,000,000 bytes, too many"):
        hm.Snapshot.load(huge)


def special_files(tmp_path: Path) -> list[Path]:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    return [path for path in (pipe, Path("/dev/zero"), Path("/dev/full")) if path.exists()]


def test_pipes_and_devices_are_not_read(tmp_path: Path) -> None:
    function = Calls()
    for path in special_files(tmp_path):
        with pytest.raises(FileRefusedError, match="is not a regular file"):
            read_regular(path, 100)
        with pytest.raises(hm.CheckpointError, match=f"^{path}: is not a regular file$"):
            hm.resume(path, weigh)
        with pytest.raises(FileExistsError, match="is not a regular file; choose another file"):
            hm.maximize(function, 12, checkpoint=path, **FAST)
    assert function.rows == []


@pytest.mark.skipif(not Path("/proc/self/mounts").exists(), reason="needs /proc")
def test_files_of_the_kernel_are_not_read() -> None:
    """They say that they are regular and have no bytes, and reading some of them never ends."""
    assert Path("/proc/self/mounts").read_bytes()
    assert read_regular("/proc/self/mounts", 10) == b""
    with pytest.raises(hm.CheckpointError, match="is not a harmonium checkpoint"):
        hm.resume("/proc/self/mounts", weigh)


def test_the_lines_of_a_log_are_read_only_from_the_place_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, path = tmp_path / "log", tmp_path / "run.ckpt"
    log.write_bytes(b"x" * 100_000 + b"\n")
    monkeypatch.setattr("harmonium.runs.log.MAX_BYTES", 50_000)
    options: dict[str, Any] = {"log": log, **FAST}
    hm.maximize(weigh, 12, max_calls=60, checkpoint=path, **options)
    before = log.read_bytes()
    hm.resume(path, weigh, log=log, max_calls=90)
    assert log.read_bytes().startswith(before)
    with log.open("ab") as file:
        file.write(b"y" * 60_000)
    with pytest.warns(RuntimeWarning, match="too many to read; expected at most 50,000; lines"):
        hm.resume(path, weigh, log=log, max_calls=120)


def test_control_characters_are_shown_and_not_obeyed() -> None:
    assert one_line("a\tb\n c\x1b[2J\x00\u202e") == r"a b c\x1b[2J\x00\u202e"
    assert escape("größe\n") == "größe\n"

    def hostile(row: Any) -> float:
        raise ValueError("red \x1b[31m\nalert")

    with pytest.raises(hm.EvaluationError) as caught:
        hm.maximize(hostile, 12, **FAST)
    assert r"raised ValueError: red \x1b[31m alert, test_reading.py line " in str(caught.value)
