"""Charts of what a model learned: scores by generation, weights and pairs as maps."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

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
from harmonium.reports.learned import DOUBLED, Learned, Learning, Step
from harmonium.reports.theme import GREY


class Score(NamedTuple):
    """A share by which learned pairs are judged, and what chance would give."""

    title: str
    read: Callable[[Step], float | None]
    chance: Callable[[Learning, Step], float | None]


SCORES: Final = (
    Score(
        "Precision",
        lambda step: step.precision,
        lambda learning, _: learning.density,
    ),
    Score(
        "Recall",
        lambda step: step.recall,
        lambda learning, step: step.pairs / max(1, math.comb(len(learning.truth), 2)),
    ),
    Score(
        "Hidden units with a block",
        lambda step: step.captured,
        lambda learning, _: learning.units.chance if learning.units else None,
    ),
)


def draw_scores(title: str, learned: Sequence[Learned], styles: Styles) -> list[Chart]:
    """Draw how well pairs are learned by generation, a panel for each score that a model has."""
    return [
        _draw_score(title or score.title, learned, styles, score)
        for score in SCORES
        if any(score.read(one.learning.last) is not None for one in learned)
    ]


def _draw_score(title: str, learned: Sequence[Learned], styles: Styles, score: Score) -> Chart:
    values: list[dict[str, Any]] = [
        {"model": one.model, "run": one.label, "generation": step.generation}
        | {"share": score.read(step), "chance": score.chance(one.learning, step)}
        for one in learned
        for step in one.learning.course
        if score.read(one.learning.last) is not None
    ]
    name = score.title.lower()
    x = encode_generation(step.generation for one in learned for step in one.learning.course)
    scale, axis = alt.Scale(domain=[0, 1]), alt.Axis(format="%")
    tooltip = [
        "run:N",
        "generation:Q",
        alt.Tooltip("share:Q", title=name, format=".0%"),
        alt.Tooltip("chance:Q", format=".0%"),
    ]
    colour = colour_models(list(dict.fromkeys(value["model"] for value in values)), styles)
    base = alt.Chart(make_data(values)).transform_filter(SHOWN)
    chance = base.mark_line(strokeWidth=1.6, strokeDash=[4, 4]).encode(
        x, alt.Y("chance:Q", title=name, scale=scale, axis=axis), colour, detail="run:N"
    )
    lines = base.mark_line(strokeWidth=2, point={"size": 18}).encode(
        x,
        alt.Y("share:Q", title=name, scale=scale, axis=axis),
        colour,
        detail="run:N",
        tooltip=tooltip,
    )
    longest = max(value["generation"] for value in values)
    named = next(value for value in values if value["generation"] == longest)
    word = (
        alt.Chart(make_data([named]))
        .transform_filter(SHOWN)
        .mark_text(text="chance", align="right", dy=-8, fontSize=11)
        .encode(x, alt.Y("chance:Q", title=name, scale=scale, axis=axis))
    )
    words = "; ".join(
        f"{one.label} ends with {share:.0%}, by chance {expected or 0:.0%}"
        for one in learned
        if (share := score.read(one.learning.last)) is not None
        for expected in [score.chance(one.learning, one.learning.last)]
    )
    description = f"{title}, {name} of learned pairs by generation. {words}."
    return finish(alt.LayerChart(layer=[chance, lines, word]), title, description)


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
    learning, step = one.learning, one.learning.last
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
