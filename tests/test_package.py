"""What a release is made of fits together: versions, bounds, workflows, and a quick import."""

import re
import subprocess
import sys
import tomllib
from typing import Any

import pytest
import yaml

import harmonium
from harmonium.system import EXTRAS
from tests.pages import ROOT

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
WORKFLOWS = sorted((ROOT / ".github").rglob("*.yml"))
HEAVY = {"altair", "jinja2", "vl_convert", "pandas", "matplotlib", "rich", "typer", "distributed"}


def read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def test_the_version_is_the_same_everywhere() -> None:
    version = harmonium.__version__
    citation = yaml.safe_load(read("CITATION.cff"))
    assert citation["version"] == version
    newest = re.search(r"^## \[(.+?)\] - (\S+)$", read("CHANGELOG.md"), re.M)
    assert newest is not None
    assert newest.groups() == (version, citation["date-released"])
    kinds = set(re.findall(r"^### (.+)$", read("CHANGELOG.md"), re.M))
    assert kinds <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert "Added" in kinds


def list_needed() -> list[str]:
    project = PROJECT["project"]
    extras = project["optional-dependencies"]
    groups = PROJECT["dependency-groups"].values()
    lines = [*project["dependencies"], *(line for extra in extras.values() for line in extra)]
    lines += [line for group in groups for line in group if isinstance(line, str)]
    return [line for line in lines if not line.startswith("harmonium")]


def test_pins_satisfy_the_lower_bounds_of_everything_that_is_needed() -> None:
    pins = dict(
        line.lower().replace("_", "-").split("==")
        for line in read("constraints.txt").splitlines()
        if "==" in line
    )

    def number(text: str) -> list[int]:
        return [int(part) for part in re.findall(r"\d+", text)]

    for line in list_needed():
        name, _, bound = line.lower().partition(">=")
        assert number(pins[name]) >= number(bound), line
    assert [line for line in PROJECT["project"]["dependencies"] if ">=" not in line] == []
    assert set(EXTRAS) <= set(PROJECT["project"]["optional-dependencies"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_can_be_read_and_run_scripts_that_are_there(path: Any) -> None:
    text = path.read_text("utf-8")
    assert yaml.safe_load(text)
    for script in re.findall(r"run: (\.ci/\w+)", text):
        assert (ROOT / script).stat().st_mode & 0o111
    for target in re.findall(r"run: make (\w+)", text):
        assert f"\n{target}:" in read("Makefile")


def test_import_is_light() -> None:
    """Nothing that only reports, tables or commands need is imported with harmonium."""
    code = "import sys, harmonium; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert HEAVY & {name.partition(".")[0] for name in done.stdout.split()} == set()
