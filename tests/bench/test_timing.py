from harmonium.bench.timing import repeat, time_in_turns, time_once


def test_actions_take_turns_after_one_round_unmeasured() -> None:
    called: list[str] = []
    seconds = time_in_turns({"a": lambda: called.append("a"), "b": lambda: called.append("b")}, 3)
    assert "".join(called) == "abababab"
    assert list(seconds) == ["a", "b"]
    assert all(0 < least < 1 for least in seconds.values())


def test_an_action_is_repeated() -> None:
    called: list[int] = []
    assert time_once(repeat(lambda: called.append(1), 5)) > 0
    assert len(called) == 5
