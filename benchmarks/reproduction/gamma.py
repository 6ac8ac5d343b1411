"""Measure why γ of single errors ends training too soon, and γ of mean errors does not.

    python -m benchmarks.reproduction.gamma   # 15 CPU minutes, resumable; results/gamma.jsonl

5-traps of 60 bits are solved with both readings of γ at several populations. A line of the file has
one run: how it ended, the epochs of its generations, and how the first fit changed the blocks. Runs
in the file are kept. docs/reproduction.md shows the result.
"""

import json
from itertools import product
from pathlib import Path
from typing import Any

import harmonium as hm
from harmonium.jit import one_blas_thread
from harmonium.runs import Runner, Stop

FILE = Path(__file__).parents[2] / "results" / "gamma.jsonl"
BITS, ORDER = 60, 5
POPULATIONS, SEEDS = (8192, 16384, 32768), 5
READINGS = ("points", "means")


def measure(population: int, reading: str, seed: int) -> dict[str, Any]:
    """Solve the trap once."""
    epochs: list[float] = []
    shares: list[tuple[float, float]] = []

    def watch(runner: Runner) -> None:
        search: Any = runner.search
        bits = search.population.bits.reshape(-1, ORDER)
        shares.append((float(bits.all(axis=1).mean()), float((~bits.any(axis=1)).mean())))
        if search.fitted is not None:
            epochs.append(search.fitted.facts["epochs"])

    result = hm.run(
        hm.Trap(length=BITS, order=ORDER),
        hm.EDA(f"rbm-paper:gamma={reading}", population=population),
        stop=Stop(max_generations=100, patience=20),
        seed=seed,
        callback=watch,
    )
    return {
        "solved": result.solved,
        "evaluations": result.evaluations,
        "wrong": int(BITS // ORDER - result.x.reshape(-1, ORDER).all(axis=1).sum()),
        "epochs": epochs,
        "optimum": [share[0] for share in shares],
        "attractor": [share[1] for share in shares],
        "cpu": round(sum(result.cpu_seconds.values()), 1),
    }


def main() -> None:
    """Run what the file does not have yet."""
    lines = FILE.read_text("utf-8").splitlines() if FILE.exists() else []
    keys = ("population", "reading", "seed")
    done = {tuple(run[key] for key in keys) for run in map(json.loads, lines)}
    with FILE.open("a", encoding="utf-8") as file, one_blas_thread():
        for place in product(POPULATIONS, READINGS, range(1, SEEDS + 1)):
            if place not in done:
                found = measure(*place)
                file.write(json.dumps(dict(zip(keys, place, strict=True)) | found) + "\n")
                file.flush()


if __name__ == "__main__":
    main()
