"""The page as a file: what it says, what it never says, and that its numbers are those exported."""

import base64
import hashlib
import json
import re
from pathlib import Path

import pytest

from harmonium.analysis.tables import list_laws, list_rows
from harmonium.reports import write_report
from harmonium.reports.curves import know
from harmonium.reports.page import write_page
from harmonium.reports.titles import write_power
from harmonium.studies import Store, fit_laws, read_rows
from harmonium.studies.store import StoreError
from tests.reports.stores import (
    HOSTILE,
    LONG,
    ONE_SIZE,
    QUOTES,
    SMALL,
    UNSOLVED,
    Document,
    Element,
    fill_store,
)


def read_value(cell: Element, part: str = "value") -> float | None:
    text = cell.attributes.get(f"data-{part}")
    return None if text is None else float(text)


def read_report(store: Path) -> Document:
    path = store.with_suffix(".html")
    assert write_report(store, path) == [path]
    return Document(path.read_text("utf-8"))


def text_of(document: Document, kind: str) -> str:
    return " ".join(element.text for element in document.find("p", **{"class": kind}))


def test_summary_on_the_page_equals_the_export(small_store: Path, small_document: Document) -> None:
    with Store.open(small_store) as store:
        exported = list(list_rows(read_rows(store)[1]))
    shown = small_document.table("summary")
    assert len(shown) == len(exported) == 19
    metrics = set(shown[0]) - {"family", "size", "name", "solved", "state"}
    assert metrics == {
        *("population", "evaluations", "unique_evaluations", "generations"),
        *("cpu_total", "cpu_building"),
    }
    for row, plain in zip(shown, exported, strict=True):
        assert row["family"].text == plain["family"]
        assert row["name"].text == plain["name"]
        assert row["state"].text == plain["state"] == "done"
        assert read_value(row["size"]) == plain["size"]
        assert read_value(row["solved"]) == plain["solved"]
        for metric in metrics:
            assert read_value(row[metric]) == plain[metric]
            for part in ("low", "high"):
                assert read_value(row[metric], part) == know(plain[f"{metric}_{part}"])


def test_exponents_on_the_page_equal_the_export(
    small_store: Path, small_document: Document
) -> None:
    with Store.open(small_store) as store:
        exported = {
            (plain["family"], plain["name"], plain["metric"]): plain
            for plain in list_laws(fit_laws(read_rows(store)[1]))
        }
    shown = small_document.table("scaling")
    assert len(shown) == 8
    checked = 0
    for row in shown:
        for metric in ("evaluations", "cpu_total", "cpu_building", "population"):
            plain = exported[row["family"].text, row["name"].text, metric]
            assert read_value(row[metric]) == plain["exponent"]
            assert read_value(row[metric], "low") == know(plain["exponent_low"])
            assert read_value(row[metric], "high") == know(plain["exponent_high"])
            assert row[metric].text.startswith(f"{plain['exponent']:.2f}")
            if f"{metric}_paper" in row:
                assert read_value(row[f"{metric}_paper"]) == plain["paper_exponent"]
            checked += 1
    assert checked == 32


def test_exponents_stand_in_the_legends(small_store: Path, small_document: Document) -> None:
    with Store.open(small_store) as store:
        laws = fit_laws(read_rows(store)[1])
    charts = small_document.find("script", id="charts")[0].text
    shown = ("evaluations", "cpu_total", "population", "cpu_building")
    known = [law for law in laws if law.metric in shown and law.exponent.known]
    assert known, "of three sizes or more"
    for law in known:
        assert f"{law.name}, {write_power(f'{law.exponent.mean:.2f}')}" in charts


def test_the_head_says_what_was_run(small_store: Path, small_document: Document) -> None:
    with Store.open(small_store) as store:
        overview = store.overview()
    (run,) = small_document.find("details", **{"class": "run"})
    assert SMALL.strip() in run.text
    for words in (
        "seed 1",
        f"{overview.trials:,} trials",
        overview.first[:16].replace("T", " "),
        overview.environments[0]["processor"],
        f"numpy: {overview.environments[0]['numpy']}",
        "19 of 19 rows",
    ):
        assert words in run.text
    assert "Complete: 19 of 19 rows." in small_document.page


def test_every_chart_has_a_text_alternative(small_document: Document) -> None:
    charts = json.loads(small_document.find("script", id="charts")[0].text)
    places = small_document.find("div", **{"class": "chart"})
    assert [place.attributes["id"] for place in places] == list(charts)
    assert len(charts) > 20
    for spec in charts.values():
        assert len(spec["description"]) > 40
    captions = small_document.find("figcaption")
    assert len(captions) == len(small_document.find("figure"))
    assert all(len(caption.text) > 40 for caption in captions)


def test_the_page_needs_nothing_from_elsewhere(small_document: Document) -> None:
    for element in small_document.elements:
        assert "src" not in element.attributes
        assert element.attributes.get("href", "#").startswith("#")
    assert not small_document.find("link")


def test_the_policy_names_the_scripts_by_hash(small_document: Document) -> None:
    (policy,) = small_document.find("meta", **{"http-equiv": "Content-Security-Policy"})
    scripts = [script for script in small_document.find("script") if not script.attributes]
    assert len(scripts) == 2
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy.attributes["content"]
    assert policy.attributes["content"].startswith("default-src 'none';")


def test_names_are_text_and_never_markup(evil_page: Path) -> None:
    document = Document(evil_page.read_text("utf-8"))
    assert document.find("h1")[0].text == f"{HOSTILE} & 'co'"
    assert len(document.find("script")) == 4  # data, themes, library and ours
    assert not document.find("img")
    assert not any("onerror" in element.attributes for element in document.elements)
    switches = document.find("input", type="checkbox")
    names = [switch.attributes.get("data-algorithm") for switch in switches]
    assert names[:4] == ["umda", HOSTILE, QUOTES, LONG]
    assert [row["name"].text for row in document.table("summary")[:4]] == names[:4]
    charts = json.loads(document.find("script", id="charts")[0].text)
    assert QUOTES in json.dumps(charts, ensure_ascii=False).replace('\\"', '"')
    assert "<" not in document.find("script", id="charts")[0].text


def test_a_store_without_a_study_is_refused(tmp_path: Path) -> None:
    Store.create(tmp_path / "empty.db").close()
    with pytest.raises(StoreError, match="holds no study yet"):
        write_report(tmp_path / "empty.db", tmp_path / "empty.html")
    assert not (tmp_path / "empty.html").exists()


def test_a_study_without_trials_has_a_page(tmp_path: Path) -> None:
    document = read_report(fill_store(tmp_path / "none.db", SMALL, trials=0))
    assert (
        text_of(document, "lead") == "Nothing is measured yet. 19 of 19 rows are not finished yet."
    )
    assert "A snapshot of an unfinished study: 0 of 19 rows" in document.page
    assert not document.find("figure")
    assert {row["state"].text for row in document.table("summary")} == {"waiting"}


def test_a_study_half_done_has_a_page_that_says_so(tmp_path: Path) -> None:
    document = read_report(fill_store(tmp_path / "half.db", SMALL, trials=60))
    (badge,) = document.find("p", **{"class": "badge partial"})[:1]
    done = int(re.findall(r"(\d+) of 19 rows at \d{4}-\d\d-\d\d \d\d:\d\d UTC", badge.text)[0])
    assert 0 < done < 19
    states = [row["state"].text for row in document.table("summary")]
    assert states.count("done") == done
    assert f"{19 - done} of 19 rows are not finished yet." in text_of(document, "lead")
    assert document.find("figure", id="figure-evaluations")


def test_one_size_has_a_page_without_exponents(tmp_path: Path) -> None:
    document = read_report(fill_store(tmp_path / "one.db", ONE_SIZE))
    assert "An exponent needs two solved sizes" in document.page
    assert not document.find("table", id="table-scaling")
    assert "(at 12 bits" in text_of(document, "lead")
    assert not re.search("n[⁰¹²³⁴⁵⁶⁷⁸⁹]", document.find("script", id="charts")[0].text)


def test_nothing_solved_has_a_page_that_says_so(tmp_path: Path) -> None:
    document = read_report(fill_store(tmp_path / "unsolved.db", UNSOLVED))
    assert text_of(document, "lead") == "No algorithm solved any problem of this study."
    assert "trap:order=5, n = 40, 50: umda was not solved within population 16." in document.page
    for row in document.table("summary"):
        assert row["state"].text == "not solved within population 16"
        assert read_value(row["evaluations"]) is None


def test_a_grid_has_a_page(grid_store: Path) -> None:
    document = read_report(grid_store)
    assert "Of all runs on trap:order=4, umda solved " in text_of(document, "lead")
    assert document.find("figure", id="figure-solved")
    assert document.find("figure", id="figure-expected")
    for row in document.table("summary"):
        share = row["solved"].text.split("/")
        assert float(row["success_rate"].attributes["data-value"]) == int(share[0]) / int(share[1])
    assert not document.find("input", id="paper")
    assert len(document.table("summary")) == 12


def test_a_page_is_written_in_one_step(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        write_page(tmp_path / "nowhere" / "page.html", "text")
    (tmp_path / "page.html").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_page(tmp_path / "page.html", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
