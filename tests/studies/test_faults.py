"""Engines and workers that answer wrongly: nothing wrong is stored, and tables stay the same."""

import ctypes
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from harmonium.analysis.tables import list_rows
from harmonium.studies import Store, parse_study
from harmonium.studies.driver import Driver, _read_answer, bind, read_rows
from harmonium.studies.engines import Channel, Engine, Processes, WorkerDied, open_engine, pack
from harmonium.studies.study import Study
from harmonium.studies.trial import MAX_ERROR_CHARACTERS, execute, read_record, write_record
from tests.modules import write_module
from tests.studies.faulty_engine import FAULTS, FaultyExecutor, make_faulty_engine
from tests.studies.made import make_trial

PATIENCE = 60.0

STUDY = """
name = "faults"
models = ["umda"]
[bisect]
start = 8
[[problems]]
problem = "onemax"
sizes = [6, 10]
runs = 4
[[problems]]
problem = "trap:order=4"
sizes = [8]
runs = 3
"""


def carry_out(study: Study, path: Path, engine: Engine) -> list[dict[str, Any]]:
    """Run a study and return its summary, without times and memory."""
    with Store.create(path) as store:
        bind(study, store)
        Driver(study, store).run(engine)
        return [
            {
                name: value
                for name, value in row.items()
                if not name.startswith("cpu_") and "memory" not in name
            }
            for row in list_rows(read_rows(store)[1])
        ]


@pytest.fixture(scope="module")
def study() -> Study:
    return parse_study(STUDY, "faults.toml")


@pytest.fixture(scope="module")
def serial(study: Study, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    with open_engine("serial", None, None) as engine:
        return carry_out(study, tmp_path_factory.mktemp("serial") / "serial.db", engine)


@pytest.fixture(scope="module")
def known() -> dict[str, bytes]:
    """Answers to trials that were run before."""
    return {}


@pytest.mark.parametrize("seed", range(6))
def test_tables_are_those_of_a_serial_engine_whatever_happens_to_answers(
    seed: int, study: Study, serial: list[Any], known: dict[str, bytes], tmp_path: Path
) -> None:
    executor = FaultyExecutor(seed, slots=1 + seed, known=known)
    assert carry_out(study, tmp_path / "faulty.db", make_faulty_engine(executor)) == serial
    seen = {fault for fault in FAULTS if executor.faults[fault]}
    assert seen >= ({"lose", "damage"} if seed == 0 else set(FAULTS))
    with Store.open(tmp_path / "faulty.db") as store:
        for row in store.rows():
            assert (row.status, row.result["seed"]) == ("done", row.seed)


def answer_always(answer: bytes) -> Engine:
    """Return an engine that gives every trial the same answer."""

    class Constant(FaultyExecutor):
        def submit(self, *_: Any, **__: Any) -> Any:
            return super().submit(lambda _: answer, "any")

        def answer(self) -> None:
            for future, _ in self._waiting:
                future.set_result(answer)
            self._waiting.clear()

    return make_faulty_engine(Constant(0, 1, {}))


def test_an_engine_that_never_answers_rightly_fails_trials_and_ends(
    study: Study, tmp_path: Path
) -> None:
    path = tmp_path / "wrong.db"
    carry_out(study, path, answer_always(execute(make_trial().spec, None)))
    with Store.open(path) as store:
        rows = list(store.rows())
    assert {(row.status, row.error) for row in rows} == {
        ("failed", "WrongAnswer: 3 answers were not those of this trial")
    }


def test_a_record_belongs_to_one_trial() -> None:
    trial = make_trial(3)
    record = read_record(execute(trial.spec, None))
    assert record.key == trial.key
    assert record.belongs_to(trial)
    assert not record.belongs_to(make_trial(4))
    for field, value in (("seed", 4), ("problem", "onemax:length=21")):
        other = replace(record, result={**record.result, field: value})
        assert not other.belongs_to(trial)
        assert read_record(write_record(other)) == other
    failed = replace(record, status="failed", result={}, error="it failed")
    assert failed.belongs_to(trial)
    assert _read_answer(trial, write_record(failed)) == failed
    assert _read_answer(trial, write_record(replace(failed, error=""))) is None  # says nothing
    assert not replace(failed, key="").belongs_to(trial)


@pytest.fixture(scope="module")
def worker() -> Iterator[Processes]:
    """One worker, shared: no test may break it."""
    with Processes(1) as opened:
        yield opened


def fork_and_return(value: int) -> tuple[int, int]:
    """Return in two processes; run by a worker."""
    if os.fork():
        time.sleep(0.2)  # so that the child would answer first
    return value, os.getppid()


def raise_it(kind: type[BaseException]) -> None:
    raise kind("of the user")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_of_a_worker_never_answers(worker: Processes) -> None:
    for number in range(3):
        value, parent = worker.submit(fork_and_return, number).result(PATIENCE)
        assert (value, parent) == (number, os.getpid())
        assert worker.submit(abs, -7).result(PATIENCE) == 7


@pytest.mark.parametrize("kind", [KeyboardInterrupt, GeneratorExit, SystemExit, BaseException])
def test_a_worker_survives_whatever_a_call_raises(
    kind: type[BaseException], worker: Processes
) -> None:
    process = worker.submit(os.getpid).result(PATIENCE)
    error = worker.submit(raise_it, kind).exception(PATIENCE)
    assert (type(error), str(error)) == (RuntimeError, f"{kind.__name__}: of the user")
    assert worker.submit(os.getpid).result(PATIENCE) == process


def send_first(message: object) -> None:
    """Send something over the channel of this worker, before the true answer."""
    for one in gc.get_objects():
        if isinstance(one, Channel):
            one.send(0, pack(message))


def write_everywhere(junk: bytes) -> None:
    """Write into every file but the standard streams; run by a worker."""
    spared = resource_tracker.getfd()  # it would print tracebacks
    for number in {*range(3, 64)} - {spared}:
        with suppress(OSError):
            os.write(number, junk)


@pytest.mark.parametrize(
    ("call", "argument", "why"),
    [
        (send_first, (True, "stale"), "an answer to another call"),
        (send_first, 17, "an answer that cannot be read"),
        (write_everywhere, b"x", "an answer that cannot be read"),
        (write_everywhere, b"\0\0\4\0" + b"a message of 1 KB", "an answer that cannot be read"),
        (write_everywhere, b"\xff" * 4 + b"\x10" * 8, "an answer that cannot be read"),
    ],
    ids=["stale", "garbage", "a byte", "a short length", "a huge length"],
)
def test_a_worker_that_sends_something_else_is_replaced(
    call: Callable[[object], None],
    argument: object,
    why: str,
    worker: Processes,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("harmonium.studies.engines._ATTEMPTS", 1)
    before = worker.submit(os.getpid).result(PATIENCE)
    error = worker.submit(call, argument).exception(PATIENCE)
    assert isinstance(error, WorkerDied)
    assert str(error) == f"the worker died 1 times, the last time after {why}"
    assert worker.submit(os.getpid).result(PATIENCE) != before


def stop(value: int) -> int:
    """Stop this process; run by a worker."""
    os.kill(os.getpid(), signal.SIGSTOP)
    return value


@pytest.mark.skipif(not hasattr(os, "waitid"), reason="needs waitid")
def test_a_worker_that_is_stopped_continues(worker: Processes) -> None:
    process = worker.submit(os.getpid).result(PATIENCE)
    assert worker.submit(stop, 7).result(PATIENCE) == 7
    assert worker.submit(os.getpid).result(PATIENCE) == process


def leave_a_child(begun: Path) -> None:
    """End this process, but not a child that has all its files; run by a worker."""
    child = ctypes.CDLL(None).fork()  # runs no hooks of Python
    if child:
        begun.write_text(str(child), encoding="ascii")
        os._exit(9)
    time.sleep(2 * PATIENCE)
    os._exit(0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_worker_that_has_died_is_replaced_though_its_child_holds_the_channel(
    worker: Processes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("harmonium.studies.engines._ATTEMPTS", 1)
    begun = tmp_path / "child"
    error = worker.submit(leave_a_child, begun).exception(PATIENCE)
    os.kill(int(begun.read_text(encoding="ascii")), signal.SIGKILL)
    assert str(error) == "the worker died 1 times, the last time with exit code 9"
    assert worker.submit(abs, -7).result(PATIENCE) == 7


def test_a_call_fails_if_its_worker_cannot_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    with Processes(1) as executor:
        with monkeypatch.context() as patch:
            patch.setattr("multiprocessing.context.SpawnProcess.start", refuse)
            error = executor.submit(os._exit, 3).exception(PATIENCE)
        assert str(error) == (
            "the worker died 3 times, the last time and could not be replaced: "
            "[Errno 11] Resource temporarily unavailable"
        )
        assert executor.submit(abs, -7).result(PATIENCE) == 7


def close_files() -> None:
    """Close all files but the standard streams, as programs do that become a service."""
    os.closerange(3, 256)


def test_a_worker_whose_files_are_closed_by_a_call_ends_quietly(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("harmonium.studies.engines._ATTEMPTS", 1)
    with Processes(1) as executor:  # prints where `capfd` sees it
        error = executor.submit(close_files).exception(PATIENCE)
    assert str(error) == "the worker died 1 times, the last time with exit code 1"
    assert capfd.readouterr().err == ""


def test_workers_are_killed_while_one_of_them_is_being_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = set(multiprocessing.active_children())
    executor, problems = Processes(1), []

    @contextmanager
    def kill_meanwhile() -> Iterator[None]:
        try:
            executor.kill()
        except AssertionError as error:  # of a process that is not started yet
            problems.append(error)
        yield

    monkeypatch.setattr("harmonium.studies.engines.no_interrupts", kill_meanwhile)
    error = executor.submit(close_files).exception(PATIENCE)
    assert (problems, str(error)) == ([], "killed")
    assert set(multiprocessing.active_children()) == before


CLOSED = """
import os, sys
from harmonium.studies.engines import Processes

if __name__ == "__main__":
    os.close(0)
    os.close(1)
    with Processes(1) as one:
        one.submit(os.write, 1, b"hello").result(60)
        print(one.submit(abs, -7).result(60), file=sys.stderr)
"""


def test_what_a_worker_prints_never_enters_its_channel(tmp_path: Path) -> None:
    """Without standard streams, the first files that are opened have their numbers."""
    script = tmp_path / "closed.py"
    script.write_text(CLOSED, encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=180
    )
    assert (ended.returncode, ended.stderr) == (0, "7\n")


FORKS = """
import os
from pathlib import Path

class Own:
    def __init__(self, length):
        self.length, self.optimum = length, float(length)

    def __call__(self, bits):
        child = Path(__file__).with_suffix(".child")
        if not child.exists():
            child.touch()
            number = os.fork()
            if number:
                child.write_text(str(number))
        return bits.sum(axis=1).astype(float)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_of_a_trial_in_this_process_ends(tmp_path: Path) -> None:
    module = write_module(tmp_path, FORKS)
    text = STUDY.replace("trap:order=4", f"{module}:Own")
    study = parse_study(text, "forks.toml", tmp_path)
    with open_engine("serial", None, None) as engine:
        carry_out(study, tmp_path / "forks.db", engine)
    child = int((tmp_path / f"{module}.child").read_text(encoding="ascii"))
    assert os.waitpid(child, 0) == (child, 0)


RAISES = """
class Own:
    optimum = 5.0

    def __init__(self, length):
        self.length = length

    def __call__(self, bits):
        raise {kind}("of the user")
"""


@pytest.mark.parametrize("kind", ["KeyboardInterrupt", "GeneratorExit", "SystemExit"])
def test_whatever_a_problem_raises_is_recorded(kind: str, tmp_path: Path) -> None:
    module = write_module(tmp_path, RAISES.format(kind=kind))
    study = parse_study(STUDY.replace("onemax", f"{module}:Own"), "raises.toml", tmp_path)
    trial = study.cases[0].trials(8)[0]
    answers: list[bytes] = []
    # Ctrl-C only reaches main threads, so this is none.
    thread = threading.Thread(
        target=lambda: answers.append(execute(trial.spec, str(tmp_path))), daemon=True
    )
    thread.start()
    thread.join(PATIENCE)
    (answer,) = answers
    record = read_record(answer)
    assert record.status == "failed"
    assert record.error.rstrip().endswith(f"{kind}: of the user")
    assert record.belongs_to(trial)


def test_a_long_error_is_not_stored_whole(tmp_path: Path) -> None:
    text = RAISES.format(kind="ValueError").replace('"of the user"', '"b" + 10**6 * "x" + "e"')
    module = write_module(tmp_path, text)
    study = parse_study(STUDY.replace("onemax", f"{module}:Own"), "raises.toml", tmp_path)
    record = read_record(execute(study.cases[0].trials(8)[0].spec, str(tmp_path)))
    assert record.error.startswith("Traceback")
    assert record.error.rstrip().endswith("xe")
    assert "characters are left out" in record.error
    assert len(record.error) < MAX_ERROR_CHARACTERS + 100
