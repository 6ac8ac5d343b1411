"""One self-contained HTML page: no network, everything a user wrote shown as text."""

import base64
import gzip
import hashlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined

from harmonium.analysis.findings import format_estimate
from harmonium.analysis.statistics import Estimate
from harmonium.reports.charts import PAPER, VEGA_LITE, Figure
from harmonium.reports.theme import DISC, Styles, make_config
from harmonium.system import write_atomically
from harmonium.version import __version__


class Cell(NamedTuple):
    """The text that is shown, its exact value for sorting and CSV, and the interval of that."""

    text: str
    value: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Column:
    """A column of a table, and of its CSV file.

    A row has its value under `name`, the bounds of the interval under `name_low` and `name_high`,
    as in the exports of studies, and another text than the value's under `name_text`.
    """

    name: str
    title: str
    write: Callable[[Any], str] | None = None
    """Writes its numbers; none for a column of text."""
    interval: bool = False

    @property
    def numeric(self) -> bool:
        return self.write is not None

    def show(self, row: Mapping[str, Any]) -> Cell:
        value, text = row.get(self.name), row.get(f"{self.name}_text")
        if value is None or self.write is None:
            return Cell(text or ("–" if value is None else str(value)))
        low, high = (row.get(f"{self.name}_{part}") for part in ("low", "high"))
        if not self.interval:
            return Cell(text or self.write(value), float(value))
        bounds = (math.nan if bound is None else bound for bound in (low, high))
        estimate = Estimate(value, *bounds)
        text = text or format_estimate(estimate, self.write, spread=True)
        return Cell(text, float(value), low, high)


@dataclass(frozen=True)
class Table:
    """Rows by the names of columns; `name` becomes the file name of its CSV."""

    name: str
    caption: str
    columns: Sequence[Column]
    values: Sequence[Mapping[str, Any]]

    @cached_property
    def shown(self) -> list[Column]:
        """The columns without numeric ones that are empty in every row."""
        filled = {name for row in self.values for name, value in row.items() if value is not None}
        return [one for one in self.columns if not one.numeric or one.name in filled]

    @cached_property
    def rows(self) -> list[list[Cell]]:
        return [[column.show(row) for column in self.shown] for row in self.values]


@dataclass(frozen=True)
class Section:
    """A part of a page; `name` is its anchor."""

    name: str
    title: str
    paragraphs: Sequence[str] = ()
    sentences: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    text: str = ""
    """Shown as it is, in a monospaced font."""

    @property
    def has_content(self) -> bool:
        """Whether there is more than an introduction."""
        drawn = any(figure.panels for figure in self.figures)
        return bool(drawn or self.sentences or any(table.values for table in self.tables))


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
            paper=PAPER,
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
