import signal
from typing import Any

import numba
import pytest

from harmonium.interrupts import exits_at_interrupt, is_interrupt
from tests.cli.commands import call


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


@pytest.mark.parametrize("name", ["numpy", "numba", "rich", "harmonium.algorithms"])
def test_ctrl_c_while_the_command_starts_is_one_line(name: str) -> None:
    done = call("--version", before=IMPORTING.format(name=name))
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "harmonium: interrupted\n")


def test_ctrl_c_after_the_start_is_an_exception_again() -> None:
    before = signal.getsignal(signal.SIGINT)
    with exits_at_interrupt():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before
