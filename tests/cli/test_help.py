"""Help, completion and `doctor`: what a newcomer sees first."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

import harmonium
from harmonium.cli import app
from harmonium.cli.info import EXAMPLES
from harmonium.system import EXTRAS
from tests.cli.commands import COMMAND, call_here


def list_commands(command: Any, name: str = "") -> Iterator[str]:
    """Yield the names of a command and of those below it."""
    yield name
    for below, member in getattr(command, "commands", {}).items():
        yield from list_commands(member, f"{name} {below}".strip())


WHOLE: Any = typer.main.get_command(app)
NAMES = list(list_commands(WHOLE))


def test_every_command_has_an_example() -> None:
    assert set(EXAMPLES) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_help_fits_80_columns_and_ends_with_the_example(name: str) -> None:
    shown = call_here(*name.split(), "--help").stdout
    assert max(map(len, shown.splitlines())) <= 80
    assert shown.rstrip().splitlines()[-1].strip() == f"Example: harmonium {EXAMPLES[name]}"


@pytest.mark.parametrize("words", EXAMPLES.values())
def test_examples_are_read_by_their_command(words: str) -> None:
    command, arguments = WHOLE, shlex.split(words)
    while hasattr(command, "commands"):
        command = command.commands[arguments.pop(0)]
    command.make_context("harmonium", arguments)  # raises for an option that does not exist


def test_the_shell_completes_commands() -> None:
    asked = {
        "_HARMONIUM_COMPLETE": "complete_bash",
        "COMP_WORDS": "harmonium gen",
        "COMP_CWORD": "1",
    }
    done = subprocess.run(
        COMMAND, capture_output=True, text=True, check=False, env={**os.environ, **asked}
    )
    assert done.stdout.split() == ["generate"], done.stderr


def test_doctor_shows_versions_cores_cache_and_extras() -> None:
    done = call_here("doctor")
    assert done.returncode == 0
    shown = dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if " " in line.strip())
    assert shown["harmonium"].strip() == harmonium.__version__
    for word in ("blas", "usable cores", "compiled code", *(f"extra {name}" for name in EXTRAS)):
        assert f"\n{word} " in f"\n{done.stdout}"
    assert "installed" in done.stdout


def test_doctor_says_how_to_install_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    monkeypatch.setattr(sys.modules["harmonium.cli.info"], "find_cache", lambda: None)
    shown = " ".join(call_here("doctor").stdout.split())
    assert "extra report needs altair; pip install 'harmonium[report]'" in shown
    assert "set NUMBA_CACHE_DIR" in shown
