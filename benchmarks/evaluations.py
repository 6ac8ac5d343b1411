"""Evaluations to the optimum at the smallest sufficient population, beside the paper's figures.

    python benchmarks/evaluations.py [--store evaluations.db] [--workers N]

Runs studies/evaluations.toml (30 of 30 runs; NK landscapes 5 of 5 for each of 10 instances, each
with a bisection of its own) and writes a line a row to evaluations.jsonl, for docs/tuning.md and
its chart.
"""

import argparse
import json
import sys
from pathlib import Path

from harmonium.studies import Row, load_study, run_study
from harmonium.studies.paper import find_point, name_family

HERE = Path(__file__).parent
STUDY = HERE.parent / "studies" / "evaluations.toml"


def describe(row: Row) -> dict[str, object]:
    """Return a row with the paper's figures beside ours."""
    population, evaluations, seconds = (
        row.estimate(metric) for metric in ("population", "evaluations", "cpu_total")
    )
    return {
        "problem": f"{name_family(row.problem)}:{row.size}",
        "model": row.eda.model.name,
        "replacement": row.eda.replacement,
        "state": row.state,
        "population": population and population.mean,
        "runs": row.runs,
        "evaluations": evaluations and evaluations.mean,
        "cpu_seconds": seconds and seconds.mean,
        "paper_rbm": find_point(row.problem, "RBM", "evaluations"),
        "paper_boa": find_point(row.problem, "BOA", "evaluations"),
    }


def main() -> None:
    """Run what the store misses, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", type=Path, default=Path("evaluations.db"))
    parser.add_argument("--workers", type=int)
    options = parser.parse_args()
    rows = run_study(load_study(STUDY), options.store, workers=options.workers)
    lines = [json.dumps(describe(row)) + "\n" for row in rows]
    (HERE / "evaluations.jsonl").write_text("".join(lines), encoding="utf-8")
    sys.stdout.writelines(lines)


if __name__ == "__main__":
    main()
