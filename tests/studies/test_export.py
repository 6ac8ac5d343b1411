import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harmonium import EDA, NK, PROBLEMS, RBM, UMDA, Model, OneMax, Stop
from harmonium.problems import ProblemSpec
from harmonium.problems.custom import importable, parse_problem
from harmonium.studies.export import list_laws, list_rows, list_trials, write_csv, write_json
from harmonium.studies.plans import Bisect, Walk
from harmonium.studies.scaling import fit_laws
from harmonium.studies.store import Store
from harmonium.studies.summary import METRICS, Row, summarize
from harmonium.studies.trial import Trial
from tests.problems.test_contract import EXAMPLES
from tests.studies.made import (
    OWN_ONEMAX,
    make_case,
    make_failure,
    make_outcome,
    make_record,
    make_trial,
    write_module,
)

AWKWARD = 'a,b;"c"\n\tgröße “1”, ≤ 日本 🎈\r\nend\n'


def to_csv(rows: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Write rows and read them back."""
    file = io.StringIO(newline="")
    write_csv(rows, file)
    file.seek(0)
    return list(csv.DictReader(file))


def to_json(rows: list[dict[str, Any]]) -> Any:
    file = io.StringIO()
    write_json(rows, file)
    return json.loads(file.getvalue())


def as_text(row: dict[str, Any]) -> dict[str, str]:
    return {name: "" if value is None else str(value) for name, value in row.items()}


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0"))
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63), st.floats(allow_nan=False), TEXTS
)
TABLES = st.lists(st.tuples(VALUES, VALUES, VALUES)).map(
    lambda rows: [dict(zip(("a", "b, c", "größe"), row, strict=True)) for row in rows]
)


@given(TABLES)
def test_csv_gives_back_what_was_written(rows: list[dict[str, Any]]) -> None:
    assert to_csv(rows) == [as_text(row) for row in rows]


@given(TABLES)
def test_json_gives_back_what_was_written(rows: list[dict[str, Any]]) -> None:
    finite = [
        {name: None if value in (float("inf"), float("-inf")) else value}
        for row in rows
        for name, value in row.items()
    ]
    assert to_json(finite) == finite


@pytest.mark.parametrize("text", [AWKWARD, "\r", "a\rb", "\n", '"', '""', ",", " a ", "'", "=1+1"])
def test_awkward_texts_survive(text: str) -> None:
    rows = [{"number": 1, "text": text}, {"number": 2, "text": "plain"}]
    assert to_csv(rows) == [as_text(row) for row in rows]
    assert to_json(rows) == rows


def test_a_csv_file_is_a_header_and_a_line_a_row() -> None:
    file = io.StringIO(newline="")
    write_csv([{"a": 1, "b": None}, {"a": 0.1, "b": "x, y"}], file)
    assert file.getvalue().splitlines() == ["a,b", "1,", '0.1,"x, y"']


def test_a_json_file_is_an_array_with_a_line_a_row() -> None:
    file = io.StringIO()
    write_json([{"a": 1, "b": None}, {"a": 0.1, "b": "é"}], file)
    lines = file.getvalue().splitlines()
    assert (lines[0], lines[-1], len(lines)) == ("[", "]", 4)
    assert json.loads(lines[1].rstrip(",")) == {"a": 1, "b": None}


def test_no_rows_are_an_empty_file_and_an_empty_array() -> None:
    assert to_csv([]) == []
    assert to_json([]) == []
    file = io.StringIO()
    write_csv([], file)
    assert file.getvalue() == ""


def fill(path: Path, *trials: Trial) -> list[dict[str, Any]]:
    with Store.create(path) as store:
        for trial in trials:
            store.append(trial, make_record())
        return list(list_trials(store))


def test_a_trial_is_a_flat_row(tmp_path: Path) -> None:
    trial = Trial(NK(20, 2, instance=3), EDA(UMDA(), population=16), Stop(), 7)
    (row,) = fill(tmp_path / "study.db", trial)
    assert row == {
        "key": trial.key,
        "status": "done",
        "problem": "nk:instance=3,k=2,length=20,neighbors=random",
        "length": 20,
        "model": "umda",
        "population": 16,
        "replacement": "keep-parents",
        "tournament": 2,
        "pairing": "any",
        "seed": 7,
        "solved": True,
        "best_fitness": 20.0,
        "optimum": 20.0,
        "evaluations": 100,
        "unique_evaluations": 50,
        "generations": 5,
        "stopped_by": "optimum",
        "best_bits": "1" * 20,
        "cpu_total": 1.0,
        "cpu_fitness": 0.4,
        "cpu_selection": 0.3,
        "cpu_building": 0.2,
        "cpu_sampling": 0.1,
        "wall_seconds": 2.0,
        "peak_memory": 1000,
        "started": "2026-01-02T03:04:05.678+00:00",
        "host": "here",
        "harmonium": "0.1.0",
        "algorithm": 1,
        "error": "",
    }


def test_a_trial_that_failed_has_the_same_columns(tmp_path: Path) -> None:
    with Store.create(tmp_path / "study.db") as store:
        store.append(make_trial(1), make_record())
        store.append(make_trial(2), make_record(make_failure(AWKWARD)))
        done, failed = rows = list(list_trials(store))
    assert list(failed) == list(done)
    assert (failed["status"], failed["error"]) == ("failed", AWKWARD)
    assert (failed["solved"], failed["evaluations"], failed["cpu_total"]) == (None, None, None)
    assert to_csv(rows) == [as_text(row) for row in rows]
    assert to_json(rows) == rows


def test_tables_survive_a_file(tmp_path: Path) -> None:
    rows = [{"error": AWKWARD, "seed": 1}]
    file = tmp_path / "trials.csv"
    with file.open("w", encoding="utf-8", newline="") as opened:
        write_csv(rows, opened)
    with file.open(encoding="utf-8", newline="") as opened:
        assert list(csv.DictReader(opened)) == [as_text(row) for row in rows]


def test_the_problem_of_a_trial_can_be_made_again(tmp_path: Path) -> None:
    trials = [Trial(problem, EDA(UMDA(), population=16), Stop(), 1) for problem in EXAMPLES]
    rows = fill(tmp_path / "study.db", *trials)
    made: list[ProblemSpec] = [PROBLEMS.parse(row["problem"]) for row in rows]
    assert made == EXAMPLES


def test_a_problem_of_the_user_s_own_can_be_made_again(tmp_path: Path) -> None:
    name = write_module(tmp_path, OWN_ONEMAX)
    with importable(tmp_path):
        problem = parse_problem(f"{name}:Own:length=8,easy=true,weight=none,words=a b")
        trial = Trial(problem, EDA(UMDA(), population=16), Stop(), 1)
        (row,) = fill(tmp_path / "study.db", trial)
        assert parse_problem(row["problem"]) == problem
    assert row["problem"] == str(problem)
    assert row["length"] == 8


def test_trials_of_different_models_can_be_told_apart(tmp_path: Path) -> None:
    models: list[Model] = [RBM(), RBM(hidden="n/2")]
    trials = [Trial(OneMax(20), EDA(model, population=16), Stop(), 1) for model in models]
    one, other = fill(tmp_path / "study.db", *trials)
    del one["key"], other["key"]
    assert one != other


def make_rows() -> list[Row]:
    """Return a row that is done, one that is running and one that failed."""
    walks = []
    for number, outcomes in enumerate(
        [[make_outcome(evaluations=100), make_outcome(evaluations=300)], [], [make_failure()]]
    ):
        case = make_case(
            Bisect(first=8), problem=OneMax(20 + number), runs=2, family="own,problem:“x”"
        )
        known = dict(zip((trial.key for trial in case.trials(8)), outcomes, strict=False))
        walks.append(Walk(case, known))
        walks[-1].advance()
    return summarize(walks)


def test_a_row_is_flat_with_means_beside_their_intervals() -> None:
    done, waiting, failed = list_rows(make_rows())
    assert {name: done[name] for name in list(done)[:9]} == {
        "problem": "own,problem:“x”",
        "size": 20,
        "model": "umda",
        "replacement": "keep-parents",
        "state": "done",
        "reason": "",
        "instances": 1,
        "runs": 2,
        "solved": 2,
    }
    assert (done["evaluations"], done["evaluations_low"], done["evaluations_high"]) == (
        *(200.0, 100.0, 300.0),
    )
    assert (done["population"], done["population_low"], done["population_high"]) == (8, 6, 8)
    assert list(done)[9:] == [
        name for metric in METRICS for name in (metric, f"{metric}_low", f"{metric}_high")
    ]
    assert list(done) == list(waiting) == list(failed)
    assert (waiting["state"], failed["state"]) == ("waiting", "failed")
    assert failed["reason"] == "ValueError: broken"
    for row in (waiting, failed):
        assert all(row[name] is None for name in list(row)[9:])


def test_rows_survive() -> None:
    rows = list(list_rows(make_rows()))
    assert to_csv(rows) == [as_text(row) for row in rows]
    assert to_json(rows) == rows


def test_a_law_is_a_flat_row_and_survives() -> None:
    row = make_rows()[0]
    laws = fit_laws([row, make_rows()[0].__class__(**vars(row) | {"size": 40})])
    rows = list(list_laws(laws))
    assert rows[0] == {
        "problem": "own,problem:“x”",
        "model": "umda",
        "metric": "evaluations",
        "sizes": "20 40",
        "factor": pytest.approx(200),
        "exponent": pytest.approx(0, abs=1e-9),
        "exponent_low": laws[0].exponent.low,
        "exponent_high": laws[0].exponent.high,
        "paper_exponent": None,
    }
    assert to_csv(rows) == [as_text(row) for row in rows]
    assert to_json(rows) == rows
