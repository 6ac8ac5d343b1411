"""Charts of what a model learned: scores by generation, weights and pairs as maps."""

from collections.abc import Sequence

import altair as alt
import numpy as np
from numpy.typing import NDArray

from harmonium.reports.charts import (
    SHOWN,
    Chart,
    Styles,
    colour_models,
    encode_generation,
    finish,
    make_data,
)
from harmonium.reports.learned import DOUBLED, Learned
from harmonium.reports.theme import GREY

_UNITS = "hidden units with a block"
_DASHES = {"precision": [1, 0], "recall": [6, 3], _UNITS: [2, 2]}


def draw_scores(title: str, learned: Sequence[Learned], styles: Styles) -> Chart:
    """Draw precision and recall of the learned pairs by generation, and what chance would give."""
    values = [
        {"model": one.model, "generation": step.generation, "score": score, "share": share}
        for one in learned
        for step in one.learning.steps
        for score, share in (
            ("precision", step.precision),
            ("recall", step.recall),
            (_UNITS, step.captured),
        )
        if share is not None
    ]
    present = {value["score"] for value in values}
    dashes = {score: dash for score, dash in _DASHES.items() if score in present}
    lines = (
        alt.Chart(make_data(values))
        .transform_filter(SHOWN)
        .mark_line(strokeWidth=2)
        .encode(
            x=encode_generation(step.generation for one in learned for step in one.learning.steps),
            y=alt.Y(
                "share:Q", title="share", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%")
            ),
            color=colour_models([one.model for one in learned], styles),
            strokeDash=alt.StrokeDash(
                "score:N",
                scale=alt.Scale(domain=list(dashes), range=list(dashes.values())),
                legend=alt.Legend(title=None, columns=2, symbolStrokeColor=GREY),
            ),
            tooltip=["model:N", "generation:Q", "score:N", alt.Tooltip("share:Q", format=".0%")],
        )
    )
    density = learned[0].learning.density
    chance = (
        alt.Chart(make_data([{"share": density}])).mark_rule(strokeDash=[1, 3]).encode(y="share:Q")
    )
    words = "; ".join(
        f"{one.model} ends with precision {one.learning.steps[-1].precision or 0:.0%} and "
        f"recall {one.learning.steps[-1].recall:.0%}"
        for one in learned
    )
    return finish(
        alt.LayerChart(layer=[chance, lines]),
        title,
        f"{title}, learned pairs against the true ones. {words}.",
    )


def draw_weights(one: Learned, styles: Styles) -> Chart:
    """Draw |W| of an RBM: bits by hidden units, the units ordered by block."""
    units = one.learning.units
    assert units is not None  # noqa: S101  # only RBMs are drawn
    weights = units.ordered
    strongest = float(weights.max()) or 1.0
    values = [
        {"bit": int(bit), "unit": int(unit), "weight": round(float(weights[bit, unit]), 3)}
        for bit, unit in np.argwhere(weights > 0.05 * strongest)
    ]
    title = one.name
    length, hidden = weights.shape
    chart = (
        alt.Chart(make_data(values))
        .mark_rect(color=styles[one.model].colour)
        .encode(
            x=_cells(alt.X, "unit", "hidden unit, ordered by block", hidden),
            y=_cells(alt.Y, "bit", "bit", length),
            opacity=alt.Opacity(
                "weight:Q",
                scale=alt.Scale(type="pow", exponent=0.75, domain=[0, strongest], range=[0, 1]),
                legend=alt.Legend(title="size of the weight", tickCount=4, direction="horizontal"),
            ),
            tooltip=["bit:O", "unit:O", "weight:Q"],
        )
    )
    words = (
        f"{title}: sizes of the weights between {length} bits and {hidden} hidden units. "
        f"{units.captured:.0%} of the units have most of their weight on one block."
    )
    return finish(chart, title, words, height=300)


def draw_pairs(one: Learned, styles: Styles) -> Chart:
    """Draw the pairs of the last model over the true ones: bit by bit."""
    learning, step = one.learning, one.learning.steps[-1]
    pairs = learning.pairs
    assert pairs is not None  # noqa: S101  # there is a last step
    learned = pairs >= (DOUBLED if learning.units else 1.0)
    rows, columns = ("bit", "bit") if learning.units else ("bit: parent", "bit: child")
    encoding = [
        _cells(alt.Y, "one", rows, len(pairs)),
        _cells(alt.X, "other", columns, len(pairs)),
        alt.Tooltip(["one:O", "other:O", "strength:Q"]),
    ]

    def mark(cells: NDArray[np.bool_]) -> alt.Chart:
        return alt.Chart(
            make_data(
                {"one": int(a), "other": int(b), "strength": round(float(pairs[a, b]), 2)}
                for a, b in np.argwhere(cells)
            )
        )

    truth = mark(learning.truth).mark_rect(color=GREY, opacity=0.25).encode(*encoding)
    right = mark(learned & learning.truth).mark_rect(color=styles[one.model].colour)
    wrong = mark(learned & ~learning.truth).mark_rect()  # in the colour of text
    layers = [truth, right.encode(*encoding), wrong.encode(*encoding)]
    title = one.name
    description = (
        f"{title}, pairs of bits that the last model has learned: {step.pairs}, "
        f"{step.precision or 0:.0%} of them true, {step.recall:.0%} of the true pairs."
    )
    return finish(alt.LayerChart(layer=layers), title, description, height=300)


def _cells(channel: type[alt.X] | type[alt.Y], field: str, title: str, count: int) -> alt.X | alt.Y:
    """Return an axis of so many cells, labelled every tenth."""
    return channel(
        f"{field}:O",
        title=title,
        scale=alt.Scale(domain=list(range(count)), padding=0),
        axis=alt.Axis(
            values=list(range(0, count, 10)), labelAngle=0, ticks=False, domain=False, grid=False
        ),
    )
