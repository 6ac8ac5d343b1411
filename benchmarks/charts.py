"""Draw the charts of docs/ from the files that the other scripts wrote.

    python benchmarks/charts.py        # needs altair and vl-convert-python

Reads mixing.jsonl, evaluations.jsonl and bench.json (of `harmonium bench --json`) beside this file;
writes docs/mixing.svg, docs/evaluations.svg and docs/bench.svg.
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
        .properties(title="harmonium bench, one core")
    )


if __name__ == "__main__":
    draw_bench().save(DOCS / "bench.svg")
    draw_mixing().save(DOCS / "mixing.svg")
    draw_evaluations().save(DOCS / "evaluations.svg")
