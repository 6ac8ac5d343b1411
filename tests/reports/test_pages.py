"""Pages as files: what they say, what they never say, and that numbers are those exported."""

import base64
import hashlib
import json
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harmonium import BOA, EDA, RBM, UMDA, OneMax, Result, Trap, maximize, minimize, run
from harmonium.analysis.findings import compare_rows, fit_laws
from harmonium.analysis.tables import list_laws, list_rows
from harmonium.reports import Learning, write_report, write_result_report, write_run_report
from harmonium.reports.page import Page, write_page
from harmonium.reports.run_page import (
    MAX_DRAWN_RUNS,
    MAX_TRACE_ROWS,
    describe_common,
    describe_flips,
    list_bits,
    tabulate_solutions,
    write_result_lead,
)
from harmonium.reports.study_page import tabulate_comparisons, tabulate_laws, tabulate_rows
from harmonium.runs.record import Solution
from harmonium.runs.result import advise, describe_course
from harmonium.studies import Store, read_study
from harmonium.studies.store import StoreError
from tests.reports.customs import Blocks
from tests.reports.stores import (
    CUSTOM,
    EVIL,
    GRID,
    HOSTILE,
    LONG,
    ONE_SIZE,
    QUOTES,
    SMALL,
    UNSOLVED,
    Document,
    Report,
    list_values,
    make_row,
    read_charts,
    read_page,
    read_snapshot,
    read_value,
    unpack,
)
from tests.search.one_plus_one import OnePlusOne


def test_tables_on_the_page_equal_the_exports(report: Report) -> None:
    path = report(SMALL)
    document, rows = read_page(path), read_study(path.with_suffix(".db")).rows
    shown = document.table("summary")
    metrics = set(shown[0]) - {"family", "size", "name", "solved", "state"}
    assert len(metrics) == 6
    for row, plain in zip(shown, list_rows(rows), strict=True):
        assert [row[name].text for name in ("family", "name")] == [plain["family"], plain["name"]]
        assert row["state"].text == plain["state"] == "done"
        for name in ("size", "solved", *metrics):
            assert read_value(row[name]) == plain[name]
        for name in metrics:
            for part in ("low", "high"):
                assert read_value(row[name], part) == plain[f"{name}_{part}"]
    laws = {(one["family"], one["name"], one["metric"]): one for one in list_laws(fit_laws(rows))}
    for row in document.table("scaling"):
        for metric in ("evaluations", "cpu_total", "cpu_building", "population"):
            plain = laws[row["family"].text, row["name"].text, metric]
            assert read_value(row[metric]) == plain["exponent"]
            assert read_value(row[metric], "low") == plain["exponent_low"]
            if f"{metric}_paper" in row:
                assert read_value(row[f"{metric}_paper"]) == plain["paper_exponent"]


def test_the_page_says_what_was_run_and_describes_its_charts(report: Report) -> None:
    document = read_page(report(SMALL))
    with Store.open(report(SMALL).with_suffix(".db")) as store:
        overview = store.overview()
    (details,) = document.find("details", **{"class": "run"})
    trials, processor = f"seed 1, {overview.trials:,} trials", overview.environments[0]["processor"]
    for words in (SMALL.strip(), trials, processor):
        assert words in details.text
    assert "Complete: 19 of 19 rows." in document.page
    for words in ("needed the fewest evaluations on", "took the least CPU time on"):
        assert words in document.lead
    charts = read_charts(document)
    places = document.find("div", **{"class": "chart"})
    assert [place.attributes["id"] for place in places] == list(charts)
    assert len(charts) > 15
    captions = document.find("figcaption")
    assert len(captions) == len(document.find("figure"))
    alternatives = [spec["description"] for spec in charts.values()]
    assert all(len(words) > 40 for words in (*alternatives, *(one.text for one in captions)))


def test_the_page_is_small_and_needs_nothing_from_elsewhere(report: Report) -> None:
    document = read_page(report(SMALL))
    assert len(document.page) < 500_000
    assert "vegaEmbed" in unpack(document, "library")
    for element in document.elements:
        assert "src" not in element.attributes
        assert element.attributes.get("href", "#").startswith("#")
    assert not document.find("link")
    (policy,) = document.find("meta", **{"http-equiv": "Content-Security-Policy"})
    (script,) = (script for script in document.find("script") if not script.attributes)
    digest = base64.b64encode(hashlib.sha256(script.text.encode()).digest()).decode()
    assert policy.attributes["content"].startswith("default-src 'none';")
    assert f"script-src 'sha256-{digest}' 'unsafe-eval';" in policy.attributes["content"]


def check_harmless(document: Document) -> None:
    """Check that names of users are text: there is no element or attribute of theirs."""
    assert len(document.find("script")) == 3  # data, library and ours
    assert not document.find("img")
    assert not any("onerror" in element.attributes for element in document.elements)


def test_names_are_text_and_never_markup(report: Report) -> None:
    document = read_page(report(EVIL))
    check_harmless(document)
    assert document.find("h1")[0].text == f"{HOSTILE} & 'co'"
    switches = document.find("input", type="checkbox")
    names = [switch.attributes.get("data-algorithm") for switch in switches]
    assert names[:4] == ["umda", HOSTILE, QUOTES, LONG]
    assert [row["name"].text for row in document.table("summary")[:4]] == names[:4]
    assert QUOTES in json.dumps(read_charts(document), ensure_ascii=False).replace('\\"', '"')


RUNS = {"solved", "expected", "cpu", "phases", "convergence", "training"}
ODD: dict[str, tuple[Any, ...]] = {
    "waiting": (
        *(SMALL, 0, set()),
        "Nothing is measured yet. 19 of 19 rows are not finished yet.",
        "A snapshot of an unfinished study: 0 of 19 rows",
        ">waiting</td>",
    ),
    "one size": (
        *(ONE_SIZE, None, {"evaluations", "cpu", "population", "building"}),
        *("(at 12 bits", "An exponent needs two solved sizes"),
    ),
    "unsolved": (
        *(UNSOLVED, None, set()),
        "No algorithm solved any problem of this study.",
        "trap:order=5, n = 40, 50: umda was not solved within population 16.",
    ),
    "grid": (GRID, None, RUNS | {"evaluations"}, "Of all runs on trap:order=4, umda solved "),
    "runs": (  # custom algorithms and models: a (1+1) EA does not solve traps within the budget
        *(CUSTOM, None, RUNS | {"ecdf", "ert", "learned", "pairs", "weights"}),
        *("fewest expected evaluations", "ea solved"),
        "onemax is left out: each bit counts alone, so there are no true pairs",
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_studies_have_pages(name: str, report: Report) -> None:
    text, trials, figures, *words = ODD[name]
    document = read_page(report(text, trials))
    assert document.figures >= figures
    assert bool(document.figures) == bool(figures)
    for part in words:
        assert part in document.page
    assert not document.find("input", id="paper")
    rows = document.table("summary")
    for row in rows if trials is None and "success_rate" in rows[0] else ():
        solved, runs = row["solved"].text.split("/")
        assert read_value(row["success_rate"]) == int(solved) / int(runs)
        assert (row["expected_evaluations"].text == "–") == (solved == "0")


def test_the_page_of_a_study_that_is_running(report: Report) -> None:
    document = read_page(report(SMALL, 60))
    (badge,) = document.find("p", **{"class": "badge partial"})[:1]
    done = int(re.findall(r"(\d+) of 19 rows at \d{4}-\d\d-\d\d \d\d:\d\d UTC", badge.text)[0])
    assert 0 < done < 19
    assert [row["state"].text for row in document.table("summary")].count("done") == done
    assert f"{19 - done} of 19 rows are not finished yet." in document.lead
    assert "evaluations" in document.figures


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    Store.create(tmp_path / "empty.db").close()
    with pytest.raises(StoreError, match="holds no study yet"):
        write_report(tmp_path / "empty.db", tmp_path / "empty.html")
    (tmp_path / "page.html").mkdir()
    for path in (tmp_path / "nowhere" / "page.html", tmp_path / "page.html"):
        with pytest.raises(OSError, match=r"No such file|not a regular file"):
            write_page(path, Page("study", "title", "", True, "", "", [], "", []))
    assert {path.suffix for path in tmp_path.iterdir()} == {".db", ".html"}
    assert not list(tmp_path.glob("page.html/*"))


def test_single_runs_are_those_of_the_largest_sizes(report: Report) -> None:
    with Store.create(report(SMALL).with_suffix(".db")):  # also while its driver has it open
        drawn = read_snapshot(report(SMALL)).choose_largest()
    assert [(family, size, course.algorithm) for family, size, course in drawn] == [
        *(("onemax", 60, name) for name in ("rbm", "boa")),
        *(("trap:order=4", 20, name) for name in ("rbm", "boa", "boa-rtr")),
        *(("nk:k=2", 12, name) for name in ("rbm", "boa", "boa-rtr")),
    ]
    for _, _, course in drawn:
        assert course.best[-1][1] == pytest.approx(course.optimum)
        assert next(iter(course.facts)) == ("epochs" if course.algorithm == "rbm" else "edges")


def test_a_comparison_is_a_row_in_words() -> None:
    ten = np.arange(10.0, 20.0)
    rows = [
        make_row(20, name, evaluations=ten + more, cpu_total=np.ones(10))
        for name, more in (("one", 0.0), ("two", 1.0))
    ]
    table = tabulate_comparisons(compare_rows(rows))
    first, second = ([cell.text for cell in row] for row in table.rows)
    assert " ".join(first) == "f 20 evaluations one two 0.94 10 10 0 0.59 0.002 0.002 one"
    assert " ".join(second).startswith("f 20 CPU time one two 1.00 10 0 10")
    assert table.rows[0][5].value == 14.5 / 15.5
    running = tabulate_rows([replace(row, state="running") for row in rows])
    assert [row[-1].text for row in running.rows] == ["unfinished"] * 2


def test_laws_name_the_sizes_that_are_left_out_and_wide_intervals() -> None:
    values = {10: 10.0, 20: 90.0, 30: 40.0, 40: 1.0}
    rows = [make_row(size, evaluations=[value] * 4) for size, value in values.items()]
    rows[-1] = replace(rows[-1], state="running")
    table = tabulate_laws(fit_laws(rows))
    cells = [cell.text for cell in table.rows[0]]
    assert cells[2:4] == ["10 20 30", "40"]
    assert cells[4].endswith(", too wide")
    assert "unfinished" in table.caption


TRAP = Trap(length=12, order=4)


def show_runs(path: Path, problem: Any, results: list[Result], *learnings: Learning) -> Document:
    write_run_report(path / "run.html", problem, results, learnings)
    return read_page(path / "run.html")


def follow_runs(problem: Any, *algorithms: Any) -> tuple[list[Result], list[Learning]]:
    learnings = [Learning(problem) for _ in algorithms]
    results = [
        run(problem, algorithm, seed=1, callback=learning)
        for algorithm, learning in zip(algorithms, learnings, strict=True)
    ]
    return results, learnings


def test_the_page_of_one_run_and_of_two(tmp_path: Path) -> None:
    results, learnings = follow_runs(
        TRAP, *(EDA(model, population=300) for model in (RBM(), BOA()))
    )
    document = show_runs(tmp_path, TRAP, results[:1], learnings[0])
    assert "<h1>trap:<wbr>length=12,<wbr>order=4</h1>" in document.page
    assert f"Ended: {results[0].message}." in document.page
    assert document.lead == write_result_lead(results[0])
    names = {"convergence", "training", "phases", "learned", "pairs", "weights"}
    assert document.figures == names
    assert not document.find("input")  # one run: nothing to switch
    trace = document.table("trace")
    assert [read_value(row["best"]) for row in trace] == [step.best for step in results[0].trace]
    assert len(document.table("runs")) == 1
    both = show_runs(tmp_path, TRAP, results)
    assert "2 of 2 runs solved." in both.page
    assert len(both.find("input", type="checkbox")) == 2
    assert "Not shown: no `Learning` followed the runs" in both.page


@pytest.mark.parametrize(
    ("problem", "model", "words"),
    [(OneMax(8), BOA(), "each bit counts alone"), (TRAP, UMDA(), "no model was built that offers")],
    ids=str,
)
def test_what_cannot_be_scored_is_explained(
    problem: Any, model: Any, words: str, tmp_path: Path
) -> None:
    results, learnings = follow_runs(problem, EDA(model, population=40))
    document = show_runs(tmp_path, problem, [replace(results[0], problem=HOSTILE)], *learnings)
    assert f"Not shown: {words}" in document.page
    assert "learned" not in document.figures
    check_harmless(document)


def test_algorithms_of_all_kinds_share_a_page(tmp_path: Path) -> None:
    algorithms = OnePlusOne(rate=2.0), EDA(Blocks(), population=60), EDA(BOA())
    results, learnings = follow_runs(TRAP, *algorithms)
    charts = read_charts(show_runs(tmp_path, TRAP, results, *learnings))
    assert [charts[f"convergence-{place}"]["title"]["text"] for place in (1, 2, 3)] == [
        f"4-traps, n = 12: {result.label}" for result in results
    ]
    assert [name for name in charts if name.startswith("pairs")] == ["pairs-1", "pairs-2"]
    sizes = {step.population for step in results[2].trace}
    ends = list_values(charts["convergence-3"])[-1]  # of interleaved populations
    assert {end["size"] for end in ends} <= {f"{size:,}" for size in sizes if size}
    assert len(ends) > 1
    alone = show_runs(tmp_path, TRAP, results[1:2])  # a fact with the name of a column
    assert read_charts(alone)["training-1"]["title"]["subtitle"] == "best"
    assert {"best", "fact_best"} < set(alone.table("trace")[0])
    bare = show_runs(tmp_path, TRAP, results[:1])
    assert bare.figures == {"convergence", "phases"}
    assert set(bare.table("trace")[0]) == {"step", "evaluations", "calls", "best"}
    assert "None" not in bare.find("details", **{"class": "run"})[0].text


def test_many_runs_are_drawn_in_part(tmp_path: Path) -> None:
    problem, count = OneMax(10), MAX_DRAWN_RUNS + 2
    results = [run(problem, EDA(BOA(), population=40), seed=seed) for seed in range(count)]
    document = show_runs(tmp_path, problem, results)
    assert f"The charts show {MAX_DRAWN_RUNS} of the {count} runs." in document.page
    assert len(document.table("runs")) == count
    solved = sum(result.solved for result in results)
    assert f"{solved} of {count} runs solved." in document.page
    assert document.lead.startswith("The best run: The largest value found is 10,")


@pytest.fixture(scope="module")
def result() -> Result:
    return maximize(lambda bits: float(bits.sum()), 12, model="boa", seed=1, max_calls=400)


def show(result: Result, folder: Path, name: str | None = "count") -> Document:
    write_result_report(folder / "own.html", result, name)
    return read_page(folder / "own.html")


def test_the_page_of_a_function_reports_what_happened(result: Result, tmp_path: Path) -> None:
    document = show(result, tmp_path)
    assert document.find("h1")[0].text == "count"
    assert document.lead == write_result_lead(result)
    (details,) = document.find("details", **{"class": "run"})
    for words in ("12 bits", result.label, result.algorithm, "seed 1"):
        assert words in details.text
    assert document.find("pre", **{"class": "shown"})[0].text == "1" * 12
    assert document.figures == {"convergence", "training", "phases"}
    for name in ("evaluations", "calls", "best", "mean"):
        shown = [read_value(row[name]) for row in document.table("trace")]
        assert shown == [getattr(step, name) for step in result.trace]
    assert len(document.table("solutions")) == 10
    for words in (describe_course(result), advise(result), describe_common(result)):
        assert words in document.page
    replace(result, noisy=True, fun_error=0.125).report(tmp_path / "page.html")
    noisy = read_page(tmp_path / "page.html")
    assert noisy.find("h1")[0].text == result.problem
    assert "with a standard error of 0.12" in noisy.lead
    check_harmless(show(result, tmp_path, HOSTILE))
    with pytest.raises(FileNotFoundError, match="expected a file in an existing folder"):
        result.report(tmp_path / "nowhere" / "page.html")


def test_the_lead_is_written_from_the_numbers(result: Result) -> None:
    why = "max_calls was reached; 1 evaluation failed"
    odd = replace(result, fun=-1.25, calls=1, evaluations=1001, failures=1, repairs=3, message=why)
    for words in (
        "The largest value found is -1.25, after 1 call of the function; the cache served 1,000 "
        "more evaluations. 1 call failed. 3 sampled rows had to be changed",
        f"with {odd.label}. It ended because max_calls was reached.",
    ):
        assert words in write_result_lead(odd)
    plain = write_result_lead(replace(result, evaluations=result.calls))
    assert not any(word in plain for word in ("cache", "failed", "constraints"))
    broken = replace(result, stopped_by="interrupted", message="interrupted; this is the best")
    assert write_result_lead(broken).endswith("It ended: interrupted; this is the best.")


@pytest.mark.parametrize(
    ("bits", "words"),
    [
        ([0, 1, 0, 1, 1, 1], "1, 3–5"),
        ([0] * 6, "none"),
        ([1, 0, 1, 1], "0, 2, 3"),
        ([0, 1] * 500, ", ".join(map(str, range(1, 60, 2))) + ", …"),
    ],
)
def test_bits_are_listed_as_ranges(bits: list[int], words: str) -> None:
    assert list_bits(np.flatnonzero(bits)) == words


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_short_traces(result: Result, steps: int, tmp_path: Path) -> None:
    rows = [replace(row, mean=math.inf, best=5.0) for row in result.trace[:steps]]
    document = show(replace(result, trace=tuple(rows), best_found_by=None), tmp_path)
    assert document.figures >= ({"phases", "convergence"} if steps else {"phases"})
    assert ("there is nothing to draw" in document.page) == (steps == 0)
    assert "Infinity" not in unpack(document, "data")


def test_the_page_of_a_long_run_is_small(tmp_path: Path) -> None:
    result = maximize(lambda bits: float(bits.sum()), 40, seed=1, max_calls=2000)
    trace = show(result, tmp_path).table("trace")
    assert len(trace) == MAX_TRACE_ROWS < len(result.trace)
    assert read_value(trace[-1]["evaluations"]) == result.trace[-1].evaluations
    assert (tmp_path / "own.html").stat().st_size <= 500_000


def solve(result: Result, *solutions: tuple[Any, ...], **changes: Any) -> Result:
    """Return a result with these solutions: bits, value and error."""
    found = tuple(
        Solution(np.array([int(bit) for bit in text]), fun, error[0] if error else None, 7)
        for text, fun, *error in solutions
    )
    return replace(result, x=found[0].x, solutions=found, **changes)


@pytest.mark.parametrize(
    ("solutions", "common", "flips"),
    [
        (
            [("110011", 5), ("110000", 4), ("100111", 5)],
            "The 3 best solutions have 2 of 6 bits in common (ones: 0; zeros: 2). They differ in "
            "these: 1, 3–5.",
            "",
        ),
        (
            [("110", 5), ("111", 5), ("010", 4.5), ("001", 4)],
            "The 4 best solutions have 0 of 3 bits in common (ones: none; zeros: none). "
            "They differ in these: 0–2.",
            "Changing a single bit of the best: bit 2 makes no difference, bit 0 costs 0.5.",
        ),
        (
            [("11", 5, 0.3), ("01", 4.2, 0.4), ("10", 3.9, 0.4)],
            "The 3 best solutions have 0 of 2 bits in common (ones: none; zeros: none). "
            "They differ in these: 0, 1.",
            "Changing a single bit of the best: bit 0 makes no difference beyond the noise, bit 1 "
            "costs 1.1.",
        ),
    ],
)
def test_what_solutions_have_in_common_and_which_bits_matter(
    result: Result, solutions: list[Any], common: str, flips: str
) -> None:
    assert describe_common(solve(result, *solutions)) == common
    assert describe_flips(solve(result, *solutions)) == flips


def test_solutions_are_a_table(result: Result) -> None:
    table = tabulate_solutions(solve(result, ("1100", 5, 0.25), ("1011", 4), noisy=True))
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["1", "5", "0.25", "0", "0", "–", "7"],
        ["2", "4", "–", "-1", "3", "1–3", "7"],
    ]


def test_values_of_variables_are_a_table_and_a_minimum_has_its_own_sign(tmp_path: Path) -> None:
    space = {"colour": ["red", HOSTILE], "size": [1, 2, 3]}
    result = minimize(lambda values: float(values["size"]), space=space, seed=1)
    document = show(result, tmp_path)
    check_harmless(document)
    assert {row["name"].text: row["best"].text for row in document.table("values")}["size"] == "1"
    changed = document.table("solutions")[1]["values"].text
    assert changed.startswith(("colour=", "size="))
    assert "best solutions have" in document.page
    assert read_value(document.table("trace")[-1]["best"]) == result.fun == 1
    assert "The smallest value found is 1," in document.lead


def test_a_notebook_shows_a_table(result: Result) -> None:
    shown = result._repr_html_()  # the name that notebooks look for
    document = Document(shown)
    assert f"Ended: {result.message}. {describe_course(result)} {advise(result)}" in shown
    names, cells = ([cell.text for cell in document.find(tag)] for tag in ("th", "td"))
    lines = [f"{name:>9}: {text}" for name, text in zip(names, cells, strict=True)]
    assert lines == str(result).splitlines()[1:]
    assert "        x: 111111111111 (12 of 12 are ones)" in lines
    hostile = Document(replace(result, algorithm=HOSTILE, message=HOSTILE)._repr_html_())
    assert not hostile.find("script")


@pytest.mark.parametrize(
    ("stopped_by", "changes", "words"),
    [
        ("optimum", {}, "there is nothing left to do"),
        ("bound", {}, "No solution can be better"),
        ("exhausted", {}, "there is no better one"),
        ("failed", {}, "Correct the function"),
        ("confirmed", {}, "Search again with another seed"),
        ("stagnation", {}, "Search again with another seed"),
        ("calls", {"best_found_at": 90}, "a longer one may find a better"),
        ("time", {"best_found_at": 10}, "A larger budget alone is unlikely"),
        ("interrupted", {"best_found_at": 10}, "a longer one may find a better"),
        ("calls", {"failures": 51}, "More than half of the calls failed"),
    ],
)
def test_the_advice_fits(result: Result, stopped_by: Any, changes: Any, words: str) -> None:
    ended = replace(result, evaluations=100, calls=100, stopped_by=stopped_by, **changes)
    assert words in advise(ended)
    late = describe_course(replace(ended, best_found_at=51))
    early = describe_course(replace(ended, best_found_at=50))
    assert late == "The best was found at evaluation 51 of 100."
    assert early.endswith("50 of 100. Nothing improved in the second half of the search.")
