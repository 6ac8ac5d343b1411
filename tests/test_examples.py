"""Every example runs, and says what it should."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
SAYS = {
    "ask_tell": "best 80 of 80",
    "feature_selection": "with all 30",
    "knapsack": "worth 3372 of at most 3372",
    "max_cut": "128 of 128 edges are cut",
    "nevergrad_choices": "harmonium 0 with {'kernel': 'poly', 'degree': 5",
    "parallel": "best 80 after",
    "pymoo_problem": "harmonium -60 after",
}
# Calls that cost most of the time, and with which number of them the example is run here.
FEWER = {"feature_selection": ("max_calls=200", "max_calls=20")}


def test_all_examples_are_here() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == set(SAYS)


@pytest.mark.slow
@pytest.mark.parametrize("name", SAYS)
def test_example_runs(name: str, tmp_path: Path) -> None:
    library, _, _ = name.partition("_")
    if library in ("nevergrad", "pymoo") and find_spec(library) is None:
        pytest.skip(f"{library} is in the extra `bench`")
    source = (EXAMPLES / f"{name}.py").read_text("utf-8")
    shown, run = FEWER.get(name, ("", ""))
    assert shown in source
    program = tmp_path / f"{name}.py"
    program.write_text(source.replace(shown, run) if shown else source, "utf-8")
    done = subprocess.run(
        [sys.executable, program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "MPLBACKEND": "agg"},
    )
    assert done.returncode == 0, done.stderr
    assert SAYS[name] in done.stdout
