import pytest
from hypothesis import settings

pytest.register_assert_rewrite("tests.functions")

# Every run draws the same examples, and a slow machine is no failure.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")
