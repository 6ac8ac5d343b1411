"""Engines and the driver: the same tables whatever runs, dies or is interrupted."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from pathlib import Path
from typing import Any

import pytest

from harmonium.analysis.findings import Row
from harmonium.analysis.tables import list_rows
from harmonium.problems import nk
from harmonium.specs import SpecError
from harmonium.studies import Stopped, Store, Study, parse_study, read_study
from harmonium.studies.driver import Driver, drive
from harmonium.studies.engines import (
    Answer,
    Engine,
    EngineLost,
    Job,
    Processes,
    Serial,
    WorkerDied,
    count_cores,
    open_engine,
)
from harmonium.studies.summary import summarize
from harmonium.studies.trial import Outcome, read_record
from tests.modules import write_module
from tests.studies.made import OWN_ONEMAX, make_trial

STUDY = """
name = "drives"
models = ["umda", "boa"]
[bisect]
start = 8
[[problems]]
problem = "onemax"
sizes = [6, 10]
runs = 4
models = ["umda"]
[[problems]]
problem = "trap:order=4"
sizes = [12]
runs = 3
"""


def without_times(rows: list[Row]) -> list[dict[str, Any]]:
    return [
        {name: row[name] for name in row if not name.startswith("cpu_") and "memory" not in name}
        for row in list_rows(rows)
    ]


@pytest.fixture(scope="module")
def study() -> Study:
    return parse_study(STUDY, "drives.toml")


@pytest.fixture(scope="module")
def serial(study: Study, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    path = tmp_path_factory.mktemp("serial") / "serial.db"
    return without_times(study.run(path, "serial").rows)


@pytest.mark.slow
def test_two_workers_give_the_tables_of_one_process(
    study: Study, serial: list[dict[str, Any]], tmp_path: Path
) -> None:
    begun: list[Driver] = []
    walks = drive(study, tmp_path / "s.db", "processes", 2, begin=begun.append, watch=begun.append)
    assert without_times(summarize(walks)) == serial
    assert begun[0].finished
    assert begun[0].ran > 10
    assert without_times(read_study(tmp_path / "s.db").rows) == serial


class Interrupted(Serial):
    """Interrupts the driver after some jobs."""

    def __init__(self, left: int) -> None:
        super().__init__()
        self.left = left

    def wait(self, seconds: float) -> list[tuple[Job, Answer]]:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGINT)
        return super().wait(seconds)


def test_an_interrupted_study_continues_without_running_anything_again(
    study: Study, serial: list[dict[str, Any]], tmp_path: Path
) -> None:
    total = 0
    for left in (1, 3, 7):
        with Store.create(tmp_path / "s.db") as store:
            driver = Driver(study, store)
            assert driver.reused == total
            with pytest.raises(Stopped):
                driver.run(Interrupted(left))
            assert driver.ran == left
            total += left
    result = study.run(tmp_path / "s.db", "serial")
    assert without_times(result.rows) == serial
    assert study.run(tmp_path / "s.db", "serial").rows[0].state == "done"


class Losing(Serial):
    """Loses every second job, as a Dask worker that leaves does."""

    count = 0

    def wait(self, seconds: float) -> list[tuple[Job, Answer]]:
        answers: list[tuple[Job, Answer]] = []
        for job, answer in super().wait(seconds):
            self.count += 1
            answers.append((job, CancelledError() if self.count % 2 else answer))
        return answers


def test_a_job_that_was_lost_is_submitted_again(
    study: Study, serial: list[dict[str, Any]], tmp_path: Path
) -> None:
    with Store.create(tmp_path / "s.db") as store:
        driver = Driver(study, store)
        driver.run(Losing())
        assert without_times(summarize(driver.walks)) == serial


class Gone(Serial):
    """Its scheduler ends."""

    def wait(self, seconds: float) -> list[tuple[Job, Answer]]:
        return [(job, EngineLost("gone")) for job, _ in super().wait(seconds)]


def test_an_engine_that_is_gone_ends_the_study(study: Study, tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db") as store, pytest.raises(EngineLost, match="gone"):
        Driver(study, store).run(Gone())


def carry_out(text: str, folder: Path) -> tuple[list[Row], list[Outcome]]:
    """Run a study in this process; return its rows and how its runs ended."""
    study = parse_study(text, "s.toml", folder)
    rows = study.run(folder / "s.db", "serial").rows
    with Store.open(folder / "s.db") as store:
        return rows, list(store.outcomes().values())


OWN = """
name = "own"
models = ["umda"]
[[problems]]
problem = "MODULE:Own"
sizes = [6]
runs = 2
"""


@pytest.mark.parametrize(
    ("optimum", "reason"),
    [
        ("16.0", "ValueError: fitness 18 exceeds the optimum 16, the largest possible fitness; "),
        ("raising", "RuntimeError: broken"),
    ],
)
def test_a_run_that_fails_ends_its_row_and_may_be_retried(
    optimum: str, reason: str, tmp_path: Path
) -> None:
    code = """
class Own:
    optimum = OPTIMUM

    def __init__(self, length):
        self.length = length

    def __call__(self, bits):
        BODY
        return 3 * bits.sum(axis=1)
"""
    raising = optimum == "raising"
    body = "raise RuntimeError('broken')" if raising else "pass"
    code = code.replace("BODY", body).replace("OPTIMUM", "18.0" if raising else optimum)
    name = write_module(tmp_path, code)
    text = OWN.replace("MODULE", name)
    (row,), outcomes = carry_out(text, tmp_path)
    assert row.state == "failed"
    assert row.reason.startswith(reason)
    assert outcomes[-1].error.startswith("Traceback")
    study = parse_study(text, "s.toml", tmp_path)
    for retry, expected in ((False, 0), (True, 1)):
        with Store.create(tmp_path / "s.db") as store:
            driver = Driver(study, store, retry_failed=retry)
            assert driver.finished is not retry
            driver.run(Serial())
            assert driver.ran == driver.failed == expected


def test_a_bisection_without_an_optimum_fails_and_a_grid_needs_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nk, "MAX_NODES", 3)
    text = OWN.replace("MODULE:Own", "nk:k=4,instance=78").replace("[6]", "[30]")
    (row,), _ = carry_out(text, tmp_path)
    assert row.state == "failed"
    assert "is not known, but a bisection needs one to tell what is solved" in row.reason
    (tmp_path / "s.db").unlink()
    (row,), _ = carry_out(text + "[grid]\npopulations = [16]\n", tmp_path)
    assert (row.state, row.solved, row.runs) == ("done", 0, 2)


def test_what_models_learned_is_stored_by_the_first_run_of_each_attempt(
    study: Study, tmp_path: Path
) -> None:
    result = study.run(tmp_path / "s.db", "serial")
    with Store.open(tmp_path / "s.db") as store:
        for walk in result.walks:
            assert walk.found is not None
            assert walk.found.measured is not None
            first, *others = walk.found.measured.trials
            known = store.learned(first.key)
            assert all(store.learned(other.key) is None for other in others)
            if walk.case.family == "onemax":
                assert str(known).startswith("each bit counts alone")
            elif walk.case.name == "boa":
                assert known is not None
                assert not isinstance(known, str)
                assert known.length == 12


def test_a_store_is_read_without_the_modules_of_the_user(tmp_path: Path) -> None:
    name = write_module(tmp_path, OWN_ONEMAX.replace("optimum = None", "optimum = 6.0"))
    before, _ = carry_out(OWN.replace("MODULE", name), tmp_path)
    (tmp_path / f"{name}.py").unlink()
    again = read_study(tmp_path / "s.db")
    assert without_times(again.rows) == without_times(before)
    assert again.to_frame("trials")["family"].unique().tolist() == [f"{name}:Own"]


@pytest.fixture
def one() -> Iterator[Processes]:
    """A single worker, ended with the test whatever it does."""
    opened = Processes(1)
    yield opened
    opened.stop()


def finish(engine: Engine) -> Answer:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for _, answer in engine.wait(0.2):
            return answer
    pytest.fail("waited in vain")


DEADLY = """
import os
from pathlib import Path

class Own:
    optimum = None

    def __init__(self, length, times):
        self.length, self.times = length, times

    def __call__(self, bits):
        diary = Path(__file__).with_suffix(".diary")
        with diary.open("a") as file:
            file.write("x")
        if diary.stat().st_size <= self.times:
            os._exit(9)
        return bits.sum(axis=1)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("times", "message"), [(2, ""), (9, "died 3 times, the last time with")])
def test_a_trial_whose_worker_dies_is_run_again(
    one: Processes, times: int, message: str, tmp_path: Path
) -> None:
    name = write_module(tmp_path, DEADLY)
    text = OWN.replace("MODULE:Own", f"{name}:Own:times={times}") + "[grid]\npopulations = [8]\n"
    (case,) = parse_study(text, "s.toml", tmp_path).cases
    one.submit(Job(case.trials(8)[0].spec, str(tmp_path)))
    answer = finish(one)
    if message:
        assert isinstance(answer, WorkerDied)
        assert message in str(answer)
    else:
        assert isinstance(answer, bytes)
        assert read_record(answer).status == "done"
    one.submit(Job(make_trial().spec, None))  # the worker was replaced
    assert isinstance(finish(one), bytes)


@pytest.mark.slow
def test_workers_end_with_their_engine() -> None:
    with open_engine("processes", 2, None) as engine:
        assert engine.slots() == 2
        assert engine.wait(0.0) == []
        workers = multiprocessing.active_children()
        assert len(workers) >= 2
    assert not any(worker.is_alive() for worker in workers)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("threads", None, None), "unknown engine 'threads'; known: serial, processes, dask"),
        (("serial", 2, None), "workers is 2; the engine serial has one"),
        (("serial", None, "tcp://x:1"), "scheduler is 'tcp://x:1'; only the engine dask has one"),
        (("dask", 2, "tcp://x:1"), "workers and scheduler are both given; a scheduler has its own"),
    ],
    ids=str,
)
def test_settings_that_do_not_go_together_are_refused(settings: Any, message: str) -> None:
    with pytest.raises(SpecError) as caught, open_engine(*settings):
        pass
    assert str(caught.value).startswith(message)
    assert count_cores() >= 1


def test_a_driver_runs_in_a_thread(study: Study, tmp_path: Path) -> None:
    rows: list[Row] = []
    path = tmp_path / "s.db"
    thread = threading.Thread(target=lambda: rows.extend(study.run(path, "serial").rows))
    thread.start()
    thread.join(60)
    assert {row.state for row in rows} == {"done"}


FORKING = """
from multiprocessing import get_context

class Own:
    optimum = 6.0

    def __init__(self, length):
        self.length = length

    def __call__(self, bits):
        with get_context("spawn").Pool(1) as pool:
            pool.map(abs, [-1])
        return bits.sum(axis=1)
"""


@pytest.mark.slow
def test_a_problem_may_use_multiprocessing(one: Processes, tmp_path: Path) -> None:
    name = write_module(tmp_path, FORKING)
    text = OWN.replace("MODULE", name) + "[grid]\npopulations = [8]\n[stop]\nmax_generations = 1\n"
    (case,) = parse_study(text, "s.toml", tmp_path).cases
    one.submit(Job(case.trials(8)[0].spec, str(tmp_path)))
    answer = finish(one)
    assert isinstance(answer, bytes)
    assert read_record(answer).status == "done"
