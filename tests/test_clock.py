import time
from itertools import count

import pytest

from harmonium.clock import PHASES, Clock, TimeUp, check_time, deadline, now


@pytest.fixture
def ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let one CPU second pass from one look at the clock to the next."""
    seconds = count(100.0)
    monkeypatch.setattr(time, "process_time", lambda: next(seconds))


@pytest.mark.usefixtures("ticks")
def test_time_is_charged_to_its_phase_and_adds_up_also_of_what_fails() -> None:
    clock, other = Clock(), Clock()
    for _ in range(3):
        with clock.charge("building"):
            pass
    with pytest.raises(RuntimeError), clock.charge("sampling"):
        raise RuntimeError
    assert clock.seconds == {"fitness": 0, "selection": 0, "building": 3, "sampling": 1}
    assert tuple(clock.seconds) == PHASES
    assert clock.total == clock.charged == 4
    assert other.total == 0


def test_the_time_is_up_inside_the_block_and_after_the_deadline_only() -> None:
    with deadline(now() + 1000):
        check_time()
        with deadline(now()), pytest.raises(TimeUp):
            check_time()
        check_time()
    check_time()
