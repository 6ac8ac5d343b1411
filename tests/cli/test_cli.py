"""The command line as a process of its own: what it prints, and its exit codes."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import harmonium
from harmonium.models import MODELS
from harmonium.problems import PROBLEMS

COMMAND = [sys.executable, "-c", "from harmonium.cli import main; main()"]


def call(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], capture_output=True, text=True, check=False, timeout=300
    )


def solve(*arguments: str) -> list[dict[str, Any]]:
    done = call("solve", *arguments, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


QUICK = ("onemax:length=20", "--model", "umda", "--population", "100")


def test_json_has_one_object_a_run_with_every_field() -> None:
    runs = solve("nk:length=12,k=2,instance=3", "--population", "200", "--runs", "2", "--seed", "7")
    assert [run["seed"] for run in runs] == [7, 8]
    run = runs[0]
    assert list(run) == [
        *("problem", "model", "population", "replacement", "seed", "solved", "best_fitness"),
        *(
            "optimum",
            "best_bits",
            "evaluations",
            "unique_evaluations",
            "generations",
            "stopped_by",
            "cpu_seconds",
            "wall_seconds",
        ),
    ]
    assert run["problem"] == "nk:length=12,k=2,instance=3"
    assert run["model"] == "rbm"
    assert run["population"] == 200
    assert run["solved"] is True
    assert re.fullmatch("[01]{12}", run["best_bits"])
    assert list(run["cpu_seconds"]) == ["total", "fitness", "selection", "building", "sampling"]
    phases = dict(run["cpu_seconds"])
    assert phases.pop("total") == pytest.approx(sum(phases.values()))


@pytest.mark.parametrize("model", ["rbm", "rbm-paper", "boa", "umda"])
def test_the_same_seed_prints_the_same_result_apart_from_times(model: str) -> None:
    arguments = ("trap:length=20,order=4", "--model", model, "--population", "200", "--runs", "2")

    def timeless() -> list[dict[str, Any]]:
        return [
            {key: value for key, value in run.items() if not key.endswith("_seconds")}
            for run in solve(*arguments)
        ]

    assert timeless() == timeless()


def test_models_are_compared_in_a_table() -> None:
    done = call("solve", *QUICK, "--model", "boa", "--runs", "3")
    assert done.returncode == 0
    assert "onemax:length=20: 20 bits, optimum 20" in done.stdout
    assert re.search(r"umda +keep-parents +3 of 3", done.stdout)
    assert re.search(r"boa +keep-parents +\d of 3", done.stdout)
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_one_run_shows_its_bits() -> None:
    assert "best bits: " + "1" * 20 in call("solve", *QUICK).stdout


def test_a_budget_of_evaluations_is_never_exceeded() -> None:
    (run,) = solve("trap:length=60,order=5", "--model", "umda", "--max-evaluations", "4321")
    assert (run["evaluations"], run["stopped_by"], run["solved"]) == (4321, "evaluations", False)


def test_problems_and_models_are_listed_with_fields_and_defaults() -> None:
    shown = call("problems").stdout
    for problem in PROBLEMS:
        assert f"{problem.name}:" in shown
    assert "neighbors=random" in shown
    shown = call("models").stdout
    for model in MODELS:
        assert f"{model.name}:" in shown
    assert "gibbs_steps=25" in shown
    assert "max_parents=8" in shown
    assert "as rbm, but for" in shown


def test_version_and_help() -> None:
    assert call("--version").stdout.strip() == f"harmonium {harmonium.__version__}"
    assert "solve" in call("--help").stdout
    assert "--population" in call("solve", "--help").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("solve sphere:length=3", "unknown problem 'sphere'; known: onemax, trap, nk, hiff"),
        ("solve onemax", "onemax: length is missing; write onemax:length=…"),
        ("solve onemax:size=3", "onemax: unknown field 'size'; known: length"),
        ("solve onemax:length=three", "length is 'three'; expected an integer ≥ 1"),
        ("solve onemax:length", "'length' is no setting; write field=value"),
        ("solve trap:length=61,order=5", "length is 61; expected a multiple of order=5"),
        ("solve trap:length=60,order=1", "order is 1; expected an integer ≥ 2"),
        ("solve nk:length=5,k=5", "k is 5; expected less than length=5"),
        ("solve hiff:length=48", "length is 48; expected a power of 2"),
        ("solve onemax:length=9 --model cnn", "unknown model 'cnn'; known: rbm, rbm-paper, boa"),
        ("solve onemax:length=9 --model rbm:depth=3", "rbm: unknown field 'depth'; known: hidden"),
        ("solve onemax:length=9 --model boa:max_parents=0", "max_parents is 0; expected"),
        ("solve onemax:length=9 --population 101", "population is 101; expected an even number"),
        ("solve onemax:length=9 --population 2", "population is 2; expected an integer ≥ 8"),
        ("solve onemax:length=9 --replacement all", "replacement is 'all'; expected one of"),
        ("solve onemax:length=9 --seed one", "Invalid value for '--seed'"),
        ("solve onemax:length=9 --seed -1", "Invalid value for '--seed'"),
        ("solve onemax:length=9 --runs 0", "Invalid value for '--runs'"),
        ("solve onemax:length=9 --patience 0", "Invalid value for '--patience'"),
        ("solve onemax:length=9 --colour", "No such option"),
        ("solve", "no problem is given; see `harmonium problems`"),
        ("polish", "No such command"),
        ("solve onemax:length=9 --model rbm --model rbm", "the same model is given twice"),
        ("solve onemax:length=9 --model rbm:hidden=1000000000000", "out of memory"),
        ("solve onemax:length=9 --model umda:x=1", "umda: unknown field 'x'; known: none"),
    ],
)
def test_bad_input_gets_one_clear_line_and_exit_code_2(arguments: str, message: str) -> None:
    done = call(*arguments.split())
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert done.stderr.startswith("harmonium: ")
    assert done.stderr.count("\n") == 1


def test_the_bare_command_shows_its_help() -> None:
    done = call()
    assert done.returncode == 2
    assert "solve" in done.stdout + done.stderr
    assert not done.stderr.endswith("harmonium: \n")


def test_a_terminal_without_unicode_still_gets_the_list() -> None:
    plain = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [*COMMAND, "problems"], capture_output=True, text=True, check=False, env=plain
    )
    assert done.returncode == 0
    assert "an integer ? 1" in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_gets_one_line() -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            [*COMMAND, "solve", *QUICK, "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "harmonium: cannot write the output: No space left on device\n"


def test_long_model_texts_are_shown_whole() -> None:
    texts = [
        "rbm:hidden=n/2,max_epochs=5,gibbs_steps=3",
        "rbm:hidden=n/2,max_epochs=6,gibbs_steps=3",
    ]
    done = call(
        *("solve", "onemax:length=10", "--population", "40"),
        "--model",
        texts[0],
        "--model",
        texts[1],
    )
    folded = re.sub(r"\s+", "", done.stdout)
    assert done.returncode == 0
    assert "epochs=5" in folded
    assert "epochs=6" in folded


def test_text_of_the_user_is_never_read_as_markup() -> None:
    done = call("solve", "[red]boo[/red]")
    assert "'[red]boo[/red]'" in done.stderr


def test_an_interrupted_command_keeps_what_is_finished_and_exits_1() -> None:
    # A shell lets what it runs in the background ignore SIGINT, and children inherit that.
    listen = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    command = [sys.executable, "-c", listen + COMMAND[-1]]
    with subprocess.Popen(
        [*command, "solve", *QUICK, "--runs", "100000", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    finished = [json.loads(line) for line in (first + rest).splitlines()]
    told = re.search(r"interrupted after (\d+) of 100000 runs", errors)
    assert told
    assert int(told[1]) - len(finished) in (0, 1)  # the last may be done and not yet printed


def test_a_reader_that_stops_reading_ends_the_command_quietly() -> None:
    with subprocess.Popen(
        [*COMMAND, "solve", *QUICK, "--runs", "2000", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=60) == 1
        assert process.stderr.read() == ""


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_a_terminal_sees_a_live_line(tmp_path: Path) -> None:
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "solve", "trap:length=30,order=5", "--population", "2000"],
        stdout=subprocess.DEVNULL,
        stderr=follower,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "150"},
        cwd=tmp_path,
    )
    os.close(follower)
    seen = b""
    while True:
        try:
            chunk = os.read(leader, 65536)
        except OSError:  # Linux says so when the other end is closed
            break
        if not chunk:
            break
        seen += chunk
        time.sleep(0.01)
    os.close(leader)
    assert process.wait() == 0
    line = r"rbm, run 1 of 1 · best \d+ of 30 · [\d,]+ evaluations · generation \d+"
    assert re.search(line, seen.decode())
