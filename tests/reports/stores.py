"""Small studies in stores, and pages read back, for the tests of reports."""

import base64
import gzip
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np

from harmonium import EDA, OneMax
from harmonium.analysis.findings import Row
from harmonium.analysis.statistics import METRICS, Metric, Values
from harmonium.reports.study_page import Snapshot, take_snapshot
from harmonium.specs import Spec
from harmonium.studies import Store, parse_study
from harmonium.studies.driver import Driver, Stopped, drive

SMALL = """
name = "small"
description = "RBM and BOA, for tests"
models = ["rbm", "boa", { name = "boa-rtr", model = "boa", replacement = "rtr" }]
problems = [
  { problem = "onemax", sizes = [40, 60], runs = 3, models = ["rbm", "boa"] },
  { problem = "trap:order=4", sizes = [12, 16, 20], runs = 3 },
  { problem = "nk:k=2", sizes = [10, 12], instances = 2, runs = 2 },
]
"""
GRID = """
name = "grid"
models = ["umda", "boa"]
problems = [{ problem = "trap:order=4", sizes = [8, 12], runs = 3 }]
grid.populations = [20, 40, 80]
"""
ONE_SIZE = """
name = "one size"
models = ["rbm", "boa"]
problems = [{ problem = "trap:order=4", sizes = [12], runs = 3 }]
"""
CUSTOM = """
name = "custom"
plan = "runs"
models = ["boa"]
algorithms = [
  { name = "ea", algorithm = "tests.search.one_plus_one:OnePlusOne:rate=1.0" },
  { name = "blocks", algorithm = "eda:model=(tests.reports.customs:Blocks),population=60" },
]
stop.max_evaluations = 3000
problems = [
  { problem = "onemax", sizes = [12, 20], runs = 3 },
  { problem = "trap:order=4", sizes = [12], runs = 3 },
]
"""
UNSOLVED = """
name = "unsolved"
models = ["umda", "boa"]
bisect.max_population = 16
problems = [{ problem = "trap:order=5", sizes = [40, 50], runs = 2 }]
"""

HOSTILE = "<script>alert(1)</script>"
QUOTES = """</script><img src=x onerror="alert('2')">"""
LONG = "模型-Ünïcode-" * 16
EVIL = f"""
name = "{HOSTILE} & 'co'"
description = "{HOSTILE} </style>"
models = [
  "umda",
  {{ name = "{HOSTILE}", model = "boa" }},
  {{ name = '''{QUOTES}''', model = "rbm" }},
  {{ name = "{LONG}", model = "umda" }},
]
# {HOSTILE}
problems = [{{ problem = "trap:order=4", sizes = [8, 12], runs = 2 }}]
"""


Report = Callable[..., Path]
"""The fixture of this name: makes the page of a study."""


def fill_store(path: Path, text: str, trials: int | None = None) -> Path:
    """Run a study in this process into a store, or only so many trials of it."""

    def stop_early(driver: Driver) -> None:
        if trials is not None and driver.ran >= trials:
            raise Stopped

    with suppress(Stopped):
        drive(parse_study(text, path.name), path, "serial", watch=stop_early)
    return path


def make_row(
    size: int, name: str = "m", family: str = "f", *, algorithm: Spec | None = None, **samples: Any
) -> Row:
    """Return a row of a bisection that is done; a metric that is not given is one run of 1."""
    known: dict[Metric, Values] = {
        metric: np.atleast_1d(np.asarray(samples.get(metric, 1.0), dtype=float))
        for metric in METRICS
    }
    runs = len(known["evaluations"])
    return Row(
        *(family, size, name, OneMax(size).to_dict(), (algorithm or EDA("umda")).to_dict()),
        given=None,
        state="done",
        reason="",
        instances=1,
        instances_done=1,
        runs=runs,
        solved=runs,
        samples=known,
        brackets=np.zeros(len(known["population"])),
        costs=np.column_stack([known["evaluations"], np.ones(runs)]),
    )


def read_snapshot(page: Path) -> Snapshot:
    """Return the snapshot of the store beside a page."""
    with Store.open(page.with_suffix(".db")) as store:
        return take_snapshot(store)


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    text: str = ""


@dataclass
class Document(HTMLParser):
    """A page as a browser would read it: its elements, each with the text inside it."""

    page: str
    elements: list[Element] = field(default_factory=list)
    open: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if tag not in ("meta", "input", "path", "img", "br", "wbr"):
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop().tag != tag:
            pass

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.text += data

    def find(self, tag: str, **attributes: str) -> list[Element]:
        return [
            element
            for element in self.elements
            if element.tag == tag and attributes.items() <= element.attributes.items()
        ]

    @property
    def lead(self) -> str:
        return self.find("p", **{"class": "lead"})[0].text

    @property
    def figures(self) -> set[str]:
        return {figure.attributes["id"].removeprefix("figure-") for figure in self.find("figure")}

    def table(self, name: str) -> list[dict[str, Element]]:
        """Return the rows of a table: cells by the name of their column."""
        (table,) = self.find("table", id=f"table-{name}")
        columns: list[str] = []
        rows: list[list[Element]] = []
        for element in self.elements[self.elements.index(table) + 1 :]:
            if element.tag == "table":
                break
            if element.tag == "th":
                columns.append(element.attributes["data-name"])
            elif element.tag == "tr":
                rows.append([])
            elif element.tag == "td":
                rows[-1].append(element)
        return [dict(zip(columns, row, strict=True)) for row in rows if row]


def read_page(path: Path) -> Document:
    return Document(path.read_text("utf-8"))


def unpack(document: Document, name: str) -> str:
    (element,) = document.find("script", id=name)
    return gzip.decompress(base64.b64decode(element.text)).decode()


def read_charts(document: Document) -> dict[str, Any]:
    """Return the specifications of the charts, by the place where they are drawn."""
    charts: dict[str, Any] = json.loads(unpack(document, "data"))["charts"]
    return charts


def list_values(spec: Any) -> list[list[dict[str, Any]]]:
    """Return the data of each layer of a chart."""
    named = spec.get("datasets", {})
    layers = [layer.get("data", spec.get("data")) for layer in spec.get("layer", [spec])]
    return [data["values"] if "values" in data else named[data["name"]] for data in layers]


def read_value(cell: Element, part: str = "value") -> float | None:
    """Return the exact value of a cell of a table."""
    text = cell.attributes.get(f"data-{part}")
    return None if text is None else float(text)
