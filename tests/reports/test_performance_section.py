"""The section about runtimes to targets: its figures and tables, and where it stands."""

from pathlib import Path

import pytest

from harmonium.reports.performance_section import show_budgets, show_performance, show_targets
from harmonium.reports.study_page import make_study_page
from harmonium.reports.tables import Table
from harmonium.reports.theme import style_algorithms
from harmonium.studies import Trajectory
from tests.reports.stores import fill_store, read_snapshot

STYLES = style_algorithms(["rbm", "boa"])


def make_run(
    name: str, solved_at: int | None, size: int = 10, family: str = "onemax", seed: int = 1
) -> Trajectory:
    """Return a run that starts at 0, reaches 5 after 10 evaluations and perhaps the optimum 10."""
    improvements = [(1, 0.0), (10, 5.0)] + ([] if solved_at is None else [(solved_at, 10.0)])
    return Trajectory(family, size, None, name, seed, 10.0, 500, improvements)


RUNS = [
    *(make_run("rbm", solved_at, seed=solved_at) for solved_at in (100, 200, 300, 400)),
    *(make_run("boa", solved_at, seed=seed) for seed, solved_at in enumerate((50, None))),
]


def read_texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def test_fixed_targets_are_erts_with_the_runs_that_reach_them() -> None:
    table = show_targets(RUNS)
    assert [column.title for column in table.columns] == [
        *("problem", "size", "algorithm", "50%", "75%", "90%", "95%", "100%"),
    ]
    assert read_texts(table) == [
        ["onemax", "10", "rbm", "10", "250", "250", "250", "250"],
        ["onemax", "10", "boa", "10", *["550 (1/2)"] * 4],
    ]
    last = table.rows[0][-1]
    assert last.value == 250
    assert last.low is not None
    assert last.high is not None
    assert last.low < 250 < last.high
    assert (table.rows[1][-1].value, table.rows[1][-1].low) == (550, None)  # of two runs


def test_a_target_that_no_run_reaches_is_a_dash() -> None:
    cells = show_targets([make_run("boa", None)]).rows[0]
    assert [cell.text for cell in cells[-2:]] == ["–", "–"]
    assert cells[-1].value is None


def test_fixed_budgets_are_medians() -> None:
    table = show_budgets(RUNS)
    assert [column.title for column in table.columns][3:] == ["f(x) at 10", "f(x) at 100"]
    assert read_texts(table) == [
        ["onemax", "10", "rbm", "5", "5"],
        ["onemax", "10", "boa", "5", "7.5"],
    ]


def test_figures_are_of_the_largest_size_that_all_algorithms_have() -> None:
    runs = [*RUNS, make_run("rbm", 90, size=20), make_run("boa", 90, size=20)]
    runs += [make_run("rbm", 90, size=30)]
    section = show_performance(runs, STYLES)
    assert [figure.name for figure in section.figures] == ["ecdf", "ert", "fixed-budget", "profile"]
    for figure in section.figures[:3]:
        assert [panel.title.text for panel in figure.panels] == ["OneMax, n = 20"]
    assert section.figures[3].panels[0].title.text == "2 problem instances"
    assert len(section.tables[0].rows) == 5


def test_a_profile_needs_two_algorithms_and_two_problems() -> None:
    assert [figure.name for figure in show_performance(RUNS, STYLES).figures][3:] == []
    alone = [make_run("rbm", 90), make_run("rbm", 90, size=20)]
    assert [figure.name for figure in show_performance(alone, STYLES).figures][3:] == []


def test_without_runs_the_section_is_empty() -> None:
    section = show_performance([], STYLES)
    assert not section.figures
    assert not section.tables
    assert not section.paragraphs


STUDY = """
name = "small"
{plan}
[[problems]]
problem = "onemax"
sizes = [8]
runs = 2
"""


@pytest.mark.parametrize(
    ("plan", "shown"),
    [
        ('plan = "runs"\nalgorithms = ["eda:model=umda,population=16"]', True),
        ('models = ["umda"]\n[grid]\npopulations = [16]', False),
    ],
    ids=["runs", "grid"],
)
def test_pages_of_the_plan_runs_have_the_section(plan: str, shown: bool, tmp_path: Path) -> None:
    store = fill_store(tmp_path / "small.db", STUDY.format(plan=plan))
    page = make_study_page(read_snapshot(store))
    assert ("performance" in [section.name for section in page.sections]) == shown
