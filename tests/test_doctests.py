"""The examples in docstrings do what they say."""

import doctest
import importlib
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src"
MODULES = sorted(
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for path in (SOURCE / "harmonium").rglob("*.py")
    if ">>> " in path.read_text("utf-8")
)


def test_the_public_functions_have_examples() -> None:
    assert {"harmonium.optimize", "harmonium.runs", "harmonium.studies.study"} <= set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    results = doctest.testmod(importlib.import_module(name))  # skipped examples do not count
    assert results.failed == 0
