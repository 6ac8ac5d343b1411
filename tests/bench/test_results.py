import json

import pytest

from harmonium.bench import Measurement, Skipped, Solving, collect


def measure(**changes: object) -> Measurement:
    fields = {"group": "g", "what": "w", "against": "a", "ours": 6.0, "peer": 2.0, "unit": "u"}
    return Measurement(**{**fields, **changes})  # type: ignore[arg-type]


def solving(solved: int) -> Solving:
    return Solving("onemax:length=9", "rbm", 100, 4, solved, 500.0, 0.5, 0.1)


def test_a_ratio_above_one_is_a_win_of_ours() -> None:
    assert measure().ratio == 3.0
    assert measure(better="less").ratio == pytest.approx(1 / 3)


def test_a_bound_is_kept_by_the_ratio() -> None:
    assert measure().kept
    assert measure(bound=3.0).kept
    assert not measure(bound=3.1).kept


def test_failed_runs_are_paid_for_by_the_solved_ones() -> None:
    assert solving(4).cpu_per_solved == 0.5
    assert solving(2).cpu_per_solved == 1.0
    assert solving(0).cpu_per_solved is None


def test_a_report_sorts_outcomes_and_tells_a_missing_peer_once() -> None:
    missing = Skipped("pgmpy", "not installed")
    report = collect({"python": "3"}, [missing, measure(), solving(1), missing])
    shown = json.loads(json.dumps(report.to_dict()))
    assert list(shown) == ["setting", "measurements", "solving", "skipped"]
    assert shown["skipped"] == ["pgmpy: not installed"]
    assert shown["measurements"][0]["ratio"] == 3.0
    assert shown["solving"][0]["solver"] == "rbm"
