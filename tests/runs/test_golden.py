"""The same specs and seeds give what they gave before the middle of the package was redesigned.

`assets/golden.json` was written by the commit that it names. Results of RBMs depend on the order of
floating-point sums, so they are compared only where the BLAS is the one of the file.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import harmonium as hm
from harmonium.arrays import Row, format_bits
from harmonium.environment import describe_environment

GOLDEN = json.loads((Path(__file__).parent / "assets" / "golden.json").read_text("utf-8"))
SAME_BLAS = describe_environment()["blas"] == GOLDEN["blas"]


def skip_other_blas(model: str) -> None:
    if model.startswith("rbm") and not SAME_BLAS:
        pytest.skip(f"recorded with {GOLDEN['blas']}")


@pytest.mark.parametrize(
    "golden",
    GOLDEN["runs"],
    ids=lambda row: f"{row['problem']}-{row['model']}-{row['population']}-{row['seed']}",
)
def test_run(golden: dict[str, Any]) -> None:
    skip_other_blas(golden["model"])
    eda = hm.EDA(golden["model"], population=golden["population"], **golden["settings"])
    stop = None
    if golden["max_evaluations"]:
        stop = hm.Stop(
            max_generations=None,
            patience=None,
            stagnation=2.0,
            max_evaluations=golden["max_evaluations"],
        )
    result = hm.run(hm.PROBLEMS.parse(golden["problem"]), eda, stop=stop, seed=golden["seed"])
    assert result.evaluations == golden["evaluations"]
    assert result.unique_evaluations == golden["unique"]
    assert (result.fun, format_bits(result.x)) == (golden["best"], golden["bits"])
    assert (result.stopped_by, result.best_found_by) == (golden["stopped_by"], golden["found_by"])


def value(x: Row) -> float:
    weights = np.arange(1, len(x) + 1)
    balance = abs(int(x[::2].sum()) - int(x[1::2].sum()))
    return float((weights * x).sum() - 3 * balance + 2 * (x[:-1] * x[1:]).sum())


@pytest.mark.parametrize(
    "golden", GOLDEN["optimizations"], ids=lambda row: f"{row['kind']}-{row['options']}"
)
def test_optimization(golden: dict[str, Any]) -> None:
    options = dict(golden["options"])
    skip_other_blas(options["model"])
    if "fixed" in options:
        options["fixed"] = {int(bit): value for bit, value in options["fixed"].items()}
    if "subset_size" in options and not isinstance(options["subset_size"], int):
        options["subset_size"] = tuple(options["subset_size"])
    search = hm.maximize if golden["kind"] == "maximize" else hm.minimize
    result = search(value, 24, seed=3, max_calls=4000, progress=False, **options)
    assert (result.evaluations, result.calls) == (golden["evaluations"], golden["calls"])
    assert (result.fun, format_bits(result.x)) == (golden["fun"], golden["bits"])
    assert result.best_found_at == golden["best_at"]
    assert result.repairs == golden["repairs"]
    reason = "calls" if golden["stopped_by"] == "evaluations" else golden["stopped_by"]
    assert (result.stopped_by, result.best_found_by) == (reason, golden["found_by"] or None)
