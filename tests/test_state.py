"""Snapshots: nested under names, and saved to files that are checked when they are loaded."""

from pathlib import Path

import numpy as np
import pytest

from harmonium import CheckpointError, Snapshot


def test_a_snapshot_holds_others_under_their_names() -> None:
    snapshot = Snapshot({"a": 1}, {"a": np.arange(3)})
    for name in ("1", "12"):
        inner = Snapshot({"b": name}, {"b": np.arange(int(name))})
        inner.put("deep", Snapshot({"c": 3}, {"c": np.ones(2)}))
        snapshot.put(name, inner)
    snapshot.optional("none", None)
    snapshot.optional("some", np.zeros(1))
    assert snapshot.get("1").facts["b"] == "1"
    assert snapshot.get("12").facts["b"] == "12"
    assert len(snapshot.get("12").arrays["b"]) == 12
    assert set(snapshot.get("1").arrays) == {"b", "deep/c"}
    assert snapshot.get("1").get("deep").facts == {"c": 3}
    assert set(snapshot.arrays) == {"a", "some", "1/b", "1/deep/c", "12/b", "12/deep/c"}


def make() -> Snapshot:
    snapshot = Snapshot(
        {"text": "größe", "number": 0.1, "none": None, "list": [1, 2]},
        {"bits": np.eye(4, dtype=np.uint8), "best": np.array(-np.inf), "empty": np.empty((0, 3))},
    )
    snapshot.put("inner", Snapshot({"x": True}, {"words": np.arange(5, dtype=np.uint64)}))
    return snapshot


def test_a_file_holds_all_of_a_snapshot(tmp_path: Path) -> None:
    make().save(tmp_path / "a.ckpt")
    loaded = Snapshot.load(tmp_path / "a.ckpt")
    assert loaded.facts == make().facts
    assert set(loaded.arrays) == set(make().arrays)
    for name, array in make().arrays.items():
        assert loaded.arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(loaded.arrays[name], array)
    assert [path.name for path in tmp_path.iterdir()] == ["a.ckpt"]


def test_a_file_is_written_over(tmp_path: Path) -> None:
    make().save(tmp_path / "a.ckpt")
    Snapshot({"later": 1}).save(tmp_path / "a.ckpt")
    assert Snapshot.load(tmp_path / "a.ckpt") == Snapshot({"later": 1})


def test_objects_are_not_saved(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="allow_pickle=False"):
        Snapshot({}, {"objects": np.array([{}, []], dtype=object)}).save(tmp_path / "a.ckpt")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not a harmonium checkpoint"),
        (b"PK\x03\x04 something else", "is not a harmonium checkpoint"),
        (
            b"harmonium checkpoint 1\nabc",
            "is a 'harmonium checkpoint 1'; this harmonium reads version 2: start again, or resume "
            "with the version that wrote it",
        ),
        (b"harmonium checkpoint 2\nabc\ndef", "is damaged: its checksum does not match"),
    ],
)
def test_what_is_not_a_checkpoint_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "a.ckpt"
    path.write_bytes(content)
    with pytest.raises(CheckpointError) as caught:
        Snapshot.load(path)
    assert str(caught.value) == f"{path}: {message}"


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="cannot be read: No such file"):
        Snapshot.load(tmp_path / "none.ckpt")


@pytest.mark.parametrize("place", [0.0, 0.3, 0.6, 0.99])
def test_a_changed_byte_is_seen(tmp_path: Path, place: float) -> None:
    path = tmp_path / "a.ckpt"
    make().save(path)
    content = bytearray(path.read_bytes())
    first = content.index(b"\n") + 1  # after the line that says what it is
    content[first + int(place * (len(content) - first))] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(CheckpointError, match="is damaged: its checksum does not match"):
        Snapshot.load(path)
