"""The shape of the package: imports in one direction, short functions, no tests of types.

docs/development/design.md says why. Everything is read from the source, nothing is imported.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import pytest

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


def test_every_module_has_its_place_in_the_order() -> None:
    assert set(ORDER) >= UNITS
    assert len(set(ORDER)) == len(ORDER)


def test_modules_import_only_from_those_above() -> None:
    used, wrong = set(), []
    for path in MODULES:
        unit = unit_of(path)
        above = {unit, *ORDER[: ORDER.index(unit)]}
        for imported in sorted(set(find_imports(parse(path), path)) - above):
            if (name_file(path), imported) in ALLOWED_IMPORTS:
                used.add((name_file(path), imported))
            else:
                wrong.append(f"{name_file(path)} imports {imported}")
    assert wrong == []
    assert used == set(ALLOWED_IMPORTS)


def test_imports_are_found_wherever_they_are() -> None:
    """Also lazy ones, those for type checkers, and relative ones."""
    source = (
        "import harmonium.cli\nimport numpy as np\nfrom harmonium import clock, Result\n"
        "if TYPE_CHECKING:\n    from harmonium.studies import Study\n"
        "def lazy():\n    from ..reports.page import draw\n    from . import other\n"
    )
    found = set(find_imports(ast.parse(source), PACKAGE / "models" / "imagined.py"))
    assert found == {"cli", "clock", "harmonium", "studies", "reports", "models"}


class Measured(NamedTuple):
    name: str
    lines: int


def measure_functions(path: Path) -> Iterator[Measured]:
    """Yield the functions of a file, with their lines without the docstring."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            lines = node.end_lineno - node.lineno + 1
            first = node.body[0]
            if ast.get_docstring(node) is not None:
                assert first.end_lineno is not None
                lines -= first.end_lineno - first.lineno + 1
            yield Measured(f"{name_file(path)}: {node.name}", lines)


def test_functions_are_short() -> None:
    functions = [function for path in MODULES for function in measure_functions(path)]
    assert len(functions) > 500
    assert [function for function in functions if function.lines > MAX_FUNCTION_LINES] == []


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
            yield from map(name_of, _split_union(node.args[1]))
        elif isinstance(node, ast.MatchClass):
            yield name_of(node.cls)
        elif isinstance(node, ast.Compare) and _is_type_call(node.left):
            yield from map(name_of, node.comparators)


def _split_union(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Tuple):
        for element in node.elts:
            yield from _split_union(element)
    elif isinstance(node, ast.BinOp):
        yield from _split_union(node.left)
        yield from _split_union(node.right)
    else:
        yield node


def _is_type_call(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and name_of(node.func) == "type"


def test_the_classes_of_each_kind_are_found() -> None:
    kinds = find_kinds()
    expected = {"problems": "OneMax", "models": "PaperRBM", "search": "InterleavedSearch"}
    assert {package: name for name, package in kinds.items() if name in expected.values()} == (
        expected
    )
    assert {kinds[name] for name in ("FittedRBM", "FittedBOA", "FittedUMDA")} == {"models"}


def test_no_package_asks_for_the_types_of_another() -> None:
    kinds = find_kinds()
    used, wrong = set(), []
    for path in MODULES:
        for name in find_type_tests(parse(path)):
            if kinds.get(name, unit_of(path)) == unit_of(path):
                continue
            if (name_file(path), name) in ALLOWED_TYPE_TESTS:
                used.add((name_file(path), name))
            else:
                wrong.append(f"{name_file(path)} asks for {name} of {kinds[name]}")
    assert wrong == []
    assert used == set(ALLOWED_TYPE_TESTS)


def find_messages(tree: ast.Module) -> Iterator[str]:
    """Yield the texts of a file that are not docstrings."""
    nodes = list(ast.walk(tree))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and id(node) not in docstrings:
            yield text


def test_only_the_command_line_names_its_flags() -> None:
    wrong = [
        f"{name_file(path)}: {text!r}"
        for path in MODULES
        if unit_of(path) != "cli"
        for text in find_messages(parse(path))
        if re.search(r"(^|[^-\w])--[a-z]", text)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("isinstance(x, RBM)", ["RBM"]),
        ("isinstance(x, (models.RBM, BOA))", ["RBM", "BOA"]),
        ("isinstance(x, RBM | BOA | None)", ["RBM", "BOA", "None"]),
        ("issubclass(type(x), RBM)", ["RBM"]),
        ("type(x) is RBM", ["RBM"]),
        ("match x:\n    case RBM():\n        pass", ["RBM"]),
        ("isinstance(x, int)", ["int"]),
        ("len(x)", []),
    ],
)
def test_type_tests_are_found(source: str, names: list[str]) -> None:
    assert list(find_type_tests(ast.parse(source))) == names
