"""Tables written and read back, and a store to export."""

import csv
import io
import json
from pathlib import Path
from typing import Any

from harmonium.analysis.tables import write_csv, write_json
from harmonium.studies.driver import bind, read_walks
from harmonium.studies.plans import Case
from harmonium.studies.store import Store
from harmonium.studies.study import parse_study
from harmonium.studies.summary import TableName, list_table
from tests.studies.made import make_outcome, make_record

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


def read_table(path: Path, what: TableName = "trials") -> list[dict[str, Any]]:
    with Store.open(path) as store:
        return list(list_table(what, read_walks(store)[1], store))


def fill_cases(path: Path, text: str, folder: Path | None = None) -> list[Case]:
    """Store a study with the runs at its first populations: all are solved, with 100 and 200."""
    study = parse_study(text, "study.toml", folder)
    with Store.create(path) as store:
        bind(study, store)
        for case in study.cases:
            for number, trial in enumerate(case.trials(case.plan.first)):
                store.append(trial, make_record(make_outcome(evaluations=100 * (number + 1))))
    return list(study.cases)
