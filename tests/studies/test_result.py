"""Studies run to their results in Python, on every engine."""

import importlib
from pathlib import Path
from typing import Any

import pytest

from harmonium import EDA, UMDA, Family, Grid, OneMax, Runs, Study, read_study, run
from harmonium.specs import SpecError
from harmonium.studies import Store, load_study
from harmonium.studies.driver import Driver, bind
from harmonium.studies.store import StoreError
from harmonium.studies.summary import TABLES
from tests.modules import write_module
from tests.studies.made import ONE_PLUS_ONE

FAMILY = Family("onemax", sizes=[8, 10], runs=2)
SMALL = Study("small", [FAMILY], [EDA(UMDA())], plan=Grid([20]))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "small.db"
    SMALL.run(path, engine="serial")
    return path


def test_a_study_is_run_and_read_again(store: Path) -> None:
    again = read_study(store)
    assert again.name == "small"
    assert [(row.size, row.state, row.runs) for row in again.rows] == [
        *[(8, "done", 2), (10, "done", 2)]
    ]
    for row in again.rows:
        direct = [
            run(OneMax(row.size), EDA(UMDA(), population=20), seed=seed).evaluations
            for seed in (1, 2)
        ]
        assert row.samples["evaluations"].tolist() == direct
    assert again.laws == []  # populations that were given have no law


def test_a_study_that_is_done_runs_nothing(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Driver, "run", lambda *rest: pytest.fail("it ran"))
    assert [row.state for row in SMALL.run(store, engine="serial").rows] == ["done", "done"]


def test_a_store_of_another_study_is_refused(store: Path) -> None:
    other = Study("other", [FAMILY], ["umda"], plan=Grid([20]))
    with pytest.raises(SpecError) as caught:
        other.run(store, engine="serial")
    assert str(caught.value) == f"{store}: holds the study 'small', not 'other'; use another file"


def test_a_study_in_toml_continues_its_twin(store: Path, tmp_path: Path) -> None:
    file = tmp_path / "small.toml"
    text = """
# A comment does not count.
name = "small"
models = ["umda"]
grid = { populations = [20] }
[[problems]]
problem = "onemax"
sizes = [8, 10]
runs = 2
"""
    file.write_text(text, encoding="utf-8")
    with Store.create(store) as opened:
        driver = Driver(load_study(file), opened)
        assert (driver.remark, driver.finished) == ("", True)
        assert opened.about().definition == text
        file.write_text(text.replace("runs = 2", "runs = 3"), encoding="utf-8")
        assert bind(load_study(file), opened) == (
            "the study has changed; stored trials that still fit are used"
        )
        assert bind(SMALL, opened).startswith("the study has changed")


@pytest.mark.parametrize("what", TABLES)
def test_every_table_is_a_frame(store: Path, what: Any) -> None:
    pandas = pytest.importorskip("pandas")
    result = read_study(store)
    frame = result.to_frame(what)
    assert isinstance(frame, pandas.DataFrame)
    trials = sum(len(walk.seen) for walk in result.walks)
    rows = {"summary": 2, "cases": 2, "trials": trials, "scaling": 0}
    if what in rows:
        assert len(frame) == rows[what]
    if what == "trials":
        assert frame["seed"].tolist() == [1, 2, 1, 2]
        assert frame["name"].tolist() == ["umda"] * 4
    if what == "traces":
        assert len(frame) > trials
        assert frame["population"].tolist() == [20] * len(frame)


def test_an_unknown_table_is_refused(store: Path) -> None:
    with pytest.raises(ValueError, match=r"^what is 'rows'; expected one of trials, traces, cases"):
        read_study(store).to_frame("rows")  # type: ignore[arg-type]


def test_frames_need_pandas(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import_module = importlib.import_module

    def refuse(name: str, *rest: Any) -> Any:
        if name == "pandas":
            raise ImportError
        return import_module(name, *rest)

    monkeypatch.setattr(importlib, "import_module", refuse)
    with pytest.raises(ImportError, match=r"^to_frame needs pandas; pip install pandas$"):
        read_study(store).to_frame()


def test_a_missing_store_is_reported(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no such file"):
        read_study(tmp_path / "none.db")


def run_ea(engine: str, folder: Path, name: str) -> list[dict[str, Any]]:
    """Run a custom algorithm with an EDA through a study; return what does not depend on time."""
    study = Study(
        "ea",
        [Family("onemax", sizes=[8, 16], runs=2)],
        {"ea": f"{name}:OnePlusOne", "umda": EDA(UMDA())},
        plan=Runs(),
        folder=folder,
    )
    result = study.run(folder / f"{engine}.db", engine, None if engine == "serial" else 2)
    assert [(row.name, row.state, row.success_rate) for row in result.rows] == [
        *[("ea", "done", 1.0), ("umda", "done", 1.0)] * 2
    ]
    with Store.open(folder / f"{engine}.db") as store:
        rows = [one.record.result | {"key": one.key} for one in store.records()]
    timed = ("cpu_seconds", "seconds")
    plain = [{name: row[name] for name in row if name not in timed} for row in rows]
    return sorted(plain, key=lambda row: str(row["key"]))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["processes", "dask"])
def test_a_custom_algorithm_gives_the_same_on_every_engine(engine: str, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    name = write_module(tmp_path, ONE_PLUS_ONE)
    assert run_ea(engine, tmp_path, name) == run_ea("serial", tmp_path, name)


def test_a_custom_algorithm_runs_in_a_study(tmp_path: Path) -> None:
    name = write_module(tmp_path, ONE_PLUS_ONE)
    rows = run_ea("serial", tmp_path, name)
    mine = [row for row in rows if row["algorithm"] == f"{name}:OnePlusOne"]
    assert len(mine) == 4
    assert {row["generations"] for row in mine} == {None}
    assert {row["best_found_by"] for row in mine} == {None}
    result = read_study(tmp_path / "serial.db")
    assert {law.name for law in result.laws} == {"ea", "umda"}
