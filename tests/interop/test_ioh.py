"""The functions of ioh as problems, harmonium in ioh's experiments, and logs of IOHprofiler."""

import errno
import json
from pathlib import Path
from typing import Any

import ioh
import polars as pl
import pytest
from iohinspector import DataManager

import harmonium as hm
from harmonium.interop.ioh import Optimizer
from harmonium.interop.iohprofiler import LoggedRun, write_logs
from harmonium.problems import PBO
from harmonium.specs import SpecError
from tests.cli.commands import call_here
from tests.rows import every_row, random_rows

FUNCTIONS = range(1, 26)
SUITE = ioh.ProblemClass.PBO


@pytest.mark.parametrize("instance", [1, 60])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_values_are_those_of_ioh(function: int, instance: int) -> None:
    problem = PBO(64, function, instance)
    rows = random_rows(100, 64, seed=function)
    other = ioh.get_problem(function, instance, 64, SUITE)
    expected = [other(row) for row in rows.tolist()]
    assert problem(rows).tolist() == expected
    assert problem.function_name == other.meta_data.name


@pytest.mark.parametrize("length", [9, 10, 12])
@pytest.mark.parametrize("instance", [1, 2, 51])
def test_optima_are_true(length: int, instance: int) -> None:
    rows, known = every_row(length), 0
    for function in FUNCTIONS:
        if function in (21, 23) and length != 9:
            continue
        problem = PBO(length, function, instance)
        if problem.optimum is not None:
            assert problem(rows).max() == pytest.approx(problem.optimum), function
            known += 1
    assert known >= 19


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ioh:function=21,length=10", "function 21 does not have length 10: .*perfect square"),
        ("ioh:function=26,length=10", "function is 26; expected an integer"),
        ("ioh:function=1,length=10,instance=0", "instance is 0; expected an integer"),
    ],
)
def test_wrong_functions_are_refused(text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        hm.PROBLEMS.parse(text)


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ioh", None)
    with pytest.raises(SpecError, match=r"cannot be imported \(.*\); install harmonium\[ioh\]"):
        PBO(10, 1)


def test_an_experiment_runs_all_functions(tmp_path: Path) -> None:
    optimizer = Optimizer(max_calls=60, seed=3)
    settings = {"reps": 1, "problem_class": SUITE, "zip_output": False, "folder_name": "out"}
    settings |= {"output_directory": str(tmp_path), "algorithm_name": "harmonium"}
    ioh.Experiment(optimizer, list(FUNCTIONS), [1], [16], **settings)()
    results = [optimizer(ioh.get_problem(18, 1, 16, SUITE)) for _ in range(2)]
    assert [result.seed for result in results] == [3, 4]  # the experiment has a copy
    table = read(tmp_path / "out")
    assert sorted(table["function_id"].unique()) == list(FUNCTIONS)
    assert max(table["evals"]) <= 60


def read(folder: Path) -> pl.DataFrame:
    manager = DataManager()
    manager.add_folder(str(folder))
    table: Any = manager.load(monotonic=True, include_meta_data=True)
    return table if isinstance(table, pl.DataFrame) else table.collect()


def test_a_log_of_solve_is_read_by_iohinspector(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    words = ["solve", "ioh:function=18,length=16,instance=7", "--algorithm", "pyramid", "--runs"]
    done = call_here(*words, "2", "--max-evaluations", "200", "--log", f"ioh:{folder}", "--json")
    assert done.returncode == 0, done.stderr
    results = [json.loads(line) for line in done.stdout.splitlines()]
    table = read(folder)
    assert set(table["function_id"]) == {18}
    assert set(table["function_name"]) == {"LABS"}
    assert set(table["instance"]) == {7}
    assert set(table["algorithm_name"]) == {"pyramid"}
    best = table.group_by("run_id").agg(pl.col("raw_y").max())["raw_y"].sort()
    assert best.to_numpy() == pytest.approx(sorted(result["fun"] for result in results))
    again = call_here(*words, "2", "--log", f"ioh:{folder}")
    assert "expected a new folder in an existing one" in again.stderr
    other = call_here(*words, "2", "--log", "x.jsonl")
    assert "--log is 'x.jsonl'; expected ioh:FOLDER" in other.stderr


def test_a_log_of_optimize_is_read_too(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    words = "optimize tests.functions:weigh --length 8 --minimize --max-calls 50 --log"
    done = call_here(*words.split(), f"ioh:{folder}")
    assert done.returncode == 0, done.stderr
    [facts] = [json.loads(path.read_text("utf-8")) for path in folder.rglob("*.json")]
    assert (facts["maximization"], facts["function_name"]) == (False, "weigh")
    assert min(read(folder)["raw_y"]) == 0.0


def test_the_files_of_a_log(tmp_path: Path) -> None:
    run = LoggedRun("a/b", 8, 2, "x y", 30, [(1, 3.0), (4, 6.5)])
    write_logs(tmp_path / "logs", [run])
    data = tmp_path / "logs" / "0-x-y" / "data_f1_a-b" / "IOHprofiler_f1_DIM8.dat"
    lines = ["evaluations raw_y", "1 3.0000000000", "4 6.5000000000", "30 6.5000000000"]
    assert data.read_text("utf-8").splitlines() == lines
    with pytest.raises(FileExistsError, match="exists; choose another folder"):
        write_logs(tmp_path / "logs", [run])


def test_a_full_disk_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write_text(path: Path, text: str, encoding: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", write_text)
    words = ("optimize", "numpy:sum", "--length", "8", "--seed", "1", "--max-calls", "50")
    done = call_here(*words, "--log", f"ioh:{tmp_path / 'logs'}")
    assert done.stderr == (
        f"harmonium: {tmp_path / 'logs'}: cannot be written: No space left on device\n"
    )
    assert "best bits: 11111111" in done.stdout
    assert not (tmp_path / "logs").exists()


def test_a_study_is_exported(tmp_path: Path) -> None:
    family = hm.Family("onemax", sizes=[8, 12], runs=2)
    study = hm.Study("ones", [family], ["pyramid"], plan=hm.Runs())
    study.run(tmp_path / "ones.db", engine="serial")
    folder = tmp_path / "logs"
    words = ["study", "export", str(tmp_path / "ones.db"), "--format", "ioh"]
    done = call_here(*words)
    assert "--format ioh writes a folder; choose it with -o" in done.stderr
    done = call_here(*words, "-o", str(folder))
    assert done.returncode == 0, done.stderr
    table = read(folder)
    assert sorted(table["dimension"].unique()) == [8, 12]
    assert sorted(table.group_by("data_id").agg(pl.col("best_y").max())["best_y"]) == [8, 8, 12, 12]
