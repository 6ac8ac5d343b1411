import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harmonium import EDA, NK, PROBLEMS, UMDA, OneMax
from harmonium.analysis.findings import Row, State, fit_laws
from harmonium.analysis.statistics import METRICS
from harmonium.analysis.tables import list_laws, list_rows
from harmonium.specs import importable
from harmonium.studies.driver import read_walks
from harmonium.studies.plans import Bisect, Case, Grid, Runs
from harmonium.studies.store import Store
from harmonium.studies.study import parse_algorithm
from harmonium.studies.summary import list_cases, list_table, summarize
from harmonium.studies.trial import Outcome
from tests.modules import write_module
from tests.problems.test_contract import EXAMPLES
from tests.studies.made import (
    ONE_PLUS_ONE,
    OWN_ONEMAX,
    make_case,
    make_failure,
    make_outcome,
    make_record,
    make_trial,
)
from tests.studies.reading import AWKWARD, assert_same, read_table, to_csv, to_json
from tests.studies.worlds import walk


def list_all(path: Path, cases: list[Case], *outcomes: Outcome) -> list[dict[str, Any]]:
    """Return the table of trials of these cases, of which the first runs had these outcomes."""
    with Store.create(path) as store:
        store.bind({"name": "s", "seed": "1", "description": "", "definition": ""}, cases)
        for case in cases:
            for trial, outcome in zip(case.trials(case.plan.first), outcomes, strict=False):
                store.append(trial, make_record(outcome))
        store.append(make_trial(99), make_record())  # no longer part of the study
        return list(list_table("trials", read_walks(store)[1], store))


EDA_COLUMNS = {
    "algorithm": "eda:model=umda,population=16,replacement=keep-parents",
    "model": "umda",
    "replacement": "keep-parents",
    "tournament": 2,
    "pairing": "any",
}


def check_written(rows: list[dict[str, Any]]) -> None:
    """Check that rows survive CSV and JSON."""
    assert_same(to_csv(rows), rows)
    assert to_json(rows) == rows


def test_a_trial_is_a_flat_row(tmp_path: Path) -> None:
    case = make_case(Runs(), problem=NK(20, 2, instance=3), instance=3, runs=1, family="nk:k=2")
    (row,) = rows = list_all(tmp_path / "study.db", [case], make_outcome())
    assert row == {
        "key": case.trials()[0].key,
        "counted": True,
        "row_state": "done",
        "family": "nk:k=2",
        "length": 20,
        "instance": 3,
        "name": "umda",
        "population": 16,
        "seed": 1,
        "status": "done",
        "problem": "nk:instance=3,k=2,length=20,neighbors=random",
        **EDA_COLUMNS,
        "solved": True,
        "fun": 20.0,
        "optimum": 20.0,
        "evaluations": 100,
        "calls": 100,
        "unique_evaluations": 50,
        "best_found_at": 17,
        "generations": 5,
        "stopped_by": "optimum",
        "x": "b" + "1" * 20,
        "cpu_total": 1.0,
        "cpu_fitness": 0.4,
        "cpu_selection": 0.3,
        "cpu_building": 0.2,
        "cpu_sampling": 0.1,
        "seconds": 2.0,
        "peak_memory": 1000,
        "started": "2026-01-02T03:04:05.678+00:00",
        "host": "here",
        "harmonium": "0.1.0",
        "version": 4,
        "error": "",
    }
    check_written(rows)


def test_a_trial_that_failed_has_the_same_columns(tmp_path: Path) -> None:
    case = make_case(Grid([20]), runs=2)
    rows = list_all(tmp_path / "study.db", [case], make_outcome(), make_failure(AWKWARD))
    done, failed = rows
    assert list(failed) == list(done)
    assert (failed["status"], failed["error"], failed["row_state"]) == ("failed", AWKWARD, "failed")
    empty = ("solved", "evaluations", "cpu_total")
    assert ([failed[column] for column in empty], failed["counted"]) == ([None] * 3, False)
    assert_same(to_csv(rows), rows)


def test_a_trace_has_a_row_for_each_step(tmp_path: Path) -> None:
    list_all(tmp_path / "study.db", [make_case(Runs(), runs=2)], make_outcome(), make_outcome())
    first, second, *_ = rows = read_table(tmp_path / "study.db", "traces")
    assert len(rows) == 4
    assert (first["step"], first["evaluations"], first["fact_edges"]) == (0, 16, None)
    assert (second["step"], second["best"], second["fact_edges"]) == (1, 20.0, 3.0)
    assert (second["seed"], second["name"], second["counted"]) == (1, "umda", True)


def test_the_problems_of_trials_can_be_made_again(tmp_path: Path) -> None:
    name = write_module(tmp_path, OWN_ONEMAX)
    with importable(tmp_path):
        own = PROBLEMS.parse(f"{name}:Own:length=8,easy=true,weight=none,words=a b")
        problems = [*EXAMPLES, own]
        cases = [make_case(Runs(), problem=problem, runs=1) for problem in problems]
        rows = list_all(tmp_path / "study.db", cases, make_outcome())
        assert [PROBLEMS.parse(row["problem"]) for row in rows] == problems


def make_rows() -> list[Row]:
    """Return a row that is done, one that is running and one that failed."""
    good = [make_outcome(evaluations=100), make_outcome(evaluations=300)]
    known: list[list[Outcome]] = [good, [], [make_failure()]]
    cases = [
        make_case(Bisect(start=8), problem=OneMax(20 + number), runs=2, family="own,problem:“x”")
        for number in range(3)
    ]
    return summarize([walk(case, {8: one}) for case, one in zip(cases, known, strict=True)])


def test_a_row_is_flat_with_means_beside_their_intervals() -> None:
    done, waiting, failed = list_rows(make_rows())
    assert {name: done[name] for name in list(done)[:15]} == {
        "family": "own,problem:“x”",
        "size": 20,
        "name": "umda",
        **EDA_COLUMNS,
        "plan": "bisect",
        "state": "done",
        "reason": "",
        "instances": 1,
        "runs": 2,
        "solved": 2,
        "success_rate": 1.0,
    }
    assert (done["expected_evaluations"], done["expected_evaluations_low"]) == (200.0, None)
    assert (done["evaluations"], done["evaluations_low"], done["evaluations_high"]) == (
        *(200.0, None, None),  # of two runs there is no interval
    )
    assert (done["population"], done["population_low"], done["population_high"]) == (8, None, 8)
    assert list(done)[15:] == [
        name
        for metric in ("expected_evaluations", *METRICS)
        for name in (metric, f"{metric}_low", f"{metric}_high")
    ]
    assert list(done) == list(waiting) == list(failed)
    assert (waiting["state"], failed["state"]) == ("waiting", "failed")
    assert failed["reason"] == "ValueError: broken"
    for row in (waiting, failed):
        assert all(row[name] is None for name in list(row)[14:])


def test_a_law_is_a_flat_row_and_survives() -> None:
    row = make_rows()[0]
    states: dict[int, State] = {50: "running", 60: "failed"}
    others = [replace(row, size=size, state=states.get(size, "done")) for size in (30, 40, 50, 60)]
    laws = fit_laws([row, *others])
    rows = list(list_laws(laws))
    assert rows[0] == {
        "family": "own,problem:“x”",
        "name": "umda",
        "metric": "evaluations",
        "sizes": "20 30 40",
        "missing_sizes": "50 60",
        "factor": pytest.approx(200),
        "exponent": pytest.approx(0, abs=1e-9),
        "exponent_low": laws[0].exponent.low,
        "exponent_high": laws[0].exponent.high,
        "paper_exponent": None,
    }
    check_written(rows)
    few = [
        replace(law, exponent=replace(law.exponent, low=math.nan, high=math.nan)) for law in laws
    ]
    assert [row["exponent_low"] for row in list_laws(few)] == [None] * len(few)


def test_a_case_has_its_population_and_bounds() -> None:
    good, bad = make_outcome(evaluations=50, cpu=2.0), make_outcome(False)
    plan = Bisect(start=8, tolerance=0.3, max_population=16)
    case = make_case(plan, problem=NK(10, 2, instance=4), instance=4, runs=2, family="nk:k=2")
    walks = {
        walk(case, {8: [bad], 16: [good, good], 12: [good, good]}): ("unfinished", None, 8, 12),
        walk(case, {8: [bad], 16: [good, good]}): ("unfinished", None, 8, 16),
        walk(case, {8: [bad]}): ("unfinished", None, 8, None),
        walk(case, {8: [good, bad], 16: [bad]}): ("not solved", None, 16, None),
        walk(case, {8: [good, good]}): ("done", 8, None, 8),
        walk(case, {}): ("waiting", None, None, None),
        walk(case, {8: [bad], 16: [make_failure()]}): ("failed", None, 8, None),
        walk(make_case(Grid([20]), runs=2), {20: [good, bad]}): ("done", 20, None, None),
    }
    rows = list(list_cases([*walks]))
    columns = ("state", "population", "population_low", "population_high")
    assert [tuple(row[column] for column in columns) for row in rows] == [*walks.values()]
    done = rows[4]
    assert {name: done[name] for name in list(done)[:14]} == {
        "family": "nk:k=2",
        "size": 10,
        "instance": 4,
        "name": "umda",
        "problem": "nk:instance=4,k=2,length=10,neighbors=random",
        **EDA_COLUMNS,
        "plan": "bisect",
        "state": "done",
        "row_state": "failed",  # as the instances before and after it
        "reason": "",
    }
    assert (done["runs"], done["solved"], done["evaluations"], done["cpu_total"]) == (2, 2, 50, 2)
    assert (done["spent_runs"], done["spent_evaluations"], done["spent_cpu"]) == (2, 100, 4.0)
    assert (rows[3]["evaluations"], rows[3]["spent_runs"]) == (None, 3)
    assert rows[3]["reason"] == "not solved within population 16"
    assert {tuple(row) for row in rows} == {tuple(done)}
    check_written(rows)


def test_an_algorithm_without_a_population_has_empty_columns(tmp_path: Path) -> None:
    name = write_module(tmp_path, ONE_PLUS_ONE)
    with importable(tmp_path):
        algorithm = parse_algorithm(f"{name}:OnePlusOne:rate=2")
    case = make_case(Runs(), algorithm=algorithm, name="ea", runs=2)
    (trial,) = list_all(tmp_path / "study.db", [case], make_outcome())
    (row,) = list_cases([walk(case, {None: [make_outcome(generations=None)] * 2})])
    for plain in (trial, row):
        assert plain["algorithm"] == f"{name}:OnePlusOne:rate=2.0"
        columns = ("model", "population", "replacement", "tournament", "pairing")
        assert [plain[column] for column in columns] == [None] * 5
    assert (row["plan"], row["state"], row["generations"]) == ("runs", "done", None)


@pytest.mark.parametrize("population", [None, 50])
def test_rows_of_runs_have_the_population_that_is_set(
    population: int | None, tmp_path: Path
) -> None:
    case = make_case(Runs(), algorithm=EDA(UMDA(), population=population or "auto"), runs=2)
    walks = [walk(case, {None: [make_outcome(), make_outcome(False, evaluations=300)]})]
    (row,), (plain,) = list_rows(summarize(walks)), list_cases(walks)
    (trial,) = list_all(tmp_path / "study.db", [case], make_outcome())
    assert row["population"] == plain["population"] == trial["population"] == population
    for one in (row, plain):
        assert (one["success_rate"], one["expected_evaluations"]) == (0.5, 400)
        assert one["population_low"] is None
