import threading
import warnings
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from harmonium import EvaluationError
from harmonium.arrays import Bits
from harmonium.runs.calling import count_workers
from harmonium.runs.function import FunctionEvaluator
from tests.functions import Inline, Lost, weigh
from tests.runs.broken import LENGTH, ROWS, break_at

quiet = pytest.mark.filterwarnings("ignore:an evaluation takes:RuntimeWarning")


@quiet
@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("workers", [1, 2, 3, 50])
def test_threads_give_the_same_answers_in_the_same_order(workers: int, batch: bool) -> None:
    names: set[str] = set()

    def function(bits: Bits) -> Any:
        names.add(threading.current_thread().name)
        return bits @ 2.0 ** np.arange(LENGTH)

    alone = FunctionEvaluator(function, LENGTH, batch=batch)(ROWS)
    names.clear()
    with ThreadPoolExecutor(workers, thread_name_prefix="ours") as executor:
        evaluator = FunctionEvaluator(function, LENGTH, batch=batch, executor=executor)
        np.testing.assert_array_equal(evaluator(ROWS), alone)
        np.testing.assert_array_equal(evaluator(ROWS[::-1]), alone[::-1])
    assert all(name.startswith("ours") for name in names)
    assert evaluator.calls == 20


class Wrong(Inline):
    """Has another answer than that of the call."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        return self.answer


def failed(error: BaseException) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_exception(error)
    return future


def arrived(answer: Any) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(answer)
    return future


@quiet
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "submit returned None; expected a future"),
        ((0.1, [1.0]), "submit returned (0.1, [1.0]); expected a future"),
        (failed(SystemExit(3)), "a future raised SystemExit: 3"),
        (failed(GeneratorExit()), "a future raised GeneratorExit: "),
        (arrived(None), "a future has None, which its call did not return"),
        (arrived(1.5), "a future has 1.5, which its call did not return"),
        (arrived("ab"), "a future has 'ab', which its call did not return"),
        (arrived((0.1, [])), "a future has (0.1, []), which its call did not return"),
        (
            arrived((0.1, np.float64(1))),
            "a future has (0.1, np.float64(1.0)), which its call did not return",
        ),
    ],
)
def test_an_answer_that_is_none_is_refused_in_one_line(answer: Any, words: str) -> None:
    evaluator = FunctionEvaluator(weigh, LENGTH, executor=Wrong(answer))
    with pytest.raises(EvaluationError) as caught:
        evaluator(ROWS)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"the executor failed: {words}")


@pytest.fixture(scope="module")
def processes() -> Any:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        yield executor


@quiet
def test_processes_give_the_same_answers(processes: ProcessPoolExecutor) -> None:
    evaluator = FunctionEvaluator(weigh, LENGTH, executor=processes)
    np.testing.assert_array_equal(evaluator(ROWS), [weigh(row) for row in ROWS])


def fail_for_some(row: NDArray[Any]) -> float:
    if row[0] and row[1]:
        raise RuntimeError("both")
    return weigh(row)


@quiet
def test_failures_are_sent_between_processes(processes: ProcessPoolExecutor) -> None:
    failing = int(np.flatnonzero(ROWS[:, 0] & ROWS[:, 1])[0])
    with pytest.raises(EvaluationError) as caught:
        FunctionEvaluator(fail_for_some, LENGTH, executor=processes)(ROWS)
    assert "raised RuntimeError: both, test_executors.py line " in str(caught.value)
    assert f"(row {failing} of 20, the bits " in str(caught.value)
    # The exception stays behind, where it was raised is a note.
    assert caught.value.__cause__ is None
    [note] = caught.value.__notes__
    assert note.startswith("Traceback")
    assert "in fail_for_some" in note
    lenient = FunctionEvaluator(fail_for_some, LENGTH, executor=processes, on_error="worst")
    assert np.isfinite(lenient(ROWS)).all()
    assert lenient.failures == (ROWS[:, 0] & ROWS[:, 1]).sum()


class Locked(Exception):
    """Cannot be pickled."""

    def __init__(self) -> None:
        super().__init__("locked")
        self.lock = threading.Lock()


def raise_locked(bits: Bits) -> float:
    raise Locked


@quiet
@pytest.mark.parametrize("batch", [False, True])
def test_an_exception_that_cannot_be_pickled_is_named(
    batch: bool, processes: ProcessPoolExecutor
) -> None:
    with pytest.raises(EvaluationError, match="the function raised Locked: locked, ") as caught:
        FunctionEvaluator(raise_locked, LENGTH, batch=batch, executor=processes)(ROWS)
    assert "in raise_locked" in caught.value.__notes__[0]


@quiet
def test_an_exception_raised_in_a_thread_is_the_cause() -> None:
    error = RuntimeError("no licence")
    with ThreadPoolExecutor(2) as threads, pytest.raises(EvaluationError) as caught:
        FunctionEvaluator(break_at(7, error), LENGTH, executor=threads)(ROWS)
    assert caught.value.__cause__ is error


def test_a_function_that_cannot_be_pickled_is_named(processes: ProcessPoolExecutor) -> None:
    with pytest.raises(
        EvaluationError, match=r"the executor failed: .*must be importable, not a lambda"
    ):
        FunctionEvaluator(lambda row: 1.0, LENGTH, executor=processes)(ROWS)


def test_an_executor_that_fails_is_named() -> None:
    executor = Lost(after=2)
    evaluator = FunctionEvaluator(weigh, LENGTH, executor=executor)
    message = "the executor failed: ConnectionError: nobody is there"
    with pytest.raises(EvaluationError, match=message):
        evaluator(ROWS)
    executor = ThreadPoolExecutor(1)  # type: ignore[assignment]
    executor.shutdown()
    with pytest.raises(EvaluationError, match="the executor failed: RuntimeError: cannot schedule"):
        FunctionEvaluator(weigh, LENGTH, executor=executor)(ROWS)


def test_waiting_calls_are_cancelled_when_a_row_fails() -> None:
    class Idle(Inline):
        """Does the first, and leaves the others waiting."""

        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            if not self.futures:
                return super().submit(fn, *args, **kwargs)
            self.futures.append(Future())
            return self.futures[-1]

    executor = Idle()
    evaluator = FunctionEvaluator(lambda bits: bits, LENGTH, batch=True, executor=executor)
    with pytest.raises(EvaluationError, match="returned an array of shape"):
        evaluator(ROWS)
    assert len(executor.futures) > 1
    assert all(future.cancelled() for future in executor.futures[1:])


@pytest.mark.parametrize(
    ("rows", "elapsed", "warned"),
    [(50, 1.5, True), (50, 1.49, False), (49, 9.0, False), (1000, 1.6, True), (1000, 0.5, False)],
)
def test_an_executor_slower_than_the_function_is_reported_once(
    rows: int, elapsed: float, warned: bool
) -> None:
    evaluator = FunctionEvaluator(weigh, LENGTH, executor=Inline())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evaluator._judge_executor(elapsed, 1.0, rows)
    assert len(caught) == warned
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        evaluator._judge_executor(99.0, 1.0, 50)
        evaluator._judge_executor(99.0, 1.0, 50)
    assert len(caught) == (not warned)


def test_the_warning_compares_the_times() -> None:
    evaluator = FunctionEvaluator(weigh, LENGTH, executor=Inline())
    message = (
        "an evaluation takes 10 µs, but 1000 µs through the executor; "
        "without it the search would be faster"
    )
    with pytest.warns(RuntimeWarning, match=message):
        evaluator._judge_executor(0.1, 0.001, 100)


def test_without_an_executor_there_is_no_warning() -> None:
    FunctionEvaluator(weigh, LENGTH)._judge_executor(100.0, 1.0, 1000)


class LostClient:
    def nthreads(self) -> dict[str, int]:
        raise OSError("the scheduler is gone")


def test_workers_of_an_executor_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 7)
    with ThreadPoolExecutor(3) as threads:
        assert count_workers(threads) == 3
    silent = Inline()
    assert count_workers(silent) == 7
    monkeypatch.setattr(silent, "_client", LostClient(), raising=False)
    assert count_workers(silent) == 7


@pytest.mark.slow
def test_threads_of_a_dask_cluster_are_counted() -> None:
    distributed = pytest.importorskip("distributed")
    local = {"processes": False, "dashboard_address": None, "silence_logs": 50}
    with distributed.Client(n_workers=2, threads_per_worker=3, **local) as client:
        assert count_workers(client.get_executor()) == 6
