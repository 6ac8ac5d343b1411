"""What all commands have in common, and the lists of what there is."""

import os
import subprocess

import pytest
from rich.text import Text

import harmonium
from harmonium.cli import terminal
from harmonium.models import MODELS
from harmonium.problems import PROBLEMS
from harmonium.search import ALGORITHMS
from tests.cli.commands import COMMAND, assert_refused, call_here


def test_problems_are_listed_with_fields_and_defaults() -> None:
    shown = call_here("list", "problems").stdout
    for problem in PROBLEMS:
        assert f"{problem.name}:" in shown
    assert "neighbors=random" in shown
    assert "Write a problem as name or name:field=value" in shown


def test_models_are_listed_with_fields_and_defaults() -> None:
    shown = call_here("list", "models").stdout
    for model in MODELS:
        assert f"{model.name}:" in shown
    assert "gibbs_steps=25" in shown
    assert "max_parents=8" in shown
    assert "as rbm, except for" in shown


def test_algorithms_are_listed_with_fields_and_defaults() -> None:
    done = call_here("list", "algorithms")
    assert (done.returncode, done.stderr) == (0, "")
    for algorithm in ALGORITHMS:
        assert f"{algorithm.name}:" in done.stdout
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "model=… a model; see `harmonium list models`" in lines
    assert "tournament=2 size of a tournament; an integer ≥ 2" in lines
    assert "Write an algorithm as name or name:field=value" in done.stdout


def test_version_and_help() -> None:
    assert call_here("--version").stdout.strip() == f"harmonium {harmonium.__version__}"
    shown = call_here("--help").stdout
    for command in ("solve", "optimize", "study", "bisect", "report", "list"):
        assert f" {command} " in shown


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("solve", "--algorithm --model --population --runs --stagnation --max-seconds --report"),
        ("optimize", "--command --length --batch --max-calls --on-error --resume --no-progress"),
    ],
)
def test_help_names_the_options(command: str, options: str) -> None:
    shown = call_here(command, "--help").stdout
    for option in options.split():
        assert f" {option} " in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_an_unknown_command_gets_one_clear_line() -> None:
    assert_refused(call_here("polish"), "No such command")


def test_the_bare_command_shows_its_help() -> None:
    done = call_here()
    assert done.returncode == 2
    assert "solve" in done.stdout + done.stderr
    assert not done.stderr.endswith("harmonium: \n")


def test_a_terminal_without_unicode_still_gets_the_list() -> None:
    plain = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [*COMMAND, "list", "problems"], capture_output=True, text=True, check=False, env=plain
    )
    assert done.returncode == 0
    assert "an integer ? 1" in done.stdout


HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eevil\x7f\x00"


def test_control_characters_are_shown_and_not_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.complain(HOSTILE)
    told = r"harmonium: \x1b]0;owned\x07\x1b[2J\x9b31m\u202eevil\x7f\x00"
    assert capsys.readouterr().err == f"{told}\n"
    terminal.output().print(Text(f"größe {HOSTILE}"), soft_wrap=True)
    shown = capsys.readouterr().out
    assert shown.startswith("größe \\x1b]0;owned")
    assert not set(shown) & set("\x1b\x9b\x07\x00\x7f\u202e")
