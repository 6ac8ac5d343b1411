"""Charts of what models learned: scores by generation, and maps of pairs and weights."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import altair as alt
import numpy as np

from harmonium.models import Interactions
from harmonium.reports.charts import (
    SHOWN,
    Chart,
    colour_series,
    dash_lines,
    encode_evaluations,
    encode_generation,
    finish,
    make_data,
    paint,
    shape_series,
)
from harmonium.reports.learned import Learned, Learning, Score, Units
from harmonium.reports.theme import BACKGROUND, GREY, TEXT, Styles, Tone


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


def draw_scores(learned: Sequence[Learned], styles: Styles) -> list[Chart]:
    """Draw how well pairs of a problem are learned, a panel for each measure that a model has."""
    panels = []
    for measure in MEASURES:
        scored = [one for one in learned if _is_measured(one, measure)]
        if scored:
            panels.append(_draw_measure(scored, styles, measure))
    return panels


def _is_measured(one: Learned, measure: Measure) -> bool:
    return any(measure.read(score) is not None for score in one.learning.course)


def _draw_measure(learned: Sequence[Learned], styles: Styles, measure: Measure) -> Chart:
    series = {one.algorithm: one.series for one in learned}
    by_generation = all(score.generation is not None for one in learned for score in _course(one))
    where = "generation" if by_generation else "evaluations"
    values: list[dict[str, Any]] = [
        {"algorithm": one.algorithm, "series": series[one.algorithm], "run": one.label}
        | {where: getattr(score, where), "which": which, "share": share}
        for one in learned
        for score in _course(one)
        for which, share in (
            ("model", measure.read(score)),
            ("chance", measure.chance(one.learning, score)),
        )
        if share is not None
    ]
    name = measure.title.lower()
    title = learned[0].title
    places = [value[where] for value in values]
    x = encode_generation(places) if by_generation else encode_evaluations(1.03 * max(places))
    y = alt.Y("share:Q", title=name, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%"))
    colour = colour_series(series, styles)
    base = alt.Chart(make_data(values)).transform_filter(SHOWN)
    lines = base.mark_line(strokeWidth=1.6).encode(
        *(x, y, colour, dash_lines(("model", "chance"))), detail="run:N"
    )
    points = (
        base.transform_filter("datum.which == 'model'")
        .mark_point(filled=True, size=26, opacity=1)
        .encode(
            *(x, y, colour, shape_series(series, styles)),
            tooltip=[
                alt.Tooltip("run:N"),
                alt.Tooltip(f"{where}:Q", format=","),
                alt.Tooltip("share:Q", title=name, format=".0%"),
            ],
        )
    )
    words = "; ".join(_describe_end(one, measure) for one in learned)
    description = f"{title}, {name} of learned pairs by {where}. {words}."
    return finish(alt.LayerChart(layer=[lines, points]), title, description, subtitle=name)


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
    shades = [paint(BACKGROUND), paint(styles[one.algorithm].tone)]
    chart = (
        alt.Chart(make_data(values))
        .mark_rect()
        .encode(
            x=make_cells(alt.X, "unit", "hidden unit, ordered by block", hidden),
            y=make_cells(alt.Y, "bit", "bit", length),
            color=alt.Color(
                "weight:Q",
                scale=alt.Scale(
                    type="pow",
                    exponent=0.75,
                    domain=[0, strongest],
                    range=shades,
                    interpolate="rgb",
                ),
                legend=alt.Legend(title="size of the weight", tickCount=4, direction="horizontal"),
            ),
            tooltip=["bit:O", "unit:O", "weight:Q"],
        )
    )
    words = (
        f"{one.title}, {one.series}: sizes of the weights between {length} bits and {hidden} "
        f"hidden units. {units.captured:.0%} of the units have most of their weight on one block."
    )
    return finish(chart, one.title, words, subtitle=one.series, height=300)


def draw_pairs(one: Learned, interactions: Interactions, styles: Styles) -> Chart:
    """Draw the pairs of the last model over the true ones: bit by bit, or parent by child."""
    score, truth = one.learning.last, one.learning.truth
    strengths = interactions.strengths
    learned = (
        strengths >= interactions.threshold if interactions.directed else interactions.pairs
    ) & ~np.eye(len(truth), dtype=np.bool_)
    cells = {
        "true and learned": learned & truth,
        "true, not learned": truth & ~learned,
        "learned, not true": learned & ~truth,
    }
    values = (
        {"kind": kind, "one": int(a), "other": int(b), "strength": round(float(strengths[a, b]), 2)}
        for kind, marked in cells.items()
        for a, b in np.argwhere(marked)
    )
    rows, columns = ("bit: parent", "bit: child") if interactions.directed else ("bit", "bit")
    tone = styles[one.algorithm].tone
    chart = (
        alt.Chart(make_data(values))
        .mark_rect(strokeWidth=0.8)
        .encode(
            x=make_cells(alt.X, "other", columns, len(truth)),
            y=make_cells(alt.Y, "one", rows, len(truth)),
            fill=_tell_apart(alt.Fill, list(cells), (tone, BACKGROUND, TEXT)),
            stroke=_tell_apart(alt.Stroke, list(cells), (tone, GREY, TEXT)),
            tooltip=[
                alt.Tooltip("kind:N", title="pair"),
                alt.Tooltip("one:O"),
                alt.Tooltip("other:O"),
                alt.Tooltip("strength:Q", title=interactions.unit),
            ],
        )
    )
    description = (
        f"{one.title}, {one.series}, pairs of bits that the last model has learned: {score.pairs}, "
        f"{score.precision or 0:.0%} of them true, {score.recall or 0:.0%} of the true pairs."
    )
    return finish(chart, one.title, description, subtitle=one.series, height=300)


def _tell_apart(
    channel: type[alt.Fill] | type[alt.Stroke], kinds: list[str], tones: tuple[Tone, ...]
) -> alt.Fill | alt.Stroke:
    """Return the colour of each kind of pair, with a legend."""
    scale = alt.Scale(domain=kinds, range=[paint(tone) for tone in tones])
    return channel(
        "kind:N", scale=scale, legend=alt.Legend(title=None, columns=2, symbolType="square")
    )


def make_cells(
    channel: type[alt.X] | type[alt.Y], field: str, title: str, count: int
) -> alt.X | alt.Y:
    """Return an axis of so many cells, labelled every tenth."""
    return channel(
        f"{field}:O",
        title=title,
        scale=alt.Scale(domain=list(range(count)), padding=0),
        axis=alt.Axis(
            values=list(range(0, count, 10)), labelAngle=0, ticks=False, domain=False, grid=False
        ),
    )
