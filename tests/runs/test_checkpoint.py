from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import harmonium as hm
from harmonium.runs import checkpoint as checkpoint_module
from harmonium.runs.checkpoint import ExistingCheckpointError, SavedRun
from harmonium.specs import SpecError
from harmonium.state import CheckpointError, Snapshot, decode, encode
from tests.functions import FAST, Calls, Fragile, save_every_step, weigh


def test_a_file_that_cannot_be_read_is_named(path: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"run\.ckpt: cannot be read: No such file"):
        hm.resume(path, weigh)
    with pytest.raises(CheckpointError, match="is not a regular file"):
        hm.resume(tmp_path, weigh)


def test_saving_takes_a_small_share_of_the_time(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    saves: list[int] = []

    def count(runner: hm.Runner, reason: str | None, *, path: Path) -> None:
        saves.append(runner.steps)
        now[0] += 0.5

    def call_back(runner: hm.Runner) -> bool:
        now[0] += 1.0
        return runner.steps == 35

    monkeypatch.setattr(checkpoint_module, "_save", count)
    monkeypatch.setattr("time.perf_counter", lambda: now[0])
    hm.maximize(weigh, 30, checkpoint=path, callback=call_back, **FAST)
    # At the start and the end; in between half a second for ten, at a second a step.
    assert saves == [0, 10, 21, 30, 35]


def test_a_file_that_is_not_a_checkpoint_is_not_overwritten(path: Path) -> None:
    function = Calls()
    for text in (b"", b"my thesis", b"harmonium checkpoint 2\ndamaged"):
        path.write_bytes(text)
        with pytest.raises(
            FileExistsError, match="; choose another file for the checkpoint"
        ) as got:
            hm.maximize(function, 12, checkpoint=path)
        assert not isinstance(got.value, ExistingCheckpointError)
        assert str(got.value).startswith(f"{path}: is ")
        assert path.read_bytes() == text
    assert function.rows == []


@pytest.mark.parametrize("state", ["has not ended", "has ended"])
def test_a_search_is_never_overwritten(
    state: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_every_step(monkeypatch)
    function = Fragile(weigh, seed=1) if state == "has not ended" else weigh
    options: dict[str, Any] = {"max_calls": 300, **FAST}
    hm.maximize(function, 12, checkpoint=path, **options)
    before = path.read_bytes()
    calls = Calls()
    with pytest.raises(ExistingCheckpointError) as caught:
        hm.maximize(calls, 12, checkpoint=path, **options)
    assert isinstance(caught.value, FileExistsError)
    assert str(caught.value) == (
        f"{path}: holds a search that {state}; resume it, delete the file, or choose another"
    )
    assert calls.rows == []
    assert path.read_bytes() == before
    # `resume` continues it, with a larger budget also one that has ended.
    assert hm.resume(path, weigh, max_calls=400).calls == 400
    path.unlink()
    hm.minimize(weigh, 12, checkpoint=path, **options)
    assert hm.resume(path, weigh).fun < 10


def test_classes_that_cannot_be_imported_again_are_refused_with_a_checkpoint(path: Path) -> None:
    @dataclass(frozen=True)
    class Local(hm.UMDA):
        """Independent bits, in a class that no other process can find."""

    @dataclass(frozen=True)
    class LocalEDA(hm.EDA):
        """The same for an algorithm."""

    function = Calls()
    refused: tuple[dict[str, Any], ...] = (
        {"model": Local()},
        {"algorithm": hm.EDA(Local())},
        {"algorithm": LocalEDA(hm.UMDA())},
    )
    for options in refused:
        with pytest.raises(SpecError, match=r"cannot be imported again; .* top of a module"):
            hm.maximize(function, 12, checkpoint=path, **options)
    assert function.rows == []
    assert not list(path.parent.iterdir())


def test_a_snapshot_of_a_search_is_not_a_run(path: Path) -> None:
    hm.EDA("umda", population=20).start(8, seed=1).snapshot().save(path)
    with pytest.raises(CheckpointError, match="is the snapshot of a search, not of a run"):
        hm.resume(path, weigh)


def test_a_checkpoint_of_another_algorithm_is_refused(path: Path) -> None:
    hm.maximize(weigh, 8, population=8, checkpoint=path, max_calls=40, **FAST)
    saved = decode(SavedRun, Snapshot.load(path).facts["run"])
    saved.algorithm["tournament"] = 3
    Snapshot({"run": encode(saved)}).save(path)
    with pytest.raises(CheckpointError, match="the snapshot is of another search: algorithm"):
        hm.resume(path, weigh)
