import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import harmonium as hm
from harmonium.bits import Bits
from harmonium.optimize import CheckpointError, optimization
from harmonium.search import AnySearch
from harmonium.search.snapshot import Snapshot
from tests.optimize.executors import Calls, weigh

MAGIC = b"harmonium checkpoint 1\n"

SNAPSHOT = Snapshot(
    {"count": 3, "share": 0.1, "name": "é", "none": None, "list": [1, {"deep": 1e-300}]},
    {
        "bits": np.array([[0, 1], [1, 1]], dtype=np.uint8),
        "fitness": np.array([np.nan, -np.inf, 0.1]),
        "index": np.array([2, 0], dtype=np.intp),
        "number": np.array(np.inf),
        "empty": np.empty((0, 7), dtype=np.uint8),
        "deep/inside/bits": np.arange(3.0),
    },
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.ckpt"


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a real checkpoint, a small one."""
    path = tmp_path_factory.mktemp("content") / "run.ckpt"
    hm.maximize(weigh, 8, model="umda", population=8, seed=1, checkpoint=path, max_evaluations=40)
    return path.read_bytes()


def sign(content: bytes) -> bytes:
    """Return the file of which this is the content."""
    return MAGIC + hashlib.sha256(content).hexdigest().encode() + b"\n" + content


def test_what_is_loaded_is_what_was_saved(path: Path) -> None:
    SNAPSHOT.save(path)
    loaded = Snapshot.load(path)
    assert loaded.facts == SNAPSHOT.facts
    assert set(loaded.arrays) == set(SNAPSHOT.arrays)
    for name, array in SNAPSHOT.arrays.items():
        assert loaded.arrays[name].dtype == array.dtype
        assert loaded.arrays[name].shape == array.shape
        np.testing.assert_array_equal(loaded.arrays[name], array)


def test_a_checkpoint_replaces_the_one_before(path: Path) -> None:
    SNAPSHOT.save(path)
    Snapshot({"count": 4}, {}).save(path)
    assert Snapshot.load(path).facts == {"count": 4}
    assert [file.name for file in path.parent.iterdir()] == ["run.ckpt"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_save_that_fails_leaves_the_file_before(
    step: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    SNAPSHOT.save(path)

    def fail(*_: Any) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(os if step == "fsync" else Path, step, fail)
        with pytest.raises(OSError, match="no space left"):
            Snapshot({"count": 4}, {}).save(path)
    assert Snapshot.load(path).facts == SNAPSHOT.facts
    # What an earlier process left half written is no hindrance.
    path.with_name("run.ckpt.part").write_bytes(b"half")
    Snapshot({"count": 5}, {}).save(path)
    assert Snapshot.load(path).facts == {"count": 5}


def test_objects_are_never_written(path: Path) -> None:
    with pytest.raises(ValueError, match="allow_pickle"):
        Snapshot({}, {"objects": np.array([print], dtype=object)}).save(path)
    assert not path.exists()


def test_objects_are_never_read(path: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap.npz"
    np.savez(trap, facts=np.array([print], dtype=object))
    path.write_bytes(sign(trap.read_bytes()))
    with pytest.raises(CheckpointError, match="is damaged: Object arrays cannot be loaded"):
        Snapshot.load(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "is no checkpoint of harmonium"),
        (b"\n", "is no checkpoint of harmonium"),
        (b"SQLite format 3\x00" + bytes(100), "is no checkpoint of harmonium"),
        (b"PK\x03\x04" + bytes(100), "is no checkpoint of harmonium"),
        (MAGIC[:-2], "is a 'harmonium checkpoint '; this harmonium reads version 1"),
        (
            b"harmonium checkpoint 2\nwhatever",
            "is a 'harmonium checkpoint 2'; this harmonium reads version 1",
        ),
        (b"harmonium checkpoint \xff\xfe", "this harmonium reads version 1"),
        (MAGIC, "is damaged: its checksum does not fit"),
        (MAGIC + b"\n\n", "is damaged: its checksum does not fit"),
        (sign(b""), "is damaged: "),
        (sign(b"hello"), "is damaged: "),
        (sign(b"\x93NUMPY"), "is damaged: "),
    ],
)
def test_a_foreign_or_damaged_file_is_refused_in_a_line(
    text: bytes, message: str, path: Path
) -> None:
    path.write_bytes(text)
    for read in (Snapshot.load, lambda file: hm.resume(file, weigh)):
        with pytest.raises(CheckpointError) as caught:
            read(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_named(path: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"run\.ckpt: cannot be read: No such file"):
        hm.resume(path, weigh)
    with pytest.raises(CheckpointError, match="cannot be read: Is a directory"):
        hm.resume(tmp_path, weigh)


def test_an_array_file_is_no_checkpoint(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.npy"
    np.save(other, np.arange(3))
    path.write_bytes(sign(other.read_bytes()))
    with pytest.raises(CheckpointError, match="is damaged"):
        Snapshot.load(path)


def test_every_truncated_file_is_refused(content: bytes, path: Path) -> None:
    for length in [*range(120), *range(120, len(content), 97), len(content) - 1]:
        path.write_bytes(content[:length])
        with pytest.raises(CheckpointError):
            Snapshot.load(path)


def test_every_flipped_byte_is_noticed(content: bytes, path: Path) -> None:
    for place in [*range(120), *range(120, len(content), 97)]:
        flipped = bytearray(content)
        flipped[place] ^= 0x20
        path.write_bytes(flipped)
        with pytest.raises(CheckpointError):
            Snapshot.load(path)


fuzzed = settings(max_examples=200)


def load_bytes(tmp_path_factory: pytest.TempPathFactory, text: bytes) -> None:
    """Load a file with these bytes; all that may be raised is a CheckpointError of one line."""
    path = tmp_path_factory.getbasetemp() / "fuzzed.ckpt"
    path.write_bytes(text)
    try:
        snapshot = Snapshot.load(path)
    except CheckpointError as error:
        assert str(error).startswith(f"{path}: ")  # noqa: PT017
        return
    assert isinstance(snapshot, Snapshot)


@given(text=st.binary(max_size=300), begin=st.sampled_from([b"", MAGIC[:-2], MAGIC]))
@fuzzed
def test_random_bytes_are_refused(
    tmp_path_factory: pytest.TempPathFactory, text: bytes, begin: bytes
) -> None:
    load_bytes(tmp_path_factory, begin + text)
    load_bytes(tmp_path_factory, sign(text))


@given(st.data())
@fuzzed
def test_changed_bytes_under_a_fitting_checksum_are_refused_or_read(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, data: st.DataObject
) -> None:
    changed = bytearray(content.split(b"\n", 2)[2])
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(changed) - 1))
        stop = start + data.draw(st.integers(0, 8))
        changed[start:stop] = data.draw(st.binary(max_size=8))
    load_bytes(tmp_path_factory, sign(bytes(changed)))


def test_a_checkpoint_that_lacks_something_is_refused(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    whole = Snapshot.load(path)
    inner = whole.facts["search"]
    assert inner
    for facts, name in [(whole.facts, name) for name in whole.facts] + [
        (inner, name) for name in inner
    ]:
        value = facts.pop(name)
        whole.save(path)
        if name not in ("fitted", "ended"):  # UMDA needs nothing of its last fit
            with pytest.raises(CheckpointError, match="does not fit this version of harmonium"):
                hm.resume(path, weigh)
        facts[name] = value
    optional = {"search/best_bits", "search/bits", "search/fitness", "search/parents"}
    for name in set(whole.arrays) - optional:
        array = whole.arrays.pop(name)
        whole.save(path)
        with pytest.raises(CheckpointError, match="does not fit this version of harmonium"):
            hm.resume(path, weigh)
        whole.arrays[name] = array


# Going on: the result is that of the undisturbed run.


def compare(result: hm.Optimum, expected: hm.Optimum) -> None:
    np.testing.assert_array_equal(result.x, expected.x)
    plain, wanted = result.to_dict(), expected.to_dict()
    for timed in ("seconds", "cpu_seconds", "why"):
        del plain[timed], wanted[timed]
    assert plain == wanted
    assert result.trace == expected.trace


class Fragile:
    """A function that is interrupted again and again."""

    def __init__(self, function: Any, seed: int) -> None:
        self.function = function
        self.rng = np.random.default_rng(seed)
        self.left = 130
        self.interrupts = 0

    def __call__(self, bits: Bits) -> Any:
        self.left -= 1
        if self.left < 0:
            self.left = int(self.rng.choice([10, 30, 50, 250]))
            self.interrupts += 1
            raise KeyboardInterrupt
        return self.function(bits)


def fail_sometimes(row: NDArray[Any]) -> float:
    return float("nan") if row[:3].all() else weigh(row)


WAYS: dict[str, dict[str, Any]] = {
    "boa": {"model": "boa"},
    "rbm": {"model": "rbm"},
    "rbm alone": {"model": "rbm", "population": 60},
    "boa alone": {"model": "boa", "population": 60},
    "umda alone": {"model": "umda", "population": 100},
    "paper": {"model": "rbm-paper", "max_evaluations": 800},
    "auto": {},
    "without a cache": {"model": "umda", "cache": False},
    "constraints": {"model": "umda", "fixed": {2: 1, -1: 0}, "subset_size": (3, 5)},
    "initial": {"model": "umda", "initial": np.eye(20, dtype=np.uint8)},
    "initial alone": {"model": "umda", "initial": np.eye(20, dtype=np.uint8), "population": 40},
    "target": {"model": "umda", "target": 61.6},
    "patience": {"model": "umda", "patience": 0.05},
    "a long seed": {"model": "umda", "seed": 2**80},
}


@pytest.mark.parametrize("name", WAYS)
def test_a_run_interrupted_again_and_again_ends_as_if_nothing_had_happened(
    name: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(optimization, "SAVE_SHARE", np.inf)  # save after every generation
    options = {"seed": 3, "max_evaluations": 1500} | WAYS[name]
    expected = hm.maximize(weigh, 20, **options)
    if name == "auto":  # what was chosen depends on time
        options["model"] = expected.model
    function = Fragile(weigh, seed=1)
    result = hm.maximize(function, 20, checkpoint=path, **options)
    while result.stopped_by == "interrupted":
        assert result.message == "interrupted; this is the best found so far"
        result = hm.resume(path, function)
    assert function.interrupts >= 2
    compare(result, expected)


@pytest.mark.parametrize("batch", [False, True])
def test_failures_and_signs_are_kept(
    batch: bool, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(optimization, "SAVE_SHARE", np.inf)

    def function(bits: Bits) -> Any:
        return np.array([fail_sometimes(row) for row in bits]) if batch else fail_sometimes(bits)

    options: dict[str, Any] = {
        **{"seed": 3, "max_evaluations": 1500, "model": "umda", "batch": batch},
        **{"on_error": "worst", "target": -1.0},
    }
    expected = hm.minimize(function, 12, **options)
    assert expected.failures > 0
    fragile = Fragile(function, seed=1)
    fragile.left = 4 if batch else 130
    result = hm.minimize(fragile, 12, checkpoint=path, **options)
    while result.stopped_by == "interrupted":
        result = hm.resume(path, fragile)
    compare(result, expected)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"target": 20.0}, "optimum"),
        ({"max_evaluations": 300}, "evaluations"),
        ({"patience": 0.05}, "stagnation"),
        ({"population": 60}, "converged"),
        ({"max_seconds": 0.02}, "wall-time"),
        ({"subset_size": 2}, "exhausted"),
    ],
)
def test_a_run_that_has_ended_is_not_gone_on_with(
    options: dict[str, Any], reason: str, path: Path
) -> None:
    expected = hm.maximize(weigh, 12, model="umda", seed=1, checkpoint=path, **options)
    assert expected.stopped_by == reason
    rows: list[Any] = []

    def function(row: NDArray[Any]) -> float:
        rows.append(row)
        return weigh(row)

    compare(hm.resume(path, function), expected)
    # It was called once, whether it is the same function; that is not counted.
    np.testing.assert_array_equal(rows, [expected.x])


def test_a_run_ended_by_its_callback_goes_on_without_it(path: Path) -> None:
    whole = hm.maximize(weigh, 12, model="umda", seed=1, max_evaluations=500)
    part = hm.maximize(
        weigh,
        12,
        model="umda",
        seed=1,
        max_evaluations=500,
        checkpoint=path,
        callback=lambda search: search.generation >= 4,
    )
    assert (part.stopped_by, part.generations) == ("callback", 4)
    more = hm.resume(path, weigh, callback=lambda search: search.generation >= 6)
    assert (more.stopped_by, more.generations) == ("callback", 6)
    compare(hm.resume(path, weigh), whole)


def test_time_on_the_clock_goes_on(path: Path) -> None:
    ended = hm.maximize(weigh, 12, model="umda", seed=1, max_evaluations=500, checkpoint=path)
    again = hm.resume(path, weigh)
    assert again.seconds >= ended.seconds > 0


def test_saving_takes_a_small_share_of_the_time(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    saves: list[int] = []

    def count(self: optimization.Optimization, file: Path, reason: str | None) -> None:
        saves.append(self.search.generation)
        now[0] += 0.5

    def call_back(search: AnySearch) -> bool:
        now[0] += 1.0
        return search.generation == 35

    monkeypatch.setattr(optimization.Optimization, "_save", count)
    monkeypatch.setattr("harmonium.optimize.optimization.time.perf_counter", lambda: now[0])
    hm.maximize(weigh, 30, model="umda", seed=1, checkpoint=path, callback=call_back)
    # At first and at the end; half a second for each ten in between, of a second a generation.
    assert saves == [1, 11, 21, 31, 35]


@pytest.mark.parametrize("where", ["", "nowhere/run.ckpt"])
def test_a_place_where_nothing_can_be_saved_is_refused_before_anything_is_called(
    where: str, tmp_path: Path
) -> None:
    function = Calls()
    with pytest.raises(FileNotFoundError, match="expected a file"):
        hm.maximize(function, 12, checkpoint=tmp_path / where)
    assert function.rows == []


# Other limits, other functions.


@pytest.fixture
def stopped(path: Path) -> Path:
    """A search of 12 bits that its callback stopped after four generations."""
    hm.maximize(
        weigh,
        12,
        model="umda",
        seed=1,
        max_evaluations=400,
        checkpoint=path,
        callback=lambda search: search.generation == 4,
    )
    return path


TOP = weigh(np.ones(12, dtype=np.uint8))


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({}, "evaluations"),
        ({"max_evaluations": 300}, "evaluations"),
        ({"max_evaluations": 500}, "evaluations"),
        ({"max_evaluations": 5e2}, "evaluations"),
        ({"target": TOP - 1.2}, "optimum"),
        ({"target": TOP, "max_evaluations": 4000}, "optimum"),
        ({"patience": 0.01}, "stagnation"),
    ],
    ids=str,
)
def test_new_limits_take_the_place_of_the_old(
    limits: dict[str, Any], reason: str, stopped: Path
) -> None:
    # As if they had been asked for at first.
    options: dict[str, Any] = {"max_evaluations": 400, **limits}
    expected = hm.maximize(weigh, 12, model="umda", seed=1, **options)
    assert expected.stopped_by == reason
    compare(hm.resume(stopped, weigh, **limits), expected)


def test_a_search_that_has_ended_goes_on_with_a_larger_budget(path: Path) -> None:
    options: dict[str, Any] = {"model": "umda", "seed": 1}
    hm.maximize(weigh, 12, max_evaluations=100, checkpoint=path, **options)
    more = hm.resume(path, weigh, max_evaluations=500)
    assert (more.nfev, more.stopped_by) == (500, "evaluations")
    # The last generation of the first run was cut, and is completed.
    assert hm.resume(path, weigh).nfev == 500


def test_new_limits_are_kept_for_the_next_time(stopped: Path) -> None:
    hm.resume(stopped, weigh, max_evaluations=600, callback=lambda search: search.generation == 6)
    assert hm.resume(stopped, weigh).nfev == 600


def test_seconds_are_counted_from_the_very_beginning(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("harmonium.optimize.optimization.time.perf_counter", lambda: now[0])

    def function(row: NDArray[Any]) -> float:
        now[0] += 1.0
        return weigh(row)

    hm.maximize(function, 12, model="umda", seed=1, max_seconds=60, checkpoint=path)
    more = hm.resume(path, function, max_seconds=100)
    assert (more.nfev, more.seconds, more.stopped_by) == (100, 100.0, "wall-time")
    assert hm.resume(path, function, max_seconds=50).nfev == 100


def test_a_target_of_a_minimum_may_be_replaced(path: Path) -> None:
    options: dict[str, Any] = {"model": "umda", "seed": 1, "checkpoint": path}
    hm.minimize(weigh, 12, target=8.0, **options)
    result = hm.resume(path, weigh, target=0.0)
    assert (result.fun, result.stopped_by) == (0.0, "optimum")


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"max_evaluations": 0}, "max_evaluations is 0; expected a whole number above 0"),
        ({"max_evaluations": "9"}, "max_evaluations is '9'; expected a whole number above 0"),
        ({"target": "high"}, "target is 'high'; expected a finite number"),
        ({"max_seconds": 0}, "max_seconds is 0; expected a number above 0"),
        ({"patience": -1}, "patience is -1; expected a number above 0"),
    ],
    ids=str,
)
def test_wrong_limits_are_refused(limits: dict[str, Any], message: str, stopped: Path) -> None:
    before = stopped.read_bytes()
    with pytest.raises(ValueError, match=f"^{message}$"):
        hm.resume(stopped, weigh, **limits)
    assert stopped.read_bytes() == before


def test_what_is_wrong_is_refused_before_anything_is_called(stopped: Path) -> None:
    def function(row: NDArray[Any]) -> float:
        calls.append(row)
        return weigh(row)

    calls: list[Any] = []
    nowhere = stopped.parent / "nowhere" / "run.jsonl"
    wrong: tuple[dict[str, Any], ...] = ({"target": "high"}, {"patience": 0}, {"log": nowhere})
    for options in wrong:
        with pytest.raises((ValueError, FileNotFoundError)):
            hm.resume(stopped, function, **options)
        assert calls == []


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_another_function_is_refused(sign: float, batch: bool, path: Path) -> None:
    def function(bits: NDArray[Any]) -> Any:
        return bits @ np.sqrt(np.arange(1, 13))

    optimize: Any = hm.maximize if sign > 0 else hm.minimize
    result = optimize(
        function, 12, model="umda", seed=1, batch=batch, max_evaluations=100, checkpoint=path
    )
    before = path.read_bytes()
    with pytest.raises(CheckpointError) as caught:
        hm.resume(path, lambda bits: function(bits) + 1.0)
    assert str(caught.value) == (
        f"the function gives {result.fun + 1:g} for the best bits so far, the checkpoint says "
        f"{result.fun:g}; resume with the function it was made with, a noisy one with cache=False"
    )
    assert path.read_bytes() == before
    # What rounding does is no difference.
    compare(hm.resume(path, lambda bits: function(bits) * (1 + 1e-9)), result)


def test_a_function_that_is_never_the_same_may_do_without_a_cache(path: Path) -> None:
    rng = np.random.default_rng(1)
    rows: list[Any] = []

    def function(row: NDArray[Any]) -> float:
        rows.append(row)
        return weigh(row) + rng.normal()

    hm.maximize(
        function, 12, model="umda", seed=1, cache=False, max_evaluations=100, checkpoint=path
    )
    result = hm.resume(path, function, max_evaluations=300)
    assert result.nfev == len(rows) == 300


@pytest.mark.parametrize("answer", [None, np.nan, RuntimeError("no licence")], ids=repr)
def test_a_function_that_fails_for_the_best_is_let_through(answer: Any, stopped: Path) -> None:
    first = True

    def function(row: NDArray[Any]) -> Any:
        nonlocal first
        if not first:
            return weigh(row)
        first = False
        if isinstance(answer, Exception):
            raise answer
        return answer

    expected = hm.maximize(weigh, 12, model="umda", seed=1, max_evaluations=400)
    compare(hm.resume(stopped, function), expected)


def test_ctrl_c_while_the_function_is_checked_returns_the_best_so_far(stopped: Path) -> None:
    def function(row: NDArray[Any]) -> float:
        raise KeyboardInterrupt

    try:
        result = hm.resume(stopped, function)
    except KeyboardInterrupt:  # would end all tests
        pytest.fail("the best so far is lost")
    assert (result.stopped_by, result.generations) == ("interrupted", 4)


def test_swapped_arguments_are_refused(stopped: Path) -> None:
    swapped: Any = hm.resume
    with pytest.raises(TypeError, match=r"; expected resume\(path, function\)$"):
        swapped(weigh, stopped)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"callback": 5}, "callback is 5; expected a function of the search"),
        ({"executor": ThreadPoolExecutor}, "expected a concurrent.futures.Executor, opened"),
    ],
    ids=["callback", "executor"],
)
def test_wrong_hooks_are_refused(options: dict[str, Any], message: str, stopped: Path) -> None:
    with pytest.raises(TypeError, match=message):
        hm.resume(stopped, weigh, **options)


# Files that are there already.


def test_a_file_that_is_no_checkpoint_is_not_written_over(path: Path) -> None:
    function = Calls()
    for text in (b"", b"my thesis", MAGIC + b"damaged"):
        path.write_bytes(text)
        with pytest.raises(FileExistsError, match="; name another file for the checkpoint") as got:
            hm.maximize(function, 12, checkpoint=path)
        assert str(got.value).startswith(f"{path}: is ")
        assert path.read_bytes() == text
    assert function.rows == []


def test_a_search_that_has_not_ended_is_not_written_over(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(optimization, "SAVE_SHARE", np.inf)
    options: dict[str, Any] = {"model": "umda", "seed": 1, "max_evaluations": 300}
    hm.maximize(Fragile(weigh, seed=1), 12, checkpoint=path, **options)
    before = path.read_bytes()
    function = Calls()
    with pytest.raises(FileExistsError) as caught:
        hm.maximize(function, 12, checkpoint=path, **options)
    assert str(caught.value) == (
        f"{path}: holds a search that has not ended; harmonium.resume({str(path)!r}, function) "
        "goes on with it, or delete the file"
    )
    assert function.rows == []
    assert path.read_bytes() == before
    # When it has come to its end it may go.
    hm.resume(path, weigh)
    hm.minimize(weigh, 12, checkpoint=path, **options)
    assert hm.resume(path, weigh).fun < 10


def test_a_search_that_has_ended_is_written_over(stopped: Path) -> None:
    result = hm.maximize(weigh, 15, model="umda", seed=1, max_evaluations=90, checkpoint=stopped)
    compare(hm.resume(stopped, weigh), result)
