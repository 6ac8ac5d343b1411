"""What models learned: scores by evaluations, maps of pairs and weights, and their words."""

import math
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

import altair as alt

from harmonium.reports.charts import (
    Chart,
    Curve,
    Figure,
    Spot,
    draw_cells,
    draw_curves,
    paint,
    shade,
    span_evaluations,
    span_share,
)
from harmonium.reports.courses import Course, name_series
from harmonium.reports.page import Column, Section, Table
from harmonium.reports.theme import BACKGROUND, GREY, TEXT, Styles, Tone
from harmonium.reports.words import count, title_problem, title_runs
from harmonium.runs import Result
from harmonium.studies.learning import Learned, Pairs, Score, Units
from harmonium.text import format_count

MAX_DRAWN_LENGTH, MAX_DRAWN_PAIRS = 200, 5000
"""Bits and pairs of a function up to which a map is drawn."""


class Model(NamedTuple):
    """What the models of one run learned, and which run it was."""

    course: Course
    learned: Learned
    title: str
    """The problem in words: "5-traps, n = 60"."""
    series: str
    """Algorithm, population and seed: "rbm, population 240, seed 1"."""


def list_models(courses: Sequence[Course]) -> list[Model]:
    models = []
    for one in courses:
        if learned := one.learned:
            series = title_runs(one.algorithm, [learned.population], [one.seed])
            models.append(Model(one, learned, title_problem(learned.problem), series))
    return models


def show_learned(
    models: Sequence[Model], styles: Styles, reason: str = "", left_out: Sequence[str] = ()
) -> Section:
    """Return what the models learned; without any, the reason if there is one."""
    name, title = "learned", "What the models learned"
    if not models:
        words = [f"Not shown: {reason}."] if reason else []
        return Section(name, title, words, left_out)
    pairs = [_draw_pairs(one, found, styles) for one in models if (found := one.learned.pairs)]
    weights = [_draw_weights(one, units, styles) for one in models if (units := one.learned.units)]
    return Section(
        *(name, title, [_explain_learning(models)], left_out),
        figures=[
            _draw_scores(models, styles),
            Figure("pairs", "Pairs in the last model", _PAIRS, pairs),
            Figure("weights", "Weights of the last model", _WEIGHTS, weights),
        ],
        tables=[_tabulate_learned(models)],
    )


class Measure(NamedTuple):
    """A share by which learned pairs are judged, and what chance would give."""

    title: str
    model: Callable[[Learned, Score], float | None]
    chance: Callable[[Learned, Score], float | None]


MEASURES: Final = (
    Measure("precision", lambda _, score: score.precision, lambda learned, _: learned.density),
    Measure(
        "recall",
        lambda _, score: score.recall,
        lambda learned, score: (score.pairs or 0) / max(1, math.comb(learned.length, 2)),
    ),
    Measure(
        "hidden units with a block",
        lambda _, score: score.captured,
        lambda learned, _: learned.units.chance if learned.units else None,
    ),
)
_SCORES: Final = (
    "Precision: share of the learned pairs that are true. Recall: share of the true pairs that are "
    "learned. Dashed: what chance would give, with as many pairs drawn at random, or the last "
    "weights of each unit shuffled."
)
_PAIRS: Final = (
    "Each cell is a pair of bits. Coloured: a true pair that is learned. Hollow: a true pair that "
    "is not learned. Black, or white on dark: a learned pair that is not true. In a directed "
    "model, rows are parents and columns are children."
)
_WEIGHTS: Final = (
    "Size of the weight between each bit and each hidden unit. Bits are in the order of the "
    "blocks, hidden units in the order of the block they respond to most: where units capture "
    "blocks, squares line up on the diagonal."
)


def _draw_scores(models: Sequence[Model], styles: Styles) -> Figure:
    """Return how well pairs are learned: a panel for each problem and measure that a model has."""
    panels = []
    for _, group in groupby(models, lambda one: one.title):
        mine = list(group)
        panels += [panel for one in MEASURES if (panel := _draw_measure(mine, one, styles))]
    return Figure("learned", "Learned pairs compared with the true ones", _SCORES, panels)


def _draw_measure(models: Sequence[Model], measure: Measure, styles: Styles) -> Chart | None:
    """Draw a share by evaluations, a curve for each run whose models have it."""
    series = name_series(one.course for one in models)
    curves = []
    for kind, read in (("model", measure.model), ("chance", measure.chance)):
        for course, learned in ((one.course, one.learned) for one in models):
            if any(measure.model(learned, score) for score in learned.scores):
                shares = {score.evaluations: read(learned, score) for score in learned.scores}
                spots = [Spot(x, share) for x, share in shares.items() if share is not None]
                label = series[course.algorithm]
                curves.append(Curve(course.algorithm, label, spots, run=course.label, kind=kind))
    if not curves:
        return None
    highest = max(spot.x for curve in curves for spot in curve.spots)
    axes = span_evaluations(highest), span_share(measure.title)
    return draw_curves(models[0].title, curves, axes, styles, subtitle=measure.title)


def _draw_weights(one: Model, units: Units, styles: Styles) -> Chart:
    """Draw the sizes of the weights: bits by hidden units, the units ordered by block."""
    length, hidden = len(units.weights), len(units.weights[0])
    strongest = max(map(max, units.weights)) or 1.0
    values = [
        {"row": bit, "column": unit, "strength": weight}
        for bit, row in enumerate(units.weights)
        for unit, weight in enumerate(row)
        if weight > 0.05 * strongest
    ]
    words = (
        f"{one.title}, {one.series}: sizes of the weights between {length} bits and {hidden} "
        f"hidden units. {units.captured:.0%} of the units have most of their weight on one block."
    )
    axes = ("hidden unit, ordered by block", hidden), ("bit", length)
    looks = [shade("size of the weight", strongest, styles[one.course.algorithm].tone)]
    return draw_cells(
        one.title, values, axes, looks, ["strength:Q"], description=words, subtitle=one.series
    )


def _draw_pairs(one: Model, pairs: Pairs, styles: Styles) -> Chart:
    """Draw the pairs of the last model over the true ones: bit by bit, or parent by child."""
    kinds = {
        "true and learned": pairs.right,
        "true, not learned": pairs.missed,
        "learned, not true": pairs.wrong,
    }
    values = [
        {"kind": kind, "row": first, "column": second, "strength": strength}
        for kind, found in kinds.items()
        for first, second, strength in found
    ]
    rows, columns = ("bit: parent", "bit: child") if pairs.directed else ("bit", "bit")
    tone, length = styles[one.course.algorithm].tone, one.learned.length
    legend = alt.Legend(title=None, columns=2, symbolType="square")

    def scale(*tones: Tone) -> alt.Scale:
        return alt.Scale(domain=list(kinds), range=list(map(paint, tones)))

    looks = [
        alt.Fill("kind:N", scale=scale(tone, BACKGROUND, TEXT), legend=legend),
        alt.Stroke("kind:N", scale=scale(tone, GREY, TEXT), legend=legend),
    ]
    tooltip = ["kind:N", alt.Tooltip("strength:Q", title=pairs.unit)]
    score = one.learned.last
    words = (
        f"{one.title}, {one.series}, pairs of bits that the last model has learned: {score.pairs}, "
        f"{score.precision or 0:.0%} of them true, {score.recall or 0:.0%} of the true pairs."
    )
    axes = (columns, length), (rows, length)
    return draw_cells(
        one.title, values, axes, looks, tooltip, description=words, subtitle=one.series
    )


def _explain_learning(models: Sequence[Model]) -> str:
    """Return a paragraph on what counts as learned by these models."""
    strengths = {
        one.course.algorithm: f"{one.course.algorithm}, {pairs.unit}, {pairs.threshold:.2g}"
        for one in models
        if (pairs := one.learned.pairs)
    }
    of_pairs = (
        f"What the strength is, and the threshold: {'; '.join(strengths.values())}. "
        if strengths
        else ""
    )
    return (
        "Do models find out which bits interact? A model has learned a pair of bits when the "
        f"strength of the pair reaches the model's threshold. {of_pairs}A pair is true when both "
        "bits are in one block of the problem. A hidden unit captures a block when most of the sum "
        "of its squared weights is on the bits of the block: the paper claims that the hidden "
        "units of an RBM do. Of interleaved populations, the models shown are those of the "
        "population that found the best; generations are its own."
    )


def _tabulate_learned(models: Sequence[Model]) -> Table:
    shares = {
        "precision": "precision",
        "chance": "by chance",
        "recall": "recall",
        "units": "units with a block",
        "units_chance": "if shuffled",
    }
    columns = [
        Column("problem", "problem"),
        Column("algorithm", "algorithm"),
        Column("population", "population", format_count),
        Column("generation", "generation", format_count),
        Column("evaluations", "evaluations", format_count),
        Column("pairs", "learned pairs", format_count),
        *(Column(name, title, "{:.0%}".format) for name, title in shares.items()),
        Column("blocks", "blocks captured", str),
    ]
    rows = []
    for one in models:
        learned, units = one.learned, one.learned.units
        row: dict[str, Any] = {"problem": one.course.problem, "algorithm": one.course.label}
        row |= learned.last._asdict() | {"chance": learned.density}
        if units:
            row |= {
                "units": units.captured,
                "units_chance": units.chance,
                "blocks": units.blocks_captured,
                "blocks_text": f"{units.blocks_captured} of {units.blocks}",
            }
        rows.append(row)
    caption = "The last model of each run: its pairs of bits, and what its hidden units capture."
    return Table("learned", caption, columns, rows)


def show_interactions(result: Result, title: str, styles: Styles) -> list[Section]:
    """Return a section on the bits that interact; none if nothing is known of them."""
    pairs = result.interactions
    if result.variables is not None or (not pairs and result.function is None):
        return []
    figures = []
    if pairs and len(result.x) <= MAX_DRAWN_LENGTH and len(pairs) <= MAX_DRAWN_PAIRS:
        caption = (
            "Each cell is a pair of bits that interact: what one is worth depends on the other. "
            "Strong colours mean large terms that have both."
        )
        panel = _draw_interactions(result, title, styles)
        figures = [Figure("interactions", "Bits that interact", caption, [panel])]
    words = [describe_interactions(result)]
    return [Section("interactions", "Which bits interact", words, figures=figures)]


def describe_interactions(result: Result) -> str:
    pairs = result.interactions
    number = f"{count(len(pairs), 'pair')} of bits"
    if result.function is None:
        return (
            f"{number} were seen to interact while the search climbed; there may be more. The "
            "function as a whole was not learned."
        )
    terms, order = len(result.function.coefficients), result.function.order
    words = (
        f"The function was learned: it is a sum of {format_count(terms)} terms of at most "
        f"{count(order, 'bit')} each, which predicts every row that was checked."
    )
    if not pairs:
        return f"{words} No bits interact: each can be chosen for itself."
    strongest = ", ".join(f"{pair.one} and {pair.other}" for pair in pairs[:5])
    return f"{words} {number} interact, most of all {strongest}."


def _draw_interactions(result: Result, title: str, styles: Styles) -> Chart:
    """Draw a cell for each pair, both ways."""
    values = [
        {"row": one, "column": other, "strength": pair.strength or 1.0}
        for pair in result.interactions
        for one, other in ((pair.one, pair.other), (pair.other, pair.one))
    ]
    strongest = max(value["strength"] for value in values)
    looks = [shade("strength", strongest, styles[result.label].tone)]
    known = ["strength:Q"] if result.function else []
    axes = [("bit", len(result.x))] * 2
    words = f"{title}, pairs of bits that interact: {len(result.interactions)}."
    return draw_cells(title, values, axes, looks, known, description=words, subtitle=result.label)
