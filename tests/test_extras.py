"""Without the packages of an extra: one line that says what to install, before anything is run."""

import sys
import tomllib
from pathlib import Path

import pytest

import harmonium as hm
from harmonium.cli import execute
from harmonium.extras import EXTRAS, MissingExtraError, find_missing, missing_error
from tests.pages import ROOT

WHAT = "altair and vl_convert; pip install 'harmonium[report]'"


@pytest.fixture
def without_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide two packages of the extra, and forget the modules that have imported them."""
    for module in [name for name in sys.modules if name.startswith("harmonium.reports")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "altair", None)
    monkeypatch.setitem(sys.modules, "vl_convert", None)


def test_extras_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert set(EXTRAS) <= set(project["optional-dependencies"])
    assert set(project["optional-dependencies"]) > {"all"}
    needed = " ".join(project["dependencies"])
    assert not [name for name in ("altair", "jinja2", "vl-convert") if name in needed]


def test_what_is_installed_is_not_missing() -> None:
    assert find_missing("report") == []


@pytest.mark.usefixtures("without_charts")
def test_the_message_names_what_is_missing_and_what_to_install() -> None:
    assert find_missing("report") == ["altair", "vl_convert"]
    assert str(missing_error("report", "reports")) == f"reports need {WHAT}"


@pytest.mark.usefixtures("without_charts")
def test_a_result_says_what_its_report_needs(tmp_path: Path) -> None:
    result = hm.maximize(sum, 4, seed=1)
    with pytest.raises(MissingExtraError, match="reports and charts need altair and vl_convert; "):
        result.report(tmp_path / "page.html")


@pytest.mark.usefixtures("without_charts")
@pytest.mark.parametrize(
    "words",
    [
        ["optimize", "harmonium:nothing", "--length", "4", "--report", "page.html"],
        ["solve", "onemax:length=4", "--report", "page.html"],
        ["report", "none.db"],
        ["study", "watch", "none.db"],
    ],
    ids=lambda words: words[0],
)
def test_commands_say_so_before_they_begin(
    words: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert execute(words) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.endswith(f"need {WHAT}\n")
    assert shown.err.count("\n") == 1
