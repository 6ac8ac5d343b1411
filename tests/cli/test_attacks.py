"""What an attack on the commands of studies found: each test failed before it was fixed."""

import csv
import io
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from rich.text import Text

from harmonium.analysis.tables import write_csv
from harmonium.cli import execute, study, terminal
from harmonium.specs import SpecError
from harmonium.studies import engines
from harmonium.studies.driver import bind
from harmonium.studies.engines import Engine, EngineLost, Serial
from harmonium.studies.store import Store, is_running
from harmonium.studies.study import load_study, parse_study
from harmonium.studies.trial import fail
from tests.cli.commands import assert_refused, call_here
from tests.cli.studies import read_trials
from tests.modules import write_module
from tests.studies.made import make_outcome, make_record
from tests.studies.test_damage import edit

RUNS = """
name = "small"
algorithms = ["eda:model=umda,population=20"]
plan = "runs"
[[problems]]
problem = "{problem}"
sizes = [6]
runs = 3
"""

OWN = """
import os, signal
from pathlib import Path

{before}


class Own:
    def __init__(self, length):
        self.length, self.optimum = length, float(length)

    def __call__(self, bits):
        {now}
        return bits.sum(axis=1).astype(float)
"""


def write_own(folder: Path, before: str = "", now: str = "pass") -> str:
    """Write a module with a problem; return its path."""
    return f"{write_module(folder, OWN.format(before=before, now=now))}:Own"


def fill(path: Path, problem: str = "onemax", folder: Path | None = None) -> Path:
    """Make the store of a study of three runs, as if they had been made."""
    made = parse_study(RUNS.format(problem=problem), "small.toml", folder)
    with Store.create(path) as store:
        bind(made, store)
        for trial in made.cases[0].trials():
            store.append(trial, make_record(make_outcome()))
    return path


# Closed streams


def test_an_export_to_a_closed_output_gets_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = fill(tmp_path / "s.db")
    monkeypatch.setattr(sys, "stdout", None)
    assert execute(["study", "export", str(store)]) == 2
    monkeypatch.undo()
    assert capsys.readouterr().err == (
        "harmonium: standard output is closed; choose a file with -o\n"
    )


def test_a_complaint_never_goes_to_the_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    terminal.complain("wrong")
    monkeypatch.undo()
    assert capsys.readouterr() == ("", "")


# Study files


@pytest.mark.parametrize(
    "text",
    ["a = " + "[" * 3000 + "]" * 3000, "a = " + "{a = " * 3000 + "1" + "}" * 3000],
    ids=["lists", "tables"],
)
def test_deeply_nested_toml_gets_one_line(text: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_study(text, "deep.toml")
    assert str(caught.value) == (
        "deep.toml: is nested too deeply; expected tables and lists as in a study"
    )


@pytest.mark.parametrize(
    "text",
    [".".join(["a"] * 2000) + " = 1", "[" + " . ".join(["'a b'", '"a\\"."'] * 1000) + "]"],
    ids=["bare", "quoted"],
)
def test_a_key_of_many_parts_is_refused_before_it_is_parsed(text: str) -> None:
    """The parser's memory grows with the square of their number."""
    with pytest.raises(SpecError) as caught:
        parse_study(text, "long.toml")
    assert str(caught.value) == "long.toml: has a key of more than 8 parts; expected a few"


def test_texts_and_comments_may_have_many_dots() -> None:
    dots = ".".join("abc" * 20)
    texts = f'description = """{dots}\n"{dots}"""\n# {dots}\n' + RUNS.format(problem="onemax")
    assert parse_study(texts, "dots.toml").description.startswith("a.b.c.")


def test_deep_keys_and_long_numbers_get_one_line() -> None:
    for text in ("a." * 3000 + "b = 1", "seed = " + "9" * 5000):
        with pytest.raises(SpecError, match=r"^deep\.toml: ") as caught:
            parse_study(text, "deep.toml")
        assert "\n" not in str(caught.value)
    assert str(caught.value) == "deep.toml: has a number of thousands of digits; expected fewer"


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs devices")
def test_a_device_is_not_read_to_its_end() -> None:
    with pytest.raises(SpecError) as caught:
        load_study("/dev/zero")
    assert str(caught.value) == ("/dev/zero: is not a regular file; expected a study file, in TOML")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_is_neither_a_study_file_nor_a_store(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(SpecError) as caught:  # without waiting for somebody to write
        load_study(pipe)
    assert str(caught.value) == f"{pipe}: is not a regular file; expected a study file, in TOML"
    assert not is_running(pipe)


@pytest.mark.parametrize("kind", ["BaseException", "GeneratorExit", "SystemExit"])
@pytest.mark.parametrize("place", ["import", "making"])
def test_whatever_a_module_raises_gets_one_line(kind: str, place: str, tmp_path: Path) -> None:
    raised = f"raise {kind}('no')"
    problem = write_own(tmp_path, before=raised if place == "import" else "")
    if place == "making":
        file = tmp_path / f"{problem.partition(':')[0]}.py"
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace("self.length, self.optimum", f"{raised}; self.x"), "utf-8")
    with pytest.raises(SpecError, match=f"raised {kind}: no"):
        parse_study(RUNS.format(problem=problem), "s.toml", tmp_path)


# Terminals and spreadsheets


HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eevil\x7f\x00"
SHOWN = r"\x1b]0;owned\x07\x1b[2J\x9b31m\u202eevil\x7f\x00"


def test_control_characters_are_shown_and_not_obeyed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    terminal.complain(HOSTILE)
    assert capsys.readouterr().err == f"harmonium: {SHOWN}\n"
    terminal.output().print(Text(f"größe {HOSTILE}"), soft_wrap=True)
    shown = capsys.readouterr().out
    assert not set(shown) & set("\x1b\x9b\x07\x00\x7f\u202e")
    assert shown.startswith("größe \\x1b]0;owned")
    store = tmp_path / "s.db"
    made = parse_study(RUNS.format(problem="onemax"), "s.toml", tmp_path)
    with Store.create(store) as opened:
        bind(made, opened)
        opened.append(made.cases[0].trials()[0], fail(f"ValueError: {HOSTILE}"))
    done = call_here("study", "status", "--failures", str(store))
    assert done.returncode == 0
    assert "evil" in done.stdout
    assert not set(done.stdout + done.stderr) & set("\x1b\x9b\x07\x00\x7f\u202e")


def test_no_cell_is_a_formula_and_numbers_stay_numbers() -> None:
    texts = {"a": "=1+1", "b": "+cmd|' /C calc'!A0", "c": "-2+3", "d": "@SUM(A1)", "e": "\tx"}
    numbers: dict[str, Any] = {"f": -1.5, "g": -3, "h": "-7", "i": "+1e3", "j": "", "k": "a=b"}
    file = io.StringIO(newline="")
    write_csv([{**texts, **numbers}], file)
    file.seek(0)
    (row,) = csv.DictReader(file)
    assert [row[name] for name in texts] == [f"'{text}" for text in texts.values()]
    assert [row[name] for name in numbers] == ["-1.5", "-3", "-7", "+1e3", "", "a=b"]


def test_a_table_does_not_command_a_terminal() -> None:
    file = io.StringIO(newline="")
    file.isatty = lambda: True  # type: ignore[method-assign]
    write_csv([{"a": HOSTILE, "b": "two\nlines", "c": "größe"}], file)
    assert not set(file.getvalue()) & set("\x1b\x9b\x07\x00\x7f\u202e")
    file.seek(0)
    assert list(csv.reader(file)) == [["a", "b", "c"], [SHOWN, "two\nlines", "größe"]]


# Trust


@pytest.fixture
def foreign(tmp_path: Path) -> tuple[Path, Path, str]:
    """Return a store that names a module, the file that its import makes, and its name."""
    imported = tmp_path / "imported"
    problem = write_own(tmp_path, before="Path(__file__).with_name('imported').touch()")
    store = fill(tmp_path / "s.db", problem, tmp_path)
    name = problem.partition(":")[0]
    del sys.modules[name]  # as in another process
    imported.unlink()
    return store, imported, name


COMMANDS = (("study", "status"), ("study", "export"), ("report",), ("study", "watch"))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_modules_of_a_store_are_not_imported_unasked(
    command: tuple[str, ...], foreign: tuple[Path, Path, str]
) -> None:
    store, imported, name = foreign
    done = call_here(*command, str(store))
    assert_refused(done, f"{store}: names modules, which are imported from {store.parent}: {name}")
    assert done.stderr.endswith("; if you trust them and the store, add --trust\n")
    assert not imported.exists()


def test_modules_of_a_trusted_store_are_imported(foreign: tuple[Path, Path, str]) -> None:
    store, imported, _ = foreign
    done = call_here("study", "export", str(store), "--trust", "--what", "summary")
    assert (done.returncode, done.stderr) == (0, "")
    assert imported.exists()


class Typed(io.StringIO):
    """What a user types at a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("answer", ["y", "n"])
def test_a_user_at_a_terminal_is_asked(
    answer: str, foreign: tuple[Path, Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, imported, name = foreign
    monkeypatch.setattr(sys, "stdin", Typed(f"{answer}\n"))
    done = call_here("study", "export", str(store), "--what", "summary")
    assert f"imported from {store.parent}: {name}. Run their code? [y/N]" in done.stderr
    assert imported.exists() == (answer == "y") == (done.returncode == 0)


def test_modules_that_only_trials_name_are_not_imported_unasked(tmp_path: Path) -> None:
    store = fill(tmp_path / "s.db")
    edit(store, 'UPDATE frames SET spec = replace(spec, \'"name":"umda"\', \'"name":"evil:M"\')')
    assert_refused(call_here("study", "export", str(store)), ": evil; if you trust them")


def test_a_store_without_modules_needs_no_trust(tmp_path: Path) -> None:
    assert call_here("study", "status", str(fill(tmp_path / "s.db"))).returncode == 0


# Damage


def test_damaged_rows_are_named_by_commands_and_run_again(tmp_path: Path) -> None:
    file, store = tmp_path / "small.toml", tmp_path / "s.db"
    file.write_text(RUNS.format(problem="onemax"), encoding="utf-8")
    run = ("study", "run", str(file), "--store", str(store), "--engine", "serial")
    assert call_here(*run).returncode == 0
    edit(store, "UPDATE trials SET result = '{}' WHERE rowid = 2")
    words = f"harmonium: {store}: 1 row is damaged and left out (trials 2); "
    status = call_here("study", "status", str(store))
    assert (status.returncode, status.stderr) == (
        0,
        f"{words}`harmonium study run` runs their trials again\n",
    )
    assert "2 trials stored" in status.stdout
    exported = call_here("study", "export", str(store))
    assert exported.stdout.count("\n") == 3
    assert exported.stderr.startswith(words)
    page = call_here("report", str(store), "-o", str(tmp_path / "s.html"))
    assert (page.returncode, page.stderr[: len(words)]) == (0, words)
    again = call_here(*run)
    assert again.returncode == 0
    assert again.stderr.startswith(f"{words}their trials are run again\n")
    assert len(read_trials(store)) == 3
    assert call_here("study", "status", str(store)).stderr == ""


# Ends


def test_a_lost_scheduler_has_an_exit_code_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Client:
        def nthreads(self) -> None:
            raise OSError("gone")

    with pytest.raises(EngineLost, match="the Dask scheduler is gone; trials that had ended are"):
        engines._count_slots(Client())

    @contextmanager
    def open_lost(*_: object) -> Iterator[Engine]:
        yield Engine(Serial(), lambda: engines._count_slots(Client()), lambda: None)

    monkeypatch.setattr(study, "open_engine", open_lost)
    file = tmp_path / "small.toml"
    file.write_text(RUNS.format(problem="onemax"), encoding="utf-8")
    done = call_here("study", "run", str(file), "--store", str(tmp_path / "s.db"))
    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == (
        "harmonium: the Dask scheduler is gone; trials that had ended are stored: run again to "
        "continue\n"
    )


END_AT_THIRD = """Own.calls = getattr(Own, "calls", 0) + 1
        if Own.calls == 30:
            os.kill(os.getpid(), signal.SIGTERM)"""


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_a_bisection_without_a_store_can_be_continued_after_sigterm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = signal.getsignal(signal.SIGTERM)
    problem = write_own(tmp_path, now=END_AT_THIRD)
    bisect = ("bisect", f"{problem}:length=8", "--model", "umda", "--engine", "serial")
    done = call_here(*bisect, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    (store,) = tmp_path.glob("harmonium-*/study.db")
    stored = len(read_trials(store))
    assert stored > 0
    assert f"stopped; {stored} trials were run and are stored in {store}; " in done.stderr
    assert done.stderr.endswith(f"To continue: the same command with --store {store}\n")
    again = call_here(*bisect, "--store", str(store), cwd=tmp_path)
    assert again.returncode == 0
    assert f"continuing: {stored} trials are already stored" in again.stderr
    assert signal.getsignal(signal.SIGTERM) == before
    assert len(list(tmp_path.glob("harmonium-*"))) == 1
