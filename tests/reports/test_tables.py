"""The tables of laws and comparisons on a report."""

from dataclasses import replace

import numpy as np

from harmonium.analysis.findings import Row, compare_rows, fit_laws
from harmonium.reports.tables import Table, tabulate_comparisons, tabulate_laws, tabulate_rows
from tests.studies.made import make_row

TEN = np.arange(10.0, 20.0)


def make_rows(*sizes: int, runs: int = 10) -> list[Row]:
    """Return two algorithms; the second needs one evaluation more in each run."""
    return [
        make_row(size, name, evaluations=TEN[:runs] + more, cpu_total=np.ones(runs))
        for size in sizes
        for name, more in (("one", 0.0), ("two", 1.0))
    ]


def read(table: Table) -> list[dict[str, str]]:
    names = [column.name for column in table.columns]
    return [dict(zip(names, (cell.text for cell in row), strict=True)) for row in table.rows]


def test_a_comparison_is_a_row_in_words() -> None:
    first, second = read(tabulate_comparisons(compare_rows(make_rows(20))))
    assert first == {
        "family": "f",
        "size": "20",
        "cost": "evaluations",
        "name": "one",
        "other": "two",
        "ratio": "0.94",
        "pairs": "10",
        "wins": "10",
        "ties": "0",
        "a12": "0.59",
        "p": "0.002",
        "p_holm": "0.002",
        "better": "one",
    }
    assert (second["cost"], second["ratio"], second["ties"]) == ("CPU time", "1.00", "10")
    assert (second["p"], second["better"]) == ("1.000", "not clear")


def test_a_comparison_has_its_exact_values() -> None:
    table = tabulate_comparisons(compare_rows(make_rows(20)))
    values = {
        column.name: cell.value
        for column, cell in zip(table.columns, table.rows[0], strict=True)
        if column.numeric
    }
    assert values["ratio"] == 14.5 / 15.5
    assert values["p"] == 2 / 2**10


def test_laws_name_the_sizes_that_are_left_out() -> None:
    rows = make_rows(20, 30, 40)
    laws = read(tabulate_laws(fit_laws(rows)))
    assert [row["sizes"] for row in laws] == ["20 30 40"] * 2
    assert "missing_sizes" not in laws[0]
    rows[-1] = replace(rows[-1], state="running")
    table = tabulate_laws(fit_laws(rows))
    one, two = read(table)
    assert (one["sizes"], one["missing_sizes"]) == ("20 30 40", "–")
    assert (two["sizes"], two["missing_sizes"]) == ("20 30", "40")
    assert "unfinished" in table.caption


def test_an_exponent_with_a_wide_interval_is_called_so() -> None:
    values = {10: 10.0, 20: 90.0, 30: 40.0}
    rows = [make_row(size, evaluations=[value] * 4) for size, value in values.items()]
    table = tabulate_laws(fit_laws(rows))
    assert read(table)[0]["evaluations"].endswith(", too wide")
    assert "says nothing about the growth" in table.caption
    exact = tabulate_laws(fit_laws([make_row(n, evaluations=[n] * 4) for n in (10, 20, 30)]))
    assert read(exact)[0]["evaluations"] == "1.00 ±0.00"
    assert "says nothing" not in exact.caption


def test_unfinished_rows_are_marked() -> None:
    rows = [replace(row, state="running") for row in make_rows(20)]
    assert [row["state"] for row in read(tabulate_rows(rows))] == ["unfinished"] * 2
