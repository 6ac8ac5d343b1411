import errno
import json
from pathlib import Path

import pytest

import harmonium as hm
from harmonium.state import Snapshot
from tests.functions import FAST, weigh

LENGTH = 20


def test_the_log_has_one_line_of_json_for_each_row_of_the_trace(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    result = hm.maximize(weigh, LENGTH, log=log, max_calls=700, **FAST)
    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    assert len(lines) == len(result.trace)
    assert [line["generation"] for line in lines] == [row.generation for row in result.trace]
    for line, row in zip(lines, result.trace, strict=True):
        assert {key: line[key] for key in vars(row)} == vars(row)
        assert set(line) - set(vars(row)) == {"seed", "seconds"}
        assert line["seed"] == 1
    assert [line["seconds"] for line in lines] == sorted(line["seconds"] for line in lines)


def test_a_checkpoint_that_cannot_be_written_does_not_end_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(snapshot: object, path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Snapshot, "save", fail)
    with pytest.warns(RuntimeWarning, match=r"the checkpoint .*run\.ckpt cannot be written: No sp"):
        result = hm.maximize(weigh, LENGTH, checkpoint=tmp_path / "run.ckpt", max_calls=300, **FAST)
    assert result.stopped_by == "calls"


def test_a_log_is_written_while_it_runs(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    seen: list[int] = []

    def call_back(runner: hm.Runner) -> bool:
        seen.append(len(log.read_text("utf-8").splitlines()))
        return runner.search.status().generation == 4

    hm.maximize(weigh, LENGTH, log=log, callback=call_back, **FAST)
    assert seen == [1, 2, 3, 4, 5]
