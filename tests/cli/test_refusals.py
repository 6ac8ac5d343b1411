"""Bad input: one clear line, exit code 2, and nothing is written."""

import shlex
import shutil
from pathlib import Path

import pytest

from harmonium.studies import Store
from tests.cli.commands import assert_refused, call_here
from tests.cli.studies import TINY, Small, read_trials

BAD_INPUT = {
    "polish": [("", "No such command")],
    "solve": [
        ("", "no problem is given; see `harmonium list problems`"),
        ("sphere:length=3", "unknown problem 'sphere'; known: onemax, trap, nk, hiff"),
        ("onemax", "onemax: length is missing; write onemax:length=…"),
        ("onemax:length=9 --model cnn", "unknown model 'cnn'; known: rbm, rbm-paper, boa"),
        ("onemax:length=9 --model rbm --model rbm", "the same algorithm is given twice; --runs"),
        ("onemax:length=1000000 --model tree --population 16", "out of memory"),
        ("onemax:length=9 --algorithm ga", "unknown algorithm 'ga'; known: eda, "),
        ("onemax:length=9 --algorithm numpy:sum", "numpy:sum: is not an algorithm; expected a su"),
        (
            "onemax:length=9 --algorithm eda:model=rbm --population 40",
            "--population is for --model; with --algorithm write it as a setting, such as",
        ),
        ("onemax:length=9 --seed -1", "Invalid value for '--seed'"),
        ("onemax:length=9 --patience 0", "patience is 0; expected an integer ≥ 1"),
        ("onemax:length=9 --colour", "No such option"),
        ("onemax:length=9 --report no/where.html", "--report is no/where.html; expected a file"),
        ("two.cnf --report two.cnf", "--report is two.cnf, the file of the problem; choose"),
        ("numpy:sum", "to optimise the function itself, use `harmonium optimize numpy:sum --len"),
        ("numpy:nothing", "numpy:nothing: numpy has no function or class 'nothing'"),
        ("mine:Wrong:length=9 --model umda", "exceeds the optimum 1, the largest possible fitness"),
        ("missing.cnf", "missing.cnf: cannot be read: No such file or directory"),
        ("empty.cnf", "empty.cnf, line 1: there is no clause; expected CNF or WCNF"),
        ("empty.cnf --as tsp", "file: format is 'tsp'; expected auto or one of cnf,"),
    ],
    "generate": [
        ("", "expected an instance and a file, such as maxsat:length=50,clauses=200 -o"),
        ("trap:length=8 -o y", "cannot generate 'trap'; expected one of maxsat"),
        ("nk:length=8 -o y", "nk: k is missing; write nk:k=…"),
        ("nk:length=8,k=1 -o no/y", "--output is no/y; expected a file in an"),
    ],
    "optimize": [
        ("", "expected a function, module:function, or --command; neither is given"),
        ("mine:count --command x{bits} --length 5", "expected a function, module:function"),
        ("mine:count", "length is missing; expected the number of bits"),
        ("--command x --length 5", "the command 'x' has no {bits}; write it where the bits bel"),
        ("--command 'x {bits} | y' --length 5", "has |, which is for a shell, and none is used"),
        ("--command x{bits} --length 5 --batch", "--batch is for functions; a program gets one"),
        ("trap:length=10,order=5", "trap:length=10,order=5 is a named problem; use `harmonium so"),
        ("mine:count --length 5 --timeout 3", "--timeout is for programs, with --command"),
        (
            "mine:count --length 5 --algorithm eda:model=rbm --model boa",
            "model and population are settings of the EDA; leave them out when algorithm is given",
        ),
        ("mine:count --length 0", "Invalid value for '--length'"),
        ("mine:count --length 5 --max-seconds 0", "max_seconds is 0.0; expected a number >"),
        ("mine:count --length 5 --max-calls 0", "max_calls is 0; expected an integer ≥ 1"),
        ("mine:count --length 5 --target nan", "target is nan; expected a number"),
        ("mine:count --length 5 --on-error no", "Invalid value for '--on-error'"),
        ("mine:count --length 5 --fixed 3:1", "--fixed is '3:1'; expected bits and values, "),
        ("mine:count --length 5 --fixed 3=1,3=0", "--fixed is '3=1,3=0', which names a bit "),
        ("mine:count --length 5 --subset-size few", "--subset-size is 'few'; expected a num"),
        ("mine:count --length 5 --exactly-one 0-2", "--exactly-one is '0-2'; expected bits, such"),
        ("mine:count --length 5 --initial 012", "--initial is '012'; expected zeros and ones"),
        ("mine:count --length 5 --initial 0 --initial 01", "--initial has rows of 1 and of 2 bits"),
        ("mine:count --length 5 --checkpoint mine.py", "mine.py: is not a harmonium checkpoint"),
        ("mine:count --length 5 --log no/log", "log is no/log; expected a file in an existi"),
        ("mine:count --length 5 --report no/a.html", "--report is no/a.html; expected a file"),
        (
            "mine:count --length 5 --checkpoint same --log ./same",
            "checkpoint is same, the same file as log; choose another",
        ),
        (
            "mine:count --length 5 --checkpoint same --report same",
            "checkpoint is same, the same file as report; choose another",
        ),
        ("mine:count --resume mine.py", "mine.py: is not a harmonium checkpoint"),
        ("mine:count --resume none.ckpt", "none.ckpt"),
        ("mine:count --resume mine.py --seed 2", "--seed is for the start of a search; "),
        ("mine:count --resume mine.py --no-cache", "--cache is for the start of a search; "),
    ],
    "bisect": [
        ("", "no problem is given; see `harmonium list problems`"),
        ("onemax", "onemax: has no length; write onemax:length=…"),
        ("onemax:length=9 --tolerance 1", "tolerance is 1.0; expected a number > 0 and < 1"),
    ],
    "compare": [
        ("", "no problem is given; see `harmonium list problems`"),
        ("onemax:length=9 --models boa", "there is nothing to compare; name two models"),
        (
            "onemax:length=9 --models boa,umda --population 9",
            "populations is [9]; expected a list",
        ),
        (
            "onemax:length=9 --models boa,umda --population x",
            "populations is ['x']; expected a ",
        ),
        ("onemax:length=9 --models '(boa,umda'", "--models: the parentheses in '(boa,umda' do not"),
    ],
    "report": [
        ("none.db", "none.db: there is no such store; `harmonium study run` makes one"),
        ("unused.db", "holds no study yet"),
        ("text.db", "text.db: is not an SQLite file, or a damaged one"),
        ("small.db -o no/page.html", "--output is no/page.html; expected a file in an existing"),
        ("small.db --format gif", "gif"),
        ("small.toml", "small.toml: is not a store; STORE is the .db file that `harmonium study"),
    ],
    "study run": [
        ("none.toml", "none.toml: cannot be read: No such file or directory"),
        ("small.toml --engine threads", "unknown engine 'threads'; known: serial, processes"),
        (
            "small.toml --engine serial --scheduler tcp://127.0.0.1:1",
            "scheduler is 'tcp://127.0.0.1:1'; o",
        ),
        ("small.toml --store small.toml", "small.toml: is not an SQLite file, or a damaged"),
        ("other.toml --store small.db", "small.db: holds the study 'small', not 'other'; use ano"),
    ],
    "study status": [
        ("none.db", "none.db: there is no such store; `harmonium study run` makes one"),
        ("small.toml", "`harmonium study run` writes (here small.db?)"),
    ],
    "study export": [("small.toml", "`harmonium study run` writes (here small.db?)")],
    "study watch": [("unused.db --port 0", "holds no study yet")],
}
MODULE = """
class Wrong:
    def __init__(self, length):
        self.length, self.optimum = length, 1.0

    def __call__(self, bits):
        return bits.sum(axis=1).astype(float)

def count(bits):
    return float(bits.sum())

number = 3
"""


@pytest.fixture(scope="module")
def folder(small: Small, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("refusals")
    (folder / "mine.py").write_text(MODULE, "utf-8")
    (folder / "empty.cnf").touch()
    (folder / "two.cnf").write_text("p cnf 2 2\n1 -2 0\n2 0\n", "utf-8")
    (folder / "text.db").write_text("no store", "utf-8")
    (folder / "other.toml").write_text(TINY.replace("tiny", "other"), "utf-8")
    Store.create(folder / "unused.db").close()
    shutil.copy(small.file, folder / "small.toml")
    shutil.copy(small.store, folder / "small.db")
    return folder


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (f"{command} {arguments}", message)
        for command, rows in BAD_INPUT.items()
        for arguments, message in rows
    ],
)
def test_bad_input_gets_one_clear_line(words: str, message: str, folder: Path) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert_refused(call_here(*shlex.split(words), cwd=folder), message)
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name =", "study.toml: is not TOML: "),
        (TINY.replace("runs = 2", 'runs = "2"'), "study.toml: problems[0]: runs is '2'; expected"),
        (TINY.replace("onemax", "trap:order=4"), "size 10: trap: length is 10; exp"),
    ],
)
def test_a_bad_study_file_gets_one_clear_line(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    assert_refused(call_here("study", "run", "study.toml", cwd=tmp_path), message)
    assert [path.name for path in tmp_path.iterdir()] == ["study.toml"]


@pytest.mark.parametrize("command", ["report", "study export"])
@pytest.mark.parametrize(
    ("read", "written", "what"),
    [
        ("small.db", "small.db", "the store itself"),
        ("symbolic", "small.db", "the store itself"),
        ("small.db", "symbolic", "the store itself"),
        ("symbolic", "small.db-wal", "a part of the store"),
    ],
)
def test_a_store_is_not_written_over(
    command: str, read: str, written: str, what: str, small: Small, tmp_path: Path
) -> None:
    store = tmp_path / "small.db"
    shutil.copy(small.store, store)
    (tmp_path / "symbolic").symlink_to(store)
    before = read_trials(store)
    done = call_here(*command.split(), read, "-o", written, cwd=tmp_path)
    assert_refused(done, f"harmonium: {written}: is {what}; choose another file")
    assert read_trials(store) == before
