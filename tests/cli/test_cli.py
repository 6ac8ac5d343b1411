"""What all commands have in common: help, lists, completion, `doctor`, what a terminal is shown."""

import io
import shlex
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from typing import Any

import pytest
import typer
from rich.text import Text

import harmonium
from harmonium.cli import app, execute, terminal
from harmonium.cli.info import EXAMPLES
from harmonium.models import MODELS
from harmonium.problems import PROBLEMS
from harmonium.search import ALGORITHMS
from harmonium.system import EXTRAS
from tests.cli.commands import call_here


@pytest.mark.parametrize(
    ("what", "registry", "lines"),
    [
        ("problems", PROBLEMS, ["neighbors=random", "Write a problem as name or name:field=value"]),
        ("models", MODELS, ["gibbs_steps=25", "max_parents=8", "as rbm, except for"]),
        (
            "algorithms",
            ALGORITHMS,
            [
                "model=… a model; see `harmonium list models`",
                "tournament=2 size of a tournament; an integer ≥ 2",
                "Write an algorithm as name or name:field=value",
            ],
        ),
    ],
)
def test_what_there_is_is_listed_with_fields_and_defaults(
    what: str, registry: Any, lines: list[str]
) -> None:
    done = call_here("list", what)
    assert (done.returncode, done.stderr) == (0, "")
    shown = " ".join(done.stdout.split())
    for text in (*lines, *(f"{member.name}:" for member in registry)):
        assert text in shown


def test_version_and_bare_command() -> None:
    assert call_here("--version").stdout.strip() == f"harmonium {harmonium.__version__}"
    done = call_here()
    assert done.returncode == 2
    for command in ("solve", "optimize", "study", "bisect", "report", "list"):
        assert f" {command} " in done.stdout + done.stderr
    assert not done.stderr.endswith("harmonium: \n")


def test_a_terminal_without_unicode_still_gets_the_list() -> None:
    content = io.BytesIO()
    with redirect_stdout(io.TextIOWrapper(content, encoding="ascii", write_through=True)):
        assert execute(["list", "problems"]) == 0
        assert b"an integer ? 1" in content.getvalue()


HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eevil\x7f\x00"


def test_control_characters_are_shown_and_not_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.complain(HOSTILE)
    told = r"harmonium: \x1b]0;owned\x07\x1b[2J\x9b31m\u202eevil\x7f\x00"
    assert capsys.readouterr().err == f"{told}\n"
    terminal.output().print(Text(f"größe {HOSTILE}"), soft_wrap=True)
    shown = capsys.readouterr().out
    assert shown.startswith("größe \\x1b]0;owned")
    assert not set(shown) & set("\x1b\x9b\x07\x00\x7f\u202e")


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


def test_the_shell_completes_commands(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_HARMONIUM_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "harmonium gen")
    monkeypatch.setenv("COMP_CWORD", "1")
    with pytest.raises(SystemExit):
        execute([])
    assert capsys.readouterr().out.split() == ["generate"]


def test_doctor_shows_versions_cache_and_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = call_here("doctor").stdout.splitlines()
    assert f"harmonium {harmonium.__version__}" in [" ".join(line.split()) for line in lines]
    for word in ("blas", "usable cores", "compiled code", *(f"extra {name}" for name in EXTRAS)):
        assert any(line.startswith(f"{word} ") for line in lines)
    monkeypatch.setitem(sys.modules, "altair", None)
    monkeypatch.setattr(sys.modules["harmonium.cli.info"], "find_cache", lambda: None)
    shown = " ".join(call_here("doctor").stdout.split())
    assert "extra report needs altair; pip install 'harmonium[report]'" in shown
    assert "set NUMBA_CACHE_DIR" in shown
