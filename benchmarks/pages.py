"""Pages that are written by hand and whose tables are made of results/, and files of JSON lines.

A table stands between `<!-- table: NAME -->` and `<!-- end -->`.
"""

import argparse
import csv
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
TABLE = re.compile(r"<!-- table: (.+?) -->\n.*?<!-- end -->", re.DOTALL)


def fill(page: str, tables: Mapping[str, Callable[[], list[str]]]) -> str:
    """Return a page with all of its tables made anew."""

    def write(found: re.Match[str]) -> str:
        lines = "\n".join(tables[found[1]]())
        return f"<!-- table: {found[1]} -->\n\n{lines}\n\n<!-- end -->"

    return TABLE.sub(write, page)


def write_table(heads: str, rows: Iterable[Iterable[object]]) -> list[str]:
    """Return a table in Markdown; `heads` are its columns, separated by bars."""
    body = [f"| {' | '.join(map(str, row))} |" for row in rows]
    return [f"| {heads} |", f"|{' --- |' * (heads.count('|') + 1)}", *body]


def read_csv(name: str) -> list[dict[str, str]]:
    with (RESULTS / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read_store(about: str | None) -> Path | None:
    """Return the store that the command line names, if it names one."""
    parser = argparse.ArgumentParser(description=(about or "").splitlines()[0])
    parser.add_argument("--store", type=Path)
    store: Path | None = parser.parse_args().store
    return store


class Measured(NamedTuple):
    """A row of the summary of a study: an algorithm on a problem of one size."""

    family: str
    size: int
    name: str
    state: str
    reason: str
    instances: int
    population: float | None
    evaluations: float | None
    low: float | None
    high: float | None
    cpu: float | None
    building: float | None = None
    """CPU seconds of model building."""

    @property
    def done(self) -> bool:
        return self.state == "done"


def read_summary(name: str) -> list[Measured]:
    """Return the rows of a summary; numbers that are missing are none."""
    columns = ("population", "evaluations", "evaluations_low", "evaluations_high")
    return [
        Measured(
            *(row["family"], int(row["size"]), row["name"], row["state"], row["reason"]),
            int(row["instances"]),
            *(read_number(row[column]) for column in (*columns, "cpu_total", "cpu_building")),
        )
        for row in read_csv(name)
    ]


def read_number(text: str) -> float | None:
    """Return a cell of a table as a number; an empty one is none."""
    return float(text) if text else None


def write_csv(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    listed = list(rows)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(listed[0]))
        writer.writeheader()
        writer.writerows(listed)


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file of JSON lines; none if there is no file."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def append(path: Path, row: Mapping[str, Any]) -> None:
    """Append a line to a file of JSON lines, and show it."""
    line = json.dumps(row, ensure_ascii=False)
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    sys.stderr.write(f"{line[:200]}\n")
