"""Programs as functions: signals, time limits and output; no process is left behind."""

import os
import shlex
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import harmonium as hm
from harmonium.runs import command as command_module
from harmonium.runs.command import Command, parse_command
from harmonium.system import ends_as_interrupts
from tests.cli.commands import running, wait_until

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")

ROW = np.ones(8, dtype=np.uint8)


def find_marked(mark: str) -> list[int]:
    """Return the processes, not yet ended, that have this word among their arguments."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:  # it has ended meanwhile
            continue
        if mark.encode() in words:
            found.append(int(folder.name))
    return found


@pytest.fixture
def mark(tmp_path: Path) -> str:
    """A number of seconds to sleep that no other process has."""
    return f"{100_000 + os.getpid()}.{time.monotonic_ns() % 10**6}"


def make(script: str, **settings: Any) -> Command:
    return parse_command(f"sh -c {shlex.quote(script)} sh {{bits}}", **settings)


def assert_gone(mark: str) -> None:
    wait_until(lambda: not find_marked(mark), "all processes end")


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("sleep {} & sleep {}; echo 1", "sh took longer than 0.2 s"),
        ("sleep {} >&- 2>&- <&- & exec >&- 2>&-; sleep {}", "sh took longer than 0.2 s"),
        ("sleep {} & exit 3", "sh ended with code 3: "),
        ("sleep {} & echo none", "sh printed 'none' last; expected a finite number"),
        ("sleep {} & echo '\033[2J' >&2; exit 1", r"sh ended with code 1: \x1b[2J"),
    ],
)
def test_a_program_that_fails_leaves_no_process(script: str, message: str, mark: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        make(script.replace("{}", mark), timeout=0.2)(ROW)
    assert str(caught.value) == message
    assert_gone(mark)


def test_a_program_that_leaves_a_process_answers_at_once(mark: str) -> None:
    assert make(f"sleep {mark} & echo 17")(ROW) == 17.0
    assert_gone(mark)


@pytest.mark.parametrize(
    ("script", "message"),
    [("echo 17", ""), ("exit 3", "sh ended with code 3: "), (":", "sh printed '' last; expected")],
)
def test_a_daemon_that_keeps_the_output_open_is_not_waited_for(
    script: str, message: str, mark: str
) -> None:
    leave = f"setsid sleep {mark} & sleep 1"  # time to leave the process group
    program = make(f"{leave}; {script}", timeout=60.0)
    try:
        if message:
            with pytest.raises(RuntimeError, match=message):
                program(ROW)
        else:
            assert program(ROW) == 17.0
        assert find_marked(mark)  # it has left the process group, and lives
    finally:
        for process in find_marked(mark):
            os.kill(process, signal.SIGKILL)


def test_output_without_end_is_not_kept(monkeypatch: pytest.MonkeyPatch, mark: str) -> None:
    monkeypatch.setattr(command_module, "MAX_OUTPUT_BYTES", 2_000_000)
    for where in ("", ">&2"):
        with pytest.raises(RuntimeError, match="sh printed more than 2 MB; expected a number"):
            make(f"sleep {mark} & yes {where}")(ROW)
    assert_gone(mark)
    # What is allowed is not kept either, but for its end.
    monkeypatch.setattr(command_module, "KEPT_BYTES", 100)
    assert make("yes | head -c 1000000; echo; echo 4.5")(ROW) == 4.5


def test_a_program_does_not_wait_for_the_terminal() -> None:
    assert make("read word; echo $((${#word} + 3))")(ROW) == 3.0


def test_a_program_that_stops_itself_continues() -> None:
    assert make("kill -STOP $$; echo 5", timeout=30.0)(ROW) == 5


WANTS = """
import os, pty, sys
child, terminal = pty.fork()
if child == 0:  # has a terminal
    from harmonium.runs.command import parse_command
    try:
        parse_command("sh -c 'read x </dev/tty; echo {bits}'")([0, 1])
    except RuntimeError as error:
        print(error, flush=True)
    os._exit(0)
try:
    while text := os.read(terminal, 1000):
        os.write(1, text)
except OSError:  # closed
    pass
"""


def test_a_program_that_wants_the_terminal_is_ended() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", WANTS], capture_output=True, text=True, check=False, timeout=60
    )
    assert ended.stdout.strip() == "sh wants the terminal; programs do not have it"


def test_stopped_programs_end_and_none_is_started(mark: str) -> None:
    program = make(f"sleep {mark}")
    with ThreadPoolExecutor(1) as executor:
        future = executor.submit(program, ROW)
        wait_until(lambda: find_marked(mark), "the program runs")
        program.stop()
        with pytest.raises(RuntimeError, match="sh ended with code -9"):
            future.result(60)
    assert_gone(mark)
    with pytest.raises(RuntimeError, match="sh was not started: the search has ended"):
        program(ROW)


def test_a_request_to_end_is_an_interrupt_inside_the_block_only() -> None:
    before = signal.getsignal(signal.SIGTERM)

    def function(row: Any) -> float:
        if row.sum() > 5:
            signal.raise_signal(signal.SIGTERM)
        return float(row.sum())

    with ends_as_interrupts():
        result = hm.maximize(function, 8, model="umda", seed=1)
    assert result.stopped_by == "interrupted"
    assert result.fun <= 5
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answers", "number", "whom"),  # every pair of two of them
    [
        (True, signal.SIGINT, "process"),
        (True, signal.SIGTERM, "group"),
        (True, signal.SIGTERM, "both"),  # as `timeout` does
        (False, signal.SIGINT, "group"),
        (False, signal.SIGTERM, "process"),
    ],
)
def test_a_signal_ends_the_search_with_the_best_so_far(
    answers: bool, number: signal.Signals, whom: str, mark: str, tmp_path: Path
) -> None:
    """Programs answer once, if at all, and then sleep."""
    script = f"mkdir got && echo 7 || {{ touch ready; sleep {mark} & sleep {mark}; }}"
    if not answers:
        (tmp_path / "got").mkdir()
    program = f"sh -c {shlex.quote(script)} sh {{bits}}"
    options = ("--length", "8", "--workers", "1")  # a second program starts after an answer
    with running(tmp_path, "optimize", "--command", program, *options) as process:
        wait_until((tmp_path / "ready").exists, "a program sleeps")
        wait_until(lambda: find_marked(mark), "it really does")
        if whom in ("process", "both"):
            os.kill(process.pid, number)
        if whom in ("group", "both"):
            os.killpg(process.pid, number)
        shown, told = process.communicate(timeout=120)
    assert process.returncode == 1
    assert_gone(mark)
    if answers:
        assert "interrupted; this is the best found so far\n" in shown
        assert told == ""
    else:
        assert (shown, told) == ("", "harmonium: interrupted\n")


@pytest.mark.slow
def test_a_time_limit_ends_programs_and_workers(mark: str, tmp_path: Path) -> None:
    program = f"sh -c 'test $1 = 11111111 && echo 3 || sleep {mark}' sh {{bits}}"
    options = ("--length", "8", "--max-seconds", "3", "--initial", "1" * 8)
    with running(tmp_path, "optimize", "--command", program, *options) as process:
        shown, told = process.communicate(timeout=120)
    assert (process.returncode, told) == (0, "")
    assert "max_seconds was reached\n" in shown
    assert_gone(mark)
    stuck = f"import time\n\ndef stuck(bits):\n    time.sleep(0 if bits.all() else {mark})\n"
    (tmp_path / "stuck.py").write_text(f"{stuck}    return 3.0\n", "utf-8")
    search = ("stuck:stuck", "--workers", "2", "--length", "8", "--initial", "1" * 8)
    with running(tmp_path, "optimize", *search) as process:
        wait_until(lambda: len(find_children(process.pid)) >= 2, "workers run")
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
        wait_until(lambda: not find_children(process.pid), "workers end")
    assert process.returncode == 1


def find_children(group: int) -> list[int]:
    """Return the processes of a group but its leader that have not ended."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _, pgrp = (folder / "stat").read_text().rpartition(")")[2].split()[:3]
        except (OSError, ValueError):
            continue
        if int(pgrp) == group != int(folder.name) and state != "Z":
            found.append(int(folder.name))
    return found
