"""Studies that are built in Python, and their twins in TOML."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harmonium import BOA, EDA, NK, RBM, UMDA, Stop, Trap
from harmonium.specs import SpecError, find_object, importable, to_json
from harmonium.studies import Bisect, Family, Grid, Runs, Study, parse_study
from harmonium.studies.study import parse_algorithm
from tests.modules import write_module
from tests.studies.made import KNOWN_NAMES, ONE_PLUS_ONE

TOML = """
name = "twins"
description = "Of everything one"
seed = 7
replacement = "worst"
models = ["umda", {model = "rbm:hidden=n/2", name = "half", tournament = 4, replacement = "rtr"}]
algorithms = [{algorithm = "eda:model=boa,population=64", name = "boa"}]

[[problems]]
problem = "trap:order=5"
sizes = [10, 20]
runs = 4

[[problems]]
problem = "nk:k=2"
sizes = [12]
instances = 2
runs = 3
models = ["half"]
bisect = {start = 8}

[bisect]
start = 32
tolerance = 0.25
max_population = 512
max_evaluations = 1_000_000
max_cpu_seconds = 60
confirm = true

[stop]
max_generations = 50
max_cpu_seconds = 60
"""

TWIN = Study(
    "twins",
    description="Of everything one",
    seed=7,
    algorithms={
        "umda": EDA("umda", replacement="worst"),
        "half": EDA(RBM(hidden="n/2"), tournament=4, replacement="rtr"),
        "boa": "eda:model=boa,population=64",
    },
    families=[
        Family("trap:order=5", sizes=[10, 20], runs=4),
        Family(
            "nk:k=2",
            sizes=[12],
            instances=2,
            runs=3,
            algorithms=["half"],
            plan=Bisect(8, 0.25, 512, 1_000_000, 60.0, confirm=True),
        ),
    ],
    plan=Bisect(32, 0.25, 512, 1_000_000, 60.0, confirm=True),
    stop={"max_generations": 50, "max_cpu_seconds": 60.0},
)

ONEMAX = Family("onemax", sizes=[20])


def make(**changes: Any) -> Study:
    settings: dict[str, Any] = {"name": "s", "families": [ONEMAX], "algorithms": ["umda"]}
    return Study(**{**settings, **changes})


def test_a_study_and_its_twin_in_toml_are_the_same() -> None:
    loaded = parse_study(TOML, "twins.toml")
    assert loaded.to_json() == TWIN.to_json()
    assert loaded == TWIN
    assert hash(loaded) == hash(TWIN)
    assert loaded.cases == TWIN.cases
    assert (loaded.text, loaded.folder) == (TOML, Path.cwd())
    keys = [[trial.key for trial in case.trials(64)] for case in TWIN.cases]
    assert keys == [[trial.key for trial in case.trials(64)] for case in loaded.cases]


def test_a_study_is_its_cases_in_order() -> None:
    trap, nk = "trap:order=5", "nk:k=2"
    places = [(case.family, case.size, case.name, case.instance) for case in TWIN.cases]
    names = ("umda", "half", "boa")
    assert places == [
        *((trap, size, name, None) for size in (10, 20) for name in names),
        *((nk, 12, "half", instance) for instance in (0, 1)),
    ]
    assert [case.problem for case in TWIN.cases] == [
        *[to_json(Trap(10, 5))] * 3,
        *[to_json(Trap(20, 5))] * 3,
        *[to_json(NK(12, 2, instance=0)), to_json(NK(12, 2, instance=1))],
    ]
    assert [(case.seed, case.runs) for case in TWIN.cases] == [(7, 4)] * 6 + [(7, 3)] * 2
    assert {case.plan for case in TWIN.cases[:6]} == {TWIN.plan}
    assert {case.plan for case in TWIN.cases[6:]} == {TWIN.families[1].plan}
    stop = Stop(max_generations=50, max_cpu_seconds=60.0)
    assert {case.stop for case in TWIN.cases} == {to_json(stop)}
    half = EDA(RBM(hidden="n/2"), tournament=4, replacement="rtr")
    assert TWIN.cases[1].algorithm == to_json(half)


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "other"},
        {"description": "other"},
        {"seed": 8},
        {"stop": {"max_generations": 51}},
        {"plan": Bisect(start=16)},
        {"families": TWIN.families[::-1]},
        {"algorithms": dict(reversed(dict(TWIN.algorithms).items()))},  # type: ignore[arg-type]
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_studies_that_differ_are_not_equal(changes: dict[str, Any]) -> None:
    assert replace(TWIN, **changes) != TWIN


def test_algorithms_in_a_list_are_named_by_their_label() -> None:
    study = make(algorithms=["umda", EDA(RBM(hidden="n/2")), "eda:model=boa,population=20"])
    assert study.algorithms == {
        "umda": EDA(UMDA()),
        "rbm:hidden=n/2": EDA(RBM(hidden="n/2")),
        "boa": EDA(BOA(), population=20),
    }


def test_numbers_out_of_arrays_are_plain_numbers() -> None:
    family = Family("nk:k=2", np.arange(10, 12), runs=np.int64(3), instances=np.int64(2))  # type: ignore[arg-type]
    study = make(families=[family], seed=np.int64(5), plan=Grid(np.array([8, 16])))  # type: ignore[arg-type]
    twin = make(families=[Family("nk:k=2", [10, 11], 3, 2)], seed=5, plan=Grid([8, 16]))
    assert study == twin
    assert (study.cases[0].seed, study.cases[0].runs) == (5, 3)


def test_a_stop_sets_every_rule_and_a_dict_some() -> None:
    own = {"max_generations": None, "patience": None, "stagnation": 2.0, "confirmations": 50}
    (every,) = make(plan=Runs(), stop=Stop(max_generations=7)).cases
    assert every.stop == to_json(Stop(max_generations=7))
    (some,) = make(plan=Runs(), stop={"max_evaluations": 100}).cases
    assert some.stop == to_json(Stop(**own, max_evaluations=100))  # type: ignore[arg-type]
    (bisected,) = make(stop={"max_evaluations": 100}).cases
    assert bisected.stop == to_json(Stop(max_evaluations=100))


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no name": ({"name": ""}, "name is ''; expected a text of 1 to 200 characters"),
    "no families": (
        {"families": []},
        "families is []; expected a list of Family objects, at least one",
    ),
    "a family as text": (
        {"families": ["onemax"]},
        "families is ['onemax']; expected a list of Family objects, at least one",
    ),
    "no algorithms": ({"algorithms": []}, "algorithms is empty; expected at least one"),
    "one algorithm": (
        {"algorithms": "umda"},
        "algorithms is 'umda'; expected a dict or a list of algorithms",
    ),
    "something else": (
        {"algorithms": [3]},
        "algorithms[0]: it is 3; expected an algorithm, such as EDA('rbm'), or a text",
    ),
    "an unknown model": (
        {"algorithms": {"mine": "bao"}},
        f"algorithms['mine']: unknown model or algorithm 'bao'; known: {KNOWN_NAMES}, or "
        "module:Class",
    ),
    "two of one name": (
        {"algorithms": [EDA(BOA()), EDA(BOA(), replacement="rtr")]},
        "algorithms[1]: a second algorithm named 'boa'; give it another name",
    ),
    "a tournament too large": (
        {"algorithms": {"mine": EDA(UMDA(), tournament=9)}},
        "problem 'onemax': algorithms['mine']: eda: tournament is 9; expected at "
        "most half the population",
    ),
    "another plan": ({"plan": "runs"}, "plan is 'runs'; expected a Bisect, Grid or Runs"),
    "a seed": ({"seed": -1}, f"seed is -1; expected an integer ≥ 0 and ≤ {2**62:,}"),
    "a size": (
        {"families": [ONEMAX, Family("trap:order=5", sizes=[40, 41])]},
        "problem 'trap:order=5': size 41: trap: length is 41; expected a multiple of order=5",
    ),
    "a size twice": (
        {"families": [ONEMAX, Family("onemax", sizes=[30, 20])]},
        "problem 'onemax': its size 20 is there already",
    ),
    "a name": (
        {"families": [replace(ONEMAX, algorithms=["rbm"])]},
        "problem 'onemax': unknown algorithm 'rbm'; known: umda",
    ),
    "a plan of another kind": (
        {"families": [replace(ONEMAX, plan=Runs())]},
        "problem 'onemax': its plan is runs, but that of the study is bisect",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_study_says_in_one_line_what_is_wrong_and_where(name: str) -> None:
    changes, message = WRONG[name]
    with pytest.raises(SpecError) as caught:
        make(**changes)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"problem": ""}, "problem '': problem is ''; expected a text such as 'trap:order=5'"),
        ({"sizes": []}, "problem 'onemax': sizes is []; expected a list of integers ≥ 1, all "),
        ({"sizes": [0]}, "problem 'onemax': sizes is [0]; expected a list of integers ≥ 1, all "),
        ({"sizes": [5, 5]}, "problem 'onemax': sizes is [5, 5]; expected a list of integers ≥ 1"),
        ({"sizes": 5}, "problem 'onemax': sizes is 5; expected a list of integers ≥ 1"),
        ({"runs": 0}, "problem 'onemax': runs is 0; expected an integer ≥ 1"),
        ({"runs": True}, "problem 'onemax': runs is True; expected an integer ≥ 1"),
        ({"instances": 0}, "problem 'onemax': instances is 0; expected an integer ≥ 1"),
        ({"algorithms": "rbm"}, "problem 'onemax': algorithms is 'rbm'; expected a list of names"),
        ({"plan": "runs"}, "problem 'onemax': plan is 'runs'; expected a Bisect, Grid or Runs"),
    ],
    ids=str,
)
def test_a_wrong_family_says_in_one_line_what_is_wrong(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(SpecError) as caught:
        Family(**{"problem": "onemax", "sizes": [20], **changes})
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("plan", [Bisect(), Grid([16])], ids=str)
def test_an_algorithm_without_a_population_has_only_runs(plan: Any, tmp_path: Path) -> None:
    name = write_module(tmp_path, ONE_PLUS_ONE)
    with pytest.raises(SpecError) as caught:
        make(algorithms={"ea": f"{name}:OnePlusOne"}, plan=plan, folder=tmp_path)
    assert str(caught.value) == (
        f"problem 'onemax': algorithms['ea']: {name}:OnePlusOne has no population size to "
        "choose; expected an "
        "algorithm with one, such as eda, or the plan `runs`"
    )
    (case,) = make(algorithms={"ea": f"{name}:OnePlusOne"}, plan=Runs(), folder=tmp_path).cases
    own = {"max_generations": None, "patience": None, "stagnation": 2.0, "confirmations": 50}
    assert case.stop == to_json(Stop(**own))  # type: ignore[arg-type]


def test_a_plan_sets_the_field_population_and_an_algorithm_that_sets_another_is_refused(
    tmp_path: Path,
) -> None:
    own = """    population: int = 10

    def with_population(self, population):
        import dataclasses
        return dataclasses.replace(self, population=population, BODY)

    def start"""
    code = ONE_PLUS_ONE.replace("    def start", own, 1)
    good = write_module(tmp_path, code.replace(", BODY", ""))
    (case,) = make(algorithms={"ea": f"{good}:OnePlusOne"}, folder=tmp_path).cases
    with importable(tmp_path):
        for population in (16, 24):
            expected = parse_algorithm(f"{good}:OnePlusOne").with_population(population)
            assert {trial.algorithm for trial in case.trials(population)} == {to_json(expected)}
    bad = write_module(tmp_path, code.replace("BODY", "rate=2"))
    with pytest.raises(
        SpecError, match=r"^problem 'onemax': algorithms\['ea'\]: with_population\(16\) returned "
    ):
        make(algorithms={"ea": f"{bad}:OnePlusOne"}, folder=tmp_path)


def test_the_state_of_custom_modules_is_not_part_of_a_study(tmp_path: Path) -> None:
    name = write_module(tmp_path, ONE_PLUS_ONE)
    study = make(algorithms=[f"{name}:OnePlusOne:rate=2"], plan=Runs(), folder=tmp_path)
    file = tmp_path / f"{name}.py"
    file.write_text(ONE_PLUS_ONE + "# edited\n", encoding="utf-8")
    again = make(algorithms=[f"{name}:OnePlusOne:rate=2"], plan=Runs(), folder=tmp_path)
    assert again == study
    ((old,), (new,)) = study.cases, again.cases
    assert old.trials()[0].key != new.trials()[0].key


def test_a_class_that_workers_cannot_import_is_refused(tmp_path: Path) -> None:
    name = write_module(tmp_path, ONE_PLUS_ONE)
    with importable(tmp_path):
        cls = find_object(f"{name}:OnePlusOne")
    local = type("Local", (cls,), {"__module__": "__main__"})  # type: ignore[arg-type]
    for algorithm in (local(), type("Hidden", (cls,), {"__module__": name})()):  # type: ignore[arg-type]
        with pytest.raises(SpecError):
            make(algorithms=[algorithm], plan=Runs(), folder=tmp_path)


def test_a_text_may_be_a_model_or_an_algorithm(tmp_path: Path) -> None:
    name = write_module(
        tmp_path,
        ONE_PLUS_ONE + "\n\nfrom harmonium import UMDA\n\n\nclass Mine(UMDA):\n    pass\n",
    )
    assert parse_algorithm("rbm:hidden=n/2") == EDA(RBM(hidden="n/2"))
    with pytest.raises(SpecError, match=r"^rbm: 'hidden' is not a setting"):
        parse_algorithm("rbm:hidden")
    with importable(tmp_path):
        assert parse_algorithm(f"{name}:OnePlusOne:rate=2").to_dict()["rate"] == 2
        assert parse_algorithm(f"{name}:Mine").to_dict()["model"]["name"] == f"{name}:Mine"
        with pytest.raises(SpecError, match=f"^{name}:np: "):
            parse_algorithm(f"{name}:np")


def test_a_study_that_nobody_could_run_is_refused() -> None:
    family = Family("nk:k=2", sizes=range(10, 110), runs=1000, instances=101)
    with pytest.raises(SpecError, match=r"^the study has 10,100,000 runs of each algorithm; "):
        make(families=[family])
