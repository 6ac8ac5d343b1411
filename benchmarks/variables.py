"""Compare codes for variables that are not bits, and Optuna's TPE, on interacting variables.

    python benchmarks/variables.py [--seeds 10] [--with-tpe]

Six choices and six integers of ten values each interact in pairs along a ring, so that the optimum
is known exactly. "random" has a random value for each pair; in "ordered" integers have ridges and
peaks, as numbers usually do. "wide" has six integers of 1,000 values and six choices of five; its
optimum is not known, and its values are compared with each other. Each run is a line of
variables.jsonl; runs that are there are not repeated.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

import harmonium as hm

VALUES = 10
CHOICES, INTEGERS = 6, 6
KINDS = ("ordered", "random", "wide")
CODES = ("space", "binary", "gray", "one-hot")
BUDGETS = (500, 2000)


class Ring:
    """Choices and integers of ten values each, in a ring of pairs that interact.

    Parameters
    ----------
    kind : "random" or "ordered"
        Whether the values of integers matter by their order.
    instance : int
        Which of the random problems.
    """

    def __init__(self, kind: str, instance: int) -> None:
        rng = np.random.default_rng([7, instance])
        count, self.ordered = CHOICES + INTEGERS, kind == "ordered"
        self.space = {
            f"v{number}": [*"abcdefghij"] if number < CHOICES else range(VALUES)
            for number in range(count)
        }
        self.single = 0.5 * rng.random((count, VALUES))
        for number in range(CHOICES, count):
            self.single[number] = 0.5 - 0.5 * np.abs(np.arange(VALUES) - rng.integers(VALUES)) / 10
        order = rng.permutation(count).tolist()
        pairs = zip(order, order[1:] + order[:1], strict=True)
        self.pairs = [(one, other, self._make_table(one, other, rng)) for one, other in pairs]

    def _make_table(self, one: int, other: int, rng: np.random.Generator) -> np.ndarray:
        numbers = np.arange(VALUES)
        integers = (one >= CHOICES) + (other >= CHOICES)
        if not (self.ordered and integers):
            return rng.random((VALUES, VALUES))
        if integers == 2:  # a ridge
            (first, second), sign = rng.integers(VALUES, size=2), rng.choice([-1, 1])
            ridge: np.ndarray = np.abs((numbers[:, None] - first) + sign * (numbers - second)) / 18
            return 1 - ridge
        peaks, heights = rng.integers(VALUES, size=VALUES), rng.random(VALUES)
        table: np.ndarray = heights[:, None] - np.abs(numbers - peaks[:, None]) / 20
        return table.T if one >= CHOICES else table

    def __call__(self, values: Mapping[str, Any]) -> float:
        """Return the sum over variables and pairs."""
        x = [
            ord(value) - ord("a") if isinstance(value, str) else value for value in values.values()
        ]
        single = sum(table[value] for table, value in zip(self.single, x, strict=True))
        return float(single + sum(table[x[one], x[other]] for one, other, table in self.pairs))

    @cached_property
    def optimum(self) -> float:
        """The largest value: for each value of the first variable, the best way round the ring."""
        (start, _, _), best = self.pairs[0], -np.inf
        for first in range(VALUES):
            sums = np.where(np.arange(VALUES) == first, self.single[start], -np.inf)
            for _, other, table in self.pairs[:-1]:
                sums = (sums[:, None] + table).max(axis=0) + self.single[other]
            best = max(best, float((sums + self.pairs[-1][2][:, first]).max()))
        return best


class Wide:
    """Six integers of 1,000 values, each with a peak that depends on a choice, and rough."""

    def __init__(self, instance: int) -> None:
        rng = np.random.default_rng([3, instance])
        self.space: dict[str, Any] = {f"i{number}": range(1000) for number in range(6)}
        self.space |= {f"c{number}": [0, 1, 2, 3, 4] for number in range(6)}
        self.offsets, self.gains = rng.integers(1000, size=6), rng.random((6, 5))
        self.peaks, self.noise = rng.integers(1000, size=(6, 5)), 0.3 * rng.random((6, 1000))
        self.optimum = 1.0

    def __call__(self, values: Mapping[str, Any]) -> float:
        """Return the sum over integers: nearness to the peak, roughness, and distances."""
        x = [values[f"i{number}"] for number in range(6)]
        total = 0.0
        for number in range(6):
            following = (number + 1) % 6
            choice, other = values[f"c{number}"], values[f"c{following}"]
            total += 1 - abs(x[number] - self.peaks[number, choice]) / 1000
            total += 0.5 * self.gains[number, other] + self.noise[number, x[number]]
            gap = (x[number] - self.offsets[number]) - (x[following] - self.offsets[following])
            total -= abs(gap) / 2000
        return float(total)


def make(kind: str, instance: int) -> Any:
    """Return a problem with a `space` and an `optimum`."""
    return Wide(instance) if kind == "wide" else Ring(kind, instance)


def maximize_bits(problem: Any, code: str, budget: int, seed: int) -> float:
    """Return the best value with a code of plain bits, or one group for each variable."""
    values = {name: list(choices) for name, choices in problem.space.items()}
    widths = [
        len(choices) if code == "one-hot" else math.ceil(math.log2(len(choices)))
        for choices in values.values()
    ]
    ends = np.cumsum(widths).tolist()
    spans = list(zip([0, *ends], ends, strict=False))

    def read(bits: np.ndarray) -> int:
        if code == "one-hot":
            return int(bits.argmax())
        plain = np.bitwise_xor.accumulate(bits) if code == "gray" else bits
        return int("".join(map(str, plain)), 2)

    def function(row: np.ndarray) -> float:
        numbers = [read(row[start:end]) for start, end in spans]
        return float(
            problem(
                {
                    name: choices[number % len(choices)]
                    for (name, choices), number in zip(values.items(), numbers, strict=True)
                }
            )
        )

    groups = [range(*span) for span in spans] if code == "one-hot" else None
    return hm.maximize(
        function, ends[-1], exactly_one=groups, seed=seed, max_evaluations=budget
    ).fun


def maximize_tpe(problem: Any, budget: int, seed: int) -> float:
    """Return the best value of Optuna's TPE."""
    import optuna  # noqa: PLC0415  # only where it is asked for

    def objective(trial: Any) -> float:
        return float(
            problem(
                {
                    name: trial.suggest_int(name, values[0], values[-1])
                    if isinstance(values, range)
                    else trial.suggest_categorical(name, values)
                    for name, values in problem.space.items()
                }
            )
        )

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = optuna.samplers.TPESampler(seed=seed)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(objective, n_trials=budget)
    return float(study.best_value)


def measure(kind: str, code: str, budget: int, seed: int) -> dict[str, Any]:
    """Return one run: its value as a share of the optimum."""
    problem = make(kind, seed)
    if code == "tpe":
        value = maximize_tpe(problem, budget, seed)
    elif code == "space":
        value = hm.maximize(problem, space=problem.space, seed=seed, max_evaluations=budget).fun
    else:
        value = maximize_bits(problem, code, budget, seed)
    share = value / problem.optimum
    return {"kind": kind, "code": code, "budget": budget, "seed": seed, "share": share}


def run_missing(path: Path, seeds: int, with_tpe: bool) -> list[dict[str, Any]]:
    """Run what is not in the file; return all runs."""
    known = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    done = {tuple(run.values())[:4] for run in known}
    wanted = [
        (kind, code, budget, seed)
        for kind in KINDS
        for budget in BUDGETS
        for code in (*CODES, *(("tpe",) if with_tpe and budget == 500 and kind != "wide" else ()))
        for seed in range(1, seeds + 1)
    ]
    with path.open("a", encoding="utf-8") as file:
        for case in wanted:
            if case not in done:
                known.append(measure(*case))
                file.write(json.dumps(known[-1]) + "\n")
                file.flush()
    return known


def main() -> None:
    """Run what is missing, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--with-tpe", action="store_true")
    options = parser.parse_args()
    path = Path(__file__).with_name("variables.jsonl")
    path.touch()
    groups: dict[tuple[Any, ...], list[float]] = {}
    for run in run_missing(path, options.seeds, options.with_tpe):
        groups.setdefault((run["kind"], run["budget"], run["code"]), []).append(run["share"])
    write: Callable[[str], int] = sys.stdout.write
    write(
        "| problem | evaluations | code | mean | within 1 % |\n| --- | ---: | --- | ---: | ---: |\n"
    )
    for (kind, budget, code), shares in sorted(groups.items()):
        near = "–" if kind == "wide" else f"{sum(s >= 0.99 for s in shares)} of {len(shares)}"
        write(f"| {kind} | {budget:,} | {code} | {fmean(shares):.3f} | {near} |\n")


if __name__ == "__main__":
    main()
