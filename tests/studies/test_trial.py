"""Trials: their keys, and the records they leave."""

import hashlib
import json
import platform
import signal
from pathlib import Path
from typing import Any

import msgspec
import pytest

from harmonium import BOA, EDA, MODELS, PROBLEMS, RBM, UMDA, Model, OneMax, Stop, Trap, run
from harmonium.clock import PHASES
from harmonium.runs.record import to_columns
from harmonium.specs import SpecError, importable
from harmonium.studies import trial as module
from harmonium.studies.learning import Learned
from harmonium.studies.trial import (
    Record,
    Trial,
    execute,
    read_record,
    read_spec,
)
from harmonium.version import __version__
from tests.modules import write_module
from tests.problems.test_contract import EXAMPLES
from tests.studies.made import OWN_ONEMAX, describe, make_case, make_record, make_trial

SPEC = (
    '{"algorithm":{"model":{"name":"umda"},"name":"eda","pairing":"any","population":16,'
    '"replacement":"keep-parents","tournament":2},'
    '"problem":{"distance":null,"length":20,"name":"trap","order":5},'
    '"seed":1,'
    '"stop":{"confirmations":null,"max_calls":null,"max_cpu_seconds":null,"max_evaluations":null,'
    '"max_generations":100,"max_seconds":null,"name":"stop","patience":20,"stagnation":null},'
    '"version":4}'
)
EDA_16 = EDA(UMDA(), population=16)


# A store finds its trials by their keys: if one changes, every study starts again from nothing.
# Change this test only with a new field of a spec, or with the version of the results.
def test_a_key_is_the_hash_of_the_canonical_json() -> None:
    trial = describe(Trap(20, 5), EDA_16)
    assert trial.spec == SPEC
    assert trial.key == hashlib.sha256(SPEC.encode()).hexdigest()
    assert trial.key == "7b80106f69d0590ddb8db5f8a823eeea7e496e4825f4d88ab9d690280a818d54"


def test_a_key_changes_with_every_part(monkeypatch: pytest.MonkeyPatch) -> None:
    trials = [
        describe(Trap(20, 5), EDA_16),
        describe(Trap(20, 5), EDA(RBM(), population=16)),
        describe(Trap(20, 5), EDA(RBM(rate=0.25), population=16)),
        describe(Trap(20, 5), EDA(UMDA(), population=18)),
        describe(Trap(20, 5), EDA(UMDA(), population=16, replacement="worst")),
        describe(Trap(20, 5), EDA_16, Stop(max_generations=101)),
        describe(Trap(20, 4), EDA_16),
        describe(Trap(25, 5), EDA_16),
        describe(Trap(20, 5), EDA_16, seed=2),
    ]
    assert len({trial.key for trial in trials}) == len(trials)
    before = make_trial().key
    monkeypatch.setattr(module, "VERSION", 5)
    assert make_trial().key != before


def test_a_population_is_set_as_the_algorithm_would() -> None:
    eda = EDA(RBM(hidden="n/2"), tournament=4)
    for trial in make_case(algorithm=eda, runs=2).trials(64):
        assert trial == describe(OneMax(20), eda.with_population(64), seed=trial.seed)


# 1 == 1.0 == True in Python, not in a specification: a function may tell them apart.
@pytest.mark.parametrize("order", [("1", "1.0", "true"), ("true", "1.0", "1")], ids=str)
def test_settings_of_a_custom_problem_keep_their_types(
    order: tuple[str, ...], tmp_path: Path
) -> None:
    name = write_module(tmp_path, OWN_ONEMAX)
    with importable(tmp_path):
        problems = [PROBLEMS.parse(f"{name}:Own:length=8,rate={rate}") for rate in order]
    trials = [describe(problem, EDA_16) for problem in problems]
    told = [json.loads(trial.spec)["problem"]["rate"] for trial in trials]
    assert [json.dumps(rate) for rate in told] == list(order)
    assert len({trial.key for trial in trials}) == 3


@pytest.mark.parametrize(
    "trial",
    [
        *(describe(problem, EDA_16) for problem in EXAMPLES),
        *(describe(OneMax(20), EDA(model(), population=16)) for model in MODELS),
    ],
    ids=lambda trial: trial.key[:8],
)
def test_a_trial_of_any_problem_and_model_is_made_again(trial: Trial) -> None:
    assert describe(*read_spec(trial.spec)) == trial
    plain = json.loads(trial.spec)
    del plain["seed"]
    assert json.loads(trial.frame) == plain


def test_a_trial_of_another_version_is_refused() -> None:
    # A worker with another harmonium would store its results under the key of this one's.
    spec = make_trial().spec.replace('"version":4', '"version":5')
    with pytest.raises(SpecError, match=r"^a trial of version 5, but this harmonium runs"):
        read_spec(spec)


def without_times(result: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in result.items() if name not in ("cpu_seconds", "seconds")}


@pytest.mark.parametrize("learn", [False, True])
@pytest.mark.parametrize("model", [UMDA(), BOA(), RBM()], ids=str)
def test_a_trial_gives_what_a_run_does(model: Model, learn: bool) -> None:
    problem, eda, stop = Trap(20, 5), EDA(model, population=100), Stop(max_generations=5)
    record = read_record(execute(describe(problem, eda, stop, 3).spec, None, learn))
    result = run(problem, eda, stop=stop, seed=3)
    assert (record.status, record.error) == ("done", "")
    assert without_times(record.result) == without_times(result.to_dict())
    assert set(record.result["cpu_seconds"]) == {"total", *PHASES}
    assert record.trace == to_columns(result.trace, result.improvements)
    assert len(record.trace["step"]) == len(result.trace) > 1
    if learn and model != UMDA():
        assert isinstance(record.learned, Learned)
        assert len(record.learned.scores) == 5
    else:
        assert record.learned is None


def test_why_nothing_was_learned_is_part_of_the_record(tmp_path: Path) -> None:
    code = OWN_ONEMAX.replace("optimum = None", "optimum = None\n    structure = 3")
    name = write_module(tmp_path, code)
    with importable(tmp_path):
        own = PROBLEMS.parse(f"{name}:Own:length=8")
    reasons = {
        OneMax(20): "each bit counts alone",
        Trap(120, 5): "it has more than 100 bits",
        own: "looking at its models raised TypeError",
    }
    for problem, reason in reasons.items():
        spec = describe(problem, EDA(BOA(), population=16), Stop(max_generations=1)).spec
        record = read_record(execute(spec, str(tmp_path), True))
        assert record.status == "done"
        assert str(record.learned).startswith(reason)


def test_a_record_tells_where_and_when() -> None:
    record = read_record(execute(make_trial().spec, None))
    assert (record.host, record.environment["harmonium"]) == (platform.node(), __version__)
    assert record.started.endswith("+00:00")
    assert record.peak_memory > 1_000_000
    assert record.wall_seconds >= record.result["seconds"] > 0


@pytest.mark.parametrize(
    "record", [make_record(), Record("failed", error="“no”\n\ttab")], ids=["done", "failed"]
)
def test_a_record_travels(record: Record) -> None:
    assert read_record(msgspec.json.encode(record)) == record


def run_own(call: str, folder: Path) -> Record:
    """Run a trial of a problem that does this when it is called."""
    name = write_module(
        folder, OWN_ONEMAX.replace("return bits.sum(axis=1)", f"self.calls = 1\n        {call}")
    )
    with importable(folder):
        problem = PROBLEMS.make(f"{name}:Own", {"length": 8})
    return read_record(execute(describe(problem, EDA_16).spec, str(folder)))


@pytest.mark.parametrize(
    ("call", "last"),
    [
        ('raise ValueError("no such “file”")', "ValueError: no such “file”"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        (
            "return None",
            "ValueError: fitness is None; return one number a row (is there a `return`?)",
        ),
        (r'raise OSError("no file caf\udce9.txt")', r"OSError: no file caf\udce9.txt"),
    ],
)
def test_what_a_problem_raises_is_part_of_the_record(call: str, last: str, tmp_path: Path) -> None:
    record = run_own(call, tmp_path)
    assert (record.status, record.result, record.trace) == ("failed", {}, {})
    assert record.error.startswith("Traceback (most recent call last):\n")
    assert record.error.endswith(f"{last}\n")


def test_an_interrupt_is_not_part_of_the_record(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
    try:
        with pytest.raises(KeyboardInterrupt):
            run_own("raise KeyboardInterrupt", tmp_path)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_module_that_has_changed_or_is_missing_is_refused(tmp_path: Path) -> None:
    name = write_module(tmp_path, OWN_ONEMAX)
    with importable(tmp_path):
        spec = describe(PROBLEMS.make(f"{name}:Own", {"length": 8}), EDA_16).spec
    assert read_record(execute(spec, str(tmp_path))).status == "done"
    file = tmp_path / f"{name}.py"
    file.write_text(file.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")
    changed = read_record(execute(spec, str(tmp_path)))
    assert changed.error.endswith(
        f"SpecError: {name}:Own: its module has changed since the problem was saved\n"
    )
    missing = read_record(execute(spec.replace(name, "no_such_module"), None))
    assert "there is no module 'no_such_module'" in missing.error
