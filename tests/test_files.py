"""Files written in one step: an error in the block leaves the old file as it was."""

import os
from pathlib import Path

import pytest

import harmonium as hm
from harmonium.files import write_atomically


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_new_file_has_what_was_written(tmp_path: Path) -> None:
    with write_atomically(tmp_path / "a.bin") as file:
        file.write(b"one\r\n")
        file.write(b"two")
    assert (tmp_path / "a.bin").read_bytes() == b"one\r\ntwo"
    assert names(tmp_path) == ["a.bin"]


def test_text_is_utf8_with_line_ends_as_written(tmp_path: Path) -> None:
    with write_atomically(str(tmp_path / "a.txt"), "w") as file:
        file.write("größe\n√2\r\n")
    assert (tmp_path / "a.txt").read_bytes() == "größe\n√2\r\n".encode()


def test_the_old_file_stands_until_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old and longer")
    with write_atomically(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old and longer"
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("error", [ValueError, OSError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("old", [b"old", None])
def test_an_error_in_the_block_leaves_the_old_file(
    tmp_path: Path, error: type[BaseException], old: bytes | None
) -> None:
    path = tmp_path / "a.bin"
    if old is not None:
        path.write_bytes(old)

    def fail() -> None:
        with write_atomically(path) as file:
            file.write(b"half of the n")
            raise error

    with pytest.raises(error):
        fail()
    assert names(tmp_path) == ([] if old is None else ["a.bin"])
    assert old is None or path.read_bytes() == old


def test_a_disk_that_fails_to_sync_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")

    def fail(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space left"), write_atomically(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.bin"]


def test_the_content_is_synced_before_the_old_file_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    seen: list[tuple[bytes, bytes]] = []
    sync = os.fsync

    def note(descriptor: int) -> None:
        sync(descriptor)
        seen.append((path.read_bytes(), (tmp_path / "a.bin.part").read_bytes()))

    monkeypatch.setattr(os, "fsync", note)
    with write_atomically(path) as file:
        file.write(b"new")
    assert seen == [(b"old", b"new")]


def test_the_rest_of_an_earlier_attempt_is_no_hindrance(tmp_path: Path) -> None:
    (tmp_path / "a.bin.part").write_bytes(b"left by a kill")
    with write_atomically(tmp_path / "a.bin") as file:
        file.write(b"new")
    assert (tmp_path / "a.bin").read_bytes() == b"new"
    assert names(tmp_path) == ["a.bin"]


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), write_atomically(tmp_path / "none" / "a.bin"):
        pass


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="needs a device")
def test_a_device_is_written_directly() -> None:
    with write_atomically("/dev/null") as file:
        file.write(b"gone")
    assert not Path("/dev/null").is_file()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_that_nothing_reads_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harmonium.files.READER_SECONDS", 0.05)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="it is a pipe that nothing reads"), write_atomically(pipe):
        pass
    with pytest.raises(OSError, match="it is a pipe that nothing reads"):
        hm.maximize(sum, 8, log=pipe, max_calls=5)
    with open(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), "rb") as reader:
        with write_atomically(pipe) as file:
            file.write(b"read")
        assert reader.read() == b"read"
    os.rename(pipe, tmp_path / "a.bin.part")  # where the new file is written
    with write_atomically(tmp_path / "a.bin") as file:
        file.write(b"new")
    assert (tmp_path / "a.bin").read_bytes() == b"new"


def test_a_file_that_two_write_is_one_of_theirs(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"

    def write_both() -> None:
        with write_atomically(path) as first:
            first.write(b"the first")
            with write_atomically(path) as second:
                second.write(b"the second, which is longer")
            assert path.read_bytes() == b"the second, which is longer"

    with pytest.raises(OSError, match="another process writes it"):
        write_both()
    assert path.read_bytes() == b"the second, which is longer"
    assert names(tmp_path) == ["a.bin"]


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"of somebody else")
    (tmp_path / "a.bin.part").symlink_to(other)
    with write_atomically(tmp_path / "a.bin") as file:
        file.write(b"new")
    assert other.read_bytes() == b"of somebody else"
    assert (tmp_path / "a.bin").read_bytes() == b"new"
