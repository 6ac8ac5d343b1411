"""The shape of the package: imports in one direction, short functions, one thing for one name.

docs/development/design.md says why. Everything is read from the source, nothing is imported.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

TESTS: Final = Path(__file__).parent
PACKAGE: Final = TESTS.parent / "src" / "harmonium"
MODULES: Final = sorted(PACKAGE.rglob("*.py"))

ORDER: Final = (
    *("version", "arrays", "system", "clock", "jit", "text"),
    *("seeds", "specs", "state", "space"),
    *("problems", "generate", "models", "testing"),
    *("learn", "search", "runs"),
    *("progress", "environment", "optimize", "analysis", "studies"),
    *("api", "harmonium", "interop", "reports", "plots", "cli", "__main__"),
)
"""Modules and packages in dependency order; each imports only from those above.

`harmonium` is the package itself, which has the public names of `api`.
"""

ALLOWED_IMPORTS: Final[dict[tuple[str, str], str]] = {
    ("runs/result.py", "reports"): "`Result.report` imports it when it is called",
}
"""By file and imported package, why it may import from below."""

MAX_FUNCTION_LINES: Final = 60

KINDS: Final = {
    "problems": {"Problem", "ProblemSpec"},
    "models": {"Model", "Fitted"},
    "search": {"Algorithm", "Search"},
}
"""By package, the classes whose subclasses no other package may ask for."""

ALLOWED_TYPE_TESTS: Final[dict[tuple[str, str], str]] = {
    ("search/eda.py", "Model"): "checks an argument of the public constructor",
    ("runs/__init__.py", "Algorithm"): "checks an argument of the public `run`",
    ("optimize.py", "Algorithm"): "checks an option of the public `maximize`",
    ("studies/study.py", "Algorithm"): "checks the algorithms that `Study` is given",
}
"""By file and class, why a test of the type is no choice by type."""

SHARED_NAMES: Final[dict[str, str]] = {
    "Level": "of populations that are interleaved; of a pyramid",
    "Measured": "runs of a plan; effects of a probe",
    "Model": "what is fitted; what a report shows of it",
    "Point": "of a law; of a figure of the paper",
    "Record": "of a run; of a trial, which is stored",
    "Rule": "the learning rule of a network, one for each kind of network",
    "Snapshot": "of a search; of a study",
    "Walk": "over rows; over the attempts of a plan",
    "build": "the kernel that learns a structure, one for each model",
    "climb": "a table of a function; walkers of a pyramid",
    "count_ones": "of a word; of each bit",
    "count_pairs": "for trees; for linkage",
    "execute": "a command; a trial",
    "format_time": "a duration; a date",
    "gather": "rows; values",
    "gibbs": "the sampler, one for each kind of network",
    "list_rows": "of tables; of the screen",
    "name_problem": "the text of a problem; the problem that an argument means",
    "pack": "rows into words; a page into a file",
    "run_study": "the commands that run one",
    "select": "rows; options",
    "train_batches": "the kernel of learning, one for each kind of network",
    "write_logs": "the function, and its use by commands",
}
"""By name of a class or function in several modules, why it is not renamed in one of them."""


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def name_file(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def unit_of(path: Path) -> str:
    """Return the top-level module or package of a file."""
    first = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    return "harmonium" if first == "__init__" else first


UNITS: Final = {unit_of(path) for path in MODULES}


def find_imports(tree: ast.Module, path: Path) -> Iterator[str]:
    """Yield the units that a file imports anywhere; `harmonium` for the package as a whole."""
    package = ["harmonium", *path.relative_to(PACKAGE).parent.parts]
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            whole = [*base, *([node.module] if node.module else [])]
            names = [".".join([*whole, alias.name]) for alias in node.names]
        for name in names:
            first, *rest = name.split(".")
            if first == "harmonium":
                yield rest[0] if rest and rest[0] in UNITS else "harmonium"


def assert_exceptions(found: set[tuple[str, str]], allowed: dict[tuple[str, str], str]) -> None:
    """Compare what was found with what is allowed, all of which must be needed."""
    assert sorted(found - set(allowed)) == []
    assert sorted(set(allowed) - found) == []


def test_modules_import_only_from_those_above() -> None:
    assert set(ORDER) >= UNITS
    assert len(set(ORDER)) == len(ORDER)
    found = {
        (name_file(path), imported)
        for path in MODULES
        for imported in find_imports(parse(path), path)
        if ORDER.index(imported) > ORDER.index(unit_of(path))
    }
    assert_exceptions(found, ALLOWED_IMPORTS)


def count_lines(node: ast.stmt) -> int:
    return (node.end_lineno or 0) - node.lineno + 1


def test_functions_are_short() -> None:
    """Docstrings do not count."""
    functions = {
        f"{name_file(path)}: {node.name}": count_lines(node)
        - (count_lines(node.body[0]) if ast.get_docstring(node) else 0)
        for path in MODULES
        for node in ast.walk(parse(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert len(functions) > 500
    assert {name: lines for name, lines in functions.items() if lines > MAX_FUNCTION_LINES} == {}


def test_one_name_stands_for_one_thing() -> None:
    """A class or public function has a name that no other module uses, or there is a reason."""
    places: dict[str, set[Path]] = {}
    for path in MODULES:
        for node in parse(path).body:
            if isinstance(node, ast.ClassDef) or (
                isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
            ):
                places.setdefault(node.name, set()).add(path)
    shared = {name for name, paths in places.items() if len(paths) > 1}
    assert sorted(shared ^ set(SHARED_NAMES)) == []


def name_of(node: ast.expr) -> str:
    """Return the last name of an expression such as `models.RBM` or `Generic[T]`."""
    if isinstance(node, ast.Subscript):
        return name_of(node.value)
    if isinstance(node, ast.Constant):  # an annotation in quotes
        return str(node.value)
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def find_kinds() -> dict[str, str]:
    """Return by name the package of every problem, model, fit, algorithm and search."""
    found = {name: package for package, names in KINDS.items() for name in names}
    bases = {
        node.name: (unit_of(path), {name_of(base) for base in node.bases})
        for path in MODULES
        if unit_of(path) in KINDS
        for node in ast.walk(parse(path))
        if isinstance(node, ast.ClassDef)
    }
    previous = 0
    while previous < len(found):
        previous = len(found)
        for name, (package, parents) in bases.items():
            if parents & set(found) or name.startswith("Fitted") or name == "CustomProblem":
                found[name] = package
    return found


def find_type_tests(tree: ast.Module) -> Iterator[str]:
    """Yield the class names of `isinstance`, `issubclass`, `type(…) is` and `case Class():`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and name_of(node.func) in ("isinstance", "issubclass"):
            yield from map(name_of, split_union(node.args[1]))
        elif isinstance(node, ast.MatchClass):
            yield name_of(node.cls)
        elif isinstance(node, ast.Compare) and ast.unparse(node.left).startswith("type("):
            yield from map(name_of, node.comparators)


def split_union(node: ast.expr) -> Iterator[ast.expr]:
    parts = [node.left, node.right] if isinstance(node, ast.BinOp) else getattr(node, "elts", [])
    for part in parts:
        yield from split_union(part)
    if not parts:
        yield node


def test_no_package_asks_for_the_types_of_another() -> None:
    kinds = find_kinds()
    expected = {"OneMax": "problems", "PaperRBM": "models", "InterleavedSearch": "search"}
    expected |= dict.fromkeys(("FittedRBM", "FittedBOA", "FittedUMDA"), "models")
    assert expected.items() <= kinds.items()
    found = {
        (name_file(path), name)
        for path in MODULES
        for name in find_type_tests(parse(path))
        if kinds.get(name, unit_of(path)) != unit_of(path)
    }
    assert_exceptions(found, ALLOWED_TYPE_TESTS)


def test_only_the_command_line_names_its_flags() -> None:
    wrong = []
    for path in (path for path in MODULES if unit_of(path) != "cli"):
        nodes = list(ast.walk(parse(path)))
        docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        texts = [node for node in nodes if isinstance(node, ast.Constant)]
        messages = [str(node.value) for node in texts if id(node) not in docstrings]
        flags = [text for text in messages if re.search(r"(^|[^-\w])--[a-z]", text)]
        wrong += [f"{name_file(path)}: {text}" for text in flags]
    assert wrong == []
