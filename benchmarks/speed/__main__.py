"""Compare our speed with other libraries, each with one thread; takes at most three minutes.

python -m benchmarks.speed [--quick] [--json] [--only GROUP ...]

`--quick` uses tiny sizes: it shows that everything works, not how fast it is. Peers come with
`pip install 'harmonium[bench]'`; a missing one is skipped.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

from rich import box
from rich.console import Console
from rich.table import Table

from harmonium.environment import describe_environment
from harmonium.jit import one_blas_thread

from .boa import measure_networks
from .measure import PEERS, Measurement, load_peers
from .rbm import measure_gibbs, measure_training
from .runner import measure_fitness, measure_runner
from .solve import Solving, measure_solving

GROUPS = {
    "rbm": measure_training,
    "gibbs": measure_gibbs,
    "boa": measure_networks,
    "fitness": measure_fitness,
    "solve": measure_solving,
    "runner": measure_runner,
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the chosen groups and print the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="use tiny sizes")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=list(GROUPS))
    options = parser.parse_args(arguments)
    peers, skipped = load_peers()  # first: only a BLAS that is loaded can be limited
    measurements: list[Measurement] = []
    solving: list[Solving] = []
    for name in options.only:
        Console(stderr=True).print(name, "…")
        with one_blas_thread():
            for outcome in GROUPS[name](options.quick, peers):
                if isinstance(outcome, Solving):
                    solving.append(outcome)
                else:
                    measurements.append(outcome)
    setting = describe_environment(tuple(PEERS))
    missing = [f"{name}: {reason}" for name, reason in skipped.items()]
    if options.json:
        report = {
            "setting": setting,
            "measurements": [measurement.to_dict() for measurement in measurements],
            "solving": [asdict(one) for one in solving],
            "skipped": missing,
        }
        sys.stdout.write(json.dumps(report, ensure_ascii=False) + "\n")
        return
    console = Console(markup=False)
    console.print(", ".join(f"{name} {value}" for name, value in setting.items()))
    console.print(list_measurements(measurements), list_solving(solving), *missing)


def list_measurements(measurements: Sequence[Measurement]) -> Table:
    """Return a table with a line a comparison."""
    table = Table(box=box.SIMPLE_HEAD, title="ratio: how many times better harmonium is")
    for name in ("what", "unit", "against"):
        table.add_column(name)
    for name in ("ours", "other", "ratio", "bound"):
        table.add_column(name, justify="right")
    for one in measurements:
        bound = "" if one.bound is None else f"≥ {one.bound:g}{'' if one.kept else ' missed'}"
        figures = (f"{value:.3g}" for value in (one.ours, one.peer, one.ratio))
        table.add_row(one.what, one.unit, one.against, *figures, bound)
    return table


def list_solving(solving: Sequence[Solving]) -> Table:
    """Return a table with a line a solver and problem."""
    table = Table(box=box.SIMPLE_HEAD, title="means over all runs")
    table.add_column("problem")
    table.add_column("solver")
    for name in ("population", "solved", "evaluations", "CPU s", "fitness s"):
        table.add_column(name, justify="right")
    for row in solving:
        table.add_row(
            row.problem,
            row.solver,
            "own" if row.population is None else f"{row.population:,}",
            f"{row.solved} of {row.runs}",
            f"{row.evaluations:,.0f}",
            f"{row.cpu_seconds:.3f}",
            f"{row.fitness_seconds:.3f}",
        )
    return table


if __name__ == "__main__":
    main()
