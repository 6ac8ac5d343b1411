"""Record the best so far of `maximize` and its peers, for the picture of README.

    pip install 'harmonium[bench]'
    python -m benchmarks.decisions.race    # race.jsonl and docs/race.svg; a minute of CPU

Three problems whose bits interact, with shuffled bits and known optima; 20,000 calls of a function
of one row, five seeds, which are also the instances. Every search has its default settings;
annealing plans for the whole budget. The value is the mean share of the optimum.
"""

from contextlib import suppress
from itertools import product
from pathlib import Path

import altair as alt
import numpy as np
from benchmarks.decisions.anytime import SOLVERS
from benchmarks.decisions.functions import Budgeted, BudgetSpent, Function
from benchmarks.pages import ROOT, append, read_lines
from threadpoolctl import threadpool_limits

import harmonium as hm

PROBLEMS = {
    "deceptive traps, 100 bits": lambda seed: hm.Trap(length=100, order=5),
    "NK landscape, 40 bits": lambda seed: hm.NK(length=40, k=4, neighbors="ring", instance=seed),
    "spin glass, 100 bits": lambda seed: hm.Ising(length=100, side=10, instance=seed),
}
PEERS = ("maximize", "gomea", "annealing", "(1+1) EA", "pymoo GA")
SEEDS = range(5)
BUDGET = 20_000
FILE = Path(__file__).with_suffix(".jsonl")
CALLS = sorted({int(count) for count in np.geomspace(20, BUDGET, 60)})


def shuffle(problem: hm.ProblemSpec, seed: int) -> Function:
    """Return a problem as a function of one row, with its bits in random order."""
    order = np.random.default_rng([seed, 7]).permutation(problem.length)
    return Function(lambda row: problem.evaluate(row[None, order])[0], problem.length)


def race(name: str, solver: str) -> list[float]:
    """Return the mean share of the optimum after each number of calls."""
    courses = []
    for seed in SEEDS:
        problem = PROBLEMS[name](seed)
        function = Budgeted(shuffle(problem, seed), CALLS)
        with suppress(BudgetSpent), threadpool_limits(1):
            SOLVERS[solver].run(function, seed)
        known = [function.best_after.get(count, function.best) for count in CALLS]
        courses.append(np.array(known) / problem.optimum)
    return [round(float(share), 5) for share in np.mean(courses, axis=0)]


def draw_race() -> alt.HConcatChart:
    """Draw the best so far of `maximize` and its peers, a panel for each problem."""
    rows = read_lines(FILE)
    solvers = list(dict.fromkeys(row["solver"] for row in rows))
    colours = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#777"]
    scale = alt.Scale(domain=solvers, range=colours)
    legend = alt.Legend(orient="bottom", symbolStrokeWidth=3, labelFontSize=12)
    ours = "datum.solver === 'maximize'"
    look = {
        "color": alt.Color("solver:N", sort=solvers, title=None, scale=scale, legend=legend),
        "strokeWidth": alt.condition(ours, alt.value(3.5), alt.value(1.8)),
    }
    panels = []
    for name in dict.fromkeys(row["problem"] for row in rows):
        values = [row for row in rows if row["problem"] == name]
        first = not panels
        x = alt.X(
            "calls:Q",
            title="function calls",
            scale=alt.Scale(type="log", domain=[100, 20_000]),
            axis=alt.Axis(values=[100, 1000, 10_000], format="~s", grid=False),
        )
        y = alt.Y(
            "share:Q",
            title="best so far, share of the optimum" if first else None,
            scale=alt.Scale(domain=[0.7, 1]),
            axis=alt.Axis(format="%", tickCount=4),
        )
        lines = alt.Chart(alt.Data(values=values), width=225, height=210, title=name)
        panels.append(lines.mark_line(clip=True).encode(x=x, y=y, **look))
    return alt.hconcat(*panels, background="white", padding=12).configure_view(stroke="#ccc")


if __name__ == "__main__":
    FILE.unlink(missing_ok=True)
    for name, solver in product(PROBLEMS, PEERS):
        for calls, share in zip(CALLS, race(name, solver), strict=True):
            append(FILE, {"problem": name, "solver": solver, "calls": calls, "share": share})
    draw_race().save(ROOT / "docs" / "race.svg")
