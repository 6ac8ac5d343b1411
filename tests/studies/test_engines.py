"""Serial and Processes as executors: what the standard library promises of one, and more."""

import math
import multiprocessing
import operator
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor
from pathlib import Path

import pytest

from harmonium import EDA, PROBLEMS, Stop
from harmonium.specs import SpecError, importable
from harmonium.studies.engines import Processes, Serial, WorkerDied, count_cores, open_engine
from harmonium.studies.trial import Trial, execute, read_record
from tests.modules import write_module

PATIENCE = 60.0


@pytest.fixture(scope="module", params=["serial", "processes"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    """One of each, shared: no test may break it."""
    with Serial() if request.param == "serial" else Processes(1) as opened:
        yield opened


@pytest.fixture
def one() -> Iterator[Processes]:
    """A single worker, ended with the test whatever it does."""
    opened = Processes(1)
    yield opened
    opened.kill()
    opened.shutdown()


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def linger(begun: Path, ended: Path) -> int:
    """Say that it has begun, and end when it may; run by a worker."""
    with begun.open("a", encoding="ascii") as file:
        file.write(f"{os.getpid()}\n")
    wait_until(ended.exists)
    return os.getpid()


def die(diary: Path, times: int) -> int:
    """End the process, but for the last time; run by a worker."""
    with diary.open("a", encoding="ascii") as file:
        file.write("x")
    if diary.stat().st_size <= times:
        os._exit(9)
    return diary.stat().st_size


def is_alive(pid: int) -> bool:
    return pid in {child.pid for child in multiprocessing.active_children()}


def read_begun(begun: Path) -> list[int]:
    return list(map(int, begun.read_text(encoding="ascii").split())) if begun.exists() else []


def test_results_and_exceptions_come_back(executor: Executor) -> None:
    assert executor.submit(int, "101", base=2).result(PATIENCE) == 5
    error = executor.submit(operator.truediv, 1, 0).exception(PATIENCE)
    assert isinstance(error, ZeroDivisionError)
    assert str(error) == "division by zero"
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        executor.submit(operator.truediv, 1, 0).result(PATIENCE)
    assert executor.submit(math.sqrt, 16.0).result(PATIENCE) == 4.0  # as fit as before


def test_map_keeps_the_order(executor: Executor) -> None:
    assert list(executor.map(math.factorial, range(20), timeout=PATIENCE)) == [
        math.factorial(number) for number in range(20)
    ]
    with pytest.raises(ValueError, match="factorial"):
        list(executor.map(math.factorial, [3, -1, 2], timeout=PATIENCE))


def test_callbacks_are_called(executor: Executor) -> None:
    called = threading.Event()
    executor.submit(abs, -3).add_done_callback(lambda _: called.set())
    assert called.wait(PATIENCE)


@pytest.mark.parametrize("kind", ["serial", "processes"])
def test_shutdown_finishes_what_was_submitted_and_takes_no_more(kind: str) -> None:
    executor = Serial() if kind == "serial" else Processes(1)
    futures = [executor.submit(abs, -number) for number in range(10)]
    executor.shutdown()
    assert all(future.done() for future in futures)
    assert [future.result() for future in futures] == list(range(10))
    with pytest.raises(RuntimeError):
        executor.submit(abs, -3)
    executor.shutdown()  # once more is harmless


def test_what_is_begun_cannot_be_cancelled_and_what_is_not_can(
    one: Processes, tmp_path: Path
) -> None:
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    first = one.submit(linger, begun, ended)
    second = one.submit(linger, begun, ended)
    third = one.submit(abs, -3)
    wait_until(lambda: read_begun(begun))
    assert first.running()
    assert not first.cancel()
    assert second.cancel()
    ended.touch()
    assert third.result(PATIENCE) == 3
    assert [first.result(PATIENCE)] == read_begun(begun)
    assert second.cancelled()


def test_shutdown_may_drop_what_is_not_begun(one: Processes, tmp_path: Path) -> None:
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    first = one.submit(linger, begun, ended)
    rest = [one.submit(linger, begun, ended) for _ in range(3)]
    wait_until(lambda: read_begun(begun))
    one.shutdown(wait=False, cancel_futures=True)
    assert all(future.cancelled() for future in rest)
    ended.touch()
    assert [first.result(PATIENCE)] == read_begun(begun)


def test_two_workers_work_side_by_side_and_end_with_the_block(tmp_path: Path) -> None:
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    with Processes(2) as executor:
        futures = [executor.submit(linger, begun, ended) for _ in range(2)]
        wait_until(lambda: len(read_begun(begun)) == 2)  # neither ends before the other begins
        assert all(map(is_alive, read_begun(begun)))
        ended.touch()
        assert {future.result(PATIENCE) for future in futures} == set(read_begun(begun))
    assert not any(map(is_alive, read_begun(begun)))


def test_kill_ends_workers_in_the_middle_of_their_calls(one: Processes, tmp_path: Path) -> None:
    begun, never = tmp_path / "begun", tmp_path / "never"
    first, second = (one.submit(linger, begun, never) for _ in range(2))
    wait_until(lambda: read_begun(begun))
    one.kill()
    assert isinstance(first.exception(PATIENCE), WorkerDied)
    with pytest.raises(CancelledError):
        second.result(PATIENCE)
    (pid,) = read_begun(begun)
    assert not is_alive(pid)


def test_a_worker_that_dies_is_replaced_and_its_call_made_again(tmp_path: Path) -> None:
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    with Processes(2) as executor:
        other = executor.submit(linger, begun, ended)
        wait_until(lambda: read_begun(begun))
        assert executor.submit(die, tmp_path / "diary", 1).result(PATIENCE) == 2
        assert executor.submit(abs, -3).result(PATIENCE) == 3
        assert not other.done()
        ended.touch()
        assert [other.result(PATIENCE)] == read_begun(begun)  # noticed nothing


def test_a_call_that_always_kills_its_worker_is_given_up(one: Processes, tmp_path: Path) -> None:
    error = one.submit(die, tmp_path / "diary", 1000).exception(PATIENCE)
    assert isinstance(error, WorkerDied)
    assert str(error) == "the worker died 3 times, the last time with exit code 9"
    assert (tmp_path / "diary").stat().st_size == 3
    assert one.submit(abs, -3).result(PATIENCE) == 3


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_a_worker_that_is_killed_is_replaced_and_one_that_is_interrupted_goes_on(
    one: Processes, tmp_path: Path
) -> None:
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    future = one.submit(linger, begun, ended)
    wait_until(lambda: read_begun(begun))
    (first,) = read_begun(begun)
    os.kill(first, signal.SIGINT)
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: len(read_begun(begun)) == 2)
    second = read_begun(begun)[1]
    os.kill(second, signal.SIGINT)
    ended.touch()
    assert future.result(PATIENCE) == second != first


def test_what_cannot_travel_comes_back_as_an_exception(one: Processes) -> None:
    assert one.submit(lambda: 3).exception(PATIENCE) is not None
    assert one.submit(abs, -3).result(PATIENCE) == 3
    error = one.submit(threading.Lock).exception(PATIENCE)
    assert error is not None
    assert "pickle" in str(error)
    assert one.submit(abs, -3).result(PATIENCE) == 3


@pytest.mark.parametrize(
    ("name", "workers", "scheduler", "message"),
    [
        ("threads", None, None, "unknown engine 'threads'; known: serial, processes, dask"),
        ("serial", 2, None, "workers is 2; the engine serial has one"),
        (
            "serial",
            None,
            "tcp://127.0.0.1:1",
            "scheduler is 'tcp://127.0.0.1:1'; only the engine dask has one",
        ),
        (
            "dask",
            2,
            "tcp://127.0.0.1:1",
            "workers and scheduler are both given; a scheduler has its own workers",
        ),
    ],
)
def test_engines_that_cannot_be(
    name: str, workers: int | None, scheduler: str | None, message: str
) -> None:
    with pytest.raises(SpecError, match=message), open_engine(name, workers, scheduler):
        pass


@pytest.mark.parametrize(("name", "workers"), [("serial", None), ("serial", 1), ("processes", 1)])
def test_an_engine_says_how_many_trials_it_can_run(name: str, workers: int | None) -> None:
    with open_engine(name, workers, None) as engine:
        assert engine.slots() == (workers or 1)
        assert engine.executor.submit(abs, -3).result(PATIENCE) == 3


def test_an_engine_abandons_its_trials_when_its_block_fails(tmp_path: Path) -> None:
    begun, never = tmp_path / "begun", tmp_path / "never"
    futures = []

    def fail() -> None:
        with open_engine("processes", 1, None) as engine:
            futures.append(engine.executor.submit(linger, begun, never))
            wait_until(lambda: read_begun(begun))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert isinstance(futures[0].exception(PATIENCE), WorkerDied)
    (pid,) = read_begun(begun)
    assert not is_alive(pid)


def test_workers_that_cannot_be_started_leave_none_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    start, before = multiprocessing.context.SpawnProcess.start, multiprocessing.active_children()
    begun: list[object] = []

    def start_one(process: multiprocessing.context.SpawnProcess) -> None:
        if begun:
            raise OSError(24, "Too many open files")
        begun.append(process)
        start(process)

    monkeypatch.setattr("multiprocessing.context.SpawnProcess.start", start_one)
    words = "2 workers cannot be started: Too many open files; use fewer"
    with pytest.raises(SpecError, match=words), open_engine("processes", 2, None):
        pass
    assert set(multiprocessing.active_children()) == set(before)


def test_all_cores_are_those_this_process_may_use() -> None:
    assert 1 <= count_cores() <= (os.cpu_count() or 1)


def test_dask_stays_quiet_once_its_cluster_is_closed(tmp_path: Path) -> None:
    """A connection that breaks while all ends is reported late, and is nobody's concern."""
    pytest.importorskip("distributed")
    script = tmp_path / "late.py"  # a process of its own: Dask leaves the log to pytest
    script.write_text(
        "import logging\n"
        "from harmonium.studies.engines import open_engine\n"
        "if __name__ == '__main__':\n"
        "    with open_engine('dask', 1, None) as engine:\n"
        "        print(engine.executor.submit(abs, -5).result())\n"
        "    logging.getLogger('distributed.batched').error('Batched Comm Closed')\n"
    )
    ended = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "5\n", "")


POOL = """
import multiprocessing
class Problem:
    optimum = 5.0
    def __init__(self, length):
        self.length = length
    def __call__(self, bits):
        with multiprocessing.get_context("fork").Pool(1) as pool:
            return sum(pool.map(abs, [1, -2])) + bits.sum(axis=1) - 3.0
"""

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@needs_fork
def test_a_trial_may_start_processes(tmp_path: Path, one: Processes) -> None:
    with importable(tmp_path):
        problem = PROBLEMS.make(f"{write_module(tmp_path, POOL)}:Problem", {"length": 5})
    trial = Trial(problem, EDA("umda", population=10), Stop(max_generations=1), 1)
    records = [
        read_record(executor.submit(execute, trial.spec, str(tmp_path)).result(PATIENCE))
        for executor in (Serial(), one)
    ]
    assert [record.error for record in records] == ["", ""]
    assert records[0].result["fun"] == records[1].result["fun"]


def fork_and_linger(begun: Path) -> None:
    """Start a process that never ends, and never end; run by a worker."""
    multiprocessing.current_process().daemon = False
    child = multiprocessing.get_context("fork").Process(target=signal.pause)
    child.start()
    with begun.open("a", encoding="ascii") as file:
        file.write(f"{os.getpid()}\n{child.pid}\n")
    child.join()


def is_running(pid: int) -> bool:
    """Whether a process runs that need not be a child of this one."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2][1] != "Z"
    except FileNotFoundError:
        return False


@needs_fork
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
@pytest.mark.parametrize("how", ["engine", "worker"])
def test_what_a_trial_forks_ends_with_its_worker(how: str, one: Processes, tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    one.submit(fork_and_linger, begun)
    wait_until(lambda: len(read_begun(begun)) >= 2)
    worker, child = read_begun(begun)[:2]
    assert is_running(child)
    if how == "engine":
        one.kill()
    else:
        os.kill(worker, signal.SIGKILL)
    wait_until(lambda: not is_running(child))
