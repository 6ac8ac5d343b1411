"""Fill the tables and figures of docs/research/reproduction.md, whose text is written by hand.

    harmonium study run studies/reproduction.toml --store reproduction.db     # hours; resumable
    python -m benchmarks.reproduction --store reproduction.db                 # merge, then fill
    python -m benchmarks.reproduction                                         # fill only

A table of the page stands between `<!-- table: NAME -->` and `<!-- end -->`. `export.py` merges a
store into results/, so that the study can be measured in parts; `points.py` reads results/ and the
paper's points; `claims.py`, `costs.py` and `samples.py` make the tables. Tables without
marks were measured once and made of results/ by scripts that are in the history (README.md).
"""

import json
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median

from benchmarks.pages import RESULTS, Measured, fill, read_store, write_table
from benchmarks.reproduction import claims, costs, samples
from benchmarks.reproduction.export import export
from benchmarks.reproduction.figures import write_figures
from benchmarks.reproduction.points import (
    CLOSE,
    FAMILIES,
    Pair,
    pair_points,
    read_laws,
    read_rows,
)

PAGE = RESULTS.parent / "docs" / "research" / "reproduction.md"


def write_settings(pairs: Sequence[Pair]) -> list[str]:
    """Say in a few lines how well the paper is reproduced."""
    lines = []
    for name in (*sorted({pair.ours.name for pair in pairs}, reverse=True), None):
        ratios = [pair.ratio for pair in pairs if name in (None, pair.ours.name)]
        worst = max(ratios, key=lambda ratio: max(ratio, 1 / ratio))
        close = sum(1 / CLOSE <= ratio <= CLOSE for ratio in ratios)
        label = f"`{name}`" if name else "all"
        shares = (f"{median(ratios):.2f}", f"{worst:.2f}", f"{close} of {len(ratios)}")
        lines.append((label, len(ratios), *shares))
    return write_table("setting | points | median ours / paper | worst | within 1.5×", lines)


def write_points(family: str, pairs: Sequence[Pair], rows: Sequence[Measured]) -> list[str]:
    """Write the points of a family, the paper's and ours, and those of our other settings."""
    here = [pair for pair in pairs if pair.ours.family == family]
    others = {
        (row.size, row.name): row.evaluations for row in rows if row.family == family and row.done
    }
    sizes = {pair.ours.size for pair in here}
    names = [
        name
        for name in ("rbm-paper-points", "rbm", "rbm-worst", "boa-rtr")
        if any((size, name) in others for size in sizes)
    ]
    lines = []
    for pair in here:
        ours, mark = pair.ours, "" if 1 / CLOSE <= pair.ratio <= CLOSE else " *"
        mine = [
            others.get((ours.size, name)) if name.split("-")[0] == ours.name.split("-")[0] else None
            for name in names
        ]
        lines.append(
            (
                *(ours.size, f"`{ours.name}`", f"{pair.paper:,.0f}", f"{ours.evaluations:,.0f}"),
                *(f"{ours.low:,.0f} to {ours.high:,.0f}", f"{pair.ratio:.2f}{mark}"),
                *(f"{ours.population:,.0f}", *(f"{value:,.0f}" if value else "" for value in mine)),
            )
        )
    columns = "".join(f" | `{name}`" for name in names)
    return write_table(
        f"bits | setting | paper | ours | interval | ours / paper | population{columns}", lines
    )


def list_tables() -> dict[str, Callable[[], list[str]]]:
    rows, laws = read_rows(), read_laws()
    pairs = pair_points(rows)
    parts = json.loads((RESULTS / "reproduction.json").read_text("utf-8"))["parts"]
    return {
        "settings": partial(write_settings, pairs),
        "claims": partial(claims.write_claims, rows),
        "growth": partial(claims.write_growth, rows),
        "speedups": partial(claims.write_speedups, rows),
        "exponents": partial(costs.write_laws, laws),
        "cpu": partial(costs.write_cpu, rows),
        **{f"points {family}": partial(write_points, family, pairs, rows) for family in FAMILIES},
        "outliers": partial(samples.write_outliers, pairs, rows),
        "bisections": samples.write_bisections,
        "instances": samples.write_instances,
        "both gammas": partial(costs.write_both_gammas, rows),
        "missing": partial(costs.write_missing, rows, laws, parts),
    }


def main() -> None:
    if store := read_store(__doc__):
        export(store)
    PAGE.write_text(fill(PAGE.read_text("utf-8"), list_tables()), encoding="utf-8")
    write_figures(read_rows(), read_laws())


if __name__ == "__main__":
    main()
