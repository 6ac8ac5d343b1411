"""Files written in one step, Ctrl-C, warnings, and extras that are not installed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numba
import pytest

import harmonium as hm
from harmonium import system
from harmonium.cli import execute
from harmonium.system import (
    FileRefusedError,
    MissingExtraError,
    exits_at_interrupt,
    find_missing,
    fix_outputs,
    held_interrupts,
    is_interrupt,
    missing_error,
    one_interrupt,
    plain_interrupts,
    read_file,
    write_atomically,
)
from tests.cli.commands import call


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_when_the_block_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old and longer")
    (tmp_path / "a.txt.part").write_bytes(b"left by a kill")
    with write_atomically(path, "w") as file:
        file.write("größe\n√2\r\n")
        file.flush()
        assert path.read_bytes() == b"old and longer"
    assert path.read_bytes() == "größe\n√2\r\n".encode()
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, None])
@pytest.mark.parametrize("old", [b"old", None])
def test_an_error_leaves_the_old_file(
    tmp_path: Path, error: Any, old: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.bin"
    if old is not None:
        path.write_bytes(old)

    def write() -> None:
        with write_atomically(path) as file:
            file.write(b"new")
            if error is not None:
                raise error

    def fail(descriptor: int) -> None:  # the content is synced before the old file is replaced
        assert (tmp_path / "a.bin.part").read_bytes() == b"new"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(error or OSError):
        write()
    assert names(tmp_path) == ([] if old is None else ["a.bin"])
    assert old is None or path.read_bytes() == old


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    path = tmp_path / "none" / "a.bin"
    with pytest.raises(FileNotFoundError, match=r"none/a\.bin'"), write_atomically(path):
        pass
    with pytest.raises(OSError, match="is not a regular file"), write_atomically("/dev/null"):
        pass
    assert not Path("/dev/null").is_file()


def test_only_files_of_a_reasonable_size_are_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    assert read_file(path, 10) == b"0123456789"
    with pytest.raises(FileRefusedError, match="has 10 bytes, too many to read; expected at most"):
        read_file(path, 9)
    for other in (tmp_path, Path("/dev/zero")):
        with pytest.raises(FileRefusedError, match="is not a regular file"):
            read_file(other, 10)


def test_outputs_are_absolute_and_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert fix_outputs(log="a", report=None) == {"log": tmp_path / "a", "report": None}
    Path("link").symlink_to("a")
    with pytest.raises(ValueError, match="log is a, the same file as report; choose another"):
        fix_outputs(log="a", report="link")


@pytest.fixture
def _listening() -> Iterator[None]:
    """Listen to Ctrl-C: what a shell runs in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("by", ["__cause__", "__context__"])
@pytest.mark.parametrize("depth", [0, 1, 3])
def test_an_interrupt_is_one_however_deep(depth: int, by: str) -> None:
    mine = ValueError("mine")  # whoever caught Ctrl-C and raised an error of their own meant it
    mine.__cause__ = KeyboardInterrupt()
    for error in (KeyboardInterrupt(), mine, SystemExit(1), SystemError("alone")):
        wrapped: BaseException = error
        for _ in range(depth):  # as Numba does
            outer = SystemError("returned a result with an exception set")
            setattr(outer, by, wrapped)
            wrapped = outer
        assert is_interrupt(wrapped) == isinstance(error, KeyboardInterrupt)


def test_what_a_kernel_makes_of_an_interrupt_is_one() -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    @numba.njit
    def kernel() -> None:
        with numba.objmode():
            interrupt()

    compiled: Any = kernel
    with pytest.raises(KeyboardInterrupt), plain_interrupts():
        compiled()


IMPORTING = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)

class Interrupter:
    def find_spec(self, name, *_):
        if name == "numba":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupter())
"""


def test_ctrl_c_while_the_command_starts_is_one_line() -> None:
    done = call("--version", before=IMPORTING)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "harmonium: interrupted\n")


@pytest.mark.usefixtures("_listening")
def test_a_repeated_signal_is_one_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with exits_at_interrupt():  # while the command starts; then it is an exception again
        assert signal.getsignal(signal.SIGINT) is not before[0]
    with one_interrupt(ends=True):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGINT):
            signal.raise_signal(number)
        monkeypatch.setattr(system, "REPEAT_SECONDS", 0.0)  # time has passed
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        monkeypatch.setattr(system, "REPEAT_SECONDS", 1e9)
        with one_interrupt():  # signals that are handled already are left alone
            signal.raise_signal(signal.SIGINT)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


@pytest.mark.usefixtures("_listening")
def test_a_held_interrupt_takes_effect_behind_the_block() -> None:
    reached = []

    def hold() -> None:
        with held_interrupts():
            for _ in range(3):
                signal.raise_signal(signal.SIGINT)
            reached.append(1)

    with pytest.raises(KeyboardInterrupt):
        hold()
    assert reached == [1]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_end_does_not_wait_for_threads() -> None:
    program = (
        "import threading, time\n"
        "threading.Thread(target=time.sleep, args=(1000,)).start()\n"
        "from harmonium.system import end_now\n"
        "print('best', end='')\n"
        "end_now(1)\n"
    )
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (1, "best")


WHAT = "altair and vl_convert; pip install 'harmonium[report]'"


@pytest.fixture
def without_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide two packages of the extra, and forget the modules that have imported them."""
    for module in [name for name in sys.modules if name.startswith("harmonium.reports")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "altair", None)
    monkeypatch.setitem(sys.modules, "vl_convert", None)


@pytest.mark.usefixtures("without_charts")
def test_the_message_names_what_is_missing_and_what_to_install(tmp_path: Path) -> None:
    assert find_missing("report") == ["altair", "vl_convert"]
    assert str(missing_error("report", "reports")) == f"reports need {WHAT}"
    result = hm.maximize(sum, 4, seed=1)
    with pytest.raises(MissingExtraError, match="reports and charts need altair and vl_convert; "):
        result.report(tmp_path / "page.html")


@pytest.mark.usefixtures("without_charts")
@pytest.mark.parametrize(
    "words",
    [
        "optimize harmonium:nothing --length 4 --report page.html",
        "solve onemax:length=4 --report page.html",
        "report none.db",
    ],
)
def test_commands_say_so_before_they_begin(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert execute(words.split()) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.endswith(f"need {WHAT}\n")
    assert shown.err.count("\n") == 1
