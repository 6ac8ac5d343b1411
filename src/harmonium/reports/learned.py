"""What models learned: scores by evaluations, maps of pairs and weights, and their words."""

import math
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

import altair as alt

from harmonium.reports import theme
from harmonium.reports.courses import Course
from harmonium.reports.page import Cell, Column, Section, Table, Value
from harmonium.reports.theme import Chart, Figure, Styles, Tone, Values
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
    models: Sequence[Model], styles: Styles, reason: str = "", remarks: Sequence[str] = ()
) -> Section:
    """Return what the models learned; without any, the reason if there is one."""
    name, title = "learned", "What the models learned"
    if not models:
        words = [f"Not shown: {reason}."] if reason else []
        return Section(name, title, words, remarks=remarks)
    return Section(
        *(name, title, [explain_learning(models)], describe_units(models)),
        figures=[
            _draw_scores(models, styles),
            _draw_maps(models, styles),
            _draw_all_weights(models, styles),
        ],
        tables=[tabulate_learned(models)],
        remarks=remarks,
    )


class Measure(NamedTuple):
    """A share by which learned pairs are judged, and what chance would give."""

    title: str
    read: Callable[[Score], float | None]
    chance: Callable[[Learned, Score], float | None]


MEASURES: Final = (
    Measure("precision", lambda score: score.precision, lambda learned, _: learned.density),
    Measure(
        "recall",
        lambda score: score.recall,
        lambda learned, score: (score.pairs or 0) / max(1, math.comb(learned.length, 2)),
    ),
    Measure(
        "hidden units with a block",
        lambda score: score.captured,
        lambda learned, _: learned.units.chance if learned.units else None,
    ),
)


def _draw_scores(models: Sequence[Model], styles: Styles) -> Figure:
    """Return how well pairs are learned: a panel for each problem and measure that a model has.

    Of several runs of an algorithm on a problem the median by evaluations is drawn.
    """
    panels = []
    drawn: list[Model] = []
    for _, group in groupby(models, lambda one: one.course.problem):
        chosen = _choose_medians(list(group))
        drawn += chosen
        for measure in MEASURES:
            measured = [one for one in chosen if any(map(measure.read, one.learned.scores))]
            if measured:
                panels.append(_draw_measure(measured, styles, measure))
    which = ""
    if len(drawn) < len(models):
        which = (
            " One run of each algorithm is drawn, the median by evaluations: "
            f"{'; '.join(one.course.label for one in drawn)}."
        )
    caption = (
        "Precision: share of the learned pairs that are true. Recall: share of the true pairs "
        "that are learned. Dashed: what chance would give, with as many pairs drawn at random, "
        f"or the last weights of each unit shuffled.{which}"
    )
    return Figure("learned", "Learned pairs compared with the true ones", caption, tuple(panels))


def _choose_medians(models: Sequence[Model]) -> list[Model]:
    runs: dict[str, list[Model]] = {}
    for one in sorted(models, key=lambda one: one.learned.last.evaluations):
        runs.setdefault(one.course.algorithm, []).append(one)
    names = dict.fromkeys(one.course.algorithm for one in models)
    return [runs[name][(len(runs[name]) - 1) // 2] for name in names]


def _draw_measure(models: Sequence[Model], styles: Styles, measure: Measure) -> Chart:
    series = {one.course.algorithm: one.series for one in models}
    values: list[dict[str, Any]] = [
        {"algorithm": one.course.algorithm, "series": one.series, "run": one.course.label}
        | {"evaluations": score.evaluations, "generation": score.generation}
        | {"which": which, "share": share}
        for one in models
        for score in one.learned.scores
        for which, share in (
            ("model", measure.read(score)),
            ("chance", measure.chance(one.learned, score)),
        )
        if share is not None
    ]
    name, title = measure.title, models[0].title
    axes = (
        theme.encode_evaluations(max(value["evaluations"] for value in values)),
        theme.encode_share("share", name),
    )
    tooltip = [
        "run:N",
        alt.Tooltip("evaluations:Q", format=","),
        "generation:Q",
        alt.Tooltip("share:Q", title=name, format=".0%"),
    ]
    dashes = ("model", "chance")
    layers = theme.draw_lines(values, axes, series, styles, tooltip, dashes=dashes, marked=True)
    words = "; ".join(
        f"{one.course.label} ends with {measure.read(one.learned.last) or 0:.0%}, by chance "
        f"{measure.chance(one.learned, one.learned.last) or 0:.0%}"
        for one in models
    )
    description = f"{title}, {name} of learned pairs by evaluations. {words}."
    return theme.finish(layers, title, description, subtitle=name)


def _draw_all_weights(models: Sequence[Model], styles: Styles) -> Figure:
    caption = (
        "Size of the weight between each bit and each hidden unit. Bits are in the order of "
        "the blocks, hidden units in the order of the block they respond to most: where units "
        "capture blocks, squares line up on the diagonal."
    )
    panels = [_draw_weights(one, one.learned.units, styles) for one in models if one.learned.units]
    return Figure("weights", "Weights of the last model", caption, tuple(panels))


def _draw_weights(one: Model, units: Units, styles: Styles) -> Chart:
    """Draw the sizes of the weights: bits by hidden units, the units ordered by block."""
    weights = units.weights
    length, hidden = len(weights), len(weights[0])
    strongest = max(map(max, weights)) or 1.0
    values = [
        {"bit": bit, "unit": unit, "weight": weight}
        for bit, row in enumerate(weights)
        for unit, weight in enumerate(row)
        if weight > 0.05 * strongest
    ]
    cells = (
        theme.encode_cells(alt.X, "unit", "hidden unit, ordered by block", hidden),
        theme.encode_cells(alt.Y, "bit", "bit", length),
    )
    tone = styles[one.course.algorithm].tone
    looks = [_shade("weight", "size of the weight", strongest, tone)]
    tooltip = ["bit:O", "unit:O", "weight:Q"]
    words = (
        f"{one.title}, {one.series}: sizes of the weights between {length} bits and {hidden} "
        f"hidden units. {units.captured:.0%} of the units have most of their weight on one block."
    )
    return _draw_cells(values, cells, looks, tooltip, (one.title, words, one.series))


def _draw_cells(
    values: Values,
    cells: tuple[alt.X | alt.Y, alt.X | alt.Y],
    looks: Sequence[Any],
    tooltip: Sequence[Any],
    words: tuple[str, str, str],
) -> Chart:
    title, description, subtitle = words
    marks = alt.Chart(theme.make_data(values)).mark_rect(strokeWidth=0.8)
    chart = marks.encode(*cells, *looks, tooltip=list(tooltip))
    return theme.finish([chart], title, description, subtitle=subtitle, height=300)


def _shade(field: str, title: str, highest: float, tone: Tone) -> alt.Color:
    """Return a colour from that of the page to a tone, with a legend."""
    shades = [theme.paint(theme.BACKGROUND), theme.paint(tone)]
    return alt.Color(
        f"{field}:Q",
        scale=alt.Scale(
            type="pow", exponent=0.75, interpolate="rgb", domain=[0, highest], range=shades
        ),
        legend=alt.Legend(title=title, tickCount=4, direction="horizontal"),
    )


def _draw_maps(models: Sequence[Model], styles: Styles) -> Figure:
    caption = (
        "Each cell is a pair of bits. Coloured: a true pair that is learned. Hollow: a true pair "
        "that is not learned. Black, or white on dark: a learned pair that is not true."
    )
    if any(one.learned.pairs.directed for one in models if one.learned.pairs):
        caption += " In a directed model, rows are parents and columns are children."
    panels = [_draw_pairs(one, one.learned.pairs, styles) for one in models if one.learned.pairs]
    return Figure("pairs", "Pairs in the last model", caption, tuple(panels))


def _draw_pairs(one: Model, pairs: Pairs, styles: Styles) -> Chart:
    """Draw the pairs of the last model over the true ones: bit by bit, or parent by child."""
    kinds = {
        "true and learned": pairs.right,
        "true, not learned": pairs.missed,
        "learned, not true": pairs.wrong,
    }
    values = (
        {"kind": kind, "one": first, "other": second, "strength": strength}
        for kind, found in kinds.items()
        for first, second, strength in found
    )
    rows, columns = ("bit: parent", "bit: child") if pairs.directed else ("bit", "bit")
    tone, length = styles[one.course.algorithm].tone, one.learned.length
    legend = alt.Legend(title=None, columns=2, symbolType="square")

    def scale(*tones: Tone) -> alt.Scale:
        return alt.Scale(domain=list(kinds), range=[theme.paint(tone) for tone in tones])

    cells = (
        theme.encode_cells(alt.X, "other", columns, length),
        theme.encode_cells(alt.Y, "one", rows, length),
    )
    looks = [
        alt.Fill("kind:N", scale=scale(tone, theme.BACKGROUND, theme.TEXT), legend=legend),
        alt.Stroke("kind:N", scale=scale(tone, theme.GREY, theme.TEXT), legend=legend),
    ]
    strength = alt.Tooltip("strength:Q", title=pairs.unit)
    tooltip = [alt.Tooltip("kind:N", title="pair"), "one:O", "other:O", strength]
    score = one.learned.last
    description = (
        f"{one.title}, {one.series}, pairs of bits that the last model has learned: {score.pairs}, "
        f"{score.precision or 0:.0%} of them true, {score.recall or 0:.0%} of the true pairs."
    )
    return _draw_cells(values, cells, looks, tooltip, (one.title, description, one.series))


def describe_units(models: Sequence[Model]) -> list[str]:
    """Return how many hidden units capture a block; the paper claims that those of an RBM do."""
    return [
        f"{one.course.problem}: {one.course.label}: {units.captured:.0%} of the "
        f"{len(units.weights[0])} hidden units capture a block ({units.chance:.0%} if the bits of "
        f"each unit were shuffled), and {units.blocks_captured} of the {units.blocks} blocks are "
        "captured."
        for one in models
        if (units := one.learned.units)
    ]


def explain_learning(models: Sequence[Model]) -> str:
    """Return a paragraph on what counts as learned by these models."""
    strengths = {
        one.course.algorithm: f"{one.course.algorithm}, {pairs.unit}, {pairs.threshold:.2g}"
        for one in models
        if (pairs := one.learned.pairs)
    }
    words = ["Do models find out which bits interact?"]
    if strengths:
        words.append(
            "A model has learned a pair of bits when the strength of the pair reaches the model's "
            "threshold. What the strength is, and the threshold: "
            f"{'; '.join(strengths.values())}. A pair is true when both bits are in one block of "
            "the problem."
        )
    if any(one.learned.units for one in models):
        words.append(
            "A hidden unit captures a block when most of the sum of its squared weights is on the "
            "bits of the block: the paper claims that the hidden units of an RBM do."
        )
    if any(one.learned.interleaved for one in models):
        words.append(
            "Of interleaved populations, the models shown are those of the population that found "
            "the best; generations are its own."
        )
    return " ".join(words)


def tabulate_learned(models: Sequence[Model]) -> Table:
    columns = [
        Column("problem", "problem"),
        Column("algorithm", "algorithm"),
        Column("population", "population", format_count),
        Column("generation", "generation", format_count),
        Column("evaluations", "evaluations", format_count),
        Column("pairs", "learned pairs", format_count),
        *(
            Column(name, title, "{:.0%}".format)
            for name, title in (
                *(("precision", "precision"), ("chance", "by chance"), ("recall", "recall")),
                *(("units", "units with a block"), ("units_chance", "if shuffled")),
            )
        ),
        Column("blocks", "blocks captured", str),
    ]
    rows = []
    for one in models:
        score, units = one.learned.last, one.learned.units
        captured: tuple[Value, Value, Value] = (None, None, None)
        if units:
            blocks = Cell(f"{units.blocks_captured} of {units.blocks}", units.blocks_captured)
            captured = (units.captured, units.chance, blocks)
        rows.append(
            (
                *(one.course.problem, one.course.label, score.population, score.generation),
                *(score.evaluations, score.pairs, score.precision, one.learned.density),
                *(score.recall, *captured),
            )
        )
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
        figures = [Figure("interactions", "Bits that interact", caption, (panel,))]
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
        {"one": one, "other": other, "strength": pair.strength or 1.0}
        for pair in result.interactions
        for one, other in ((pair.one, pair.other), (pair.other, pair.one))
    ]
    strongest = max(value["strength"] for value in values)
    colour = _shade("strength", "strength", strongest, styles[result.label].tone)
    known = result.function is not None
    length = len(result.x)
    cells = (
        theme.encode_cells(alt.X, "one", "bit", length),
        theme.encode_cells(alt.Y, "other", "bit", length),
    )
    looks = [colour if known else colour.legend(None)]
    tooltip = ["one:O", "other:O", *(["strength:Q"] if known else [])]
    words = f"{title}, pairs of bits that interact: {len(result.interactions)}."
    return _draw_cells(values, cells, looks, tooltip, (title, words, result.label))
