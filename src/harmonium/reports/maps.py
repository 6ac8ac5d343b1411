"""Charts of what models learned: scores by generation, and maps of pairs and weights."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import altair as alt
import numpy as np
from numpy.typing import NDArray

from harmonium.models import Interactions
from harmonium.reports.charts import (
    SHOWN,
    Chart,
    colour_algorithms,
    encode_evaluations,
    encode_generation,
    finish,
    make_data,
)
from harmonium.reports.learned import Learned, Learning, Score, Units
from harmonium.reports.theme import GREY, Styles


class Measure(NamedTuple):
    """A share by which learned pairs are judged, and what chance would give."""

    title: str
    read: Callable[[Score], float | None]
    chance: Callable[[Learning, Score], float | None]


MEASURES: Final = (
    Measure(
        "Precision",
        lambda score: score.precision,
        lambda learning, _: learning.density,
    ),
    Measure(
        "Recall",
        lambda score: score.recall,
        lambda learning, score: (score.pairs or 0) / max(1, math.comb(len(learning.truth), 2)),
    ),
    Measure(
        "Hidden units with a block",
        lambda score: score.captured,
        lambda learning, _: learning.units.chance if learning.units else None,
    ),
)


def draw_scores(title: str, learned: Sequence[Learned], styles: Styles) -> list[Chart]:
    """Draw how well pairs are learned, a panel for each measure that some model has."""
    panels = []
    for measure in MEASURES:
        scored = [one for one in learned if _is_measured(one, measure)]
        if scored:
            panels.append(_draw_measure(title or measure.title, scored, styles, measure))
    return panels


def _is_measured(one: Learned, measure: Measure) -> bool:
    return any(measure.read(score) is not None for score in one.learning.course)


def _draw_measure(
    title: str, learned: Sequence[Learned], styles: Styles, measure: Measure
) -> Chart:
    by_generation = all(score.generation is not None for one in learned for score in _course(one))
    where = "generation" if by_generation else "evaluations"
    values: list[dict[str, Any]] = [
        {"algorithm": one.algorithm, "run": one.label, where: getattr(score, where)}
        | {"share": measure.read(score), "chance": measure.chance(one.learning, score)}
        for one in learned
        for score in _course(one)
    ]
    name = measure.title.lower()
    places = [value[where] for value in values]
    x = encode_generation(places) if by_generation else encode_evaluations(1.03 * max(places))
    scale, axis = alt.Scale(domain=[0, 1]), alt.Axis(format="%")
    share = alt.Y("share:Q", title=name, scale=scale, axis=axis)
    chance = alt.Y("chance:Q", title=name, scale=scale, axis=axis)
    colour = colour_algorithms((one.algorithm for one in learned), styles)
    base = alt.Chart(make_data(values)).transform_filter(SHOWN)
    expected = base.mark_line(strokeWidth=1.6, strokeDash=[4, 4]).encode(
        x, chance, colour, detail="run:N"
    )
    lines = base.mark_line(strokeWidth=2, point={"size": 18}).encode(
        *(x, share, colour),
        detail="run:N",
        tooltip=[
            alt.Tooltip("run:N"),
            alt.Tooltip(f"{where}:Q", format=","),
            alt.Tooltip("share:Q", title=name, format=".0%"),
            alt.Tooltip("chance:Q", format=".0%"),
        ],
    )
    named = next(value for value in values if value[where] == max(places))
    word = (
        alt.Chart(make_data([named]))
        .transform_filter(SHOWN)
        .mark_text(text="chance", align="right", dy=-8, fontSize=11)
        .encode(x, chance)
    )
    words = "; ".join(_describe_end(one, measure) for one in learned)
    description = f"{title}, {name} of learned pairs by {where}. {words}."
    return finish(alt.LayerChart(layer=[expected, lines, word]), title, description)


def _course(one: Learned) -> list[Score]:
    return one.learning.course


def _describe_end(one: Learned, measure: Measure) -> str:
    share = measure.read(one.learning.last) or 0
    expected = measure.chance(one.learning, one.learning.last) or 0
    return f"{one.label} ends with {share:.0%}, by chance {expected:.0%}"


def draw_weights(one: Learned, units: Units, styles: Styles) -> Chart:
    """Draw the sizes of the weights: bits by hidden units, the units ordered by block."""
    weights = units.ordered
    strongest = float(weights.max()) or 1.0
    values = [
        {"bit": int(bit), "unit": int(unit), "weight": round(float(weights[bit, unit]), 3)}
        for bit, unit in np.argwhere(weights > 0.05 * strongest)
    ]
    length, hidden = weights.shape
    chart = (
        alt.Chart(make_data(values))
        .mark_rect(color=styles[one.algorithm].colour)
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
        f"{one.name}: sizes of the weights between {length} bits and {hidden} hidden units. "
        f"{units.captured:.0%} of the units have most of their weight on one block."
    )
    return finish(chart, one.name, words, height=300)


def draw_pairs(one: Learned, interactions: Interactions, styles: Styles) -> Chart:
    """Draw the pairs of the last model over the true ones: bit by bit, or parent by child."""
    score, truth = one.learning.last, one.learning.truth
    strengths = interactions.strengths
    off_diagonal = ~np.eye(len(truth), dtype=np.bool_)
    learned = (
        strengths >= interactions.threshold if interactions.directed else interactions.pairs
    ) & off_diagonal
    rows, columns = ("bit: parent", "bit: child") if interactions.directed else ("bit", "bit")
    encoding = [
        _cells(alt.Y, "one", rows, len(truth)),
        _cells(alt.X, "other", columns, len(truth)),
    ]
    tooltip = [
        alt.Tooltip("one:O"),
        alt.Tooltip("other:O"),
        alt.Tooltip("strength:Q", title=interactions.unit),
    ]

    def mark(cells: NDArray[np.bool_], **style: Any) -> alt.Chart:
        values = (
            {"one": int(a), "other": int(b), "strength": round(float(strengths[a, b]), 2)}
            for a, b in np.argwhere(cells)
        )
        chart: alt.Chart = alt.Chart(make_data(values)).mark_rect(**style)
        return chart.encode(*encoding, tooltip=tooltip)

    layers = [
        mark(truth, color=GREY, opacity=0.25),
        mark(learned & truth, color=styles[one.algorithm].colour),
        mark(learned & ~truth),  # in the colour of text
    ]
    description = (
        f"{one.name}, pairs of bits that the last model has learned: {score.pairs}, "
        f"{score.precision or 0:.0%} of them true, {score.recall or 0:.0%} of the true pairs."
    )
    return finish(alt.LayerChart(layer=layers), one.name, description, height=300)


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
