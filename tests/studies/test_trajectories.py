"""Trajectories and tables of performance, read from stores."""

from pathlib import Path

import pytest

import harmonium as hm
from harmonium.analysis.tables import PERFORMANCE_TABLES
from harmonium.studies import Store, StudyResult
from harmonium.studies.driver import Driver
from tests.studies.made import make_record

UMDA = hm.EDA("umda", population=20)
STOP = hm.Stop(max_generations=None, patience=None, max_evaluations=60)
STUDY = hm.Study(
    "short",
    [hm.Family("onemax", sizes=[12], runs=4), hm.Family("nk:k=2", sizes=[10], instances=2, runs=2)],
    {"umda": UMDA, "boa": hm.EDA("boa", population=20)},
    plan=hm.Runs(),
    stop=STOP,
)


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    return STUDY.run(tmp_path_factory.mktemp("short") / "short.db", engine="serial")


def test_a_trajectory_has_the_improvements_of_its_run(result: StudyResult) -> None:
    assert len(result.trajectories) == 2 * (4 + 2 * 2)
    first = result.trajectories[0]
    direct = hm.run(hm.OneMax(12), UMDA, stop=STOP, seed=1)
    assert (first.family, first.size, first.instance, first.name) == ("onemax", 12, None, "umda")
    assert (first.seed, first.optimum, first.given) == (1, 12.0, None)
    assert first.evaluations == direct.evaluations
    assert list(first.improvements) == list(direct.improvements)


def test_expected_evaluations_count_the_whole_last_batch(result: StudyResult) -> None:
    row = next(row for row in result.rows if row.solved)
    runs = [
        run
        for run in result.trajectories
        if (run.family, run.size, run.name) == (row.family, row.size, row.name)
    ]
    assert row.expected_evaluations is not None
    spent = sum(run.evaluations for run in runs)
    assert row.expected_evaluations.mean == spent / row.solved
    assert 0 < row.solved < row.runs


def test_tables_of_performance(result: StudyResult) -> None:
    frames = {what: result.to_frame(what) for what in PERFORMANCE_TABLES}
    targets = frames["fixed-target"]
    assert len(targets) == 2 * 2 * 50
    last = targets[(targets.quality == 1) & (targets.family == "onemax")].set_index("name")
    rows = {row.name: row for row in result.rows if row.family == "onemax"}
    for name, row in rows.items():
        assert last.successes[name] == row.solved
        assert last.success_rate[name] == row.success_rate
    assert set(targets[targets.family == "nk:k=2"].target.isna()) == {True}
    ecdf = frames["ecdf"].query("family == 'onemax' and name == 'umda'")
    assert ecdf.proportion.is_monotonic_increasing
    assert (ecdf.proportion.iloc[-1] < 1) == (rows["umda"].solved < 4)
    improvements = frames["improvements"]
    assert len(improvements) == sum(len(run.improvements) for run in result.trajectories)


def test_rows_that_are_not_done_have_no_trajectories(tmp_path: Path) -> None:
    with Store.create(tmp_path / "half.db") as store:
        driver = Driver(STUDY, store)
        walks = driver.walks
        for walk in walks:
            # All runs of umda, and of boa on the first instance of NK only.
            if walk.case.name == "umda" or walk.case.instance == 0:
                for trial in walk.case.trials():
                    store.append(trial, make_record())
    half = hm.read_study(tmp_path / "half.db")
    assert {(run.family, run.name) for run in half.trajectories} == {
        ("onemax", "umda"),
        ("nk:k=2", "umda"),
    }
    assert len(half.trajectories) == 4 + 4


def test_of_a_grid_each_population_has_its_runs(tmp_path: Path) -> None:
    family = hm.Family("onemax", sizes=[8], runs=2)
    study = hm.Study("grid", [family], ["umda"], plan=hm.Grid([8, 16]))
    result = study.run(tmp_path / "grid.db", engine="serial")
    assert [(run.given, run.seed) for run in result.trajectories] == [
        *[(8, 1), (8, 2), (16, 1), (16, 2)]
    ]
    assert set(result.to_frame("fixed-target").population) == {8, 16}
