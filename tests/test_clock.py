from itertools import count
from types import SimpleNamespace

import pytest

from harmonium import clock
from harmonium.clock import PHASES, Clock


@pytest.fixture(autouse=True)
def ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let one CPU second pass from one look at the clock to the next."""
    seconds = count(100.0)
    monkeypatch.setattr(clock, "time", SimpleNamespace(process_time=lambda: next(seconds)))


def test_a_new_clock_stands_at_zero_in_every_phase() -> None:
    clock = Clock()
    assert clock.seconds == {"fitness": 0, "selection": 0, "building": 0, "sampling": 0}
    assert tuple(clock.seconds) == PHASES
    assert clock.total == 0


def test_time_is_charged_to_its_phase_and_adds_up() -> None:
    clock = Clock()
    for _ in range(3):
        with clock.charge("building"):
            pass
    with clock.charge("fitness"):
        pass
    assert clock.seconds == {"fitness": 1, "selection": 0, "building": 3, "sampling": 0}
    assert clock.total == 4


def fail(clock: Clock) -> None:
    with clock.charge("sampling"):
        raise RuntimeError


def test_what_fails_is_charged_too() -> None:
    clock = Clock()
    with pytest.raises(RuntimeError):
        fail(clock)
    assert clock.seconds["sampling"] == 1


def test_clocks_are_independent() -> None:
    one, other = Clock(), Clock()
    with one.charge("fitness"):
        pass
    assert other.total == 0
