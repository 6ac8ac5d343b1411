"""What an attack on the commands of studies found: each test failed before it was fixed."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.text import Text

from harmonium.cli import study, terminal
from harmonium.specs import SpecError
from harmonium.studies import engines
from harmonium.studies.driver import bind
from harmonium.studies.engines import Engine, EngineLost, Serial
from harmonium.studies.store import Store
from harmonium.studies.study import parse_study
from harmonium.studies.trial import fail
from tests.cli.commands import call_here
from tests.cli.studies import read_trials
from tests.modules import write_module

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


# Closed streams


# Study files


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


# Trust


# Damage


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
