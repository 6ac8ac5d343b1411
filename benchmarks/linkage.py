"""Compare models as sources of linkage: a pyramid that mixes along the sets of each.

    python benchmarks/linkage.py [--seeds 5] [--max-calls 100000] [--linkage tree rbm …]

For each problem, with shuffled bits, and each source: solved runs, and the means over all runs of
function calls, CPU seconds, and the share of them that learning the sets took. Each line is also
appended to linkage.jsonl, and is not measured again when the script is called again. Ends with a
table.
"""

import argparse
import json
import sys
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

import harmonium as hm

FAMILIES = (
    *("trap:length=60,order=5", "trap:length=60,order=5,distance=3", "hiff:length=64"),
    *("nk:length=30,k=4", "nk:length=40,k=4,neighbors=ring", "maxsat:length=50,clauses=200"),
    "ising:side=10",
)
WITH_INSTANCES = ("nk", "maxsat", "ising")
LINKAGES = ("tree", "rbm", "boa", "hboa", "ecga", "mrf", "bmda", "mimic")


def measure(family: str, linkage: str, seeds: int, max_calls: int) -> dict[str, Any]:
    """Return one line: means over seeds, which are also the instances."""
    results = []
    for seed in range(seeds):
        instance = f",instance={seed}" if family.split(":", maxsplit=1)[0] in WITH_INSTANCES else ""
        problem = hm.PROBLEMS.parse(family + instance)
        order = np.random.default_rng(seed).permutation(problem.length)
        results.append(
            hm.maximize(
                lambda bits, problem=problem, order=order: problem(bits[:, order]),
                problem.length,
                algorithm=hm.Pyramid(linkage=linkage),
                batch=True,
                target=problem.optimum,
                max_calls=max_calls,
                stagnation=1e9,
                seed=seed,
            )
        )
    cpu = [sum(result.cpu_seconds.values()) for result in results]
    building = fmean(result.cpu_seconds["building"] for result in results)
    return {
        "problem": family,
        "linkage": linkage,
        "runs": seeds,
        "solved": sum(result.success for result in results),
        "calls": fmean(result.calls for result in results),
        "cpu_seconds": fmean(cpu),
        "building": building / fmean(cpu),
    }


def read_rows(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the lines of a file by problem and source; the last one counts."""
    if not path.exists():
        return {}
    rows = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {(row["problem"], row["linkage"]): row for row in rows}


def tabulate(rows: dict[tuple[str, str], dict[str, Any]]) -> str:
    """Return a table in Markdown: calls and CPU seconds, with the solved runs where some failed."""
    used = [one for one in LINKAGES if any(linkage == one for _, linkage in rows)]
    head = ["problem", *(f"`{linkage}`" for linkage in used)]
    lines = ["| " + " | ".join(head) + " |", "| --- " * len(head) + "|"]
    for family in FAMILIES:
        cells = [f"`{family}`"]
        for linkage in used:
            row = rows.get((family, linkage))
            cells.append("" if row is None else _show(row))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _show(row: dict[str, Any]) -> str:
    failed = "" if row["solved"] == row["runs"] else f", {row['solved']} of {row['runs']}"
    return f"{row['calls']:,.0f} ({row['cpu_seconds']:.2g} s{failed})"


def main() -> None:
    """Measure what is missing and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--max-calls", type=int, default=100_000)
    parser.add_argument("--linkage", nargs="*", default=LINKAGES, choices=LINKAGES)
    parser.add_argument("--file", type=Path, default=Path(__file__).with_suffix(".jsonl"))
    options = parser.parse_args()
    rows = read_rows(options.file)
    for linkage in options.linkage:
        for family in FAMILIES:
            if (family, linkage) in rows:
                continue
            row = measure(family, linkage, options.seeds, options.max_calls)
            rows[family, linkage] = row
            with options.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            sys.stderr.write(f"{family}, {linkage}: {_show(row)}\n")
    sys.stdout.write(tabulate(rows) + "\n")


if __name__ == "__main__":
    main()
