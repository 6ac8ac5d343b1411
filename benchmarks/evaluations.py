"""Evaluations to the optimum at the smallest sufficient population, compared with the paper.

    python benchmarks/evaluations.py [--store evaluations.db] [--workers N]

Runs studies/evaluations.toml: 30 of 30 runs must succeed; of NK landscapes 5 of 5 for each of 10
instances, with a separate bisection each. Writes a line for each row of the summary to
evaluations.jsonl, for docs/tuning.md and its chart.
"""

import argparse
import json
import sys
from pathlib import Path

from harmonium.analysis.paper import find_point, name_family
from harmonium.studies import Row, load_study

HERE = Path(__file__).parent
STUDY = HERE.parent / "studies" / "evaluations.toml"


def describe(row: Row) -> dict[str, object]:
    """Return a row with our values and those of the paper."""
    population, evaluations, seconds = (
        row.estimate(metric) for metric in ("population", "evaluations", "cpu_total")
    )
    eda = row.algorithm.to_dict()
    return {
        "problem": f"{name_family(row.problem)}:{row.size}",
        "model": eda["model"]["name"],
        "replacement": eda["replacement"],
        "state": row.state,
        "population": population and population.mean,
        "runs": row.runs,
        "evaluations": evaluations and evaluations.mean,
        "cpu_seconds": seconds and seconds.mean,
        "paper_rbm": find_point(row.problem, "RBM", "evaluations"),
        "paper_boa": find_point(row.problem, "BOA", "evaluations"),
    }


def main() -> None:
    """Run the trials that the store does not hold yet, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", type=Path, default=Path("evaluations.db"))
    parser.add_argument("--workers", type=int)
    options = parser.parse_args()
    result = load_study(STUDY).run(options.store, workers=options.workers)
    lines = [json.dumps(describe(row)) + "\n" for row in result.rows]
    (HERE / "evaluations.jsonl").write_text("".join(lines), encoding="utf-8")
    sys.stdout.writelines(lines)


if __name__ == "__main__":
    main()
