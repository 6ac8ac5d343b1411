"""Studies run to their results in Python, on every engine: rows, tables and trajectories."""

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from harmonium import EDA, UMDA, Family, Grid, OneMax, Runs, Stop, Study, read_study, run
from harmonium.specs import SpecError
from harmonium.studies import Store, StudyResult, load_study
from harmonium.studies.driver import Driver, bind
from harmonium.studies.store import StoreError
from harmonium.studies.summary import TABLES
from tests.modules import write_module
from tests.problems.formats import ASSETS
from tests.studies.made import ONE_PLUS_ONE, make_record

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


def test_an_unknown_table_and_a_missing_store_are_refused(store: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^what is 'rows'; expected one of trials, traces, cases"):
        read_study(store).to_frame("rows")  # type: ignore[arg-type]
    with pytest.raises(StoreError, match="there is no such file"):
        read_study(tmp_path / "none.db")


def test_frames_need_pandas(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"^to_frame needs pandas; pip install pandas$"):
        read_study(store).to_frame()


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
    assert {(row["generations"], row["best_found_by"]) for row in mine} == {(None, None)}
    assert {law.name for law in read_study(tmp_path / "serial.db").laws} == {"ea", "umda"}


FILES = """
name = "files"
algorithms = ["pyramid"]
plan = "runs"

[stop]
max_evaluations = 200

[[problems]]
file = "a, b.cnf"
runs = 2

[[problems]]
file = "G1.txt"
as = "maxcut"
runs = 1

[[problems]]
problem = "file:path=small.knapsack"
instances = 2
runs = 1
"""


def test_a_study_of_files_runs_in_workers_and_is_told_apart_by_content(tmp_path: Path) -> None:
    assets = {"a, b.cnf": "small.cnf", "G1.txt": "small.mc", "small.knapsack": "small.knapsack"}
    for name, asset in assets.items():
        shutil.copy(ASSETS / asset, tmp_path / name)
    (tmp_path / "files.toml").write_text(FILES, "utf-8")
    study = load_study(tmp_path / "files.toml")
    assert [(case.family, case.size, case.instance) for case in study.cases] == [
        ("file:path=(a, b.cnf)", 9, None),
        ("file:path=G1.txt,format=maxcut", 5, None),
        ("file:path=small.knapsack", 5, 0),
        ("file:path=small.knapsack", 4, 1),
    ]
    result = study.run(tmp_path / "files.db", "processes", 1)
    assert [row.state for row in result.rows] == ["done"] * 4
    keys = [case.trials()[0].key for case in study.cases]
    (tmp_path / "a, b.cnf").write_text("p cnf 9 1\n1 2 0\n", "utf-8")
    changed = [case.trials()[0].key for case in load_study(tmp_path / "files.toml").cases]
    assert [one == other for one, other in zip(keys, changed, strict=True)] == [False, *[True] * 3]


def test_a_family_may_have_the_length_of_its_problem() -> None:
    study = Study("own", [Family("ising:side=4", runs=1)], ["pyramid"], plan=Runs())
    assert [case.size for case in study.cases] == [16]


ENDED = Study(
    "short",
    [Family("onemax", sizes=[12], runs=4), Family("nk:k=2", sizes=[10], instances=2, runs=2)],
    {"umda": EDA("umda", population=20), "boa": EDA("boa", population=20)},
    plan=Runs(),
    stop=Stop(max_generations=None, patience=None, max_evaluations=60),
)


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    return ENDED.run(tmp_path_factory.mktemp("short") / "short.db", engine="serial")


def test_a_trajectory_has_the_improvements_of_its_run(ended: StudyResult) -> None:
    assert len(ended.trajectories) == 2 * (4 + 2 * 2)
    first = ended.trajectories[0]
    stop = Stop(max_generations=None, patience=None, max_evaluations=60)
    direct = run(OneMax(12), EDA("umda", population=20), stop=stop, seed=1)
    assert (first.family, first.size, first.instance, first.name) == ("onemax", 12, None, "umda")
    assert (first.seed, first.optimum, first.given) == (1, 12.0, None)
    assert first.evaluations == direct.evaluations
    assert list(first.improvements) == list(direct.improvements)


def test_expected_evaluations_count_the_whole_last_batch(ended: StudyResult) -> None:
    row = next(row for row in ended.rows if row.solved)
    place = (row.family, row.size, row.name)
    runs = [one for one in ended.trajectories if (one.family, one.size, one.name) == place]
    assert row.expected_evaluations is not None
    assert row.expected_evaluations.mean == sum(one.evaluations for one in runs) / row.solved
    assert 0 < row.solved < row.runs


def test_tables_of_performance(ended: StudyResult) -> None:
    targets, ecdf = ended.to_frame("fixed-target"), ended.to_frame("ecdf")
    assert len(targets) == 2 * 2 * 50
    last = targets[(targets.quality == 1) & (targets.family == "onemax")].set_index("name")
    rows = {row.name: row for row in ended.rows if row.family == "onemax"}
    for name, row in rows.items():
        assert last.successes[name] == row.solved
        assert last.success_rate[name] == row.success_rate
    assert set(targets[targets.family == "nk:k=2"].target.isna()) == {True}
    umda = ecdf.query("family == 'onemax' and name == 'umda'")
    assert umda.proportion.is_monotonic_increasing
    assert (umda.proportion.iloc[-1] < 1) == (rows["umda"].solved < 4)
    improvements = ended.to_frame("improvements")
    assert len(improvements) == sum(len(one.improvements) for one in ended.trajectories)


def test_rows_that_are_not_done_have_no_trajectories(tmp_path: Path) -> None:
    with Store.create(tmp_path / "half.db") as store:
        for walk in Driver(ENDED, store).walks:
            # All runs of umda, and of boa on the first instance of NK only.
            if walk.case.name == "umda" or walk.case.instance == 0:
                for trial in walk.case.trials():
                    store.append(trial, make_record())
    half = read_study(tmp_path / "half.db").trajectories
    assert {(one.family, one.name) for one in half} == {("onemax", "umda"), ("nk:k=2", "umda")}
    assert len(half) == 4 + 4


def test_of_a_grid_each_population_has_its_runs(tmp_path: Path) -> None:
    study = Study("grid", [Family("onemax", sizes=[8], runs=2)], ["umda"], plan=Grid([8, 16]))
    result = study.run(tmp_path / "grid.db", engine="serial")
    assert [(one.given, one.seed) for one in result.trajectories] == [
        *[(8, 1), (8, 2), (16, 1), (16, 2)]
    ]
    assert set(result.to_frame("fixed-target").population) == {8, 16}
