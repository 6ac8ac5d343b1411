from typing import Any

import pytest

import harmonium as hm
from harmonium.models import MODELS
from tests.functions import FAST, Calls, weigh

LENGTH = 20


GROUPS = [(0, 5, 9), (3, 1), (2, 7, 11, 4)]
CASES: tuple[dict[str, Any], ...] = (
    {"fixed": {0: 0, 7: 1, -1: 0}, "subset_size": (4, 6)},
    {"fixed": {6: 1, 9: 0}, "subset_size": (4, 6), "exactly_one": GROUPS},
)


@pytest.mark.parametrize("model", [cls.name for cls in MODELS] + ["auto"])
@pytest.mark.parametrize("options", CASES, ids=["bits", "groups"])
def test_constraints_always_hold(options: dict[str, Any], model: str) -> None:
    function = Calls()
    result = hm.maximize(function, LENGTH, model=model, seed=1, max_calls=200, **options)
    for row in (*function.rows, result.x):
        assert all(row[place] == value for place, value in options["fixed"].items())
        assert all(row[list(group)].sum() == 1 for group in options.get("exactly_one", ()))
        assert 4 <= row.sum() <= 6
    assert result.fun == 6
    pyramid = model == "auto"  # its moves keep to the constraints
    assert (0 < result.repairs <= result.evaluations) != pyramid


def test_the_best_subset_of_one_size_is_found() -> None:
    result = hm.maximize(weigh, LENGTH, subset_size=5, max_calls=3000, **FAST)
    assert result.x.tolist() == [0] * 15 + [1] * 5
    result = hm.minimize(weigh, LENGTH, subset_size=5, max_calls=3000, **FAST)
    assert result.x.tolist() == [1] * 5 + [0] * 15


def test_only_rows_that_were_changed_count_as_repairs() -> None:
    result = hm.maximize(weigh, LENGTH, subset_size=(0, LENGTH), max_calls=200, **FAST)
    assert result.repairs == 0
    # Half of the random rows have the other value.
    result = hm.maximize(weigh, LENGTH, fixed={3: 1}, population=1000, max_calls=1, **FAST)
    assert 400 < result.repairs < 600  # by chance otherwise: 2 · 10^-10


def test_all_bits_may_be_fixed() -> None:
    fixed = {place: place % 2 for place in range(LENGTH)}
    result = hm.maximize(weigh, LENGTH, fixed=fixed, **FAST)
    assert result.x.tolist() == [0, 1] * 10
    assert result.calls == 1
