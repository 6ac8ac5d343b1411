"""Study files, arguments and stores that are refused, each with one clear line."""

import re
import shutil
import sqlite3
import subprocess
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from harmonium.cli import study
from harmonium.studies.engines import EngineLost
from harmonium.studies.store import SCHEMA, Store
from tests.cli.commands import assert_refused, call, call_here, running
from tests.cli.studies import TINY, Small, check_integrity, needs_dask, read_trials, summarize


def test_a_study_file_is_not_a_store_but_may_have_one(small: Small, tmp_path: Path) -> None:
    shutil.copy(small.file, tmp_path / "small.toml")
    shutil.copy(small.store, tmp_path / "small.db")
    for words in (("study", "status"), ("study", "export"), ("study", "watch"), ("report",)):
        done = call_here(*words, "small.toml", cwd=tmp_path)
        assert_refused(done, "`harmonium study run` writes (here small.db?)")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name =", "study.toml: is not TOML: "),
        (TINY.replace('"tiny"', "3"), "study.toml: name is 3; expected a text"),
        (TINY.replace("runs = 2", 'runs = "2"'), "study.toml: problems[0]: runs is '2'; expected"),
        (TINY.replace("runs", "tuns"), "study.toml: problems[0]: unknown key 'tuns'; known: probl"),
        (TINY.replace("onemax", "trap:order=4"), "problems[0].sizes[0]: trap: length is 10; exp"),
        (TINY.replace("onemax", "no.such:thing"), "no.such:thing: there is no module 'no'"),
    ],
)
def test_a_bad_study_file_gets_one_clear_line(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    assert_refused(call_here("study", "run", "study.toml"), message)
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("run none.toml", "none.toml: cannot be read: No such file or directory"),
        ("run tiny.toml --engine threads", "unknown engine 'threads'; known: serial, processes"),
        (
            "run tiny.toml --engine serial --scheduler tcp://127.0.0.1:1",
            "scheduler is 'tcp://127.0.0.1:1'; o",
        ),
        ("run tiny.toml --store tiny.toml", "tiny.toml: is not an SQLite file, or a damaged"),
        ("status none.db", "none.db: there is no such store; `harmonium study run` makes one"),
        (
            "status tiny.toml",
            "tiny.toml: is not a store; STORE is the .db file that `harmonium study",
        ),
        (
            "export tiny.toml",
            "tiny.toml: is not a store; STORE is the .db file that `harmonium study",
        ),
    ],
)
def test_bad_arguments_get_one_clear_line(
    arguments: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "tiny.toml"
    file.write_text(TINY, encoding="utf-8")
    assert_refused(call_here("study", *arguments.split()), message)
    assert file.read_text(encoding="utf-8") == TINY
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.slow
@needs_dask
def test_a_scheduler_that_does_not_answer_gets_one_line(tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(TINY, encoding="utf-8")
    addresses = {
        "tcp://127.0.0.1:1": "no Dask scheduler answers at tcp://127.0.0.1:1: ",
        "nowhere": "scheduler is 'nowhere'; expected tcp://host:port",
    }
    with ExitStack() as stack:
        processes = [
            stack.enter_context(
                running(
                    tmp_path,
                    *("study", "run", "tiny.toml", "--scheduler", address),
                    *("--store", f"{number}.db"),
                )
            )
            for number, address in enumerate(addresses)
        ]
        for process, message in zip(processes, addresses.values(), strict=True):
            shown, errors = process.communicate(timeout=120)
            done = subprocess.CompletedProcess([], process.returncode, shown, errors)
            assert_refused(done, message)


def run_tiny(folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "tiny.toml").write_text(TINY, encoding="utf-8")
    return call_here("study", "run", "tiny.toml", "--store", "tiny.db", cwd=folder)


def test_the_store_of_another_study_is_refused(tmp_path: Path) -> None:
    (tmp_path / "huge.toml").write_text(TINY.replace('"tiny"', '"huge"'), encoding="utf-8")
    huge = ("study", "run", "huge.toml", "--store", "tiny.db", "--engine", "serial")
    assert call_here(*huge, cwd=tmp_path).returncode == 0
    before = read_trials(tmp_path / "tiny.db")
    assert_refused(run_tiny(tmp_path), "tiny.db: holds the study 'huge', not 'tiny'; use another")
    assert read_trials(tmp_path / "tiny.db") == before


def test_a_store_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tiny.db"
    Store.create(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    message = f"tiny.db: written by a newer harmonium (schema 99; this one reads {SCHEMA})"
    assert_refused(run_tiny(tmp_path), message)


@pytest.mark.slow
def test_a_full_disk_gets_one_line_and_loses_nothing(small: Small, tmp_path: Path) -> None:
    store = tmp_path / "small.db"
    run = ("study", "run", str(small.file), "--store", str(store))
    cramped = "import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (120_000, r.RLIM_INFINITY)); "
    before: dict[str, dict[str, Any]] = {}
    for engine in ("processes --workers 1", "serial"):
        done = call(*run, "--engine", *engine.split(), before=cramped)
        assert (done.returncode, done.stdout) == (2, "")
        *told, last = done.stderr.splitlines()
        assert re.match(r"harmonium: .*small\.db: .*what is stored is safe.*disk", last)
        assert not any("harmonium" in line or "Traceback" in line for line in told)
        assert check_integrity(store) == "ok"
        after = read_trials(store)
        assert len(after) > len(before)
        assert {key: after[key] for key in before} == before
        before = after
    assert call_here(*run, "--engine", "serial").returncode == 0
    after = read_trials(store)
    assert {key: after[key] for key in before} == before
    assert summarize(store) == small.summary


def test_a_lost_scheduler_has_an_exit_code_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(*_: object, **__: object) -> None:
        raise EngineLost("the Dask scheduler is gone")

    monkeypatch.setattr(study, "drive", lose)
    (tmp_path / "tiny.toml").write_text(TINY, encoding="utf-8")
    done = call_here("study", "run", "tiny.toml", cwd=tmp_path)
    told = "harmonium: the Dask scheduler is gone\n"
    assert (done.returncode, done.stdout, done.stderr) == (4, "", told)
