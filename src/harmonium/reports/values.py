"""The best values of variables that are not bits, as tables and sentences."""

from harmonium.reports.tables import Cell, Column, Table
from harmonium.runs import Result
from harmonium.space.codec import Variables
from harmonium.text import format_count


def tabulate_best(result: Result, variables: Variables) -> Table:
    """Return the best value of each variable."""
    columns = (Column("name", "variable", numeric=False), Column("best", "value", numeric=False))
    rows = [(Cell(name), Cell(text)) for name, text in variables.list_texts(result.x).items()]
    return Table("values", "The best value of each variable.", columns, tuple(rows))


def describe_common_values(result: Result, variables: Variables) -> list[str]:
    """Return which values all of the best solutions have, as sentences."""
    texts = [variables.list_texts(solution.x) for solution in result.solutions]
    if len(texts) < 2:
        return []
    names = [name for name in texts[0] if len({one[name] for one in texts}) == 1]
    if not names:
        return [f"The {len(texts)} best solutions have no value in common."]
    common = ", ".join(f"{name}={texts[0][name]}" for name in names)
    return [f"The {len(texts)} best solutions have these values in common: {common}."]


def tabulate_values(result: Result, variables: Variables) -> Table:
    """Return the best solutions with the values in which they differ from the best."""
    columns = (
        Column("rank", "rank"),
        Column("value", "value"),
        *((Column("error", "standard error"),) if result.noisy else ()),
        Column("difference", "difference to the best"),
        Column("values", "values that differ", numeric=False),
        Column("found_at", "found at evaluation"),
    )
    rows = []
    for rank, solution in enumerate(result.solutions, 1):
        best, error = result.solutions[0], solution.fun_error
        before, texts = variables.list_texts(best.x), variables.list_texts(solution.x)
        changed = [f"{name}={text}" for name, text in texts.items() if text != before[name]]
        difference = solution.fun - best.fun
        shown = Cell("–") if error is None else Cell(f"{error:.2g}", error)
        rows.append(
            (
                Cell(str(rank), rank),
                Cell(f"{solution.fun + 0.0:.6g}", solution.fun),
                *((shown,) if result.noisy else ()),
                Cell(f"{difference + 0.0:.4g}", difference),
                Cell(", ".join(changed) or "–"),
                Cell(format_count(solution.found_at), solution.found_at),
            )
        )
    caption = "The best different solutions, best first; of equal ones the first that was found."
    return Table("solutions", caption, columns, tuple(rows))
