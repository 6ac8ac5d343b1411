import json
from pathlib import Path

import pytest

from harmonium import BOA, EDA, RBM, UMDA, OneMax, Stop
from harmonium.specs import SpecError, to_json
from harmonium.studies.plans import Bisect, Grid, Runs, Walk
from harmonium.studies.study import Study, load_study, parse_study
from tests.modules import write_module
from tests.studies.made import KNOWN_NAMES, OWN_ONEMAX

TOP = 'name = "s"\nmodels = ["umda"]\n'
ONEMAX = '[[problems]]\nproblem = "onemax"\nsizes = [20]\n'


def read(text: str) -> Study:
    return parse_study(text, "s.toml", None)


def test_a_short_study_has_the_defaults() -> None:
    (case,) = read(TOP + ONEMAX).cases
    assert case.plan == Bisect(16, 0.1, 65_536, None, None, confirm=False)
    assert case.stop == to_json(Stop())
    assert (case.seed, case.runs, case.smallest) == (1, 30, 8)
    assert case.problem == to_json(OneMax(20))
    assert case.instance is None
    assert case.algorithm == to_json(EDA(UMDA()))


def test_a_problem_may_be_bisected_in_a_way_of_its_own() -> None:
    own = "[problems.bisect]\nconfirm = true\nstart = 8\n"
    trap = '[[problems]]\nproblem = "trap:order=4"\nsizes = [20]\n'
    common = "[bisect]\nstart = 32\ntolerance = 0.2\n"
    mine, theirs = read(TOP + common + ONEMAX + own + trap).cases
    assert mine.plan == Bisect(8, 0.2, confirm=True)
    assert theirs.plan == Bisect(32, 0.2)
    inline = read(TOP + common + ONEMAX + "bisect = {confirm = true, start = 8}\n" + trap)
    assert inline.cases == (mine, theirs)


def test_a_grid_has_a_case_for_each_population_of_each_instance() -> None:
    text = '[[problems]]\nproblem = "nk:k=2"\nsizes = [12]\ninstances = 2\n'
    study = read(TOP + text + "[grid]\npopulations = [64, 16, 64]\n")
    assert [(case.plan, case.instance) for case in study.cases] == [
        *[(Grid([64]), 0), (Grid([64]), 1), (Grid([16]), 0), (Grid([16]), 1)],
    ]


def test_a_custom_problem_is_found_beside_the_study_file(tmp_path: Path) -> None:
    name = write_module(tmp_path, OWN_ONEMAX)
    file = tmp_path / "own.toml"
    text = f'{TOP}[[problems]]\nproblem = "{name}:Own:easy=true"\nsizes = [8]\ninstances = 2\n'
    text += "[grid]\npopulations = [16]\n"
    file.write_text(text, encoding="utf-8")
    study = load_study(file)
    assert study.folder == tmp_path
    assert study.text == text
    assert [json.loads(case.problem)["instance"] for case in study.cases] == [0, 1]


def test_every_study_that_comes_with_harmonium_is_one() -> None:
    files = sorted((Path(__file__).parents[2] / "studies").glob("*.toml"))
    assert files
    for file in files:
        for case in load_study(file).cases:
            assert not Walk(case, {}).advance()


PROBLEM = "[[problems]]\n"
BISECT_FIELDS = "start, tolerance, max_population, max_evaluations, max_cpu_seconds, confirm"
STOP_FIELDS = (
    "max_generations, patience, stagnation, confirmations, max_evaluations, max_calls, "
    "max_cpu_seconds, max_seconds"
)


def top(models: str, more: str = "") -> str:
    return f'name = "s"\nmodels = {models}\n{ONEMAX}{more}'


def one(problem: str, more: str) -> str:
    return f'{TOP}{PROBLEM}problem = "{problem}"\n{more}'


# A text, and what is wrong with it: the key, and what was expected.
WRONG = [
    ('name = "s"\n' + ONEMAX, "models is missing; list `models`, `algorithms` or both"),
    (TOP, "problems is missing"),
    (TOP + "problems = []", "problems is []; expected tables [[problems]], at least one"),
    (
        "sed = 3\n" + TOP + ONEMAX,
        "unknown key 'sed'; known: name, seed, description, problems, models, algorithms, "
        "replacement, plan, stop, bisect, grid",
    ),
    (
        "seed = -1\n" + TOP + ONEMAX,
        f"seed is -1; expected an integer ≥ 0 and ≤ {2**62:,}",
    ),
    (top('"umda"'), "models is 'umda'; expected a list of texts and tables"),
    (
        top('["umda", "bao"]'),
        f"models[1]: unknown model or algorithm 'bao'; known: {KNOWN_NAMES}, or module:Class",
    ),
    (
        top('["rbm", {model = "umda", name = "rbm"}]'),
        "models[1]: a second algorithm named 'rbm'; give it a `name`",
    ),
    (
        TOP + 'algorithms = ["umda"]\n' + ONEMAX,
        "algorithms[0]: a second algorithm named 'umda'; give it a `name`",
    ),
    (top('[{name = "u"}]'), "models[0]: model is missing; give `model` or `algorithm`"),
    (
        top('[{model = "umda", population = 8}]'),
        "models[0]: unknown key 'population'; known: model, name, replacement, tournament, pairing",
    ),
    (
        top('[{model = "umda", tournament = 9}]'),
        "problem 'onemax': algorithms['umda']: eda: tournament is 9; expected at "
        "most half the population",
    ),
    (
        'replacement = "best"\n' + TOP + ONEMAX,
        "models[0]: eda: replacement is 'best'; expected one of keep-parents, rtr, rtr-prune, "
        "worst or auto",
    ),
    (TOP + PROBLEM + "runs = 2", "problems[0]: expected either `problem` or `file`"),
    (TOP + ONEMAX + 'file = "x"', "problems[0]: expected either `problem` or `file`"),
    (
        TOP + PROBLEM + 'file = "x.cnf"\nsizes = [20]',
        "problem 'file:path=x.cnf': size 20: x.cnf: cannot be read: No such file or directory",
    ),
    (
        TOP + PROBLEM + 'file = "no, such.cnf"',
        "problem 'file:path=(no, such.cnf)': without sizes: no, such.cnf: cannot be read: No such "
        "file or directory",
    ),
    (
        TOP + ONEMAX + PROBLEM + 'problem = "onemax"',
        "problem 'onemax': without sizes: onemax: length is missing; write onemax:length=…",
    ),
    (
        TOP + ONEMAX + "run = 3",
        "problems[0]: unknown key 'run'; known: problem, sizes, runs, instances, algorithms, file, "
        "as, models, bisect",
    ),
    (
        one("onemax", "sizes = []"),
        "problems[0]: sizes is []; expected a list of integers ≥ 1, all different",
    ),
    (
        one("onemax", "sizes = [20, 30, 20]"),
        "problems[0]: sizes is [20, 30, 20]; expected a list of integers ≥ 1, all different",
    ),
    (
        one("trap:order=5", "sizes = [40, 41]"),
        "problem 'trap:order=5': size 41: trap: length is 41; expected a multiple of order=5",
    ),
    (
        one("onemx", "sizes = [20]"),
        "problem 'onemx': size 20: unknown problem 'onemx'; known: onemax, trap, nk, hiff, maxsat, "
        "ising, file, ioh, or module:name",
    ),
    (
        one("trap:ordr=5", "sizes = [20]"),
        "problem 'trap:ordr=5': size 20: trap: unknown field 'ordr'; known: length, order, "
        "distance",
    ),
    (
        one("onemax:length=8", "sizes = [20]"),
        "problem 'onemax:length=8': names its length; leave that or `sizes` out",
    ),
    (
        one("no_such_module:make", "sizes = [20]"),
        "problem 'no_such_module:make': size 20: no_such_module:make: there is no module "
        "'no_such_module'; put it "
        "into the current folder or that of the study file, or install it; write module:function, "
        "without .py",
    ),
    (
        TOP + ONEMAX + "instances = 3",
        "problem 'onemax': size 20: onemax: unknown field 'instance'; known: length",
    ),
    (
        one("nk:k=2,instance=1", "sizes = [20]\ninstances = 3"),
        "problem 'nk:k=2,instance=1': names its instance; leave that or `instances` out",
    ),
    (TOP + ONEMAX + 'runs = "30"', "problems[0]: runs is '30'; expected an integer ≥ 1"),
    (
        TOP + ONEMAX + 'models = ["umda", "rbm"]',
        "problem 'onemax': unknown algorithm 'rbm'; known: umda",
    ),
    (
        TOP + ONEMAX + "[bisect]\n[grid]\npopulations = [8]",
        "the plan is bisect and grid; expected one of bisect, grid, runs",
    ),
    ("bisect = true\n" + TOP + ONEMAX, "bisect is True; expected a table"),
    (
        TOP + ONEMAX + "[bisect]\nfirst = 16",
        f"bisect: unknown field 'first'; known: {BISECT_FIELDS}",
    ),
    (TOP + ONEMAX + "[bisect]\nconfirm = 1", "bisect: confirm is 1; expected true or false"),
    (TOP + ONEMAX + "bisect = true", "problems[0]: bisect is True; expected a table"),
    (
        TOP + ONEMAX + "bisect = {first = 16}",
        f"problems[0]: bisect: unknown field 'first'; known: {BISECT_FIELDS}",
    ),
    (
        TOP + "[bisect]\nmax_population = 64\n" + ONEMAX + "bisect = {start = 100}",
        "problems[0]: bisect: start is 100; expected at most max_population, 64",
    ),
    (
        top('[{model = "umda", tournament = 8}]', "bisect = {start = 8}"),
        "problem 'onemax': algorithms['umda']: eda: tournament is 8; expected at "
        "most half the population",
    ),
    (
        TOP + "[grid]\npopulations = [8]\n" + ONEMAX + "bisect = {confirm = true}",
        "problem 'onemax': its plan is bisect, but that of the study is grid",
    ),
    ('plan = "grid"\n' + TOP + ONEMAX, "grid: populations is missing; write grid:populations=…"),
    (
        TOP + ONEMAX + "[grid]\npopulations = [8, 9]",
        "grid: populations is [8, 9]; expected a list of even integers ≥ 8 and ≤ 100,000,000",
    ),
    (
        TOP + ONEMAX + "[stop]\ngenerations = 3",
        f"stop: unknown field 'generations'; known: {STOP_FIELDS}",
    ),
    ('plan = "walk"\n' + TOP + ONEMAX, "the plan is walk; expected one of bisect, grid, runs"),
    (
        'plan = "runs"\n' + TOP + ONEMAX + "[bisect]\nstart = 8",
        "the plan is bisect and runs; expected one of bisect, grid, runs",
    ),
    ("name s\n", "is not TOML: Expected '=' after a key in a key/value pair (at line 1, column 6)"),
]


@pytest.mark.parametrize(("text", "message"), WRONG, ids=[message for _, message in WRONG])
def test_a_wrong_study_says_in_one_line_what_is_wrong_and_where(text: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        read(text)
    assert str(caught.value) == f"s.toml: {message}"


def test_a_size_of_a_problem_in_two_tables_is_refused() -> None:
    # Its rows could not be told apart.
    with pytest.raises(
        SpecError, match=r"^s\.toml: problem 'onemax': its size 20 is there already"
    ):
        read(TOP + ONEMAX + ONEMAX)


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


@pytest.mark.parametrize(
    ("size", "reason"),
    [
        (
            9,
            "is None, but a bisection needs one to tell what is solved; expected a number, or the ",
        ),
        (10, "raised LookupError: no such file"),
    ],
)
def test_a_problem_without_an_optimum_is_measured_on_a_grid_alone(
    size: int, reason: str, tmp_path: Path
) -> None:
    name = write_module(tmp_path, OPTIMUM)
    text = one(f"{name}:Own", f"sizes = [8, {size}]\n")
    with pytest.raises(SpecError) as caught:
        parse_study(text, "s.toml", tmp_path)
    assert str(caught.value).startswith(f"s.toml: problem '{name}:Own': size {size}: ")
    assert reason in str(caught.value)
    if size == 9:
        grid = text + "[grid]\npopulations = [16]"
        assert len(parse_study(grid, "s.toml", tmp_path).cases) == 2


def test_a_file_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    with pytest.raises(SpecError) as caught:
        load_study(file)
    assert str(caught.value) == f"{file}: cannot be read: No such file or directory"
    with pytest.raises(SpecError) as caught:
        load_study(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path}: is not a regular file")
    file.write_bytes(b'name = "\xff"\n')
    with pytest.raises(SpecError) as caught:
        load_study(file)
    assert str(caught.value) == f"{file}: cannot be read: it is not UTF-8 text"


def test_algorithms_are_listed_beside_models() -> None:
    text = (
        'name = "s"\nmodels = ["rbm"]\nalgorithms = ["eda:model=boa,replacement=rtr", '
        '{algorithm = "umda", name = "plain"}]\n'
        + ONEMAX
        + 'models = ["rbm"]\nalgorithms = ["plain"]\n'
    )
    study = read(text)
    assert study.algorithms == {
        "rbm": EDA(RBM()),
        "boa": EDA(BOA(), replacement="rtr"),
        "plain": EDA(UMDA()),
    }
    assert [case.name for case in study.cases] == ["rbm", "plain"]


def test_a_plan_of_runs_leaves_the_algorithms_as_they_are() -> None:
    text = 'plan = "runs"\nname = "s"\nalgorithms = ["umda", "eda:model=boa,population=20"]\n'
    auto, fixed = read(text + ONEMAX + "[stop]\nmax_evaluations = 500\n").cases
    assert (auto.plan, fixed.plan) == (Runs(), Runs())
    # Each has the rules that suit it, changed by what the study says.
    own = {"max_generations": None, "patience": None, "stagnation": 2.0, "confirmations": 50}
    assert auto.stop == to_json(Stop(**own, max_evaluations=500))  # type: ignore[arg-type]
    assert fixed.stop == to_json(Stop(max_evaluations=500))
    (algorithm,) = {trial.algorithm for trial in fixed.trials()}
    assert algorithm == to_json(EDA(BOA(), population=20))
