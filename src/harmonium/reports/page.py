"""One self-contained HTML page: no network, everything a user wrote shown as text."""

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import msgspec
import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined

from harmonium.reports.figures import VEGA_LITE, Figure
from harmonium.reports.tables import Table
from harmonium.reports.theme import DISC, Styles, make_config
from harmonium.system import write_atomically
from harmonium.version import __version__


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


@dataclass(frozen=True)
class Page:
    """The content of a page."""

    kind: str
    title: str
    file: str
    """Begins the file names of its downloads."""
    description: str
    complete: bool
    state: str
    """How complete it is, in a few words."""
    lead: str
    sections: Sequence[Section]
    run: str
    """What was run, in one line."""
    facts: Sequence[tuple[str, str]]
    """The same in full, by name."""
    texts: Sequence[tuple[str, str]] = ()
    """Long texts, folded away, by title."""
    styles: Styles = field(default_factory=dict)
    """The look of each algorithm, by name."""

    @property
    def figures(self) -> list[Figure]:
        """All figures that have panels."""
        return [figure for section in self.sections for figure in section.figures if figure.panels]

    @property
    def paper(self) -> bool:
        """Whether points of the paper can be switched off."""
        return any(figure.paper for figure in self.figures)

    @property
    def written(self) -> str:
        """When the page is written."""
        return format_time(datetime.now(UTC).isoformat())


def render(page: Page, watched: str | None = None) -> str:
    """Return a page as HTML; `watched` is the version of a page that reloads itself."""
    charts = {
        f"{figure.name}-{place}": spec
        for figure in page.figures
        for place, spec in enumerate(figure.list_specs(), 1)
    }
    themes = {"light": make_config(dark=False), "dark": make_config(dark=True)}
    library, script = _read_library(), _read_template("page.js")
    return (
        _environment()
        .get_template("page.html")
        .render(
            page=page,
            watched=watched,
            version=__version__,
            ring=DISC.hollow,
            policy=_write_policy(library, script),
            css=_read_template("page.css"),
            library=library,
            script=script,
            charts=_embed(charts),
            themes=_embed(themes),
        )
    )


def write_page(path: Path, text: str) -> None:
    """Write a page in one step: a failure leaves the old file or none."""
    with write_atomically(path, "w") as file:
        file.write(text)


def name_file(title: str, otherwise: str) -> str:
    """Return a title as part of a file name."""
    return re.sub(r"\W+", "-", title).strip("-")[:60] or otherwise


def format_time(iso: str) -> str:
    """Return a time of the store to the minute: "2026-11-16 01:32 UTC"."""
    return f"{iso[:16].replace('T', ' ')} UTC"


def format_period(first: str, last: str) -> str:
    """Return the time between two times of the store: "2026-11-16 01:32 to 01:39 UTC"."""
    end = format_time(last)
    if format_time(first) == end:
        return end
    return f"{format_time(first)[:-4]} to {end[11:] if first[:10] == last[:10] else end}"


def _split_settings(text: str) -> list[str]:
    """Return the pieces between which a line may break: after commas and colons."""
    return re.split("(?<=[,:])", text)


def _embed(value: object) -> str:
    """Return JSON that may stand inside a script element: nothing in it can end the element."""
    return msgspec.json.encode(value).decode().replace("<", "\\u003c")


def _write_policy(*scripts: str) -> str:
    """Return a policy under which only our scripts run and nothing is fetched from elsewhere."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes} 'unsafe-eval'; style-src 'unsafe-inline'; "
        "img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'"
    )


_EXPOSE = "window.vegaEmbed = vegaEmbed;"


@cache
def _read_library() -> str:
    """Return Vega, Vega-Lite and Vega-Embed in one script."""
    return vl_convert.javascript_bundle(_EXPOSE, vl_version=VEGA_LITE).replace(
        "</script", "<\\/script"
    )


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
    loader = _environment().loader
    assert loader is not None  # noqa: S101  # it was given
    return loader.get_source(_environment(), name)[0]
