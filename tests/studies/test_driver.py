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


class Faulty(Serial):
    """Interrupts the driver at a job, loses every second one, or is gone at all of them."""

    def __init__(self, fault: str, at: int = 0) -> None:
        super().__init__()
        self.fault, self.at, self.count = fault, at, 0

    def wait(self, seconds: float) -> list[tuple[Job, Answer]]:
        self.count += 1
        if self.fault == "interrupted" and self.count == self.at:
            os.kill(os.getpid(), signal.SIGINT)
        lost = self.fault == "losing" and self.count % 2
        error = EngineLost("gone") if self.fault == "gone" else CancelledError() if lost else None
        return [(job, error or answer) for job, answer in super().wait(seconds)]


def test_an_interrupted_study_continues_without_running_anything_again(
    study: Study, serial: list[dict[str, Any]], tmp_path: Path
) -> None:
    total = 0
    for left in (1, 3, 7):
        with Store.create(tmp_path / "s.db") as store:
            driver = Driver(study, store)
            assert driver.reused == total
            with pytest.raises(Stopped):
                driver.run(Faulty("interrupted", left))
            assert driver.ran == left
            total += left
    assert without_times(study.run(tmp_path / "s.db", "serial").rows) == serial


def test_a_job_that_was_lost_is_submitted_again(
    study: Study, serial: list[dict[str, Any]], tmp_path: Path
) -> None:
    with Store.create(tmp_path / "s.db") as store:
        driver = Driver(study, store)
        driver.run(Faulty("losing"))
        assert without_times(summarize(driver.walks)) == serial


def test_an_engine_that_is_gone_ends_the_study(study: Study, tmp_path: Path) -> None:
    with Store.create(tmp_path / "s.db") as store, pytest.raises(EngineLost, match="gone"):
        Driver(study, store).run(Faulty("gone"))


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
    ("optimum", "body", "reason"),
    [
        ("16.0", "pass", "ValueError: fitness 18 exceeds the optimum 16, the largest possible fit"),
        ("18.0", "raise RuntimeError('broken')", "RuntimeError: broken"),
    ],
    ids=["wrong optimum", "raises"],
)
def test_a_run_that_fails_ends_its_row_and_may_be_retried(
    optimum: str, body: str, reason: str, tmp_path: Path
) -> None:
    code = OWN_ONEMAX.replace("optimum = None", f"optimum = {optimum}")
    code = code.replace("return bits", f"{body}\n        return 3 * bits")
    text = OWN.replace("MODULE", write_module(tmp_path, code))
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


def finish(engine: Engine, spec: str, folder: Path | None = None) -> Answer:
    """Return the answer of an engine to a job."""
    engine.submit(Job(spec, None if folder is None else str(folder)))
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        for _, answer in engine.wait(0.2):
            return answer
    pytest.fail("waited in vain")


def find_spec(body: str, folder: Path) -> str:
    """Return the first trial of a problem that does this when it is called."""
    name = write_module(folder, OWN_ONEMAX.replace("return bits", f"{body}\n        return bits"))
    text = OWN.replace("MODULE", name) + "[grid]\npopulations = [8]\n"
    (case,) = parse_study(f"{text}[stop]\nmax_generations = 1\n", "s.toml", folder).cases
    return case.trials(8)[0].spec


DEADLY = """
        import os
        from pathlib import Path
        diary = Path(__file__).with_suffix(".diary")
        with diary.open("a") as file:
            file.write("x")
        if diary.stat().st_size <= TIMES:
            os._exit(9)"""


@pytest.mark.slow
@pytest.mark.parametrize(("times", "message"), [(2, ""), (9, "died 3 times, the last time with")])
def test_a_trial_whose_worker_dies_is_run_again(
    one: Processes, times: int, message: str, tmp_path: Path
) -> None:
    spec = find_spec(DEADLY.replace("TIMES", str(times)), tmp_path)
    answer = finish(one, spec, tmp_path)
    if message:
        assert isinstance(answer, WorkerDied)
        assert message in str(answer)
    else:
        assert isinstance(answer, bytes)
        assert read_record(answer).status == "done"
    assert isinstance(finish(one, make_trial().spec), bytes)  # the worker was replaced


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
        with get_context("spawn").Pool(1) as pool:
            pool.map(abs, [-1])"""


@pytest.mark.slow
def test_a_problem_may_use_multiprocessing(one: Processes, tmp_path: Path) -> None:
    answer = finish(one, find_spec(FORKING, tmp_path), tmp_path)
    assert isinstance(answer, bytes)
    assert read_record(answer).status == "done"
