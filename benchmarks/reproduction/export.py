"""Write the results of studies/reproduction.toml to results/: see __main__.py.

The study may be measured in parts, each with a store of its own. Rows that a store has done replace
those of the export, and all others are kept, so that the export does not need the stores of earlier
parts. Scaling laws are fitted to the merged rows: mean, bounds and number of units of a row give
back the variance of its samples.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from benchmarks.pages import RESULTS, read_csv, read_number, write_csv
from benchmarks.reproduction.points import PROBLEMS, name_family

from harmonium.analysis.findings import LAW_METRICS, Point, fit_power
from harmonium.analysis.paper import find_exponent, name_model
from harmonium.analysis.statistics import Metric, find_student
from harmonium.analysis.tables import list_laws, list_rows
from harmonium.search import ALGORITHMS
from harmonium.studies import Law, Store, Study, StudyResult, load_study, read_study
from harmonium.studies.plans import Case, Walk
from harmonium.studies.summary import summarize

if TYPE_CHECKING:
    from pandas import DataFrame

STUDY = RESULTS.parent / "studies" / "reproduction.toml"

Cells = Mapping[str, Any]
"""A row of a table, as it is written or as it was read."""
Place = tuple[str, int, str]
"""Family, size and setting of a row."""


def export(path: Path) -> None:
    """Merge what a store has into the tables of results/."""
    study, result = load_study(STUDY), read_study(path)
    check_cases(study, [walk.case for walk in result.walks])
    cases = result.to_frame("cases")
    rows = merge_rows(
        [
            list_rows(summarize(Walk(case, {}) for case in study.cases)),
            read_export("reproduction.csv"),
        ],
        list_rows(result.rows),
    )
    write_csv(RESULTS / "reproduction.csv", rows)
    write_csv(RESULTS / "reproduction-laws.csv", list_laws(list(fit_laws(rows))))
    spread = merge_spread(rows, read_export("reproduction-instances.csv"), list_spread(cases))
    write_csv(RESULTS / "reproduction-instances.csv", spread)
    facts = {
        "parts": merge_parts(read_parts(), describe_part(result, cases)),
        "rows": len(rows),
        "unfinished": sum(row["state"] in ("waiting", "unfinished") for row in rows),
    }
    text = json.dumps(facts, indent=1) + "\n"
    (RESULTS / "reproduction.json").write_text(text, encoding="utf-8")


def check_cases(study: Study, part: Sequence[Case]) -> None:
    """Raise if a store was run with other settings than the study, or has rows beyond it."""
    known = set(study.cases)
    for case in part:
        if case not in known:
            raise ValueError(
                f"{case.family} {case.size} {case.name}: the store's case is not in {STUDY.name}; "
                "expected the same runs, instances, seed, bisection and stopping rules"
            )


def merge_rows(kept: Sequence[Iterable[Cells]], new: Iterable[Cells]) -> list[Cells]:
    """Return the rows of the first table in its order, each from the last table that has it.

    A row of `new` that is not done does not replace one that is. Rows beyond the first table are
    left out, unless they are done.
    """
    first, *others = ({locate(row): row for row in table} for table in (*kept, new))
    merged = dict(first)
    for table in others:
        for place, row in table.items():
            if place not in first and row["state"] == "done":
                raise ValueError(f"{' '.join(map(str, place))}: done, but not in {STUDY.name}")
            if place in first and (row["state"] == "done" or merged[place]["state"] != "done"):
                merged[place] = row
    return list(merged.values())


def locate(row: Cells) -> Place:
    return row["family"], int(row["size"]), row["name"]


def fit_laws(rows: Sequence[Cells]) -> Iterator[Law]:
    """Yield the scaling laws of the rows of a summary."""
    groups: dict[tuple[str, str], list[Cells]] = {}
    for row in rows:
        groups.setdefault((row["family"], row["name"]), []).append(row)
    for (family, name), mine in groups.items():
        done = [row for row in mine if row["state"] == "done"]
        for metric in LAW_METRICS:
            points = [make_point(row, metric) for row in done if float(row[metric] or 0) > 0]
            power = fit_power(points)
            if power:
                sizes = tuple(point.size for point in points)
                missing = dict.fromkeys(int(row["size"]) for row in mine)
                yield Law(
                    **{"family": family, "name": name, "metric": metric, "sizes": sizes},
                    **power._asdict(),
                    paper=find_paper_exponent(done[0], metric),
                    missing=tuple(size for size in missing if size not in sizes),
                )


def make_point(row: Cells, metric: Metric) -> Point:
    """Return the mean of a row, and the variance of its logarithm that its bounds show.

    The bounds of a mean are mean · exp(±t · deviation), those of one population its bracket. What
    the brackets add to the variance of a mean population is not in the summary; it is left out.
    """
    mean = float(row[metric])
    low, high = (read_number(str(row[f"{metric}_{end}"] or "")) for end in ("low", "high"))
    instances = int(row["instances"])
    units = instances if instances > 1 else int(row["runs"])
    if low is None or high is None:
        deviation = 0.0
    elif metric == "population" and instances == 1:
        deviation = (1 - low / mean) / math.sqrt(12)
    else:
        deviation = math.log(high / low) / 2 / find_student(units - 1)
    return Point(int(row["size"]), mean, deviation**2)


def find_paper_exponent(row: Cells, metric: Metric) -> float | None:
    """Return the paper's exponent of a row that was measured as in the paper, or none."""
    model = name_model(ALGORITHMS.parse(row["algorithm"]).to_dict())
    return (
        find_exponent(PROBLEMS[name_family(row["family"])].to_dict(), model, metric)
        if model
        else None
    )


def list_spread(cases: "DataFrame") -> Iterator[Cells]:
    """Yield how the instances of each row differ, of the rows that are done and have several."""
    done = cases[(cases["row_state"] == "done") & cases["instance"].notna()]
    for (family, size, name), mine in done.groupby(["family", "size", "name"], sort=False):
        values = sorted(mine["evaluations"])
        yield {
            **{"family": family, "size": size, "name": name, "instances": len(values)},
            **{"median": median(values), "largest": values[-1], "others": fmean(values[:-1])},
        }


def merge_spread(rows: Sequence[Cells], kept: Iterable[Cells], new: Iterable[Cells]) -> list[Cells]:
    """Return how the instances differ, in the order of the rows; a new row replaces a kept one."""
    known = {locate(row): row for row in (*kept, *new)}
    return [known[locate(row)] for row in rows if locate(row) in known]


def describe_part(result: StudyResult, cases: "DataFrame") -> dict[str, Any]:
    """Return when a store was begun, with what, and what it took, all trials counted.

    `bisection_share` is the CPU time of a bisection, in the median: as a multiple of that of the
    runs at the population found.
    """
    with Store.open(result.path) as store:
        totals = store.overview()
    done = cases[cases["row_state"] == "done"]
    share = (done["spent_cpu"] / (done["cpu_total"] * done["runs"])).median()
    return {
        "started": totals.first,
        "trials": totals.trials,
        "cpu_hours": round(totals.cpu_seconds / 3600, 2),
        "bisections": len(done),
        "bisection_share": round(float(share), 2) if len(done) else None,
        "environments": totals.environments,
    }


def merge_parts(kept: Sequence[Cells], new: Cells) -> list[Cells]:
    """Return all parts; a store that was exported before, known by its start, is replaced."""
    return [*(part for part in kept if part["started"] != new["started"]), new]


def read_parts() -> list[Cells]:
    path = RESULTS / "reproduction.json"
    if not path.exists():
        return []
    parts: list[Cells] = json.loads(path.read_text("utf-8"))["parts"]
    return parts


def read_export(name: str) -> list[dict[str, str]]:
    """Return a table that was exported before, empty if there is none."""
    return read_csv(name) if (RESULTS / name).exists() else []
