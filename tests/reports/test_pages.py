"""Pages as files: what they say, what they never say, and that numbers are those exported."""

import base64
import hashlib
import json
import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harmonium import BOA, EDA, RBM, UMDA, OneMax, Result, Trap, maximize, minimize, run
from harmonium.analysis.findings import compare_rows, fit_laws
from harmonium.analysis.tables import list_laws, list_rows
from harmonium.arrays import Bits, Fitness
from harmonium.reports import Learning, write_report, write_result_report, write_run_report
from harmonium.reports.page import Page, write_page
from harmonium.reports.run_page import (
    MAX_DRAWN_RUNS,
    describe_common,
    describe_flips,
    describe_ones,
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
    HOSTILE,
    LONG,
    ONE_SIZE,
    QUOTES,
    SMALL,
    UNSOLVED,
    Document,
    fill_store,
    list_values,
    make_row,
    read_charts,
    read_page,
    read_snapshot,
    read_value,
    unpack,
)
from tests.search.one_plus_one import OnePlusOne


def read_report(store: Path) -> Document:
    path = store.with_suffix(".html")
    assert write_report(store, path) == [path]
    return read_page(path)


def test_tables_on_the_page_equal_the_exports(small_store: Path, small_document: Document) -> None:
    rows = read_study(small_store).rows
    exported = list(list_rows(rows))
    shown = small_document.table("summary")
    metrics = set(shown[0]) - {"family", "size", "name", "solved", "state"}
    assert len(metrics) == 6
    for row, plain in zip(shown, exported, strict=True):
        assert [row[name].text for name in ("family", "name")] == [plain["family"], plain["name"]]
        assert row["state"].text == plain["state"] == "done"
        for name in ("size", "solved", *metrics):
            assert read_value(row[name]) == plain[name]
        for name in metrics:
            for part in ("low", "high"):
                assert read_value(row[name], part) == plain[f"{name}_{part}"]
    laws = {(one["family"], one["name"], one["metric"]): one for one in list_laws(fit_laws(rows))}
    for row in small_document.table("scaling"):
        for metric in ("evaluations", "cpu_total", "cpu_building", "population"):
            plain = laws[row["family"].text, row["name"].text, metric]
            assert read_value(row[metric]) == plain["exponent"]
            assert read_value(row[metric], "low") == plain["exponent_low"]
            if f"{metric}_paper" in row:
                assert read_value(row[f"{metric}_paper"]) == plain["paper_exponent"]


def test_the_head_says_what_was_run(small_store: Path, small_document: Document) -> None:
    with Store.open(small_store) as store:
        overview = store.overview()
    (details,) = small_document.find("details", **{"class": "run"})
    assert SMALL.strip() in details.text
    assert f"seed 1, {overview.trials:,} trials" in details.text
    assert overview.environments[0]["processor"] in details.text
    assert "Complete: 19 of 19 rows." in small_document.page
    for words in ("needed the fewest evaluations on", "took the least CPU time on"):
        assert words in small_document.lead


def test_every_chart_has_a_text_alternative(small_document: Document) -> None:
    charts = read_charts(small_document)
    places = small_document.find("div", **{"class": "chart"})
    assert [place.attributes["id"] for place in places] == list(charts)
    assert len(charts) > 15
    for spec in charts.values():
        assert len(spec["description"]) > 40
    captions = small_document.find("figcaption")
    assert len(captions) == len(small_document.find("figure"))
    assert all(len(caption.text) > 40 for caption in captions)


def test_the_page_is_small_and_needs_nothing_from_elsewhere(
    small_page: Path, small_document: Document
) -> None:
    assert small_page.stat().st_size < 500_000
    assert "vegaEmbed" in unpack(small_document, "library")
    for element in small_document.elements:
        assert "src" not in element.attributes
        assert element.attributes.get("href", "#").startswith("#")
    assert not small_document.find("link")
    (policy,) = small_document.find("meta", **{"http-equiv": "Content-Security-Policy"})
    (script,) = (script for script in small_document.find("script") if not script.attributes)
    digest = base64.b64encode(hashlib.sha256(script.text.encode()).digest()).decode()
    assert policy.attributes["content"].startswith("default-src 'none';")
    assert f"script-src 'sha256-{digest}' 'unsafe-eval';" in policy.attributes["content"]


def check_harmless(document: Document) -> None:
    """Check that names of users are text: there is no element or attribute of theirs."""
    assert len(document.find("script")) == 3  # data, library and ours
    assert not document.find("img")
    assert not any("onerror" in element.attributes for element in document.elements)


def test_names_are_text_and_never_markup(evil_page: Path) -> None:
    document = read_page(evil_page)
    check_harmless(document)
    assert document.find("h1")[0].text == f"{HOSTILE} & 'co'"
    switches = document.find("input", type="checkbox")
    names = [switch.attributes.get("data-algorithm") for switch in switches]
    assert names[:4] == ["umda", HOSTILE, QUOTES, LONG]
    assert [row["name"].text for row in document.table("summary")[:4]] == names[:4]
    assert QUOTES in json.dumps(read_charts(document), ensure_ascii=False).replace('\\"', '"')


def check_none(document: Document) -> None:
    assert document.lead == "Nothing is measured yet. 19 of 19 rows are not finished yet."
    assert "A snapshot of an unfinished study: 0 of 19 rows" in document.page
    assert not document.figures
    assert {row["state"].text for row in document.table("summary")} == {"waiting"}


def check_half(document: Document) -> None:
    (badge,) = document.find("p", **{"class": "badge partial"})[:1]
    done = int(re.findall(r"(\d+) of 19 rows at \d{4}-\d\d-\d\d \d\d:\d\d UTC", badge.text)[0])
    assert 0 < done < 19
    states = [row["state"].text for row in document.table("summary")]
    assert states.count("done") == done
    assert f"{19 - done} of 19 rows are not finished yet." in document.lead
    assert "evaluations" in document.figures


def check_one_size(document: Document) -> None:
    assert "An exponent needs two solved sizes" in document.page
    assert not document.find("table", id="table-scaling")
    assert "(at 12 bits" in document.lead
    assert not re.search("n[⁰¹²³⁴⁵⁶⁷⁸⁹]", unpack(document, "data"))


def check_unsolved(document: Document) -> None:
    assert document.lead == "No algorithm solved any problem of this study."
    assert "trap:order=5, n = 40, 50: umda was not solved within population 16." in document.page
    states = {row["state"].text for row in document.table("summary")}
    assert states == {"not solved within population 16"}


def check_runs(document: Document) -> None:
    """Custom algorithms and models: a (1+1) EA does not solve traps within the budget."""
    assert document.figures >= {
        *("solved", "expected", "cpu", "phases", "ecdf", "ert", "convergence", "training"),
        *("learned", "pairs", "weights"),
    }
    assert "fewest expected evaluations" in document.lead
    assert "ea solved" in document.lead
    rows = document.table("summary")
    assert [row["name"].text for row in rows[:3]] == ["boa", "ea", "blocks"]
    assert [row["expected_evaluations"].text for row in rows].count("–") > 0
    assert len(document.table("fixed-target")) == 9
    learned = [(row["problem"].text, row["algorithm"].text) for row in document.table("learned")]
    assert learned == [("trap:order=4, n = 12", name) for name in ("boa", "blocks")]
    assert "onemax is left out: each bit counts alone, so there are no true pairs" in document.page


@pytest.mark.parametrize(
    ("text", "trials", "check"),
    [
        (SMALL, 0, check_none),
        (SMALL, 60, check_half),
        (ONE_SIZE, None, check_one_size),
        (UNSOLVED, None, check_unsolved),
        (CUSTOM, None, check_runs),
    ],
)
def test_odd_studies_have_pages(
    text: str, trials: int | None, check: Callable[[Document], None], tmp_path: Path
) -> None:
    check(read_report(fill_store(tmp_path / "odd.db", text, trials)))


def test_a_grid_has_a_page(grid_store: Path) -> None:
    document = read_report(grid_store)
    assert "Of all runs on trap:order=4, umda solved " in document.lead
    assert document.figures >= {"solved", "expected", "evaluations", "cpu"}
    assert not document.find("input", id="paper")
    for row in document.table("summary"):
        solved, runs = row["solved"].text.split("/")
        assert read_value(row["success_rate"]) == int(solved) / int(runs)


def test_a_store_without_a_study_is_refused(tmp_path: Path) -> None:
    Store.create(tmp_path / "empty.db").close()
    with pytest.raises(StoreError, match="holds no study yet"):
        write_report(tmp_path / "empty.db", tmp_path / "empty.html")
    assert not (tmp_path / "empty.html").exists()


def test_a_page_is_written_in_one_step(tmp_path: Path) -> None:
    page = Page("study", "title", "", True, "", "", [], "", [])
    (tmp_path / "page.html").mkdir()
    for path in (tmp_path / "nowhere" / "page.html", tmp_path / "page.html"):
        with pytest.raises(OSError, match=r"No such file|not a regular file"):
            write_page(path, page)
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_single_runs_are_those_of_the_largest_sizes(small_store: Path) -> None:
    with Store.create(small_store):  # also while its driver has it open
        snapshot = read_snapshot(small_store)
    drawn = snapshot.choose_largest()
    assert [(family, size, course.algorithm) for family, size, course in drawn] == [
        *(("onemax", 60, name) for name in ("rbm", "boa")),
        *(("trap:order=4", 20, name) for name in ("rbm", "boa", "boa-rtr")),
        *(("nk:k=2", 12, name) for name in ("rbm", "boa", "boa-rtr")),
    ]
    for _, _, course in drawn:
        assert course.best[-1][1] == pytest.approx(course.optimum)
        assert course.fact_labels[0] == ("epochs" if course.algorithm == "rbm" else "edges")


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
    assert "says nothing about the growth" in table.caption


class Custom:
    """A custom problem, without structure or known optimum."""

    length, optimum = 12, None

    def __call__(self, bits: Bits) -> Fitness:
        fitness: Fitness = bits.sum(axis=1, dtype=np.float64)
        return fitness


TRAP = Trap(length=12, order=4)


@pytest.fixture(scope="module")
def followed() -> list[tuple[Result, Learning]]:
    runs = []
    for model in (RBM(), BOA()):
        learning = Learning(TRAP)
        runs.append((run(TRAP, EDA(model, population=300), seed=1, callback=learning), learning))
    return runs


def show_runs(path: Path, problem: Any, results: list[Result], *learnings: Learning) -> Document:
    write_run_report(path / "run.html", problem, results, learnings)
    return read_page(path / "run.html")


def test_the_page_of_one_run(followed: list[tuple[Result, Learning]], tmp_path: Path) -> None:
    result, learning = followed[0]
    document = show_runs(tmp_path, TRAP, [result], learning)
    assert "<h1>trap:<wbr>length=12,<wbr>order=4</h1>" in document.page
    assert "Solved." in document.page
    assert f"rbm took {result.evaluations:,} evaluations" in document.lead
    names = {"convergence", "training", "phases", "learned", "pairs", "weights"}
    assert document.figures == names
    assert not document.find("input")  # one run: nothing to switch
    trace = document.table("trace")
    assert [read_value(row["best"]) for row in trace] == [step.best for step in result.trace]
    assert len(document.table("runs")) == 1


def test_runs_side_by_side(followed: list[tuple[Result, Learning]], tmp_path: Path) -> None:
    document = show_runs(tmp_path, TRAP, [result for result, _ in followed])
    assert "2 of 2 runs solved." in document.page
    assert len(document.find("input", type="checkbox")) == 2
    assert "Not shown: no `Learning` followed the runs" in document.page


@pytest.mark.parametrize(
    ("problem", "algorithm", "words"),
    [
        (Custom(), EDA(BOA(), population=40), "the problem does not state which of its bits"),
        (OneMax(8), EDA(BOA(), population=40), "each bit counts alone"),
        (TRAP, EDA(UMDA(), population=40), "no model was built that offers"),
    ],
    ids=["custom", "onemax", "umda"],
)
def test_what_cannot_be_scored_is_explained(
    problem: Any, algorithm: Any, words: str, tmp_path: Path
) -> None:
    learning = Learning(problem)
    result = replace(run(problem, algorithm, seed=1, callback=learning), problem=HOSTILE)
    document = show_runs(tmp_path, problem, [result], learning)
    assert f"Not shown: {words}" in document.page
    assert "learned" not in document.figures
    check_harmless(document)


def test_algorithms_of_all_kinds_share_a_page(tmp_path: Path) -> None:
    results, learnings = [], []
    for algorithm in (OnePlusOne(rate=2.0), EDA(Blocks(), population=60), EDA(BOA())):
        learnings.append(Learning(TRAP))
        results.append(run(TRAP, algorithm, seed=1, callback=learnings[-1]))
    document = show_runs(tmp_path, TRAP, results, *learnings)
    charts = read_charts(document)
    assert [charts[f"convergence-{place}"]["title"]["text"] for place in (1, 2, 3)] == [
        f"({letter}) 4-traps, n = 12: {result.label}"
        for letter, result in zip("abc", results, strict=True)
    ]
    assert [name for name in charts if name.startswith("pairs")] == ["pairs-1", "pairs-2"]
    sizes = {step.population for step in results[2].trace}
    means = list_values(charts["convergence-3"])[1]  # of interleaved populations
    assert {value["population"] for value in means} == sizes
    assert sum(value["end"] for value in means) == len(sizes)
    assert {one["population"] for one in means if one["finder"]} == {results[2].best_found_by}
    alone = show_runs(tmp_path, TRAP, results[1:2])  # a fact with the name of a column
    assert read_charts(alone)["training-1"]["title"]["subtitle"] == "best"
    assert {"best", "fact_best"} < set(alone.table("trace")[0])
    bare = show_runs(tmp_path, TRAP, results[:1])
    assert bare.figures == {"convergence", "phases"}
    assert set(bare.table("trace")[0]) == {"step", "evaluations", "best"}
    assert "None" not in bare.find("details", **{"class": "run"})[0].text


def test_many_runs_are_drawn_in_part(tmp_path: Path) -> None:
    problem, eda = OneMax(10), EDA(BOA(), population=40)
    results = [run(problem, eda, seed=seed) for seed in range(MAX_DRAWN_RUNS + 2)]
    document = show_runs(tmp_path, problem, results)
    assert f"The charts show the first {MAX_DRAWN_RUNS} runs." in document.page
    assert len(document.table("runs")) == MAX_DRAWN_RUNS + 2
    solved = sum(result.solved for result in results)
    assert f"boa, solved in {solved} of {MAX_DRAWN_RUNS + 2} runs, took" in document.lead
    other = run(problem, EDA(UMDA(), population=40), seed=1)
    both = show_runs(tmp_path, problem, [*results, other])
    assert f"The charts show the first {MAX_DRAWN_RUNS // 2} runs of each algorithm." in both.page


def count_ones(bits: np.ndarray) -> float:
    return float(bits.sum())


@pytest.fixture(scope="module")
def result() -> Result:
    return maximize(count_ones, 12, model="boa", seed=1, max_calls=400)


def show(result: Result, folder: Path, name: str | None = "count") -> Document:
    write_result_report(folder / "own.html", result, name)
    return read_page(folder / "own.html")


def test_the_page_of_a_function_reports_what_happened(result: Result, tmp_path: Path) -> None:
    document = show(result, tmp_path)
    assert document.find("h1")[0].text == "count"
    assert document.lead == write_result_lead(result)
    (details,) = document.find("details", **{"class": "run"})
    for words in ("12 bits", result.label, result.algorithm, "seed 1", "written 20", "UTC"):
        assert words in details.text
    assert document.find("pre", **{"class": "shown"})[0].text == "1" * 12
    assert document.figures == {"convergence", "training", "phases"}
    for name in ("evaluations", "calls", "best", "mean"):
        shown = [read_value(row[name]) for row in document.table("trace")]
        assert shown == [getattr(step, name) for step in result.trace]
    assert len(document.table("solutions")) == 10
    for words in (describe_course(result), advise(result), describe_common(result)):
        assert words in document.page
    noisy = replace(result, noisy=True, fun_error=0.125)
    noisy.report(tmp_path / "page.html")
    again = read_page(tmp_path / "page.html")
    assert again.find("h1")[0].text == result.problem
    assert "with a standard error of 0.12" in again.lead
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
        ([0, 1, 0, 1, 1, 1], "4 of the 6 bits are one, counted from 0: 1, 3–5."),
        ([0] * 6, "None of the 6 bits are one."),
        ([1] * 6, "All of the 6 bits are one."),
        ([1, 0], "1 of the 2 bits is one, counted from 0: 0."),
        ([0, 1] * 500, "397, 399, …."),
    ],
)
def test_which_bits_are_one(result: Result, bits: list[int], words: str) -> None:
    assert describe_ones(replace(result, x=np.array(bits))).endswith(words)


def test_a_minimum_is_shown_with_its_own_sign(tmp_path: Path) -> None:
    result = minimize(count_ones, 12, seed=1, max_calls=300)
    document = show(result, tmp_path)
    best = [read_value(row["best"]) for row in document.table("trace")]
    assert best[-1] == result.fun == min(value for value in best if value is not None)
    assert f"The smallest value found is {result.fun:g}," in document.lead


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_short_traces(result: Result, steps: int, tmp_path: Path) -> None:
    rows = [replace(row, mean=math.inf, best=5.0) for row in result.trace[:steps]]
    document = show(replace(result, trace=tuple(rows), best_found_by=None), tmp_path)
    assert ("convergence" in document.figures) == (steps > 0)
    assert "phases" in document.figures
    assert ("there is no course to draw" in document.page) == (steps == 0)
    assert ("none: the best is an initial solution" in document.page) == (steps > 0)
    assert "Infinity" not in unpack(document, "data")


def solve(text: str, fun: float, error: float | None = None) -> Solution:
    return Solution(np.array([int(bit) for bit in text]), fun, error, 7)


def with_solutions(result: Result, *solutions: Solution, **changes: Any) -> Result:
    return replace(result, x=solutions[0].x, solutions=solutions, **changes)


def test_what_solutions_have_in_common(result: Result) -> None:
    some = with_solutions(result, solve("110011", 5), solve("110001", 4), solve("100011", 5))
    assert describe_common(some) == (
        "The 3 best solutions have 4 of 6 bits in common (ones: 0, 5; zeros: 2, 3). They differ in "
        "these: 1, 4."
    )
    assert describe_common(with_solutions(result, solve("10", 5), solve("01", 4))) == (
        "The 2 best solutions have 0 of 2 bits in common. They differ in these: 0, 1."
    )


@pytest.mark.parametrize(
    ("solutions", "words"),
    [
        ([solve("1100", 5), solve("0000", 4)], ""),
        (
            [solve("1100", 5), solve("1101", 5), solve("0100", 4.5), solve("0000", 4)],
            "Changing a single bit of the best: bit 3 makes no difference, bit 0 costs 0.5.",
        ),
        (
            [solve("11", 5, 0.3), solve("01", 4.2, 0.4), solve("10", 3.9, 0.4)],
            "Changing a single bit of the best: bit 0 makes no difference beyond the noise, bit 1 "
            "costs 1.1.",
        ),
    ],
)
def test_which_bits_matter(result: Result, solutions: list[Solution], words: str) -> None:
    assert describe_flips(with_solutions(result, *solutions)) == words


def test_solutions_are_a_table(result: Result) -> None:
    solutions = solve("1100", 5, 0.25), solve("1011", 4, None)
    table = tabulate_solutions(with_solutions(result, *solutions, noisy=True))
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["1", "5", "0.25", "0", "0", "–", "7"],
        ["2", "4", "–", "-1", "3", "1–3", "7"],
    ]
    plain = tabulate_solutions(with_solutions(result, *solutions))
    assert "error" not in [column.name for column in plain.columns]


def test_values_of_variables_are_a_table(tmp_path: Path) -> None:
    space = {"colour": ["red", HOSTILE], "size": [1, 2, 3]}
    result = maximize(lambda values: float(values["size"]), space=space, seed=1)
    document = show(result, tmp_path)
    check_harmless(document)
    assert {row["name"].text: row["best"].text for row in document.table("values")}["size"] == "3"
    changed = document.table("solutions")[1]["values"].text
    assert changed.startswith(("colour=", "size="))
    assert "best solutions have" in document.page


def test_a_notebook_shows_a_table(result: Result) -> None:
    shown = result._repr_html_()  # the name that notebooks look for
    document = Document(shown)
    assert f"Ended: {result.message}. {describe_course(result)} {advise(result)}" in shown
    cells = {
        name.text: cell.text
        for name, cell in zip(document.find("th"), document.find("td"), strict=True)
    }
    assert cells["x"] == "111111111111 (12 of 12 are ones)"
    assert [f"{name:>9}: {text}" for name, text in cells.items()] == str(result).splitlines()[1:]
    hostile = Document(replace(result, algorithm=HOSTILE, message=HOSTILE)._repr_html_())
    assert not hostile.find("img")
    assert not hostile.find("script")
    assert HOSTILE in [cell.text for cell in hostile.find("td")]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"stopped_by": "optimum"}, "there is nothing left to do"),
        ({"stopped_by": "bound"}, "No solution can be better"),
        ({"stopped_by": "exhausted"}, "there is no better one"),
        ({"stopped_by": "failed"}, "Correct the function"),
        ({"stopped_by": "confirmed"}, "Search again with another seed"),
        ({"stopped_by": "stagnation"}, "Search again with another seed"),
        ({"stopped_by": "calls", "best_found_at": 90}, "a longer one may find a better"),
        ({"stopped_by": "time", "best_found_at": 10}, "A larger budget alone is unlikely"),
        ({"stopped_by": "interrupted", "best_found_at": 10}, "a longer one may find a better"),
        ({"stopped_by": "calls", "failures": 51}, "More than half of the calls failed"),
    ],
)
def test_the_advice_fits(result: Result, changes: dict[str, Any], words: str) -> None:
    assert words in advise(replace(result, evaluations=100, calls=100, **changes))
    late = describe_course(replace(result, best_found_at=51, evaluations=100))
    early = describe_course(replace(result, best_found_at=50, evaluations=100))
    assert late == "The best was found at evaluation 51 of 100."
    assert early.endswith("50 of 100. Nothing improved in the second half of the search.")
