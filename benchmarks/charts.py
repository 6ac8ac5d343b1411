"""Draw the charts of docs/ from the files that the other scripts wrote.

    python benchmarks/charts.py        # needs altair and vl-convert-python

Reads race.jsonl, mixing.jsonl, evaluations.jsonl and bench.json (`python -m benchmarks.speed
--json`) beside this file; writes docs/race.svg, mixing.svg, evaluations.svg and bench.svg.
"""

import json
from pathlib import Path
from typing import Any

import altair as alt

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#999999"]  # Okabe and Ito: safe for the colour-blind


def read(name: str) -> list[dict[str, Any]]:
    """Read a file of JSON lines."""
    return [json.loads(line) for line in (HERE / name).read_text("utf-8").splitlines()]


def draw_race() -> alt.HConcatChart:
    """Draw the best so far of `maximize` and its peers, a panel for each problem."""
    rows = read("race.jsonl")
    solvers = list(dict.fromkeys(row["solver"] for row in rows))
    look = {
        "color": alt.Color(
            "solver:N",
            sort=solvers,
            title=None,
            scale=alt.Scale(
                domain=solvers, range=["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#777"]
            ),
            legend=alt.Legend(orient="bottom", symbolStrokeWidth=3, labelFontSize=12),
        ),
        "strokeWidth": alt.condition("datum.solver === 'maximize'", alt.value(3.5), alt.value(1.8)),
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


def draw_mixing() -> alt.Chart:
    """Draw mixing over the generations, one line for each model."""
    models = ["sparse, recombined", "sparse", "dense"]
    return (
        alt.Chart(alt.Data(values=read("mixing.jsonl")), width=460, height=260)
        .mark_line(point=True)
        .encode(
            x=alt.X("generation:Q", title="generation"),
            y=alt.Y("mixing:Q", title="mixing: 1 independent, 0 a copy of the parent"),
            color=alt.Color(
                "model:N", scale=alt.Scale(domain=models, range=COLOURS[:3]), title="RBM"
            ),
        )
        .properties(title="4-traps, 60 bits, population 2500")
    )


def draw_evaluations() -> alt.Chart:
    """Draw our evaluations at the smallest sufficient population and those of the paper."""
    points = []
    for row in read("evaluations.jsonl"):
        if (row["problem"], row["replacement"]) == ("onemax:100", "keep-parents"):
            continue  # umda
        if (row["problem"], row["model"], row["replacement"]) == ("onemax:100", "rbm", "worst"):
            continue
        points.append((row["problem"], f"our {row['model'].partition(':')[0]}", row["evaluations"]))
        points.append((row["problem"], "paper's RBM", row["paper_rbm"]))
        points.append((row["problem"], "paper's BOA", row["paper_boa"]))
    values = [
        {"problem": problem, "who": who, "evaluations": number}
        for problem, who, number in dict.fromkeys(points)
    ]
    order = ["our rbm", "our boa", "paper's BOA", "paper's RBM"]
    return (
        alt.Chart(alt.Data(values=values), width=460, height=300)
        .mark_point(size=90, filled=True)
        .encode(
            x=alt.X(
                "evaluations:Q",
                scale=alt.Scale(type="log"),
                title="evaluations to the optimum",
                axis=alt.Axis(format="~s"),
            ),
            y=alt.Y("problem:N", sort=None, title=None),
            color=alt.Color("who:N", sort=order, scale=alt.Scale(domain=order, range=COLOURS)),
            shape=alt.Shape("who:N", sort=order, scale=alt.Scale(domain=order)),
        )
        .properties(title="Smallest population that solves every run")
    )


def draw_bench() -> alt.Chart:
    """Draw the speed of our kernels as a multiple of the speed of their peers."""
    rows = json.loads((HERE / "bench.json").read_text("utf-8"))["measurements"]
    values = [
        {"what": f"{row['what']} / {row['against']}", "group": row["group"], "ratio": row["ratio"]}
        for row in rows
        if row["group"] in ("rbm", "gibbs", "boa", "solve") and "bound" not in row["against"]
    ]
    return (
        alt.Chart(alt.Data(values=values), width=460)
        .mark_point(size=90, filled=True)
        .encode(
            x=alt.X(
                "ratio:Q", scale=alt.Scale(type="log"), title="times faster than the peer (1: even)"
            ),
            y=alt.Y("what:N", sort=None, title=None, axis=alt.Axis(labelLimit=330)),
            color=alt.Color("group:N", scale=alt.Scale(range=COLOURS), title=None),
        )
        .properties(title="benchmarks/speed, one core")
    )


if __name__ == "__main__":
    draw_race().save(DOCS / "race.svg")
    draw_bench().save(DOCS / "bench.svg")
    draw_mixing().save(DOCS / "mixing.svg")
    draw_evaluations().save(DOCS / "evaluations.svg")
