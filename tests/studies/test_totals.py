"""Studies too large to run, and those that are only large: trials are made when they are needed."""

import pytest

from harmonium.specs import SpecError
from harmonium.studies import Family, Grid, Runs, Study, parse_study
from harmonium.studies import trial as module
from harmonium.studies.plans import Walk
from tests.studies.made import make_case, make_outcome

LIMITS = "use fewer runs, instances, sizes or algorithms, or several studies"

FILE = """
name = "large"
models = ["umda", "boa"]
[[problems]]
problem = "nk:k=2"
sizes = [10, 12]
{setting}
"""


@pytest.mark.parametrize(
    ("setting", "total"),
    [
        ("runs = 1_000_000_000", "4,000,000,000 trials"),
        ("instances = 1_000_000_000", "4,000,000,000 cases"),
        ("instances = 1_000\\nruns = 10_000", "40,000,000 trials"),
    ],
)
def test_an_absurd_study_is_refused_with_its_total(setting: str, total: str) -> None:
    most = "10,000,000" if "trials" in total else "100,000"
    text = FILE.format(setting=setting.replace("\\n", "\n"))
    with pytest.raises(SpecError) as caught:
        parse_study(text, "large.toml")
    assert str(caught.value) == (
        f"large.toml: the study has {total} at least; expected at most {most}: {LIMITS}"
    )


def test_sizes_populations_and_families_count_too() -> None:
    family = Family("onemax", sizes=range(1, 1001), runs=1)
    with pytest.raises(SpecError, match="the study has 101,000 cases at least"):
        Study("grid", [family], ["umda"], plan=Grid(range(100, 302, 2)))
    many = [Family("onemax", sizes=[size], runs=2_000_000) for size in range(1, 7)]
    with pytest.raises(SpecError, match="the study has 12,000,000 trials at least"):
        Study("many", many, ["eda:model=umda,population=20"], plan=Runs())


def test_trials_are_made_when_they_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[bytes] = []
    compute = module._hash

    def compute_and_note(spec: bytes) -> str:
        hashed.append(spec)
        return compute(spec)

    monkeypatch.setattr(module, "_hash", compute_and_note)
    case = make_case(Runs(), runs=10_000_000)
    walk = Walk(case, {})
    assert not walk.advance()
    assert [trial.seed for trial in walk.wanted(3)] == [1, 2, 3]
    assert walk.attempt is not None
    last = walk.attempt.trials[-1]
    assert last.seed == 10_000_000
    assert walk.wants(last)
    assert len(hashed) == 5  # one to look for its outcome


def test_a_walk_wants_what_it_lists() -> None:
    case = make_case(Runs(), runs=4)
    trials = case.trials()
    walk = Walk(case, {trials[0].key: make_outcome(), trials[2].key: make_outcome()})
    assert [walk.wants(trial) for trial in trials] == [False] * 4  # not begun
    walk.advance()
    assert walk.wanted() == [trials[1], trials[3]]
    assert walk.wanted(1) == [trials[1]]
    assert [walk.wants(trial) for trial in trials] == [False, True, False, True]
    assert not walk.wants(case.trials(20)[1])


def test_lazy_trials_are_a_sequence() -> None:
    trials = make_case(runs=5).trials(16)
    assert len(trials) == 5
    assert [trial.seed for trial in trials] == [1, 2, 3, 4, 5]
    assert list(trials[1:3]) == [trials[1], trials[2]]
    assert trials[0] is trials[0]
    assert trials[-1] == trials[4]
    assert trials[3] in trials
    assert trials[3] not in trials[:3]
    assert make_case(runs=5).trials(18)[0] not in trials
    assert trials == make_case(runs=5).trials(16)
    assert hash(trials) == hash(make_case(runs=5).trials(16))
    assert trials != make_case(runs=5).trials(18)
    with pytest.raises(IndexError):
        trials[5]
