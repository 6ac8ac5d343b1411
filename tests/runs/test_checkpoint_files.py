"""Files that are not checkpoints, or damaged: each is refused in one line."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import harmonium as hm
from harmonium.state import CheckpointError, Snapshot
from tests.functions import FAST, weigh

MAGIC = b"harmonium checkpoint 3\n"


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a small checkpoint."""
    path = tmp_path_factory.mktemp("content") / "run.ckpt"
    hm.maximize(weigh, 8, population=8, checkpoint=path, max_calls=40, **FAST)
    return path.read_bytes()


def sign(content: bytes) -> bytes:
    """Return the file with this content and its checksum."""
    return MAGIC + hashlib.sha256(content).hexdigest().encode() + b"\n" + content


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "is not a harmonium checkpoint"),
        (b"\n", "is not a harmonium checkpoint"),
        (b"SQLite format 3\x00" + bytes(100), "is not a harmonium checkpoint"),
        (b"PK\x03\x04" + bytes(100), "is not a harmonium checkpoint"),
        (MAGIC[:-2], "is a 'harmonium checkpoint '; this harmonium reads version 3"),
        (
            b"harmonium checkpoint 1\nwhatever",
            "is a 'harmonium checkpoint 1'; this harmonium reads version 3: start again, or resume "
            "with the version that wrote it",
        ),
        (b"harmonium checkpoint \xff\xfe", "this harmonium reads version 3"),
        (MAGIC, "is damaged: its checksum does not match"),
        (MAGIC + b"\n\n", "is damaged: its checksum does not match"),
        (sign(b""), "is damaged: "),
        (sign(b"hello"), "is damaged: "),
        (sign(b"\x93NUMPY"), "is damaged: "),
    ],
)
def test_a_foreign_or_damaged_file_is_refused_in_one_line(
    text: bytes, message: str, path: Path
) -> None:
    path.write_bytes(text)
    for read in (Snapshot.load, lambda file: hm.resume(file, weigh)):
        with pytest.raises(CheckpointError) as caught:
            read(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)


@given(st.data())
@settings(max_examples=100)
def test_changed_bytes_with_a_matching_checksum_are_refused_or_read(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, data: st.DataObject
) -> None:
    changed = bytearray(content.split(b"\n", 2)[2])
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(changed) - 1))
        stop = start + data.draw(st.integers(0, 8))
        changed[start:stop] = data.draw(st.binary(max_size=8))
    path = tmp_path_factory.getbasetemp() / "fuzzed.ckpt"
    path.write_bytes(sign(bytes(changed)))
    try:
        snapshot = Snapshot.load(path)
    except CheckpointError as error:
        assert str(error).startswith(f"{path}: is damaged: ")  # noqa: PT017
    else:  # what is read is of the right kinds, whatever its values
        assert all(isinstance(array, np.ndarray) for array in snapshot.arrays.values())
