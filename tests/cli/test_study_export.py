"""`harmonium study export`: trials, traces, cases, summary and laws as CSV and JSON."""

import csv
import io
import json
from pathlib import Path

from tests.cli.commands import call_here
from tests.cli.studies import Small, export, read_traces, read_trials


def test_export_writes_trials_summary_and_laws_as_csv_and_json(
    small: Small, tmp_path: Path
) -> None:
    trials = export(small.store)
    stored = read_trials(small.store)
    assert [row["key"] for row in trials] == list(stored)
    assert {row["problem"] for row in trials if row["model"] == "umda"} == {
        *("onemax:length=10", "onemax:length=20")
    }
    for row in trials:
        result = json.loads(stored[row["key"]]["result"])
        assert row["solved"] is result["solved"]
        assert row["x"] == f"b{result['x']}"
        assert row["cpu_total"] == result["cpu_seconds"]["total"]
    laws = export(small.store, "--what", "scaling")
    assert laws[0]["sizes"] == "10 20"
    papers = {(row["family"], row["name"], row["metric"]): row["paper_exponent"] for row in laws}
    assert papers["onemax", "boa", "evaluations"] == 1.3
    assert papers["onemax", "umda", "evaluations"] is None
    assert papers["trap:order=4", "boa", "cpu_total"] == 3.9
    file = tmp_path / "trials.csv"
    done = call_here("study", "export", str(small.store), "-o", str(file))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with file.open(encoding="utf-8", newline="") as lines:
        for texts, row in zip(csv.DictReader(lines), trials, strict=True):
            assert list(texts) == list(row)
            assert [texts[name] for name in ("key", "name", "counted", "x")] == [
                str(row[name]) for name in ("key", "name", "counted", "x")
            ]
            assert float(texts["cpu_total"]) == row["cpu_total"]
    done = call_here("study", "export", str(small.store), "--what", "summary")
    names = next(csv.reader(io.StringIO(done.stdout)))
    assert {"cpu_building_low", "peak_memory", *small.summary[0]} <= set(names)
    assert len(done.stdout.splitlines()) == 1 + len(small.summary)


def test_export_gives_each_case_and_each_generation(small: Small) -> None:
    cases = export(small.store, "--what", "cases")
    assert [(row["size"], row["instance"]) for row in cases if row["family"] == "nk:k=2"] == [
        *((8, 0), (8, 1), (10, 0), (10, 1))
    ]
    for row in small.summary:
        found = [
            case["population"]
            for case in cases
            if (case["family"], case["size"], case["name"])
            == (row["family"], row["size"], row["name"])
        ]
        assert sum(found) / len(found) == row["population"]
    for case in cases:
        assert case["population_high"] == case["population"]
        assert (case["population_low"] or 0) < case["population"]
    traces = export(small.store, "--what", "traces")
    lengths = [len(trace["best"]) for trace in read_traces(small.store).values()]
    assert len(traces) == sum(lengths)
    last = {row["key"]: row for row in traces}
    for trial in export(small.store):
        assert last[trial["key"]]["evaluations"] == trial["evaluations"]
        assert last[trial["key"]]["best"] == trial["fun"]
        assert last[trial["key"]]["name"] == trial["name"]
