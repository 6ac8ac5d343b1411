"""Compare the function calls and CPU time of rbm and boa on problems of different lengths.

    python benchmarks/choice.py [--seeds 5]

Both solve the same problems with interleaved populations. The price is the time of one call, in
seconds, from which on the RBM is faster, if it needs fewer calls. Writes choice.jsonl.
"""

import argparse
import json
import sys
from pathlib import Path
from statistics import fmean
from typing import Any

import harmonium as hm

PROBLEMS = (
    "onemax:length=50",
    "onemax:length=100",
    "onemax:length=200",
    "trap:length=40,order=4",
    "trap:length=60,order=5",
    "trap:length=100,order=5",
    "hiff:length=64",
    "nk:length=30,k=4",
    "nk:length=40,k=4,neighbors=ring",
    "maxsat:length=50,clauses=200",
)


def measure(problem: Any, model: str, seeds: int) -> tuple[int, float, float]:
    """Return the solved runs, and the means of calls and of CPU seconds outside the function."""
    results = [
        hm.maximize(
            problem, problem.length, batch=True, model=model, target=problem.optimum, seed=seed
        )
        for seed in range(1, seeds + 1)
    ]
    solved = sum(result.success for result in results)
    own = fmean(result.cpu_total - result.cpu_seconds["fitness"] for result in results)
    return solved, fmean(result.calls for result in results), own


def main() -> None:
    """Print a line for each problem and write them to a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    lines = []
    for text in PROBLEMS:
        problem = hm.PROBLEMS.parse(text)
        rbm, boa = (measure(problem, model, options.seeds) for model in ("rbm", "boa"))
        saved, dearer = boa[1] - rbm[1], rbm[2] - boa[2]
        price = dearer / saved if saved > 0 else None
        row = {"problem": text, "length": problem.length, "runs": options.seeds, "price": price}
        for name, (solved, evaluations, seconds) in (("rbm", rbm), ("boa", boa)):
            row |= {f"{name}_solved": solved, f"{name}_evaluations": evaluations}
            row |= {f"{name}_seconds": seconds}
        lines.append(json.dumps(row) + "\n")
        sys.stdout.write(lines[-1])
        sys.stdout.flush()
    Path(__file__).with_name("choice.jsonl").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
