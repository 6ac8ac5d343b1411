"""Pages that are written by hand and whose tables are made of results/.

A table stands between `<!-- table: NAME -->` and `<!-- end -->`.
"""

import csv
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

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
    """Read a table of results/."""
    with (RESULTS / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_csv(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """Write rows with the same keys."""
    listed = list(rows)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(listed[0]))
        writer.writeheader()
        writer.writerows(listed)
