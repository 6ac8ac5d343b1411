"""Studies: built in Python, their twins in TOML, and what is refused in either form."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harmonium import BOA, EDA, NK, RBM, UMDA, Algorithm, Model, OneMax, PaperTree, Stop, Trap
from harmonium.specs import SpecError, find_object, importable, to_json
from harmonium.studies import Bisect, Family, Grid, Runs, Study, load_study, parse_study
from harmonium.studies.plans import Walk
from harmonium.studies.study import parse_algorithm
from tests.modules import write_module
from tests.studies.made import KNOWN_NAMES, ONE_PLUS_ONE, OWN_ONEMAX

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
PLAN = Bisect(32, 0.25, 512, 1_000_000, 60.0, confirm=True)
HALF = EDA(RBM(hidden="n/2"), tournament=4, replacement="rtr")
TWIN = Study(
    "twins",
    description="Of everything one",
    seed=7,
    algorithms={
        "umda": EDA("umda", replacement="worst"),
        "half": HALF,
        "boa": "eda:model=boa,population=64",
    },
    families=[
        Family("trap:order=5", sizes=[10, 20], runs=4),
        Family("nk:k=2", [12], 3, 2, algorithms=["half"], plan=replace(PLAN, start=8)),
    ],
    plan=PLAN,
    stop={"max_generations": 50, "max_cpu_seconds": 60.0},
)
ENDLESS: dict[str, Any] = {
    "max_generations": None,
    "patience": None,
    "stagnation": 2.0,
    "confirmations": 50,
}
"""Rules that suit algorithms which never end by themselves."""

FAMILY = Family("onemax", sizes=[20])
TOP = 'name = "s"\nmodels = ["umda"]\n'
ONEMAX = '[[problems]]\nproblem = "onemax"\nsizes = [20]\n'


def make(**changes: Any) -> Study:
    settings: dict[str, Any] = {"name": "s", "families": [FAMILY], "algorithms": ["umda"]}
    return Study(**{**settings, **changes})


def read(text: str, folder: Path | None = None) -> Study:
    return parse_study(text, "s.toml", folder)


def test_a_study_and_its_twin_in_toml_are_the_same() -> None:
    loaded = read(TOML)
    assert loaded.to_json() == TWIN.to_json()
    assert loaded == TWIN
    assert hash(loaded) == hash(TWIN)
    assert loaded.cases == TWIN.cases
    assert (loaded.text, loaded.folder) == (TOML, Path.cwd())
    keys = [[trial.key for trial in case.trials(64)] for case in TWIN.cases]
    assert keys == [[trial.key for trial in case.trials(64)] for case in loaded.cases]


def test_a_study_is_its_cases_in_order() -> None:
    trap, nk = "trap:order=5", "nk:k=2"
    names = ("umda", "half", "boa")
    assert [(case.family, case.size, case.name, case.instance) for case in TWIN.cases] == [
        *((trap, size, name, None) for size in (10, 20) for name in names),
        *((nk, 12, "half", instance) for instance in (0, 1)),
    ]
    problems = [*[Trap(10, 5)] * 3, *[Trap(20, 5)] * 3, NK(12, 2), NK(12, 2, instance=1)]
    assert [case.problem for case in TWIN.cases] == list(map(to_json, problems))
    assert [(case.seed, case.runs) for case in TWIN.cases] == [(7, 4)] * 6 + [(7, 3)] * 2
    assert [case.plan for case in TWIN.cases] == [PLAN] * 6 + [replace(PLAN, start=8)] * 2
    stop = Stop(max_generations=50, max_cpu_seconds=60.0)
    assert {case.stop for case in TWIN.cases} == {to_json(stop)}
    assert TWIN.cases[1].algorithm == to_json(HALF)


def test_a_short_study_has_the_defaults() -> None:
    (case,) = read(TOP + ONEMAX).cases
    assert case.plan == Bisect(16, 0.1, 65_536, None, None, confirm=False)
    assert (case.stop, case.problem) == (to_json(Stop()), to_json(OneMax(20)))
    assert (case.seed, case.runs, case.smallest, case.instance) == (1, 30, 8, None)
    assert case.algorithm == to_json(EDA(UMDA()))


def test_every_study_that_comes_with_harmonium_is_one() -> None:
    files = sorted((Path(__file__).parents[2] / "studies").glob("*.toml"))
    assert files
    for file in files:
        for case in load_study(file).cases:
            assert not Walk(case, {}).advance()


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


def test_numbers_out_of_arrays_are_plain_numbers() -> None:
    family = Family("nk:k=2", np.arange(10, 12), runs=np.int64(3), instances=np.int64(2))  # type: ignore[arg-type]
    study = make(families=[family], seed=np.int64(5), plan=Grid(np.array([8, 16])))  # type: ignore[arg-type]
    assert study == make(
        families=[Family("nk:k=2", range(10, 12), 3, 2)], seed=5, plan=Grid([8, 16])
    )
    assert (study.cases[0].seed, study.cases[0].runs) == (5, 3)


def test_a_stop_sets_every_rule_and_a_dict_some() -> None:
    stops: list[tuple[dict[str, Any], Stop]] = [
        ({"plan": Runs(), "stop": Stop(max_generations=7)}, Stop(max_generations=7)),
        ({"plan": Runs(), "stop": {"max_calls": 9}}, Stop(**ENDLESS, max_calls=9)),
        ({"stop": {"max_evaluations": 100}}, Stop(max_evaluations=100)),
    ]
    for changes, stop in stops:
        (case,) = make(**changes).cases
        assert case.stop == to_json(stop)


def test_a_grid_has_a_case_for_each_population_of_each_instance() -> None:
    text = '[[problems]]\nproblem = "nk:k=2"\nsizes = [12]\ninstances = 2\n'
    study = read(TOP + text + "[grid]\npopulations = [64, 16, 64]\n")
    assert [(case.plan, case.instance) for case in study.cases] == [
        *[(Grid([64]), 0), (Grid([64]), 1), (Grid([16]), 0), (Grid([16]), 1)],
    ]


def test_a_plan_of_runs_leaves_the_algorithms_as_they_are() -> None:
    text = 'plan = "runs"\nname = "s"\nalgorithms = ["umda", "eda:model=boa,population=20"]\n'
    auto, fixed = read(text + ONEMAX + "[stop]\nmax_evaluations = 500\n").cases
    assert (auto.plan, fixed.plan) == (Runs(), Runs())
    assert auto.stop == to_json(Stop(**ENDLESS, max_evaluations=500))
    assert fixed.stop == to_json(Stop(max_evaluations=500))
    (algorithm,) = {trial.algorithm for trial in fixed.trials()}
    assert algorithm == to_json(EDA(BOA(), population=20))


BOTH = {"umda": EDA(UMDA()), "tree-paper": PaperTree()}


@pytest.mark.parametrize(
    ("lists", "algorithms"),
    [
        ('models = ["umda"]\nalgorithms = ["tree-paper"]', BOTH),
        ('models = ["umda", "tree-paper"]', BOTH),
        ('algorithms = ["umda", { algorithm = "tree-paper" }]', BOTH),
        ('models = [{ model = "umda" }, { algorithm = "tree-paper", name = "tree-paper" }]', BOTH),
        ('models = ["rbm: hidden=9"]', {"rbm: hidden=9": EDA(RBM(hidden=9))}),
        ('algorithms = ["rbm: hidden=9"]', {"rbm:hidden=9": EDA(RBM(hidden=9))}),
        (
            'replacement = "rtr"\nmodels = ["umda"]\nalgorithms = ["boa"]',
            {"umda": EDA(UMDA(), replacement="rtr"), "boa": EDA(BOA())},
        ),
    ],
)
def test_both_lists_have_models_and_algorithms(
    lists: str, algorithms: dict[str, Algorithm]
) -> None:
    study = read(f'name = "s"\n{lists}\n{ONEMAX}')
    assert study.algorithms == algorithms
    assert [case.name for case in study.cases] == list(algorithms)


def test_algorithms_in_a_list_are_named_by_their_label() -> None:
    study = make(algorithms=["umda", EDA(RBM(hidden="n/2")), "eda:model=boa,population=20"])
    assert study.algorithms == {
        "umda": EDA(UMDA()),
        "rbm:hidden=n/2": EDA(RBM(hidden="n/2")),
        "boa": EDA(BOA(), population=20),
    }


def test_an_algorithm_that_is_not_an_eda_is_bisected(tmp_path: Path) -> None:
    text = 'name = "s"\nmodels = ["umda"]\nalgorithms = ["tree-paper"]\n'
    own = 'runs = 2\nmodels = ["tree-paper"]\n'
    (row,) = read(text + ONEMAX.replace("20", "8") + own).run(tmp_path / "s.db", "serial").rows
    assert (row.name, row.plan, row.state, row.solved) == ("tree-paper", "bisect", "done", 2)
    assert row.estimate("population") is not None


# What is not a study in Python, and in TOML: the part of the message that says what is wrong.
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"name": ""}, "name is ''; expected a text of 1 to 200 characters"),
    ({"families": []}, "families is []; expected a list of Family objects, at least one"),
    ({"families": ["onemax"]}, "families is ['onemax']; expected a list of Family objects, at "),
    ({"algorithms": []}, "algorithms is empty; expected at least one"),
    ({"algorithms": "umda"}, "algorithms is 'umda'; expected a dict or a list of algorithms"),
    ({"algorithms": [3]}, "algorithms[0]: it is 3; expected an algorithm, such as EDA('rbm'), or "),
    ({"algorithms": {3: "umda"}}, "algorithms[3]: name is 3; expected a text of 1 to 200"),
    ({"algorithms": {"x": "bao"}}, "algorithms['x']: unknown model or algorithm 'bao'; known: rbm"),
    ({"algorithms": ["boa", EDA("boa", population=8)]}, "algorithms[1]: a second algorithm named"),
    (
        {"algorithms": {"mine": EDA(UMDA(), tournament=9)}},
        "problem 'onemax': algorithms['mine']: eda: tournament is 9; expected at most half the ",
    ),
    ({"plan": "runs"}, "plan is 'runs'; expected a Bisect, Grid or Runs"),
    ({"stop": 3}, "stop is 3; expected a Stop or a dict"),
    ({"seed": -1}, f"seed is -1; expected an integer ≥ 0 and ≤ {2**62:,}"),
    (
        {"families": [FAMILY, Family("trap:order=5", sizes=[40, 41])]},
        "problem 'trap:order=5': size 41: trap: length is 41; expected a multiple of order=5",
    ),
    ({"families": [FAMILY, Family("onemax", [30, 20])]}, "'onemax': its size 20 is there already"),
    (
        {"families": [replace(FAMILY, algorithms=["rbm"])]},
        "problem 'onemax': unknown algorithm 'rbm'; known: umda",
    ),
    (
        {"families": [replace(FAMILY, plan=Runs())]},
        "problem 'onemax': its plan is runs, but that of the study is bisect",
    ),
    (
        {"families": [Family("nk:k=2", range(10, 110), runs=1000, instances=101)]},
        "the study has 10,100,000 runs of each algorithm; expected at most 10,000,000: use fewer",
    ),
]


@pytest.mark.parametrize(("changes", "message"), WRONG, ids=[message for _, message in WRONG])
def test_a_wrong_study_says_in_one_line_what_is_wrong(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(SpecError) as caught:
        make(**changes)
    assert message in str(caught.value)


SIZES = "expected a list of integers ≥ 1, all different"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"problem": ""}, "problem is ''; expected a text such as 'trap:order=5'"),
        ({"sizes": []}, f"sizes is []; {SIZES}"),
        ({"sizes": [0]}, f"sizes is [0]; {SIZES}"),
        ({"sizes": [5, 5]}, f"sizes is [5, 5]; {SIZES}"),
        ({"sizes": 5}, f"sizes is 5; {SIZES}"),
        ({"runs": 0}, "runs is 0; expected an integer ≥ 1"),
        ({"runs": True}, "runs is True; expected an integer ≥ 1"),
        ({"instances": 0}, "instances is 0; expected an integer ≥ 1 or none"),
        ({"algorithms": "rbm"}, "algorithms is 'rbm'; expected a list of names"),
        ({"plan": "runs"}, "plan is 'runs'; expected a Bisect, Grid or Runs"),
    ],
    ids=str,
)
def test_a_wrong_family_says_in_one_line_what_is_wrong(
    changes: dict[str, Any], message: str
) -> None:
    given = {"problem": "onemax", "sizes": [20], **changes}
    with pytest.raises(SpecError) as caught:
        Family(**given)
    assert str(caught.value) == f"problem {given['problem']!r}: {message}"


def top(models: str, more: str = "") -> str:
    return f'name = "s"\nmodels = {models}\n{ONEMAX}{more}'


def one(problem: str, more: str = "sizes = [20]") -> str:
    return f'{TOP}[[problems]]\nproblem = "{problem}"\n{more}\n'


FIRST = "unknown field 'first'; known: start, tolerance, max_population, max_evaluations, "
WRONG_FILES = [
    ('name = "s"\n' + ONEMAX, "models is missing; list `models`, `algorithms` or both"),
    (TOP, "problems is missing"),
    (TOP + "problems = []", "problems is []; expected tables [[problems]], at least one"),
    ("sed = 3\n" + TOP + ONEMAX, "unknown key 'sed'; known: name, seed, description, problems, "),
    ("seed = -1\n" + TOP + ONEMAX, f"seed is -1; expected an integer ≥ 0 and ≤ {2**62:,}"),
    (top('"umda"'), "models is 'umda'; expected a list of texts and tables"),
    (top('["umda", "bao"]'), f"models[1]: unknown model or algorithm 'bao'; known: {KNOWN_NAMES}"),
    (
        top('["rbm", {model = "umda", name = "rbm"}]'),
        "models[1]: a second algorithm named 'rbm'; give it a `name`",
    ),
    (TOP + 'algorithms = ["umda"]\n' + ONEMAX, "algorithms[0]: a second algorithm named 'umda'; "),
    (top('[{name = "u"}]'), "models[0]: model is missing; give `model` or `algorithm`"),
    (
        top('[{model = "umda", population = 8}]'),
        "models[0]: unknown key 'population'; known: model, name, replacement, tournament, pairing",
    ),
    (
        top('[{algorithm = "umda", tournament = 8}]'),
        "models[0]: unknown key 'tournament'; known: algorithm, name",
    ),
    ('replacement = "best"\n' + TOP + ONEMAX, "models[0]: eda: replacement is 'best'; expected"),
    (TOP + "[[problems]]\nruns = 2", "problems[0]: expected either `problem` or `file`"),
    (TOP + ONEMAX + 'file = "x"', "problems[0]: expected either `problem` or `file`"),
    (
        TOP + '[[problems]]\nfile = "no, such.cnf"',
        "problem 'file:path=(no, such.cnf)': without sizes: no, such.cnf: cannot be read: No such ",
    ),
    (
        TOP + ONEMAX + '[[problems]]\nproblem = "hiff"',
        "problem 'hiff': without sizes: hiff: length is missing; write hiff:length=…",
    ),
    (
        TOP + ONEMAX + "run = 3",
        "problems[0]: unknown key 'run'; known: problem, sizes, runs, instances, algorithms, file, "
        "as, models, bisect",
    ),
    (one("onemax", "sizes = [20, 30, 20]"), f"problems[0]: sizes is [20, 30, 20]; {SIZES}"),
    (TOP + ONEMAX + 'runs = "30"', "problems[0]: runs is '30'; expected an integer ≥ 1"),
    (one("onemx"), "problem 'onemx': size 20: unknown problem 'onemx'; known: onemax, trap, nk, "),
    (one("trap:ordr=5"), "'trap:ordr=5': size 20: trap: unknown field 'ordr'; known: length, "),
    (one("onemax:length=8"), "'onemax:length=8': names its length; leave that or `sizes` out"),
    (
        one("no_such_module:make"),
        "no_such_module:make: there is no module 'no_such_module'; put it into the current folder "
        "or that of the study file, or install it; write module:function, without .py",
    ),
    (TOP + ONEMAX + "instances = 3", "size 20: onemax: unknown field 'instance'; known: length"),
    (
        one("nk:k=2,instance=1", "sizes = [20]\ninstances = 3"),
        "'nk:k=2,instance=1': names its instance; leave that or `instances` out",
    ),
    (TOP + ONEMAX + 'models = ["umda", "x"]', "'onemax': unknown algorithm 'x'; known: umda"),
    (
        TOP + ONEMAX + "[bisect]\n[grid]\npopulations = [8]",
        "the plan is bisect and grid; expected one of bisect, grid, runs",
    ),
    ("bisect = true\n" + TOP + ONEMAX, "bisect is True; expected a table"),
    (TOP + ONEMAX + "[bisect]\nfirst = 16", f"bisect: {FIRST}"),
    (TOP + ONEMAX + "[bisect]\nconfirm = 1", "bisect: confirm is 1; expected true or false"),
    (TOP + ONEMAX + "bisect = true", "problems[0]: bisect is True; expected a table"),
    (TOP + ONEMAX + "bisect = {first = 16}", f"problems[0]: bisect: {FIRST}"),
    (
        TOP + "[bisect]\nmax_population = 64\n" + ONEMAX + "bisect = {start = 100}",
        "problems[0]: bisect: start is 100; expected at most max_population, 64",
    ),
    (
        top('[{model = "umda", tournament = 8}]', "bisect = {start = 8}"),
        "problem 'onemax': algorithms['umda']: eda: tournament is 8; expected at most half the pop",
    ),
    (
        TOP + "[grid]\npopulations = [8]\n" + ONEMAX + "bisect = {confirm = true}",
        "problem 'onemax': its plan is bisect, but that of the study is grid",
    ),
    ('plan = "grid"\n' + TOP + ONEMAX, "grid: populations is missing; write grid:populations=…"),
    (TOP + ONEMAX + "[grid]\npopulations = [8, 9]", "populations is [8, 9]; expected a list of "),
    (
        TOP + ONEMAX + "[stop]\ngenerations = 3",
        "stop: unknown field 'generations'; known: max_generations, patience, stagnation, confirm",
    ),
    ('plan = "walk"\n' + TOP + ONEMAX, "the plan is walk; expected one of bisect, grid, runs"),
    ('plan = "runs"\n' + TOP + ONEMAX + "[bisect]\nstart = 8", "the plan is bisect and runs; "),
    ("name s\n", "is not TOML: Expected '=' after a key in a key/value pair (at line 1, column 6)"),
]


@pytest.mark.parametrize(("text", "message"), WRONG_FILES, ids=[one for _, one in WRONG_FILES])
def test_a_wrong_file_says_in_one_line_what_is_wrong_and_where(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=r"^s\.toml: .*$") as caught:
        read(text)
    assert message in str(caught.value)


def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    broken, missing = tmp_path / "broken.toml", tmp_path / "missing.toml"
    broken.write_bytes(b'name = "\xff"\n')
    for file, message in {
        missing: "cannot be read: No such file or directory",
        tmp_path: "is not a regular file; expected a study file, in TOML",
        broken: "cannot be read: it is not UTF-8 text",
    }.items():
        with pytest.raises(SpecError) as caught:
            load_study(file)
        assert str(caught.value) == f"{file}: {message}"


def test_a_custom_problem_is_found_beside_the_study_file(tmp_path: Path) -> None:
    name = write_module(tmp_path, OWN_ONEMAX)
    file = tmp_path / "own.toml"
    text = one(f"{name}:Own:easy=true", "sizes = [8]\ninstances = 2\n[grid]\npopulations = [16]")
    file.write_text(text, encoding="utf-8")
    study = load_study(file)
    assert (study.folder, study.text) == (tmp_path, text)
    assert [json.loads(case.problem)["instance"] for case in study.cases] == [0, 1]


OPTIMUM = """
class Own:
    def __init__(self, length):
        self.length = length

    @property
    def optimum(self):
        if self.length == 10:
            raise LookupError("no such file")
        return None if self.length == 9 else 8.0

    def __call__(self, bits):
        return bits.sum(axis=1)
"""


def test_a_problem_without_an_optimum_is_measured_on_a_grid_alone(tmp_path: Path) -> None:
    name = write_module(tmp_path, OPTIMUM)
    reasons = {9: "is None, but a bisection needs one to tell", 10: "raised LookupError: no such f"}
    for size, reason in reasons.items():
        with pytest.raises(SpecError, match=f"'{name}:Own': size {size}: .*{reason}"):
            read(one(f"{name}:Own", f"sizes = [8, {size}]"), tmp_path)
    grid = one(f"{name}:Own", "sizes = [8, 9]\n[grid]\npopulations = [16]")
    assert len(read(grid, tmp_path).cases) == 2


@pytest.mark.parametrize("plan", [Bisect(), Grid([16])], ids=str)
def test_an_algorithm_without_a_population_has_only_runs(plan: Any, tmp_path: Path) -> None:
    ea = {"ea": f"{write_module(tmp_path, ONE_PLUS_ONE)}:OnePlusOne"}
    with pytest.raises(SpecError, match=r"has no population size to choose; .*the plan `runs`$"):
        make(algorithms=ea, plan=plan, folder=tmp_path)
    (case,) = make(algorithms=ea, plan=Runs(), folder=tmp_path).cases
    assert case.stop == to_json(Stop(**ENDLESS))


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
    with pytest.raises(SpecError, match=r": algorithms\['ea'\]: with_population\(16\) returned "):
        make(algorithms={"ea": f"{bad}:OnePlusOne"}, folder=tmp_path)


def test_the_state_of_custom_modules_is_not_part_of_a_study(tmp_path: Path) -> None:
    name = write_module(tmp_path, ONE_PLUS_ONE)
    study = make(algorithms=[f"{name}:OnePlusOne:rate=2"], plan=Runs(), folder=tmp_path)
    (tmp_path / f"{name}.py").write_text(ONE_PLUS_ONE + "# edited\n", encoding="utf-8")
    again = make(algorithms=[f"{name}:OnePlusOne:rate=2"], plan=Runs(), folder=tmp_path)
    assert again == study
    ((old,), (new,)) = study.cases, again.cases
    assert old.trials()[0].key != new.trials()[0].key


class Mine(UMDA):
    """A model that a main script could define."""


def test_a_class_that_workers_cannot_import_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = write_module(tmp_path, ONE_PLUS_ONE)
    with importable(tmp_path):
        hidden = type("Hidden", (find_object(f"{name}:OnePlusOne"),), {"__module__": name})  # type: ignore[arg-type]
    with pytest.raises(SpecError, match="is of a class that cannot be imported again"):
        make(algorithms=[hidden()], plan=Runs(), folder=tmp_path)
    main: type[Model] = type("Mine", (UMDA,), {"__module__": "__main__"})
    monkeypatch.setattr(sys.modules["__main__"], "Mine", main, raising=False)
    with pytest.raises(SpecError, match="workers cannot import the main script"):
        make(algorithms=[EDA(main())])
    make(algorithms=[EDA(Mine())])


def test_a_text_may_be_a_model_or_an_algorithm(tmp_path: Path) -> None:
    code = ONE_PLUS_ONE + "\n\nfrom harmonium import UMDA\n\n\nclass Mine(UMDA):\n    pass\n"
    name = write_module(tmp_path, code)
    assert parse_algorithm("rbm:hidden=n/2") == EDA(RBM(hidden="n/2"))
    with pytest.raises(SpecError, match=r"^rbm: 'hidden' is not a setting"):
        parse_algorithm("rbm:hidden")
    with importable(tmp_path):
        assert parse_algorithm(f"{name}:OnePlusOne:rate=2").to_dict()["rate"] == 2
        assert parse_algorithm(f"{name}:Mine").to_dict()["model"]["name"] == f"{name}:Mine"
        with pytest.raises(SpecError, match=f"^{name}:np: "):
            parse_algorithm(f"{name}:np")
