"""benchmarks/speed runs, and ratios mean what they say."""

import pytest
from benchmarks.speed.__main__ import main
from benchmarks.speed.measure import Measurement


def test_a_quick_run_measures_every_group(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--quick"])
    printed = capsys.readouterr().out
    assert all(words in printed for words in ("CD-1", "network", "sgemm"))


def test_ratios_above_one_mean_that_ours_is_better() -> None:
    assert Measurement("w", "a", ours=6.0, peer=2.0, unit="u", bound=3.0).kept
    assert not Measurement("w", "a", ours=6.0, peer=2.0, unit="ms", bound=1).kept
