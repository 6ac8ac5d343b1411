"""What the pages of runs share: named runs, their courses, the best bits and the environment."""

from collections.abc import Sequence
from dataclasses import dataclass

from harmonium.environment import describe_environment
from harmonium.reports.courses import Course, End
from harmonium.reports.curves import Bar
from harmonium.reports.learned import Learning
from harmonium.reports.prose import join_words
from harmonium.runs import Result
from harmonium.runs.trace import to_columns


@dataclass(frozen=True)
class Run:
    """A run, and its name in charts."""

    series: str
    """Name by which it is coloured and hidden: the label of the algorithm."""
    which: str
    """Which run of its series it is, if there are several."""
    result: Result
    learning: Learning | None = None

    @property
    def course(self) -> Course:
        """How it went."""
        result = self.result
        trace = to_columns(result.trace)
        end = End(result.evaluations, result.fun, result.generations)
        found_by, seed = result.best_found_by, result.seed
        return Course(self.series, result.optimum, trace, self.which, found_by, end, seed)

    @property
    def bar(self) -> Bar:
        """CPU time by phase."""
        return Bar(self.series, f"{self.series}, seed {self.result.seed}", self.result.cpu_seconds)


def find_best(results: Sequence[Result]) -> Result:
    """Return the result with the best value; the first of equal ones."""
    return max(results, key=lambda result: -result.fun if result.minimized else result.fun)


def list_environment() -> list[tuple[str, str]]:
    """Return processor and versions, by name."""
    facts = describe_environment()
    return [
        ("Processor", f"{facts['processor']}, {facts['cores']} cores"),
        ("harmonium", facts["harmonium"]),
        ("Python", facts["python"]),
    ]


def write_environment() -> tuple[str, str]:
    """Return all versions and the machine, as folded text with its title."""
    lines = (f"{name}: {value}" for name, value in describe_environment().items())
    return "Versions and machine", "\n".join(lines)


def list_known(facts: Sequence[tuple[str, str | None]]) -> list[tuple[str, str]]:
    """Return the facts that have a value."""
    return [(name, text) for name, text in facts if text]


def join_values(results: Sequence[Result], field: str) -> str:
    """Return the different values of a field that runs have; empty if none has one."""
    values = (getattr(result, field) for result in results)
    return join_words(list(dict.fromkeys(str(value) for value in values if value is not None)))
