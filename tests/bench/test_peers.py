import sys
from pathlib import Path

import pytest

from harmonium.bench.peers import PEERS, load_peers
from harmonium.environment import find_versions


@pytest.mark.parametrize("name", ["scikit-learn", "pgmpy", "gomea"])
def test_an_absent_peer_is_skipped_with_the_remedy(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, PEERS[name].module.split(".")[0], None)
    monkeypatch.setitem(sys.modules, PEERS[name].module, None)
    modules, skipped = load_peers((name,))
    assert modules == {}
    assert [str(one) for one in skipped] == [
        f"{name}: not installed; pip install 'harmonium[bench]'"
    ]


def test_a_peer_that_fails_on_import_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gomea.py").write_text("import a_library_it_needs")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "gomea", raising=False)
    modules, (skipped,) = load_peers(("gomea",))
    assert modules == {}
    assert str(skipped) == "gomea: cannot be imported: No module named 'a_library_it_needs'"


def test_versions_are_of_what_is_installed() -> None:
    versions = find_versions(("numpy", "no-such-package"))
    assert list(versions) == ["numpy"]
