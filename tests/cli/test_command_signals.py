"""Programs as functions: signals, time limits and output; no process is left behind."""

import os
import shlex
import signal
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harmonium.runs.command import Command, parse_command
from tests.cli.commands import find_group, find_marked, running, wait_until

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")

ROW = np.ones(8, dtype=np.uint8)


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
        ("sleep {} & cat /dev/zero", "sh printed more than 10 MB; expected a number"),
        ("sleep {} & echo none", "sh printed 'none' last; expected a finite number"),
        ("sleep {} & echo '\033[2J' >&2; exit 1", r"sh ended with code 1: \x1b[2J"),
    ],
)
def test_a_program_that_fails_leaves_no_process(script: str, message: str, mark: str) -> None:
    with pytest.raises(RuntimeError) as caught:
        make(script.replace("{}", mark), timeout=0.2 if "longer" in message else 60)(ROW)
    assert str(caught.value) == message
    assert_gone(mark)


def test_a_program_that_leaves_a_process_answers_at_once(mark: str) -> None:
    assert make(f"sleep {mark} & echo 17")(ROW) == 17.0
    assert_gone(mark)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answers", "number", "whom"),
    [
        (True, signal.SIGINT, "process"),
        (True, signal.SIGTERM, "both"),  # as `timeout` does
        (False, signal.SIGINT, "group"),
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
        wait_until(lambda: len(find_group(process.pid)) >= 3, "workers run")
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
        wait_until(lambda: not find_group(process.pid), "workers end")
    assert process.returncode == 1
