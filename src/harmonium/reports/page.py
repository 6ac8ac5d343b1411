"""One self-contained HTML page: no network, everything a user wrote shown as text."""

import base64
import gzip
import hashlib
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined

from harmonium.analysis.findings import format_estimate
from harmonium.analysis.statistics import Estimate
from harmonium.reports.theme import DISC, VEGA_LITE, Figure, Styles, make_config
from harmonium.system import write_atomically
from harmonium.version import __version__


class Cell(NamedTuple):
    """The text that is shown, its exact value for sorting and CSV, and the interval of that."""

    text: str
    value: float | None = None
    low: float | None = None
    high: float | None = None


Value = Cell | Estimate | str | float | None
"""What a row may have; the column writes numbers and estimates."""


@dataclass(frozen=True)
class Column:
    """A column; `name` is its name in CSV files, as in the exports of studies."""

    name: str
    title: str
    write: Callable[[float], str] | None = None
    """Writes its numbers; none for a column of text."""
    interval: bool = False

    @property
    def numeric(self) -> bool:
        return self.write is not None

    def show(self, value: Value) -> Cell:
        if value is None or isinstance(value, Cell):
            return value or Cell("–")
        if isinstance(value, str) or self.write is None:
            return Cell(str(value))
        if isinstance(value, Estimate):
            if not math.isfinite(value.mean):
                return Cell("–")
            text = format_estimate(value, self.write, spread=self.interval)
            return Cell(text, value.mean, know(value.low), know(value.high))
        return Cell(self.write(value), float(value))


@dataclass(frozen=True)
class Table:
    """Rows under columns; `name` becomes the file name of its CSV.

    Numeric columns that are empty in every row are left out.
    """

    name: str
    caption: str
    columns: Sequence[Column]
    values: Sequence[Sequence[Value]]

    def __post_init__(self) -> None:
        cells = [
            [column.show(value) for column, value in zip(self.columns, row, strict=True)]
            for row in self.values
        ]
        kept = [
            place
            for place, column in enumerate(self.columns)
            if not column.numeric or any(row[place].value is not None for row in cells)
        ]
        object.__setattr__(self, "columns", [self.columns[place] for place in kept])
        object.__setattr__(self, "rows", [[row[place] for place in kept] for row in cells])

    rows: Sequence[Sequence[Cell]] = field(init=False)


def know(bound: float | None) -> float | None:
    """Return the bound of an interval; none if it is not a number, or infinite."""
    return None if bound is None or not math.isfinite(bound) else float(bound)


@dataclass(frozen=True)
class Section:
    """A part of a page; `name` is its anchor."""

    name: str
    title: str
    paragraphs: Sequence[str] = ()
    sentences: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    remarks: Sequence[str] = ()
    text: str = ""
    """Shown as it is, in a monospaced font."""

    @property
    def has_content(self) -> bool:
        """Whether there is more than an introduction."""
        parts = self.sentences, self.remarks, self.text
        drawn = any(figure.panels for figure in self.figures)
        return drawn or any(parts) or any(table.rows for table in self.tables)


@dataclass(frozen=True)
class Page:
    """The content of a page."""

    kind: str
    title: str
    description: str
    complete: bool
    state: str
    """How complete it is, in a few words."""
    lead: str
    sections: Sequence[Section]
    run: str
    """What was run, in one line."""
    facts: Sequence[tuple[str, str | None]]
    """The same in full, by name; those without a value are left out."""
    texts: Sequence[tuple[str, str]] = ()
    """Long texts, folded away, by title."""
    styles: Styles = field(default_factory=dict)
    """The look of each algorithm, by name."""

    @property
    def file(self) -> str:
        """Begins the file names of its downloads."""
        return re.sub(r"\W+", "-", self.title).strip("-")[:60] or "report"

    @property
    def figures(self) -> list[Figure]:
        return [figure for section in self.sections for figure in section.figures if figure.panels]

    @property
    def paper(self) -> bool:
        return any(figure.paper for figure in self.figures)

    @property
    def written(self) -> str:
        return format_time(datetime.now(UTC).isoformat())


def render(page: Page, watched: str | None = None) -> str:
    """Return a page as HTML; `watched` is the version of a page that reloads itself."""
    charts = {
        f"{figure.name}-{place}": spec
        for figure in page.figures
        for place, spec in enumerate(figure.list_specs(), 1)
    }
    themes = {"light": make_config(dark=False), "dark": make_config(dark=True)}
    script = _read_template("page.js")
    return (
        _environment()
        .get_template("page.html")
        .render(
            page=page,
            watched=watched,
            version=__version__,
            ring=DISC,
            policy=_write_policy(script),
            css=_read_template("page.css"),
            library=_pack_library(),
            script=script,
            data=pack(msgspec.json.encode({"charts": charts, "themes": themes})),
        )
    )


def write_page(path: Path, page: Page) -> None:
    """Write a page in one step: a failure leaves the old file or none."""
    text = render(page)
    with write_atomically(path, "w") as file:
        file.write(text)


def format_time(iso: str) -> str:
    """Return a time of the store to the minute: "2026-11-16 01:32 UTC"."""
    return f"{iso[:16].replace('T', ' ')} UTC"


def format_period(first: str, last: str) -> str:
    """Return the time between two times of the store: "2026-11-16 01:32 to 01:39 UTC"."""
    end = format_time(last)
    if format_time(first) == end:
        return end
    return f"{format_time(first)[:-4]} to {end[11:] if first[:10] == last[:10] else end}"


def write_environments(environments: Sequence[dict[str, str]]) -> list[tuple[str, str]]:
    """Return all versions and machines, as folded text with its title."""
    texts = ["\n".join(f"{name}: {value}" for name, value in one.items()) for one in environments]
    return [("Versions and machine", "\n\n".join(texts))] if texts else []


def pack(text: bytes) -> str:
    """Return a text compressed, in letters that may stand inside of an element."""
    return base64.b64encode(gzip.compress(text, 9, mtime=0)).decode()


_EXPOSE: Final = "window.vegaEmbed = vegaEmbed;"


@cache
def _pack_library() -> str:
    """Return Vega, Vega-Lite and Vega-Embed in one script, packed to less than half its size."""
    return pack(vl_convert.javascript_bundle(_EXPOSE, vl_version=VEGA_LITE).encode())


def _write_policy(script: str) -> str:
    """Return a policy under which only our script runs and nothing is fetched from elsewhere.

    Our script evaluates the library, and Vega its expressions.
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}' 'unsafe-eval'; style-src "
        "'unsafe-inline'; img-src data: blob:; connect-src 'self'; base-uri 'none'; "
        "form-action 'none'"
    )


def _split_settings(text: str) -> list[str]:
    return re.split("(?<=[,:])", text)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("harmonium.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["pieces"] = _split_settings
    return environment


@cache
def _read_template(name: str) -> str:
    return Path(__file__).with_name("templates").joinpath(name).read_text("utf-8")
