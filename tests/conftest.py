from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest
from hypothesis import settings

pytest.register_assert_rewrite("tests.functions")

# Every run draws the same examples, and a slow machine is no failure.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file for a checkpoint, which does not exist yet."""
    return tmp_path / "run.ckpt"


@pytest.fixture(scope="session")
def processes() -> Iterator[ProcessPoolExecutor]:
    """Two worker processes."""
    with ProcessPoolExecutor(2, get_context("spawn")) as executor:
        yield executor
