"""Which bits of a function interact: a section of the page of a result."""

import altair as alt

from harmonium.reports.charts import Chart, finish, make_data, paint
from harmonium.reports.figures import Figure
from harmonium.reports.maps import make_cells
from harmonium.reports.page import Section
from harmonium.reports.theme import BACKGROUND, Styles
from harmonium.runs import Result
from harmonium.text import format_count

MAX_DRAWN_LENGTH, MAX_DRAWN_PAIRS = 200, 5000
"""Bits and pairs up to which a map is drawn."""

_CAPTION = (
    "Each cell is a pair of bits that interact: what one is worth depends on the other. Strong "
    "colours mean large terms that have both."
)


def show_interactions(result: Result, title: str, styles: Styles) -> list[Section]:
    """Return a section on the bits that interact; none if nothing is known of them."""
    pairs = result.interactions
    if result.variables is not None or (not pairs and result.function is None):
        return []
    figures = []
    if pairs and len(result.x) <= MAX_DRAWN_LENGTH and len(pairs) <= MAX_DRAWN_PAIRS:
        panel = _draw_pairs(result, title, styles)
        figures = [Figure("interactions", "Bits that interact", _CAPTION, (panel,))]
    return [Section("interactions", "Which bits interact", [describe(result)], figures=figures)]


def describe(result: Result) -> str:
    """Return what was learned of the function, in words."""
    pairs = result.interactions
    count = f"{format_count(len(pairs))} pair{'' if len(pairs) == 1 else 's'} of bits"
    if result.function is None:
        return (
            f"{count} were seen to interact while the search climbed; there may be more. The "
            "function as a whole was not learned."
        )
    terms = format_count(len(result.function.coefficients))
    order = result.function.order
    words = (
        f"The function was learned: it is a sum of {terms} terms of at most {order} "
        f"bit{'' if order == 1 else 's'} each, which predicts every row that was checked."
    )
    if not pairs:
        return f"{words} No bits interact: each can be chosen for itself."
    strongest = ", ".join(f"{pair.one} and {pair.other}" for pair in pairs[:5])
    return f"{words} {count} interact, most of all {strongest}."


def _draw_pairs(result: Result, title: str, styles: Styles) -> Chart:
    """Draw a cell for each pair, both ways."""
    values = [
        {"one": one, "other": other, "strength": round(pair.strength or 1.0, 6)}
        for pair in result.interactions
        for one, other in ((pair.one, pair.other), (pair.other, pair.one))
    ]
    strongest = max(value["strength"] for value in values)
    shades = [paint(BACKGROUND), paint(styles[result.label].tone)]
    legend = alt.Legend(title="strength", tickCount=4, direction="horizontal")
    known = result.function is not None
    scale = alt.Scale(domain=[0, strongest], range=shades, interpolate="rgb")
    chart = (
        alt.Chart(make_data(values))
        .mark_rect()
        .encode(
            x=make_cells(alt.X, "one", "bit", len(result.x)),
            y=make_cells(alt.Y, "other", "bit", len(result.x)),
            color=alt.Color("strength:Q", scale=scale, legend=legend if known else None),
            tooltip=["one:O", "other:O", *(["strength:Q"] if known else [])],
        )
    )
    words = f"{title}, pairs of bits that interact: {len(result.interactions)}."
    return finish(chart, title, words, subtitle=result.label, height=300)
