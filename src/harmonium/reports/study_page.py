"""The report of a study, section by section."""

from collections.abc import Sequence
from itertools import groupby

from harmonium.analysis.findings import choose_prices, describe_crossing, describe_price
from harmonium.reports.courses import Course
from harmonium.reports.figures import draw_courses
from harmonium.reports.page import Page, Section, format_period, format_time, name_file
from harmonium.reports.performance_section import show_performance
from harmonium.reports.prose import (
    compare_algorithms,
    describe_unsolved,
    write_lead,
)
from harmonium.reports.snapshot import Single, Snapshot
from harmonium.reports.study_figures import draw_grid, draw_runs, draw_scaling, draw_shares
from harmonium.reports.tables import (
    tabulate_comparisons,
    tabulate_laws,
    tabulate_rows,
)
from harmonium.reports.theme import Styles, style_algorithms
from harmonium.reports.titles import title_problem
from harmonium.text import format_count, format_duration


def make_study_page(snapshot: Snapshot) -> Page:
    """Make the report."""
    study = snapshot.study
    styles = style_algorithms(snapshot.names)
    measured = {"bisect": _show_growth, "grid": _show_grid, "runs": _show_success}
    sections = [
        *measured[snapshot.plan](snapshot, styles),
        _show_runs(snapshot, styles),
        _show_comparisons(snapshot),
        _show_numbers(snapshot),
    ]
    return Page(
        kind="study report",
        title=study.name,
        file=name_file(study.name, "study"),
        description=study.description,
        complete=snapshot.complete,
        state=_describe_state(snapshot),
        lead=write_lead(snapshot),
        sections=[section for section in sections if _has_content(section)],
        run=_describe_run(snapshot),
        facts=_list_facts(snapshot),
        texts=[("The study", study.definition), *_list_environments(snapshot)],
        styles=styles,
    )


def _has_content(section: Section) -> bool:
    drawn = any(figure.panels for figure in section.figures)
    written = bool(section.sentences) or bool(section.remarks)
    return drawn or written or any(table.rows for table in section.tables)


def _show_growth(snapshot: Snapshot, styles: Styles) -> list[Section]:
    evaluations, cpu, population, building = draw_scaling(snapshot, styles)
    return [
        Section(
            "evaluations",
            "Evaluations and time",
            sentences=compare_algorithms(snapshot.rows),
            figures=[evaluations, cpu],
        ),
        _show_scaling(snapshot),
        Section(
            "time",
            "Population, and where the time goes",
            figures=[population, building, draw_shares(snapshot.rows)],
        ),
    ]


def _show_scaling(snapshot: Snapshot) -> Section:
    """Return exponents, crossings and break-even prices."""
    sentences = [
        *map(describe_crossing, snapshot.crossings),
        *map(describe_price, choose_prices(snapshot.prices)),
    ]
    if not snapshot.laws and any(row.state == "done" for row in snapshot.rows):
        sentences.append("An exponent needs two solved sizes: there is none to show yet.")
    tables = [tabulate_laws(snapshot.laws)]
    return Section("growth", "How the cost grows", sentences=sentences, tables=tables)


def _show_grid(snapshot: Snapshot, styles: Styles) -> list[Section]:
    return [
        Section("grid", "Results by population", figures=draw_grid(snapshot, styles)),
        Section("time", "Where the time goes", figures=[draw_shares(snapshot.rows)]),
    ]


def _show_success(snapshot: Snapshot, styles: Styles) -> list[Section]:
    solved, expected, cpu = draw_runs(snapshot, styles)
    return [
        Section(
            "success",
            "Success and expected evaluations",
            sentences=compare_algorithms(snapshot.rows, snapshot.plan),
            figures=[solved, expected],
        ),
        show_performance(snapshot.trajectories, styles),
        _show_scaling(snapshot),
        Section("time", "Where the time goes", figures=[cpu, draw_shares(snapshot.rows)]),
    ]


def _show_runs(snapshot: Snapshot, styles: Styles) -> Section:
    groups = groupby(snapshot.courses, lambda pair: pair[0].family)
    courses = [_name_courses(list(pairs)) for _, pairs in groups]
    which = "The first run of each algorithm, at the largest size with results."
    return Section("runs", "Single runs", [which], figures=draw_courses(courses, styles))


def _name_courses(pairs: Sequence[tuple[Single, Course]]) -> tuple[str, list[Course]]:
    """Return the courses of a family, and a title with their sizes."""
    sizes = sorted({single.size for single, _ in pairs})
    title = f"{title_problem(pairs[0][0].family)}, n = {', '.join(map(str, sizes))}"
    return title, [course for _, course in pairs if course.evaluations]


def _show_comparisons(snapshot: Snapshot) -> Section:
    tables = [tabulate_comparisons(snapshot.comparisons)]
    return Section("comparisons", "Which differences are clear", tables=tables)


def _show_numbers(snapshot: Snapshot) -> Section:
    cut = any(row.state == "done" and row.reason for row in snapshot.rows)
    return Section(
        "numbers",
        "All numbers",
        sentences=describe_unsolved(snapshot.rows),
        tables=[tabulate_rows(snapshot.rows, expected=snapshot.plan != "bisect")],
        remarks=[_TOLERANCE] if cut else [],
    )


_TOLERANCE = (
    "If the tolerance was not reached, a ceiling ended the bisection: the population may be larger "
    "than needed."
)


def _describe_state(snapshot: Snapshot) -> str:
    count = f"{snapshot.done} of {len(snapshot.rows)} rows"
    if snapshot.complete:
        return f"Complete: {count}."
    taken = format_time(snapshot.taken.isoformat())
    return f"A snapshot of an unfinished study: {count} at {taken}."


def _describe_run(snapshot: Snapshot) -> str:
    all_of = snapshot.overview
    words = [f"seed {snapshot.study.seed}", f"{format_count(all_of.trials)} trials"]
    if all_of.trials:
        words += [
            f"{format_duration(all_of.cpu_seconds)} of CPU time",
            format_period(all_of.first, all_of.last),
            _join(all_of.environments, "processor", "cores"),
            f"harmonium {_join(all_of.environments, 'harmonium')}",
        ]
    return ", ".join(words)


def _list_facts(snapshot: Snapshot) -> list[tuple[str, str]]:
    study, all_of = snapshot.study, snapshot.overview
    failed = f", {all_of.failed:,} of them failed" if all_of.failed else ""
    facts = [
        ("Study", study.name),
        ("Seed", f"{study.seed}: run r has seed + r - 1, at every size and population"),
        ("Trials stored", f"{format_count(all_of.trials)}{failed}"),
        ("Complete", f"{snapshot.done} of {len(snapshot.rows)} rows"),
    ]
    if all_of.trials:
        facts += [
            ("First trial started", format_time(all_of.first)),
            ("Last trial started", format_time(all_of.last)),
            ("CPU time of all trials", format_duration(all_of.cpu_seconds)),
            ("Time of all trials, one after the other", format_duration(all_of.wall_seconds)),
            ("Processor", _join(all_of.environments, "processor", "cores")),
            ("Host", ", ".join(all_of.hosts)),
            ("harmonium", _join(all_of.environments, "harmonium")),
            ("Python", _join(all_of.environments, "python")),
        ]
    if len(all_of.environments) > 1:
        mixed = "Trials ran in different environments; their times may not be comparable."
        facts.append(("Warning", mixed))
    return facts


def _join(environments: Sequence[dict[str, str]], name: str, count: str = "") -> str:
    """Return the different values of a fact, with a second one as their number."""
    values = [
        f"{facts.get(name, '?')}" + (f", {facts[count]} cores" if count in facts else "")
        for facts in environments
    ]
    return "; ".join(dict.fromkeys(values))


def _list_environments(snapshot: Snapshot) -> list[tuple[str, str]]:
    """Return all facts of each environment as folded text."""
    texts = [
        "\n".join(f"{name}: {value}" for name, value in facts.items())
        for facts in snapshot.overview.environments
    ]
    return [("Versions and machine", "\n\n".join(texts))] if texts else []
