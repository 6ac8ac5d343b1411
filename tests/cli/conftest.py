import pytest

from tests.cli.studies import Small, run_small


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Small:
    return run_small(tmp_path_factory.mktemp("small"))
