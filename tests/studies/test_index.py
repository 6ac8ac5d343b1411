"""Where stored trials belong in their study, and their traces."""

from pathlib import Path
from typing import Any

import pytest

from harmonium.analysis.tables import list_rows
from harmonium.runs.trace import COLUMNS
from harmonium.studies.driver import bind, read_walks
from harmonium.studies.store import Store
from harmonium.studies.study import parse_study
from harmonium.studies.summary import (
    TABLES,
    list_cases,
    list_table,
    list_traces,
    list_trials,
    summarize,
)
from tests.modules import write_module
from tests.studies.made import OWN_ONEMAX, make_failure, make_outcome, make_record
from tests.studies.reading import (
    VARIANTS,
    assert_same,
    fill_cases,
    read_table,
    to_csv,
    to_json,
)


def test_trials_have_the_names_that_tables_have(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    fill_cases(path, VARIANTS)
    rows, _ = read_table(path)
    assert [(row["family"], row["length"], row["instance"], row["name"]) for row in rows] == [
        ("nk:k=2", 10, instance, name)
        for name in ("boa", "boa-rtr")
        for instance in (0, 1)
        for _ in range(2)
    ]
    assert {row["model"] for row in rows} == {"boa"}
    assert all(row["current"] is row["counted"] is True for row in rows)


def test_counted_trials_are_those_that_the_summary_is_made_of(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    cases = fill_cases(path, VARIANTS)
    with Store.create(path) as store:
        extra = cases[0].trials(16)[1]
        store.append(extra, make_record(make_outcome(evaluations=10_000)))
    rows, index = read_table(path)
    assert [row["key"] for row in rows if not row["counted"]] == [extra.key]
    assert rows[-1]["current"] is True
    assert not index.left_out
    with Store.open(path) as store:
        summary = list(list_rows(summarize(read_walks(store)[1])))
    for plain in summary:
        counted = [
            row["evaluations"] for row in rows if row["name"] == plain["name"] and row["counted"]
        ]
        assert plain["evaluations"] == sum(counted) / len(counted) == 150


def test_on_a_grid_only_its_populations_are_current(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    text = VARIANTS.replace("[bisect]\nstart = 8", "[grid]\npopulations = [20, 40]")
    cases = fill_cases(path, text)
    with Store.create(path) as store:
        other = cases[0].trials(60)[0]
        store.append(other, make_record())
    rows, index = read_table(path, stale=True)
    assert [row["key"] for row in rows if not row["current"]] == [other.key]
    assert rows[-1]["name"] == "boa"
    assert {row["population"] for row in rows if row["counted"]} == {20, 40}
    assert not index.left_out


def test_other_seeds_and_stopping_rules_are_not_current(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    fill_cases(path, VARIANTS.replace("runs = 2", "runs = 3"))
    with Store.create(path) as store:
        bind(parse_study(VARIANTS, "study.toml", None), store)
    rows, _ = read_table(path, stale=True)
    assert {row["seed"] for row in rows if row["current"]} == {1, 2}
    assert {row["seed"] for row in rows if not row["current"]} == {3}
    with Store.create(path) as store:
        bind(parse_study(VARIANTS + "[stop]\npatience = 5\n", "study.toml", None), store)
    rows, index = read_table(path)
    assert rows == []
    assert len(index.left_out) == 12


def test_trials_that_serve_two_names_are_current(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    text = """
name = "twice"
models = ["umda"]
[[problems]]
problem = "trap:order=5"
sizes = [10]
runs = 2
[[problems]]
problem = "trap: order = 5"
sizes = [10]
runs = 4
"""
    fill_cases(path, text)
    rows, index = read_table(path)
    assert [row["seed"] for row in rows] == [1, 2, 3, 4]
    assert {row["current"] for row in rows} == {True}
    assert not index.left_out


def test_trials_of_an_edited_module_are_left_out(tmp_path: Path) -> None:
    text = OWN_ONEMAX.replace("optimum = None", "optimum = 99.0")
    name = write_module(tmp_path, text)
    study = f"""
name = "own"
models = ["umda"]
[[problems]]
problem = "{name}:Own"
sizes = [12]
runs = 2
"""
    path = tmp_path / "study.db"
    (old,) = fill_cases(path, study, tmp_path)
    (tmp_path / f"{name}.py").write_text(text + "# edited, and longer\n", encoding="utf-8")
    assert read_table(path)[0] == []
    (new,) = fill_cases(path, study, tmp_path)
    keys = [[trial.key for trial in case.trials(16)] for case in (old, new)]
    rows, index = read_table(path)
    assert [row["key"] for row in rows] == keys[1]
    assert index.left_out == set(keys[0])
    rows, _ = read_table(path, stale=True)
    assert [row["key"] for row in rows] == keys[0] + keys[1]
    assert [row["current"] for row in rows] == [False, False, True, True]
    assert {(row["family"], row["name"], row["length"]) for row in rows} == {
        (f"{name}:Own", "umda", 12)
    }


OWN_MODEL = """
from dataclasses import dataclass

from harmonium import UMDA


@dataclass(frozen=True)
class Mine(UMDA):
    rate: float = 0.5
"""


def test_modules_of_custom_models_may_be_gone(tmp_path: Path) -> None:
    name = write_module(tmp_path, OWN_MODEL)
    study = f"""
name = "own"
models = [{{ name = "mine", model = "{name}:Mine:rate=0.25" }}]
[[problems]]
problem = "onemax"
sizes = [12]
runs = 2
"""
    path = tmp_path / "study.db"
    fill_cases(path, study, tmp_path)
    with Store.open(path) as store:
        (case,) = list_cases(read_walks(store)[1])
    (tmp_path / f"{name}.py").write_text(OWN_MODEL + "# edited\n", encoding="utf-8")
    rows, _ = read_table(path, stale=True)
    assert [row["current"] for row in rows] == [False, False]
    assert {row["name"] for row in rows} == {"mine"}
    assert {row["model"] for row in rows} == {case["model"]} == {f"{name}:Mine:rate=0.25"}
    (tmp_path / f"{name}.py").unlink()
    with Store.open(path) as store:
        assert [row["model"] for row in list_trials(store)] == [case["model"]] * 2


def test_what_is_unfinished_is_marked_in_every_table(tmp_path: Path) -> None:
    # Of the second algorithm and size, the first instance is done and the second is not begun.
    path = tmp_path / "study.db"
    study = parse_study(VARIANTS.replace("[10]", "[10, 12]"), "study.toml")
    with Store.create(path) as store:
        bind(study, store)
        for case in study.cases[:-1]:
            for trial in case.trials(8):
                store.append(trial, make_record())
    with Store.open(path) as store:
        walks = read_walks(store)[1]
        tables = {what: list(list_table(what, walks, store)) for what in TABLES}
    for what in ("trials", "traces", "cases"):
        states = {
            (row["name"], row.get("size", row.get("length"))): row["row_state"]
            for row in tables[what]
        }
        assert states == {
            ("boa", 10): "done",
            ("boa-rtr", 10): "done",
            ("boa", 12): "done",
            ("boa-rtr", 12): "unfinished",
        }
    assert all(row["counted"] for row in tables["trials"])
    assert [row["state"] for row in tables["cases"]] == [*["done"] * 7, "waiting"]
    assert [row["state"] for row in tables["summary"]] == [*["done"] * 3, "unfinished"]
    assert {(row["name"], row["sizes"]) for row in tables["scaling"]} == {("boa", "10 12")}
    assert {row["size"] for row in tables["comparisons"]} == {10}


def test_a_trace_is_a_row_a_step(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    cases = fill_cases(path, VARIANTS)
    trace: dict[str, Any] = {name: [None] for name in COLUMNS}
    trace |= {"step": [0], "evaluations": [16], "facts": {"epochs": [4.0]}}
    with Store.create(path) as store:
        more, failed = cases[0].trials(16)
        store.append(more, make_record(trace=trace))
        store.append(failed, make_record(make_failure()))
    trials, _ = read_table(path)
    rows, _ = read_table(path, traces=True)
    assert len(rows) == 8 * 2 + 1
    assert {tuple(row) for row in rows} == {tuple(rows[0])}
    assert list(rows[0])[10:] == [
        *("step", "evaluations", "calls", "best", "generation", "mean"),
        *("fact_edges", "fact_epochs"),
    ]
    for row, trial in zip(rows[::2], [*trials[:8], trials[8]], strict=True):
        for name in ("key", "current", "counted", "row_state", "family", "length", "name", "seed"):
            assert row[name] == trial[name]
    assert [row["best"] for row in rows[:2]] == [12.0, 20.0]
    assert [row["fact_edges"] for row in rows[:2]] == [None, 3.0]
    assert (rows[-1]["evaluations"], rows[-1]["fact_edges"], rows[-1]["fact_epochs"]) == (
        16,
        None,
        4.0,
    )
    assert_same(to_csv(rows), rows)
    assert to_json(rows) == rows


def test_traces_are_read_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "study.db"
    fill_cases(path, VARIANTS)
    read: list[str] = []
    trace = Store.trace

    def note(store: Store, key: str, **options: bool) -> dict[str, Any]:
        read.append(key)
        return trace(store, key, **options)

    monkeypatch.setattr(Store, "trace", note)
    with Store.open(path) as store:
        rows = list_traces(store)
        next(rows)
        assert len(read) == 8 + 1  # all for the columns, and the first
        assert len(list(rows)) == 15
        assert len(read) == 16
