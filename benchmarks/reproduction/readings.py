"""Export studies of single questions for docs/research/reproduction.md.

    harmonium study run studies/readings.toml --store readings.db
    python -m benchmarks.reproduction.readings readings.db

studies/pairing.toml and studies/instances.toml are run and exported likewise. The file in results/
has the name of the study.
"""

import sys
from pathlib import Path

from benchmarks.pages import RESULTS, write_csv

from harmonium.analysis.tables import list_rows
from harmonium.studies import read_study


def export(store: Path) -> None:
    """Write what a study measured: a row for each reading and problem, or for each instance."""
    result = read_study(store)
    path = RESULTS / f"{result.name}.csv"
    if result.name == "instances":
        cases = result.to_frame("cases")
        done = cases[cases["row_state"] == "done"]
        numbers = ["population", "evaluations", "unique_evaluations"]
        done[["family", "size", "instance", *numbers]].to_csv(path, index=False)
        return
    columns = ("family", "size", "name", "model", "pairing", "state", "reason", "instances", "runs")
    means = ("population", "evaluations", "evaluations_low", "evaluations_high", "cpu_total")
    rows = list_rows(result.rows)
    write_csv(path, ({name: row[name] for name in (*columns, *means)} for row in rows))


if __name__ == "__main__":
    export(Path(sys.argv[1]))
