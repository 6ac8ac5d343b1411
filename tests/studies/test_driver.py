"""What the driver makes of problems whose optimum is unknown or wrong; engines run in-process."""

from pathlib import Path

import pytest

from harmonium.analysis.findings import Row
from harmonium.problems import nk_optimum
from harmonium.studies import Store, parse_study
from harmonium.studies.driver import Driver, bind, read_rows
from harmonium.studies.engines import open_engine
from harmonium.studies.trial import Outcome
from tests.modules import write_module

NK = """
name = "unknown"
models = ["umda"]
[[problems]]
problem = "nk:k=4,instance=78"
sizes = [30]
runs = 2
"""


def carry_out(text: str, folder: Path) -> tuple[list[Row], list[Outcome]]:
    """Run a study in this process; return its rows and how its runs ended."""
    study = parse_study(text, "s.toml", folder)
    with Store.create(folder / "s.db") as store:
        bind(study, store)
        with open_engine("serial", None, None) as engine:
            Driver(study, store).run(engine)
        return read_rows(store)[1], list(store.outcomes().values())


def test_a_bisection_whose_optimum_is_not_found_fails_at_its_first_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nk_optimum, "MAX_NODES", 3)
    (row,), outcomes = carry_out(NK, tmp_path)
    assert row.state == "failed"
    assert row.reason == (
        "ValueError: the optimum of nk:length=30,k=4,instance=78 is not known, but a bisection "
        "needs one to tell what is solved; use the plan `grid` or `runs`, and retry failed trials"
    )
    assert [outcome.status for outcome in outcomes] == ["failed"]


def test_a_grid_needs_no_optimum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nk_optimum, "MAX_NODES", 3)
    (row,), _ = carry_out(NK + "[grid]\npopulations = [16]\n", tmp_path)
    assert (row.state, row.solved, row.runs) == ("done", 0, 2)


def test_a_fitness_above_the_optimum_fails_with_its_traceback(tmp_path: Path) -> None:
    name = write_module(
        tmp_path,
        """
class Own:
    optimum = 16.0

    def __init__(self, length):
        self.length = length

    def __call__(self, bits):
        return 3 * bits.sum(axis=1)
""",
    )
    text = NK.replace("nk:k=4,instance=78", f"{name}:Own").replace("30", "6")
    (row,), outcomes = carry_out(text, tmp_path)
    assert row.state == "failed"
    assert row.reason == (
        "ValueError: fitness 18 exceeds the optimum 16, the largest possible fitness; "
        "correct problem.optimum"
    )
    assert outcomes[-1].error.startswith("Traceback")
