"""States and snapshots: typed, with arrays, and saved to files that are checked when loaded."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from harmonium import CheckpointError, Snapshot
from harmonium.state import decode, encode


class Pair(NamedTuple):
    rows: NDArray[np.uint8]
    fitness: NDArray[np.float64]


@dataclass
class State:
    step: int
    best: float = -np.inf
    pair: Pair | None = None
    inner: list["State"] = field(default_factory=list)
    named: dict[str, NDArray[Any]] = field(default_factory=dict)


def test_a_typed_state_goes_through_bytes() -> None:
    pair = Pair(np.eye(3, dtype=np.uint8), np.array([np.nan, -np.inf, 0.1]))
    state = State(3, float("nan"), pair, [State(4)], {"a": np.arange(5)[::2], "b": np.array(1.5)})
    again = decode(State, encode(state))
    assert (again.step, again.inner) == (3, [State(4)])
    assert np.isnan(again.best)
    assert again.pair is not None
    np.testing.assert_array_equal(again.pair.fitness, pair.fitness)
    again.pair.rows[:] = 0  # arrays can be written, and are no part of the old state
    assert pair.rows.any()
    assert {name: array.tolist() for name, array in again.named.items()} == {
        "a": [0, 2, 4],
        "b": 1.5,
    }


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"best": 1.0}, "missing required field `step`"),
        ({"step": "one"}, "Expected `int`, got `str` - at `$.step`"),
        ({"step": 1, "pair": [np.eye(2), np.zeros(2)]}, "array is float64; expected uint8"),
        ({"step": 1, "named": {"a": 1}}, "int; expected"),
    ],
)
def test_another_state_is_refused_with_the_place(state: Any, message: str) -> None:
    with pytest.raises(CheckpointError, match=r"^its state does not fit: ") as caught:
        decode(State, encode(state))
    assert message in str(caught.value)


SNAPSHOT = Snapshot(
    {"text": "größe", "number": 0.1, "none": None, "list": [1, 2], "inf": -np.inf},
    {"bits": np.eye(4, dtype=np.uint8), "best": np.array(-np.inf), "empty": np.empty((0, 3))},
)


def test_a_file_holds_all_of_a_snapshot_and_is_written_over(tmp_path: Path) -> None:
    path = tmp_path / "a.ckpt"
    SNAPSHOT.save(path)
    loaded = Snapshot.load(path)
    assert loaded.facts == SNAPSHOT.facts
    assert set(loaded.arrays) == set(SNAPSHOT.arrays)
    for name, array in SNAPSHOT.arrays.items():
        assert loaded.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(loaded.arrays[name], array)
    Snapshot({"later": 1}).save(path)
    for value in (object(), np.array([{}], dtype=object)):
        with pytest.raises(NotImplementedError, match="a state cannot hold"):
            Snapshot({"object": value}).save(path)
    assert Snapshot.load(path) == Snapshot({"later": 1})
    assert [path.name for path in tmp_path.iterdir()] == ["a.ckpt"]


@pytest.mark.parametrize("place", [0.0, 0.3, 0.6, 0.99])
def test_a_changed_byte_is_seen(tmp_path: Path, place: float) -> None:
    path = tmp_path / "a.ckpt"
    SNAPSHOT.save(path)
    content = bytearray(path.read_bytes())
    first = content.index(b"\n") + 1  # after the line that says what it is
    content[first + int(place * (len(content) - first))] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(CheckpointError, match="is damaged: its checksum does not match"):
        Snapshot.load(path)
