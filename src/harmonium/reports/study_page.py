"""The report of a study: everything that is read of a store at one moment, section by section."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import groupby
from typing import Any, Final

from harmonium.analysis import findings, tables
from harmonium.analysis.findings import Comparison, Law, Row
from harmonium.analysis.performance import Trajectory
from harmonium.analysis.statistics import Metric
from harmonium.reports.courses import Course, draw_convergence, draw_training
from harmonium.reports.growth import draw_costs, draw_shares
from harmonium.reports.learned import list_models, show_learned
from harmonium.reports.page import (
    Column,
    Page,
    Section,
    Table,
    format_time,
    write_environments,
)
from harmonium.reports.performance import show_performance
from harmonium.reports.theme import Styles, style_algorithms
from harmonium.reports.words import describe_unsolved, title_problem, write_lead
from harmonium.studies.driver import read_walks
from harmonium.studies.plans import Walk
from harmonium.studies.store import About, Overview, Store
from harmonium.studies.summary import read_trajectories, summarize
from harmonium.text import format_count, format_duration, format_seconds


@dataclass(frozen=True)
class Snapshot:
    """A study and what its store holds of it at one moment: the study may be running."""

    study: About
    overview: Overview
    taken: str
    rows: Sequence[Row]
    courses: Sequence[tuple[str, int, Course]]
    """The first run of each family, size and algorithm that was measured, with family and size."""
    reasons: Sequence[tuple[str, str]]
    """By family, why it is not known what models learned."""
    trajectories: Sequence[Trajectory]
    """Of the plan `runs`: the best so far of each run behind the rows that are done."""

    @property
    def done(self) -> int:
        """Number of rows that have ended, solved or not."""
        return sum(row.state in ("done", "not solved", "failed") for row in self.rows)

    @property
    def complete(self) -> bool:
        return self.done == len(self.rows)

    @property
    def plan(self) -> str:
        return self.rows[0].plan

    @cached_property
    def laws(self) -> list[Law]:
        return findings.fit_laws(self.rows)

    @cached_property
    def comparisons(self) -> list[Comparison]:
        return findings.compare_rows(self.rows)

    def choose_largest(self, *, learned: bool = False) -> list[tuple[str, int, Course]]:
        """Return the largest run of each family and algorithm, or of those with models stored."""
        known = [one for one in self.courses if not learned or one[2].learned is not None]
        rising = sorted(known, key=lambda one: one[1])
        largest = {(family, course.algorithm): course for family, _, course in rising}
        return [one for one in known if largest[one[0], one[2].algorithm] is one[2]]


def take_snapshot(store: Store) -> Snapshot:
    with store.frozen():
        study, walks = read_walks(store)
        runs = [walk for walk in walks if walk.case.plan.name == "runs"]
        courses, reasons = _read_courses(walks, store)
        return Snapshot(
            study=study,
            overview=store.overview(),
            taken=datetime.now(UTC).isoformat(),
            rows=summarize(walks),
            courses=courses,
            reasons=reasons,
            trajectories=list(read_trajectories(runs, store)),
        )


def _read_courses(
    walks: Sequence[Walk], store: Store
) -> tuple[list[tuple[str, int, Course]], list[tuple[str, str]]]:
    """Return the first run of each family, size and algorithm; on a grid of its last population.

    Also return, by family, why it is not known what models learned.
    """
    found: dict[tuple[str, int, str], str] = {}
    for walk in sorted(walks, key=lambda walk: walk.case.instance or 0, reverse=True):
        if walk.found and walk.found.measured:
            case = walk.case
            found[case.family, case.size, case.name] = walk.found.measured.trials[0].key
    cases = dict.fromkeys((walk.case.family, walk.case.size, walk.case.name) for walk in walks)
    courses: list[tuple[str, int, Course]] = []
    reasons: dict[tuple[str, str], None] = {}
    for family, size, name in cases:
        key = found.get((family, size, name), "")
        result, trace = store.result(key), store.trace(key)
        if result and trace.get("evaluations"):
            problem = f"{family}, n = {size}"
            learned = store.learned(key)
            if isinstance(learned, str):
                reasons[family, learned], learned = None, None
            courses.append((family, size, Course(problem, name, result, trace, learned)))
    return courses, list(reasons)


def make_study_page(snapshot: Snapshot) -> Page:
    study = snapshot.study
    styles = style_algorithms(row.name for row in snapshot.rows)
    sections = [
        *_show_costs(snapshot, styles),
        _show_runs(snapshot, styles),
        _show_models(snapshot, styles),
        Section(
            *("comparisons", "Which differences are clear"),
            tables=[tabulate_comparisons(snapshot.comparisons)],
        ),
        _show_numbers(snapshot),
    ]
    overview, facts = snapshot.overview, _list_facts(snapshot)
    done = f"{snapshot.done} of {len(snapshot.rows)} rows"
    partial = f"A snapshot of an unfinished study: {done} at {format_time(snapshot.taken)}."
    machine = [text for name, text in facts if text and name in ("Started", "Processor")]
    return Page(
        kind="study report",
        title=study.name,
        description=study.description,
        complete=snapshot.complete,
        state=f"Complete: {done}." if snapshot.complete else partial,
        lead=write_lead(snapshot.rows),
        sections=[section for section in sections if section.has_content],
        run=", ".join([f"seed {study.seed}", f"{format_count(overview.trials)} trials", *machine]),
        facts=facts,
        texts=[("The study", study.definition), *write_environments(overview.environments)],
        styles=styles,
    )


_COSTS: Final = {
    "bisect": ("Evaluations and time", "Population, and where the time goes"),
    "grid": ("Results by population", "Where the time goes"),
    "runs": ("Success and expected evaluations", "Where the time goes"),
}
"""Titles of the sections on costs, by plan."""


def _show_costs(snapshot: Snapshot, styles: Styles) -> list[Section]:
    laws = snapshot.laws if snapshot.plan == "bisect" else None
    first, second, *others = draw_costs(snapshot.rows, styles, laws)
    costs, times = _COSTS[snapshot.plan]
    return [
        Section("costs", costs, figures=[first, second]),
        show_performance(snapshot.trajectories, styles),
        _show_scaling(snapshot),
        Section("time", times, figures=[*others, draw_shares(snapshot.rows)]),
    ]


def _show_scaling(snapshot: Snapshot) -> Section:
    prices = findings.find_prices(snapshot.rows, snapshot.comparisons)
    sentences = [
        *map(findings.describe_crossing, findings.find_crossings(snapshot.laws)),
        *map(findings.describe_price, findings.choose_prices(prices)),
    ]
    done = any(row.state == "done" and row.given is None for row in snapshot.rows)
    if done and not snapshot.laws:
        sentences.append("An exponent needs two solved sizes: there is none to show yet.")
    laws = [tabulate_laws(snapshot.laws)]
    return Section("growth", "How the cost grows", sentences=sentences, tables=laws)


def _show_runs(snapshot: Snapshot, styles: Styles) -> Section:
    panels = []
    for family, runs in groupby(snapshot.choose_largest(), lambda one: one[0]):
        _, sizes, courses = zip(*runs, strict=True)
        where = ", ".join(map(str, sorted(set(sizes))))
        panels.append((f"{title_problem(family)}, n = {where}", courses))
    which = "The first run of each algorithm, at the largest size with results."
    figures = [draw_convergence(panels, styles), draw_training(panels, styles)]
    return Section("runs", "Single runs", [which], figures=figures)


def _show_models(snapshot: Snapshot, styles: Styles) -> Section:
    drawn = snapshot.choose_largest(learned=True)
    known = {family for family, _, _ in drawn}
    left_out = [f"{one} is left out: {why}." for one, why in snapshot.reasons if one not in known]
    return show_learned(list_models([course for _, _, course in drawn]), styles, "", left_out)


def _show_numbers(snapshot: Snapshot) -> Section:
    sentences = describe_unsolved(snapshot.rows)
    if any(row.state == "done" and row.reason for row in snapshot.rows):
        sentences.append(
            "If the tolerance was not reached, a ceiling ended the bisection: the population may "
            "be larger than needed."
        )
    tables = [tabulate_rows(snapshot.rows)]
    return Section("numbers", "All numbers", sentences=sentences, tables=tables)


def _list_facts(snapshot: Snapshot) -> list[tuple[str, str | None]]:
    study, all_of = snapshot.study, snapshot.overview
    failed = f", {all_of.failed:,} of them failed" if all_of.failed else ""
    facts: list[tuple[str, str | None]] = [
        ("Study", study.name),
        ("Seed", f"{study.seed}: run r has seed + r - 1, at every size and population"),
        ("Trials stored", f"{format_count(all_of.trials)}{failed}"),
    ]
    if all_of.trials:
        facts += [
            ("Started", f"{format_time(all_of.first)} to {format_time(all_of.last)}"),
            ("CPU time of all trials", format_duration(all_of.cpu_seconds)),
            ("Time of all trials, one after the other", format_duration(all_of.wall_seconds)),
            ("Processor", _join(all_of.environments, "processor", "cores")),
            ("Host", ", ".join(all_of.hosts)),
            ("harmonium", _join(all_of.environments, "harmonium")),
        ]
    if len(all_of.environments) > 1:
        mixed = "Trials ran in different environments; their times may not be comparable."
        facts.append(("Warning", mixed))
    return facts


def _join(environments: Sequence[dict[str, str]], name: str, cores: str = "") -> str:
    """Return the different values of a fact, with a second one as their number."""
    values = [
        f"{facts.get(name, '?')}" + (f", {facts[cores]} cores" if cores in facts else "")
        for facts in environments
    ]
    return "; ".join(dict.fromkeys(values))


_LAW_TITLES: Final[dict[Metric, str]] = {
    "evaluations": "evaluations",
    "cpu_total": "CPU time",
    "cpu_building": "building",
    "population": "population",
}


def tabulate_laws(laws: Sequence[Law]) -> Table:
    """Return the exponents beside the paper's, a row for each family and algorithm."""
    missing = any(law.missing for law in laws)
    columns = [Column("family", "problem"), Column("name", "algorithm"), Column("sizes", "sizes")]
    columns += [Column("missing_sizes", "sizes left out")] if missing else []
    for metric, title in _LAW_TITLES.items():
        columns += [
            Column(metric, title, "{:.2f}".format, interval=True),
            Column(f"{metric}_paper", "paper", "{:.1f}".format),
        ]
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for law, plain in zip(laws, tables.list_laws(laws), strict=True):
        head = {name: plain[name] or None for name in ("family", "name", "sizes", "missing_sizes")}
        rows.setdefault((law.family, law.name), head).update(
            {
                law.metric: plain["exponent"],
                f"{law.metric}_low": plain["exponent_low"],
                f"{law.metric}_high": plain["exponent_high"],
                f"{law.metric}_text": findings.format_exponent(law.exponent),
                f"{law.metric}_paper": plain["paper_exponent"],
            }
        )
    caption = (
        "Exponents e of value = c·n^e, ± half of a 95 % interval by Student's t over the sizes; "
        "beside them the paper's, for algorithms with the paper's own setting. Sizes that are "
        "unfinished, not solved or failed are left out. Too wide: the interval says nothing about "
        "the growth; measure more sizes."
    )
    return Table("scaling", caption, columns, list(rows.values()))


def tabulate_rows(rows: Sequence[Row]) -> Table:
    """Return a row for each problem size and algorithm, with intervals.

    Without bisections not every run had to be solved: it has success rates and expected
    evaluations.
    """
    bisected, given = rows[0].plan == "bisect", rows[0].given is not None
    columns = [
        Column("family", "problem"),
        Column("size", "size", str),
        Column("name", "algorithm"),
        Column("population", "population", format_count, interval=not given),
        Column("evaluations", "evaluations", format_count, interval=True),
        Column("unique_evaluations", "unique", format_count, interval=True),
        Column("generations", "generations", format_seconds, interval=True),
        Column("cpu_total", "CPU seconds", format_seconds, interval=True),
        Column("cpu_building", "building seconds", format_seconds, interval=True),
        Column("success_rate", "success rate", "{:.0%}".format),
        Column("expected_evaluations", "expected evaluations", format_count, interval=True),
        Column("solved", "runs solved", str),
        Column("state", "state"),
    ]
    values = []
    for row, plain in zip(rows, tables.list_rows(rows), strict=True):
        plain["solved_text"] = f"{row.solved}/{row.runs}"
        state = ": ".join(filter(None, (plain["state"], row.reason)))
        plain["state"] = row.reason if row.state == "not solved" else state
        values.append(plain if row.state == "done" else plain | {"solved": None})
    caption = (
        "Means over runs, or over instances if there are several; ± half of a 95 % interval by "
        "Student's t on logarithms, of a single population half of its bracket."
    )
    if bisected:
        columns = [one for one in columns if not one.name.startswith(("success", "expected"))]
    else:
        caption += (
            " Expected evaluations (ERT): the evaluations of all runs divided by the number of "
            "solved ones."
        )
    return Table("summary", caption, columns, values)


def tabulate_comparisons(comparisons: Sequence[Comparison]) -> Table:
    columns = [
        Column("family", "problem"),
        Column("size", "size", str),
        Column("population", "population", format_count),
        Column("cost", "cost"),
        Column("name", "algorithm"),
        Column("other", "compared with"),
        Column("ratio", "ratio", "{:.2f}".format),
        Column("pairs", "pairs", format_count),
        Column("wins", "less", format_count),
        Column("ties", "equal", format_count),
        Column("a12", "A12", "{:.2f}".format),
        Column("p", "p", findings.format_p_value),
        Column("p_holm", "p, corrected", findings.format_p_value),
        Column("better", "clearly less"),
    ]
    rows = []
    for one, plain in zip(comparisons, tables.list_comparisons(comparisons), strict=True):
        mean, other = plain["mean"], plain["other_mean"]
        plain["cost"] = "CPU time" if one.cost == "cpu_total" else one.cost.replace("_", " ")
        plain["ratio"] = mean / other if mean is not None and other else None
        plain["ratio_text"] = findings.format_ratio(one)
        plain["better"] = one.better or "not clear"
        rows.append(plain)
    caption = (
        "Two algorithms on the same runs, or on the same instances if there are several. Ratio: "
        "mean cost of the first divided by that of the second. Less, equal: pairs in which the "
        "first costs less, or the same. A12: chance that the first costs less. p: Wilcoxon's "
        "signed-rank test; corrected by Holm's method over all rows of a problem and cost. A "
        "difference is clear if the corrected p is below 0.05; fewer than 6 pairs never suffice."
    )
    return Table("comparisons", caption, columns, rows)
