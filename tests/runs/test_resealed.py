"""Checkpoints with a valid checksum and damaged contents: refused in one line, or run."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import harmonium as hm
from harmonium.state import CheckpointError, Snapshot
from tests.functions import assert_same, weigh

LENGTH = 12

KNOWN = np.eye(LENGTH, dtype=np.uint8)
KNOWN[:, 3] = 1

WAYS: dict[str, dict[str, Any]] = {
    "pyramid": {},
    "pyramid rbm": {"algorithm": hm.Pyramid(linkage="rbm")},
    "umda 20": {"model": "umda", "population": 20},
    "umda": {"model": "umda"},
    "rbm": {"model": "rbm", "population": 16},
    "known": {"model": "umda", "initial": KNOWN, "fixed": {3: 1}, "subset_size": (1, 9)},
}


@pytest.fixture(scope="module", params=WAYS)
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint in the middle of a batch."""
    path: Path = tmp_path_factory.mktemp("saved") / "run.ckpt"
    hm.maximize(weigh, LENGTH, seed=1, max_calls=157, checkpoint=path, **WAYS[request.param])
    return path


@pytest.fixture(autouse=True)
def _unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Save fast: nobody pulls the plug."""
    monkeypatch.setattr("os.fsync", lambda file: None)


def walk(facts: Any, *place: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the place of every fact."""
    parts = facts.items() if isinstance(facts, dict) else enumerate(facts)
    for name, value in parts:
        yield (*place, name)
        if isinstance(value, dict | list):
            yield from walk(value, *place, name)


def damage(value: Any) -> list[Any]:
    """Return values of other types, and numbers out of any bounds."""
    junk: list[Any] = [None, "junk", -1, [], {}, [1, "a"], 0.5, 10**12, not value]
    return [other for other in junk if type(other) is not type(value) or other != value]


def try_resume(snapshot: Snapshot, path: Path, function: Any = weigh) -> str:
    """Resume for a batch; return the one line with which it is refused, or nothing."""
    snapshot.save(path)
    try:
        hm.resume(path, function, callback=lambda runner: True, max_calls=10**6)
    except CheckpointError as error:
        message = str(error)
    else:
        message = ""
    assert "\n" not in message
    return message


def test_damaged_facts_are_refused_or_run(saved: Path, tmp_path: Path) -> None:
    snapshot, path = Snapshot.load(saved), tmp_path / "run.ckpt"
    refused = tried = 0
    for place in list(walk(snapshot.facts)):
        if place[:2] == ("search", "of") or any(isinstance(part, int) and part for part in place):
            continue  # an identity, which is compared as a whole; the first of a list is enough
        inner = snapshot.facts
        for name in place[:-1]:
            inner = inner[name]
        value = inner[place[-1]]
        for number, junk in enumerate(damage(value)):
            if (len(place) + number) % 3 and len(place) > 1:
                continue  # to save time
            inner[place[-1]] = junk
            tried += 1
            refused += bool(try_resume(snapshot, path))
        inner[place[-1]] = value
    assert refused > 0.6 * tried > 50
    assert try_resume(snapshot, path) == ""


def spoil(array: np.ndarray) -> Iterator[np.ndarray]:
    """Yield arrays of other types and shapes, and with numbers out of bounds."""
    yield array.astype(np.complex128)
    yield array[None]
    yield array.reshape(-1)[:-1] if array.size else np.zeros(3)
    yield np.array("text")
    if array.dtype.kind in "iu" and array.size:
        for number in (99, np.iinfo(array.dtype).max, np.iinfo(array.dtype).min):
            wrong = array.copy()
            wrong.flat[-1] = number
            yield wrong
    if array.dtype.kind == "f":
        yield np.full_like(array, np.nan)


def test_damaged_arrays_are_refused_or_run(saved: Path, tmp_path: Path) -> None:
    snapshot, path = Snapshot.load(saved), tmp_path / "run.ckpt"
    refused = tried = 0
    for name, array in list(snapshot.arrays.items()):
        for wrong in spoil(array):
            snapshot.arrays[name] = wrong
            tried += 1
            refused += bool(try_resume(snapshot, path))
        snapshot.arrays[name] = array
    assert refused > 0.6 * tried > 50
    assert try_resume(snapshot, path) == ""


SIZES = {f"v{number}": list(range(6)) for number in range(8)}


def mix(values: dict[str, int]) -> float:
    """Return a value with interactions of neighbouring variables."""
    chosen = [*values.values()]
    return float(sum((7 * a + 3 * b) % 11 for a, b in itertools.pairwise(chosen)))


@pytest.fixture(scope="module")
def probing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of a search of variables in the middle of a probe."""
    path: Path = tmp_path_factory.mktemp("probing") / "run.ckpt"
    hm.maximize(mix, space=SIZES, seed=1, max_calls=34, checkpoint=path)
    return path


@pytest.mark.parametrize(
    ("facts", "arrays", "message"),
    [
        ({"batches": -1}, {}, "its 'batches' is wrong: Expected `int` >= 0"),
        ({"stage": "order"}, {}, "it asked {asked} rows; expected 16"),
        ({}, {"probe/values": 1}, "its probe has not walked as far as it has halved"),
        ({}, {"probe/values": 0}, "its probe has not walked as far as it has halved"),
    ],
)
def test_a_damaged_probe_is_refused(
    facts: dict[str, Any], arrays: dict[str, int], message: str, probing: Path, tmp_path: Path
) -> None:
    snapshot, state = Snapshot.load(probing), "search/search/state/scout/"
    scout = snapshot.facts["search"]["search"]["state"]["scout"]
    assert (scout["stage"], scout["probe"]["begun"]) == ("probe", True)
    scout |= facts
    for name, rows in arrays.items():
        snapshot.arrays[state + name] = snapshot.arrays[state + name][:rows]
    asked = len(snapshot.arrays["search/search/asked"])
    path = tmp_path / "run.ckpt"
    assert try_resume(snapshot, path, mix) == (
        f"{path}: does not fit this version of harmonium: {message.format(asked=asked)}"
    )


def test_a_search_that_knows_its_function_has_one(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    hm.maximize(weigh, LENGTH, seed=1, max_calls=20, checkpoint=path)
    snapshot = Snapshot.load(path)
    snapshot.facts["search"]["search"]["state"]["scout"]["stage"] = "known"
    assert try_resume(snapshot, path) == (
        f"{path}: does not fit this version of harmonium: it has no function to check"
    )


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"seconds": "junk"}, "Expected `float`, got `str` - at `$.seconds`"),
        ({"steps": -1}, "Expected `int` >= 0 - at `$.steps`"),
        ({"ones": [5, 3]}, "its bounds on ones are 5 and 3, of 12 bits"),
        ({"cpu_seconds": {}}, "Object missing required field `fitness` - at `$.cpu_seconds`"),
    ],
)
def test_the_message_names_what_is_wrong(
    damage: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.ckpt"
    hm.maximize(weigh, LENGTH, seed=1, max_calls=50, checkpoint=path)
    snapshot = Snapshot.load(path)
    snapshot.facts |= damage
    assert try_resume(snapshot, path) == (
        f"{path}: does not fit this version of harmonium: {message}"
    )


def test_a_function_of_another_length_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    hm.maximize(weigh, LENGTH, seed=1, max_calls=50, checkpoint=path)
    weights = np.ones(LENGTH + 3)
    with pytest.raises(CheckpointError, match=r"the function raised ValueError: .* best 12 bits"):
        hm.resume(path, lambda row: row @ weights)


def test_another_feasible_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.ckpt"
    best = hm.maximize(
        mix, space=SIZES, feasible=lambda d: d["v0"] != 0, seed=1, max_calls=50, checkpoint=path
    ).best
    with pytest.raises(CheckpointError) as caught:
        hm.resume(path, mix, feasible=lambda values: values != best, max_calls=60)
    assert str(caught.value) == (
        "the best bits so far are not feasible; resume with the same `feasible`"
    )


def test_a_checkpoint_before_the_first_value_is_resumed(tmp_path: Path) -> None:
    """JSON has no infinity: the best of a trace is none as long as all rows failed."""
    path = tmp_path / "run.ckpt"
    options: dict[str, Any] = {"model": "umda", "population": 8, "seed": 1, "on_error": "worst"}
    calls = 0

    def fail_first(row: Any) -> float:
        nonlocal calls
        calls += 1
        return np.nan if calls <= 12 else weigh(row)

    with pytest.raises(hm.EvaluationError, match="failed for all of the first 12 rows"):
        hm.maximize(fail_first, LENGTH, max_calls=12, checkpoint=path, **options)
    resumed = hm.resume(path, weigh, max_calls=40)
    calls = 0
    assert_same(resumed, hm.maximize(fail_first, LENGTH, max_calls=40, **options))


@pytest.mark.parametrize(
    ("name", "change", "options", "words"),
    [
        ("leaders/bits", np.zeros_like, {"model": "umda"}, "a row is among its best twice"),
        ("cache_values", lambda a: np.full_like(a, 1e308), {"model": "umda"}, "its cache has a f"),
        ("cache_values", lambda a: np.full_like(a, -np.inf), {"model": "umda"}, "an infinite numb"),
        ("search/search/told", lambda a: np.full_like(a, np.inf), {}, "'told' has an infinite num"),
        ("best_bits", np.zeros_like, {"cache": False}, "its best row is not among its best rows"),
        (
            "search/search/state/fitted/marginals",
            lambda a: a[:-1],
            {"algorithm": "incremental:model=pbil"},
            "its model is of 11 bits; expected 12",
        ),
    ],
)
def test_contents_that_contradict_each_other_are_refused(
    name: str, change: Any, options: Any, words: str, tmp_path: Path
) -> None:
    hm.maximize(weigh, 12, seed=1, max_evaluations=400, checkpoint=tmp_path / "whole", **options)
    snapshot = Snapshot.load(tmp_path / "whole")
    snapshot.arrays[name] = change(snapshot.arrays[name])
    snapshot.save(tmp_path / "damaged")
    with pytest.raises(hm.CheckpointError, match=words):
        hm.resume(tmp_path / "damaged", weigh, max_evaluations=500)


def test_populations_wait_for_the_rows_that_were_asked(tmp_path: Path) -> None:
    """Interleaved populations: the batch of one is the batch of the search."""
    hm.maximize(weigh, 12, seed=1, model="umda", max_calls=157, checkpoint=tmp_path / "whole")
    snapshot = Snapshot.load(tmp_path / "whole")
    asked = snapshot.arrays["search/search/asked"]
    assert np.isnan(snapshot.arrays["search/search/told"]).any()
    waiting = [
        name
        for name, rows in snapshot.arrays.items()
        if name.startswith("search/search/state/") and np.array_equal(rows, asked)
    ]
    (place,) = {name.removesuffix("/asked") for name in waiting if name.endswith("/asked")}
    for name, change in (
        ("told", lambda a: np.where(np.arange(len(a)) < 1, 1.0, a)),
        ("told", np.zeros_like),
        ("asked", lambda a: a ^ 1),
    ):
        whole = snapshot.arrays[f"{place}/{name}"]
        snapshot.arrays[f"{place}/{name}"] = change(whole)
        assert "wait for other rows than it asked" in try_resume(snapshot, tmp_path / "damaged")
        snapshot.arrays[f"{place}/{name}"] = whole
    assert try_resume(snapshot, tmp_path / "damaged") == ""


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("probe/neighbors", np.ones_like, "its 'neighbors' is not a graph"),
        ("neighbors", lambda a: np.triu(np.ones_like(a), 1), "its 'neighbors' is not a graph"),
        ("probe/who", lambda a: a[::-1].copy(), "its probe halves what is not in order"),
        ("probe/high", np.zeros_like, "its probe halves what is not in order"),
    ],
)
def test_interactions_that_no_probe_finds_are_refused(
    name: str, change: Any, words: str, probing: Path, tmp_path: Path
) -> None:
    snapshot, name = Snapshot.load(probing), f"search/search/state/scout/{name}"
    snapshot.arrays[name] = change(snapshot.arrays[name])
    assert words in try_resume(snapshot, tmp_path / "run.ckpt", mix)
