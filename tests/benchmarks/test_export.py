"""A study measured in parts: merged exports are those of the whole study."""

import csv
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.reproduction import export

import harmonium as hm
from harmonium.analysis.tables import list_laws, list_rows
from harmonium.studies import fit_laws, load_study
from tests.studies.made import make_row

ROOT = Path(__file__).parents[2]
NUMBERS = ("factor", "exponent", "exponent_low", "exponent_high")
STUDY = """
name = "parts"
models = ["umda", "boa"]
[stop]
max_generations = 20
patience = 3
[bisect]
"""
FAMILY = """
[[problems]]
problem = "nk:k=2"
sizes = {}
instances = 2
runs = 1
models = {}
"""


def run(folder: Path, name: str, families: list[tuple[list[int], str]]) -> Path:
    """Run a study in this process; return its store."""
    file = folder / f"{name}.toml"
    file.write_text(STUDY + "".join(FAMILY.format(*family) for family in families), "utf-8")
    load_study(file).run(folder / f"{name}.db", engine="serial")
    return folder / f"{name}.db"


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def check_alike(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> None:
    """Check that two tables of laws agree to rounding."""
    assert [law["metric"] for law in one] == [law["metric"] for law in other]
    for mine, theirs in zip(one, other, strict=True):
        for key, value in mine.items():
            expected = theirs[key]
            if key in NUMBERS and value not in (None, ""):
                assert float(value) == pytest.approx(float(expected), rel=1e-9), (mine, key)
            else:
                assert str(value or "") == str(expected or "")


def test_laws_of_an_export_are_those_of_its_samples() -> None:
    rng = np.random.default_rng(1)
    rows = [
        make_row(
            size,
            family="onemax",
            algorithm=hm.EDA("boa", replacement="keep-parents"),
            bracket=0.1,
            population=16 * size,
            evaluations=size**1.5 * rng.lognormal(0, 0.3, 5),
            cpu_total=size**2.5 * rng.lognormal(0, 0.01, 5),
        )
        for size in (8, 9, 12, 16)
    ]
    rows.append(replace(rows[-1], size=20, state="running"))
    laws = list(list_laws(list(fit_laws(rows))))
    assert [law["paper_exponent"] for law in laws if law["metric"] == "evaluations"] == [1.3]
    check_alike(list(list_laws(list(export.fit_laws(list(list_rows(rows)))))), laws)


def test_the_committed_laws_are_those_of_the_committed_summary() -> None:
    laws = list(list_laws(list(export.fit_laws(read(ROOT / "results" / "reproduction.csv")))))
    assert len(laws) > 50
    check_alike(laws, read(ROOT / "results" / "reproduction-laws.csv"))


def test_the_committed_rows_are_those_of_the_study() -> None:
    places = [export.locate(row) for row in read(ROOT / "results" / "reproduction.csv")]
    cases = load_study(export.STUDY).cases
    assert places == list(dict.fromkeys((case.family, case.size, case.name) for case in cases))


def test_parts_make_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both, boa = '["umda", "boa"]', '["boa"]'
    families = [([6, 8, 10], both), ([12], boa)]
    tables = {}
    for results in ("whole", "parts"):
        (tmp_path / results).mkdir()
        monkeypatch.setattr(export, "RESULTS", tmp_path / results)
        monkeypatch.setattr("benchmarks.pages.RESULTS", tmp_path / results)
        monkeypatch.setattr(export, "STUDY", tmp_path / "whole.toml")
        if results == "whole":
            stores = [run(tmp_path, "whole", families)]
        else:
            first = run(tmp_path, "first", [([6, 10], both)])
            second = run(tmp_path, "second", [([8], both), ([12], boa)])
            stores = [second, first, second]
        for store in stores:
            export.export(store)
        facts = json.loads((tmp_path / results / "reproduction.json").read_text("utf-8"))
        tables[results] = (
            [
                {key: value for key, value in row.items() if "cpu" not in key and "mem" not in key}
                for row in read(tmp_path / results / "reproduction.csv")
            ],
            [
                (row["name"], row["sizes"], float(row["exponent"]))
                for row in read(tmp_path / results / "reproduction-laws.csv")
                if row["metric"] == "evaluations"
            ],
            read(tmp_path / results / "reproduction-instances.csv"),
            sum(part["trials"] for part in facts["parts"]),
            sum(part["bisections"] for part in facts["parts"]),
            (facts["rows"], facts["unfinished"]),
        )
    assert tables["parts"] == tables["whole"]
    assert tables["whole"][1][1][:2] == ("boa", "6 8 10 12")
    assert tables["whole"][-2:] == (14, (7, 0))


def test_rows_that_are_not_done_replace_none_that_are() -> None:
    def make(state: str, number: int) -> dict[str, Any]:
        return {"family": "f", "size": 8, "name": "m", "state": state, "number": number}

    def merge(*states: str) -> int:
        study, kept, new = (make(state, at) for at, state in enumerate(states))
        (row,) = export.merge_rows([[study], [kept]], [new])
        return int(row["number"])

    assert merge("waiting", "done", "done") == 2
    assert merge("waiting", "done", "unfinished") == 1
    assert merge("waiting", "unfinished", "unfinished") == 2
    beyond = make("done", 1) | {"size": 9}
    with pytest.raises(ValueError, match="f 9 m: done, but not in"):
        export.merge_rows([[make("waiting", 0)]], [beyond])
    assert len(export.merge_rows([[make("waiting", 0)]], [beyond | {"state": "waiting"}])) == 1


def test_a_store_of_another_study_is_refused() -> None:
    algorithms = {"umda": hm.EDA("umda")}
    one, other = (
        hm.Study("s", [hm.Family("onemax", sizes=[8], runs=runs)], algorithms, hm.Bisect())
        for runs in (3, 4)
    )
    export.check_cases(one, one.cases)
    with pytest.raises(ValueError, match="onemax 8 umda: the store's case is not in"):
        export.check_cases(one, other.cases)
