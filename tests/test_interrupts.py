import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import numba
import pytest

from harmonium import interrupts
from harmonium.interrupts import (
    exits_at_interrupt,
    held_interrupts,
    is_interrupt,
    one_interrupt,
)
from tests.cli.commands import call


@pytest.fixture(autouse=True)
def _listening() -> Iterator[None]:
    """Listen to Ctrl-C: what a shell runs in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def wrap(error: BaseException, depth: int, by: str) -> BaseException:
    """Return the error inside so many others, as Numba makes them."""
    for _ in range(depth):
        outer = SystemError("returned a result with an exception set")
        setattr(outer, by, error)
        error = outer
    return error


@pytest.mark.parametrize("by", ["__cause__", "__context__"])
@pytest.mark.parametrize("depth", [0, 1, 2, 5])
def test_an_interrupt_is_one_however_deep(depth: int, by: str) -> None:
    assert is_interrupt(wrap(KeyboardInterrupt(), depth, by))
    for other in (ValueError("no"), SystemExit(1), SystemError("alone")):
        assert not is_interrupt(wrap(other, depth, by))


def test_a_chain_of_errors_with_a_loop_is_none() -> None:
    one, other = SystemError("a"), SystemError("b")
    one.__cause__, other.__cause__ = other, one
    assert not is_interrupt(one)


def test_nothing_is_no_interrupt() -> None:
    assert not is_interrupt(None)


def test_another_error_on_the_way_from_an_interrupt_is_none() -> None:
    # Whoever caught Ctrl-C and raised an error of their own meant that error.
    mine = ValueError("mine")
    mine.__cause__ = KeyboardInterrupt()
    assert not is_interrupt(mine)
    assert not is_interrupt(wrap(mine, 1, "__cause__"))


def interrupt() -> None:
    raise KeyboardInterrupt


def test_what_a_kernel_makes_of_an_interrupt_is_one() -> None:
    @numba.njit
    def kernel() -> None:
        with numba.objmode():
            interrupt()

    compiled: Any = kernel
    with pytest.raises((KeyboardInterrupt, SystemError)) as caught:
        compiled()
    assert is_interrupt(caught.value)


IMPORTING = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)

class Interrupter:
    def find_spec(self, name, *_):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupter())
"""


@pytest.mark.parametrize("name", ["numpy", "numba", "rich", "harmonium.search"])
def test_ctrl_c_while_the_command_starts_is_one_line(name: str) -> None:
    done = call("--version", before=IMPORTING.format(name=name))
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "harmonium: interrupted\n")


def test_ctrl_c_after_the_start_is_an_exception_again() -> None:
    before = signal.getsignal(signal.SIGINT)
    with exits_at_interrupt():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_a_repeated_signal_is_one_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with one_interrupt(ends=True):
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGINT):
            signal.raise_signal(number)
        monkeypatch.setattr(interrupts, "REPEAT_SECONDS", 0.0)  # time has passed
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_signals_that_are_handled_already_are_left_alone() -> None:
    got = []
    before = signal.signal(signal.SIGINT, lambda *_: got.append(1))
    try:
        with one_interrupt():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert got == [1]


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
        "from harmonium.interrupts import end_now\n"
        "print('best', end='')\n"
        "end_now(1)\n"
    )
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (1, "best")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_is_ended_by_sigterm() -> None:
    """So are those of a pool that a function starts."""
    reader, writer = os.pipe()
    with one_interrupt(ends=True):
        child = os.fork()
        if child == 0:
            os.write(writer, b"x")
            time.sleep(1000)
        os.read(reader, 1)
        os.kill(child, signal.SIGTERM)
        _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGTERM
    os.close(reader)
    os.close(writer)
