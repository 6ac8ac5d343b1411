"""Measure readings of the paper's RBM, and why it needs centred gradients: docs/reproduction.md.

    harmonium study run studies/readings.toml --store readings.db    # about ten CPU minutes
    python -m benchmarks.reproduction.readings --store readings.db # writes results/readings.csv
    python -m benchmarks.reproduction.readings --masks            # writes results/masks.jsonl

studies/pairing.toml and studies/instances.toml are run and exported as the first: the file has the
name of the study.

The second measurement solves 4-traps of 40 bits, with and without centring. The model sees each
block of four bits through its part of the XOR mask. Random masks are those of every run; the others
are the same in all blocks: no ones, two or four.
"""

import argparse
import csv
import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import harmonium as hm
from harmonium.analysis.tables import list_rows
from harmonium.search.population import PopulationSearch
from harmonium.studies import read_study

RESULTS = Path(__file__).parents[2] / "results"
BITS, ORDER = 40, 4
SETTINGS = {
    "uncentred": "rbm-paper:gamma=points,centered=false",
    "centred": "rbm-paper:gamma=points",
}
POPULATION, SEEDS = 3072, 10
MASKS = {"no ones": "0000", "two ones": "0011", "four ones": "1111", "random": None}
"""The mask of each block of four bits."""


def export(store: Path) -> None:
    """Write what a study measured: a row for each reading and problem, or for each instance."""
    result = read_study(store)
    path = RESULTS / f"{result.study.name}.csv"
    if result.study.name == "instances":
        cases = result.to_frame("cases")
        done = cases[cases["row_state"] == "done"]
        numbers = ["population", "evaluations", "unique_evaluations"]
        done[["family", "size", "instance", *numbers]].to_csv(path, index=False)
        return
    columns = ("family", "size", "name", "model", "pairing", "state", "reason", "instances", "runs")
    means = ("population", "evaluations", "evaluations_low", "evaluations_high", "cpu_total")
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, (*columns, *means), extrasaction="ignore")
        writer.writeheader()
        writer.writerows(list_rows(result.rows))


def solve(setting: str, masks: str, seed: int) -> dict[str, Any]:
    """Run once; return how it ended, with the wrong blocks and all blocks by ones in the mask."""
    problem = hm.Trap(length=BITS, order=ORDER)
    search = hm.EDA(SETTINGS[setting], population=POPULATION).start(BITS, seed)
    if not isinstance(search, PopulationSearch):
        raise TypeError(f"the search is a {type(search).__name__}; expected one population")
    block = MASKS[masks]
    if block is not None:
        search.mask = np.array(list(block) * (BITS // ORDER), dtype=np.uint8)
    best, fitness, evaluations, last = np.zeros(BITS, dtype=np.uint8), -1.0, 0, 0
    while fitness < problem.optimum and search.generation < min(100, last + 20):
        bits = search.ask()
        values = problem(bits)
        search.tell(bits, values)
        evaluations += len(bits)
        if values.max() > fitness:
            best, fitness, last = bits[values.argmax()], float(values.max()), search.generation
        if search.converged:
            break
    ones = search.mask.reshape(-1, ORDER).sum(axis=1)
    wrong = ~best.reshape(-1, ORDER).all(axis=1)
    return {
        **{"setting": setting, "masks": masks, "population": POPULATION, "seed": seed},
        **{"solved": fitness == problem.optimum, "evaluations": evaluations},
        "blocks": np.bincount(ones, minlength=ORDER + 1).tolist(),
        "wrong": np.bincount(ones[wrong], minlength=ORDER + 1).tolist(),
    }


def measure_masks() -> None:
    """Run every setting with all masks, a line of the file for each run; runs in it are kept."""
    path = RESULTS / "masks.jsonl"
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    done = {(run["seed"], run["masks"], run["setting"]) for run in map(json.loads, lines)}
    with path.open("a", encoding="utf-8") as file:
        for place in product(range(1, SEEDS + 1), MASKS, SETTINGS):
            if place not in done:
                seed, masks, setting = place
                file.write(json.dumps(solve(setting, masks, seed)) + "\n")
                file.flush()


def main() -> None:
    """Write the files that are asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--store", type=Path)
    parser.add_argument("--masks", action="store_true")
    options = parser.parse_args()
    if options.store:
        export(options.store)
    if options.masks:
        measure_masks()


if __name__ == "__main__":
    main()
