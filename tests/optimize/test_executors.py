from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest

import harmonium as hm
from tests.functions import FAST, Inline, assert_same, weigh

LENGTH = 20


@pytest.mark.filterwarnings("ignore:an evaluation takes:RuntimeWarning")
@pytest.mark.parametrize("options", [{}, {"cache": False}, {"population": 50}], ids=str)
def test_other_processes_give_the_same_result(
    options: dict[str, Any], processes: ProcessPoolExecutor
) -> None:
    options = {"max_calls": 200, **FAST, **options}
    alone = hm.maximize(weigh, LENGTH, **options)
    assert_same(hm.maximize(weigh, LENGTH, executor=processes, **options), alone)


def test_an_executor_slower_than_the_function_is_reported_once() -> None:
    with pytest.warns(RuntimeWarning) as caught:
        hm.maximize(weigh, LENGTH, executor=Inline(delay=0.002), max_calls=600, **FAST)
    assert len(caught) == 1
    assert "through the executor; without it the search would be faster" in str(caught[0].message)
