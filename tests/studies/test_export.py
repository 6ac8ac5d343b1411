import csv
import io
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harmonium import EDA, NK, PROBLEMS, RBM, UMDA, Model, OneMax, Stop
from harmonium.importing import importable
from harmonium.problems import ProblemSpec
from harmonium.problems.custom import parse_problem
from harmonium.studies.driver import bind, read_walks, walk_study
from harmonium.studies.export import (
    Index,
    list_cases,
    list_laws,
    list_rows,
    list_traces,
    list_trials,
    write_csv,
    write_json,
)
from harmonium.studies.plans import Bisect, Case, Fixed, Walk
from harmonium.studies.scaling import fit_laws
from harmonium.studies.store import Outcome, Store
from harmonium.studies.study import read_study
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


def assert_same(read: list[dict[str, str]], rows: list[dict[str, Any]]) -> None:
    """Check what was read against what was written; numbers may be written in several ways."""
    assert len(read) == len(rows)
    for texts, row in zip(read, rows, strict=True):
        assert list(texts) == list(row)
        for text, value in zip(texts.values(), row.values(), strict=True):
            if isinstance(value, float):
                assert float(text) == value
            else:
                assert text == ("" if value is None else str(value))


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0"))
VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63), st.floats(allow_nan=False), TEXTS
)
TABLES = st.lists(st.tuples(VALUES, VALUES, VALUES)).map(
    lambda rows: [dict(zip(("a", "b, c", "größe"), row, strict=True)) for row in rows]
)


@given(TABLES)
def test_csv_gives_back_what_was_written(rows: list[dict[str, Any]]) -> None:
    assert_same(to_csv(rows), rows)


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
    assert_same(to_csv(rows), rows)
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


@given(TABLES.filter(bool))
def test_csv_is_what_the_standard_library_would_write(rows: list[dict[str, Any]]) -> None:
    rows = [{name: str(value) for name, value in row.items()} for row in rows]
    mine, theirs = io.StringIO(newline=""), io.StringIO(newline="")
    write_csv(rows, mine)
    csv.writer(theirs).writerows([rows[0].keys(), *(row.values() for row in rows)])
    assert mine.getvalue() == theirs.getvalue()


def test_a_single_empty_cell_is_a_row() -> None:
    assert to_csv([{"a": None}, {"a": 1}]) == [{"a": ""}, {"a": "1"}]


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
        "current": None,
        "counted": None,
        "family": None,
        "length": 20,
        "instance": 3,
        "name": None,
        "population": 16,
        "seed": 7,
        "status": "done",
        "problem": "nk:instance=3,k=2,length=20,neighbors=random",
        "model": "umda",
        "replacement": "keep-parents",
        "tournament": 2,
        "pairing": "any",
        "solved": True,
        "best_fitness": 20.0,
        "optimum": 20.0,
        "evaluations": 100,
        "unique_evaluations": 50,
        "generations": 5,
        "stopped_by": "optimum",
        "best_bits": "b" + "1" * 20,
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
    assert_same(to_csv(rows), rows)
    assert to_json(rows) == rows


def test_tables_survive_a_file(tmp_path: Path) -> None:
    rows = [{"error": AWKWARD, "seed": 1}]
    file = tmp_path / "trials.csv"
    with file.open("w", encoding="utf-8", newline="") as opened:
        write_csv(rows, opened)
    with file.open(encoding="utf-8", newline="") as opened:
        assert_same(list(csv.DictReader(opened)), rows)


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
        *(200.0, None, None),  # of two runs there is no interval
    )
    assert (done["population"], done["population_low"], done["population_high"]) == (8, None, 8)
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
    assert_same(to_csv(rows), rows)
    assert to_json(rows) == rows


def test_a_law_is_a_flat_row_and_survives() -> None:
    row = make_rows()[0]
    laws = fit_laws([row, replace(row, size=30), replace(row, size=40)])
    rows = list(list_laws(laws))
    assert rows[0] == {
        "problem": "own,problem:“x”",
        "model": "umda",
        "metric": "evaluations",
        "sizes": "20 30 40",
        "factor": pytest.approx(200),
        "exponent": pytest.approx(0, abs=1e-9),
        "exponent_low": laws[0].exponent.low,
        "exponent_high": laws[0].exponent.high,
        "paper_exponent": None,
    }
    assert_same(to_csv(rows), rows)
    assert to_json(rows) == rows
    few = [
        replace(law, exponent=replace(law.exponent, low=math.nan, high=math.nan)) for law in laws
    ]
    assert [row["exponent_low"] for row in list_laws(few)] == [None] * len(few)


VARIANTS = """
name = "variants"
models = ["boa", { name = "boa-rtr", model = "boa", replacement = "rtr" }]
[bisect]
start = 8
[[problems]]
problem = "nk:k=2"
sizes = [10]
instances = 2
runs = 2
"""


def read_table(
    path: Path, *, stale: bool = False, traces: bool = False
) -> tuple[list[dict[str, Any]], Index]:
    with Store.open(path) as store:
        index = Index(read_walks(store)[1])
        listed = list_traces if traces else list_trials
        return list(listed(store, index, stale=stale)), index


def fill_cases(path: Path, text: str, folder: Path | None = None) -> list[Case]:
    """Store a study with the runs at its first populations: all are solved, with 100 and 200."""
    study = read_study(text, "study.toml", folder)
    with Store.create(path) as store:
        bind(study, store)
        for case in study.cases:
            population = case.plan.population if isinstance(case.plan, Fixed) else case.plan.first
            for number, trial in enumerate(case.trials(population)):
                store.append(trial, make_record(make_outcome(evaluations=100 * (number + 1))))
    return list(study.cases)


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
            row["evaluations"] for row in rows if row["name"] == plain["model"] and row["counted"]
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
        bind(read_study(VARIANTS, "study.toml", None), store)
    rows, _ = read_table(path, stale=True)
    assert {row["seed"] for row in rows if row["current"]} == {1, 2}
    assert {row["seed"] for row in rows if not row["current"]} == {3}
    with Store.create(path) as store:
        bind(read_study(VARIANTS + "[stop]\npatience = 5\n", "study.toml", None), store)
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


def test_trials_of_an_edited_module_are_told_apart_and_left_out(tmp_path: Path) -> None:
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


def test_models_of_the_user_s_own_need_not_be_there_any_more(tmp_path: Path) -> None:
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


def test_a_trace_is_a_row_a_generation(tmp_path: Path) -> None:
    path = tmp_path / "study.db"
    cases = fill_cases(path, VARIANTS)
    trace = {"generation": [0], "evaluations": [16], "best": [9.0], "mean": [5.0], "epochs": [4.0]}
    with Store.create(path) as store:
        more, failed = cases[0].trials(16)
        store.append(more, make_record(trace=trace))
        store.append(failed, make_record(make_failure()))
    trials, _ = read_table(path)
    rows, _ = read_table(path, traces=True)
    assert len(rows) == 8 * 2 + 1
    assert {tuple(row) for row in rows} == {tuple(rows[0])}
    assert list(rows[0])[9:] == ["generation", "evaluations", "best", "mean", "edges", "epochs"]
    for row, trial in zip(rows[::2], [*trials[:8], trials[8]], strict=True):
        assert {name: row[name] for name in list(row)[:9]} == {
            name: trial[name] for name in list(row)[:9]
        }
    assert [row["best"] for row in rows[:2]] == [12.0, 20.0]
    assert [row["edges"] for row in rows[:2]] == [None, 3.0]
    assert (rows[-1]["evaluations"], rows[-1]["edges"], rows[-1]["epochs"]) == (16, None, 4.0)
    assert_same(to_csv(rows), rows)
    assert to_json(rows) == rows


def test_traces_are_read_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "study.db"
    fill_cases(path, VARIANTS)
    read: list[str] = []
    trace = Store.trace

    def note(store: Store, key: str) -> dict[str, list[Any]]:
        read.append(key)
        return trace(store, key)

    monkeypatch.setattr(Store, "trace", note)
    with Store.open(path) as store:
        rows = list_traces(store)
        next(rows)
        assert len(read) == 8 + 1  # all for the columns, and the first
        assert len(list(rows)) == 15
        assert len(read) == 16


def walk(case: Case, *attempts: tuple[int, list[Outcome]]) -> Walk:
    """Return the walk of a case with these outcomes at these populations."""
    known = {
        trial.key: outcome
        for population, outcomes in attempts
        for trial, outcome in zip(case.trials(population), outcomes, strict=False)
    }
    made = Walk(case, known)
    made.advance()
    return made


def test_a_case_has_its_population_and_bounds() -> None:
    good, bad = make_outcome(evaluations=50, cpu=2.0), make_outcome(False)
    plan = Bisect(first=8, tolerance=0.3, max_population=16)
    case = make_case(plan, problem=NK(10, 2, instance=4), instance=4, runs=2, family="nk:k=2")
    rows = list(
        list_cases(
            [
                walk(case, (8, [bad]), (16, [good, good]), (12, [good, good])),
                walk(case, (8, [bad]), (16, [good, good])),
                walk(case, (8, [bad])),
                walk(case, (8, [good, bad]), (16, [bad])),
                walk(case, (8, [good, good])),
                walk(case),
                walk(case, (8, [bad]), (16, [make_failure()])),
                walk(make_case(Fixed(20), runs=2), (20, [good, bad])),
            ]
        )
    )
    bounds = [(row["population"], row["population_low"], row["population_high"]) for row in rows]
    assert [row["state"] for row in rows] == [
        *("unfinished", "unfinished", "unfinished", "not solved", "done", "waiting"),
        *("failed", "done"),
    ]
    assert bounds[0] == (None, 8, 12)
    assert bounds[1:] == [
        *((None, 8, 16), (None, 8, None), (None, 16, None), (8, None, 8)),
        *((None, None, None), (None, 8, None), (20, None, None)),
    ]
    done = rows[4]
    assert {name: done[name] for name in list(done)[:11]} == {
        "family": "nk:k=2",
        "size": 10,
        "instance": 4,
        "name": "umda",
        "problem": "nk:instance=4,k=2,length=10,neighbors=random",
        "model": "umda",
        "replacement": "keep-parents",
        "tournament": 2,
        "pairing": "any",
        "state": "done",
        "reason": "",
    }
    assert (done["runs"], done["solved"], done["evaluations"], done["cpu_total"]) == (2, 2, 50, 2)
    assert (done["spent_runs"], done["spent_evaluations"], done["spent_cpu"]) == (2, 100, 4.0)
    assert (rows[3]["evaluations"], rows[3]["spent_runs"]) == (None, 3)
    assert rows[3]["reason"] == "not solved within population 16"
    assert {tuple(row) for row in rows} == {tuple(done)}
    assert_same(to_csv(rows), rows)
    assert to_json(rows) == rows


def test_cases_come_to_the_summary() -> None:
    study = read_study(VARIANTS, "study.toml", None)
    known = {
        trial.key: make_outcome(evaluations=100 + 10 * number)
        for number, case in enumerate(study.cases)
        for trial in case.trials(8)
    }
    walks = walk_study(study, known)
    cases, rows = list(list_cases(walks)), list(list_rows(summarize(walks)))
    assert [(row["name"], row["instance"]) for row in cases] == [
        *(("boa", 0), ("boa", 1), ("boa-rtr", 0), ("boa-rtr", 1))
    ]
    for first, second, row in zip(cases[::2], cases[1::2], rows, strict=True):
        assert (first["evaluations"] + second["evaluations"]) / 2 == row["evaluations"]


def test_pandas_reads_the_bits_as_they_are(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    result = {**make_record().result, "best_bits": "00010111"}
    with Store.create(tmp_path / "study.db") as store:
        store.append(make_trial(1), make_record(result=result))
        rows = list(list_trials(store))
    for name, write, read in (
        ("trials.csv", write_csv, pandas.read_csv),
        ("trials.json", write_json, pandas.read_json),
    ):
        with (tmp_path / name).open("w", encoding="utf-8", newline="") as file:
            write(rows, file)
        table = read(tmp_path / name)
        assert list(table["best_bits"]) == ["b00010111"]
        assert table["seed"].tolist() == [1]
