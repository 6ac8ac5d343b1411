import hashlib
import json
import platform
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harmonium import BOA, EDA, MODELS, PROBLEMS, RBM, UMDA, Model, OneMax, Stop, Trap, run
from harmonium.clock import PHASES
from harmonium.problems import ProblemSpec
from harmonium.runs.trace import to_columns
from harmonium.specs import SpecError, importable
from harmonium.studies import trial as module
from harmonium.studies.trial import (
    Record,
    Trial,
    execute,
    fail,
    read_record,
    read_trial,
    write_record,
)
from harmonium.version import __version__
from tests.modules import write_module
from tests.problems.test_contract import EXAMPLES
from tests.studies.made import OWN_ONEMAX, make_record, make_trial
from tests.test_specs import ANY_PROBLEM, MODEL_STRATEGIES, make_any

SPEC = (
    '{"algorithm":{"model":{"name":"umda"},"name":"eda","pairing":"any","population":16,'
    '"replacement":"keep-parents","tournament":2},'
    '"problem":{"distance":null,"length":20,"name":"trap","order":5},'
    '"seed":1,'
    '"stop":{"confirmations":null,"max_calls":null,"max_cpu_seconds":null,"max_evaluations":null,'
    '"max_generations":100,"max_seconds":null,"name":"stop","patience":20,"stagnation":null},'
    '"version":4}'
)


# A store finds its trials by their keys: if one changes, every study starts again from nothing.
# Change this test only with a new field of a spec, or with the version of the results.
def test_a_key_is_the_hash_of_the_canonical_json() -> None:
    trial = Trial(Trap(20, 5), EDA(UMDA(), population=16), Stop(), 1)
    assert trial.spec == SPEC
    assert trial.key == hashlib.sha256(SPEC.encode()).hexdigest()
    assert trial.key == "7b80106f69d0590ddb8db5f8a823eeea7e496e4825f4d88ab9d690280a818d54"


def other_trials() -> list[Trial]:
    """Return trials that differ from the first in one part each."""
    edas: list[EDA] = [
        EDA(UMDA(), population=16),
        EDA(BOA(), population=16),
        EDA(RBM(), population=16),
        EDA(RBM(rate=0.25), population=16),
        EDA(UMDA(), population=18),
        EDA(UMDA(), population=16, tournament=3),
        EDA(UMDA(), population=16, pairing="parent-offspring"),
        EDA(UMDA(), population=16, replacement="worst"),
    ]
    stops = [
        Stop(max_generations=101),
        Stop(max_generations=None),
        Stop(patience=21),
        Stop(stagnation=2.0),
        Stop(max_evaluations=100),
        Stop(max_cpu_seconds=1.0),
        Stop(max_seconds=1.0),
        Stop(max_calls=100),
    ]
    problems: list[ProblemSpec] = [Trap(20, 4), Trap(25, 5), OneMax(20)]
    return [
        *(Trial(Trap(20, 5), eda, Stop(), 1) for eda in edas),
        *(Trial(Trap(20, 5), edas[0], stop, 1) for stop in stops),
        *(Trial(problem, edas[0], Stop(), 1) for problem in problems),
        Trial(Trap(20, 5), edas[0], Stop(), 2),
    ]


def test_a_key_changes_with_every_part() -> None:
    keys = [trial.key for trial in other_trials()]
    assert len(set(keys)) == len(keys)
    assert all(len(key) == 64 for key in keys)


def test_a_key_changes_with_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    before = make_trial().key
    monkeypatch.setattr(module, "VERSION", 5)
    assert make_trial().key != before


def test_equal_specs_have_equal_keys() -> None:
    one = Trial(OneMax(20), EDA(RBM(rate=1), population=16), Stop(max_cpu_seconds=1), 1)
    other = Trial(OneMax(20), EDA(RBM(rate=1.0), population=16), Stop(max_cpu_seconds=1.0), 1)
    assert one.spec == other.spec
    assert one.key == other.key


# 1 == 1.0 == True in Python, not in a specification: a function may tell them apart.
@pytest.mark.parametrize("order", [("1", "1.0", "true"), ("true", "1.0", "1")], ids=str)
def test_settings_of_a_custom_problem_keep_their_types(
    order: tuple[str, ...], tmp_path: Path
) -> None:
    name = write_module(tmp_path, OWN_ONEMAX)
    with importable(tmp_path):
        problems = [PROBLEMS.parse(f"{name}:Own:length=8,rate={rate}") for rate in order]
    trials = [Trial(problem, EDA(UMDA(), population=16), Stop(), 1) for problem in problems]
    told = [json.loads(trial.spec)["problem"]["rate"] for trial in trials]
    assert [json.dumps(rate) for rate in told] == list(order)
    assert len({trial.key for trial in trials}) == 3


def again(trial: Trial) -> Trial:
    read = read_trial(trial.spec)
    assert read.spec == trial.spec
    assert read.key == trial.key
    return read


@pytest.mark.parametrize("problem", EXAMPLES, ids=str)
def test_a_trial_of_any_problem_is_made_again(problem: ProblemSpec) -> None:
    trial = Trial(problem, EDA(UMDA(), population=16), Stop(), 1)
    assert again(trial) == trial


@pytest.mark.parametrize("model", list(MODELS), ids=lambda model: model.name)
def test_a_trial_of_any_model_is_made_again(model: type[Model]) -> None:
    trial = Trial(OneMax(20), EDA(model(), population=16), Stop(), 1)
    assert again(trial) == trial
    assert again(trial).algorithm.to_dict()["model"]["name"] == model.name


@settings(max_examples=50)
@given(
    problem=ANY_PROBLEM,
    model=MODEL_STRATEGIES,
    stop=make_any(Stop),
    population=st.integers(4, 10**6),
    seed=st.integers(0, 2**63 - 1),
)
def test_every_trial_is_made_again(
    problem: ProblemSpec, model: Model, stop: Stop, population: int, seed: int
) -> None:
    trial = Trial(problem, EDA(model, population=2 * population), stop, seed)
    assert again(trial) == trial


@pytest.mark.parametrize(
    "eda",
    [
        EDA(UMDA(), population=20, tournament=4),
        EDA(UMDA(), population=20, replacement="rtr"),
        EDA(UMDA(), population=20, pairing="parent-offspring"),
    ],
    ids=["tournament", "replacement", "pairing"],
)
def test_every_eda_is_made_again(eda: EDA) -> None:
    trial = Trial(OneMax(20), eda, Stop(), 1)
    assert again(trial) == trial


def test_a_trial_of_a_custom_problem_is_made_again(tmp_path: Path) -> None:
    name = write_module(tmp_path, OWN_ONEMAX)
    with importable(tmp_path):
        problem = PROBLEMS.parse(f"{name}:Own:length=8,easy=true,rate=0.5,kind=hard,none=none")
        trial = Trial(problem, EDA(UMDA(), population=16), Stop(), 1)
        assert again(trial) == trial


def test_a_trial_of_another_version_is_refused() -> None:
    # A worker with another harmonium would store its results under the key of this one's.
    spec = make_trial().spec.replace('"version":4', '"version":5')
    with pytest.raises(
        SpecError, match=r"^a trial of version 5, but this harmonium runs version 4"
    ):
        read_trial(spec)


def without_times(result: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in result.items() if name not in ("cpu_seconds", "seconds")}


@pytest.mark.parametrize("model", [UMDA(), BOA(), RBM()], ids=str)
def test_a_trial_gives_what_a_run_does(model: Model) -> None:
    trial = Trial(Trap(20, 5), EDA(model, population=100), Stop(max_generations=5), 3)
    record = read_record(execute(trial.spec, None))
    result = run(trial.problem, trial.algorithm, stop=trial.stop, seed=trial.seed)
    assert (record.status, record.error) == ("done", "")
    assert without_times(record.result) == without_times(result.to_dict())
    assert set(record.result["cpu_seconds"]) == {"total", *PHASES}
    assert record.trace == to_columns(result.trace, result.improvements)
    assert len(record.trace["step"]) == len(result.trace) > 1


def test_a_record_tells_where_and_when(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "node", lambda: "here")
    record = read_record(execute(make_trial().spec, None))
    assert record.host == "here"
    assert record.environment["harmonium"] == __version__
    assert record.started.endswith("+00:00")
    assert record.peak_memory > 1_000_000
    assert record.wall_seconds >= record.result["seconds"] > 0


@pytest.mark.parametrize(
    "record", [make_record(), fail("WorkerDied: “no”\n\ttab")], ids=["done", "failed"]
)
def test_a_record_travels(record: Record) -> None:
    assert read_record(write_record(record)) == record


def test_a_trial_that_could_not_be_run_has_failed() -> None:
    record = fail("WorkerDied: 3 times")
    assert (record.status, record.error) == ("failed", "WorkerDied: 3 times")
    assert (record.result, record.trace, record.wall_seconds) == ({}, {}, 0.0)


def run_own(call: str, folder: Path) -> Record:
    """Run a trial of a problem that does this when it is called."""
    name = write_module(
        folder, OWN_ONEMAX.replace("return bits.sum(axis=1)", f"self.calls = 1\n        {call}")
    )
    with importable(folder):
        problem = PROBLEMS.make(f"{name}:Own", {"length": 8})
    trial = Trial(problem, EDA(UMDA(), population=16), Stop(), 1)
    return read_record(execute(trial.spec, str(folder)))


@pytest.mark.parametrize(
    ("call", "last"),
    [
        ('raise ValueError("no such “file”")', "ValueError: no such “file”"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        (
            "return None",
            "ValueError: fitness is None; return one number a row (is there a `return`?)",
        ),
    ],
)
def test_what_a_problem_raises_is_part_of_the_record(call: str, last: str, tmp_path: Path) -> None:
    record = run_own(call, tmp_path)
    assert (record.status, record.result, record.trace) == ("failed", {}, {})
    assert record.error.startswith("Traceback (most recent call last):\n")
    assert record.error.endswith(f"{last}\n")
    assert record.peak_memory > 0
    if call.startswith("raise"):
        assert call.partition("(")[0] in record.error


def test_an_error_that_is_no_unicode_is_part_of_the_record(tmp_path: Path) -> None:
    # As the name of a file that is not there, out of a listing of files.
    record = run_own(r'raise OSError("no file caf\udce9.txt")', tmp_path)
    assert record.status == "failed"
    assert "OSError: no file caf" in record.error


def test_an_interrupt_is_not_part_of_the_record(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
    try:
        with pytest.raises(KeyboardInterrupt):
            run_own("raise KeyboardInterrupt", tmp_path)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_trial_finds_its_module_in_the_given_folder(tmp_path: Path) -> None:
    assert run_own("return bits.sum(axis=1)", tmp_path).status == "done"


def test_a_module_that_has_changed_is_refused(tmp_path: Path) -> None:
    name = write_module(tmp_path, OWN_ONEMAX)
    with importable(tmp_path):
        problem = PROBLEMS.make(f"{name}:Own", {"length": 8})
    trial = Trial(problem, EDA(UMDA(), population=16), Stop(), 1)
    assert read_record(execute(trial.spec, str(tmp_path))).status == "done"
    file = tmp_path / f"{name}.py"
    file.write_text(file.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
    record = read_record(execute(trial.spec, str(tmp_path)))
    assert record.status == "failed"
    assert record.error.endswith(
        f"SpecError: {name}:Own: its module has changed since the problem was saved\n"
    )


def test_a_missing_module_is_reported(tmp_path: Path) -> None:
    name = write_module(tmp_path, OWN_ONEMAX)
    with importable(tmp_path):
        problem = PROBLEMS.make(f"{name}:Own", {"length": 8})
    spec = Trial(problem, EDA(UMDA(), population=16), Stop(), 1).spec
    record = read_record(execute(spec.replace(name, "no_such_module"), None))
    assert record.status == "failed"
    assert "there is no module 'no_such_module'" in record.error


def test_repeated_trials_are_those_made_one_by_one() -> None:
    first = Trial(OneMax(length=20), EDA(UMDA(), population=50), Stop(), 3)
    for trial, seed in zip(first.repeat(range(3, 7)), range(3, 7), strict=True):
        alone = Trial(first.problem, first.algorithm, first.stop, seed)
        assert (trial, trial.spec, trial.key) == (alone, alone.spec, alone.key)
        assert trial.frame == first.frame


def test_a_frame_is_the_spec_without_the_seed() -> None:
    trial = make_trial(7)
    spec = json.loads(trial.spec)
    assert spec.pop("seed") == 7
    assert json.loads(trial.frame) == spec
    assert make_trial(8).frame == trial.frame
    assert make_trial(7, population=18).frame != trial.frame
