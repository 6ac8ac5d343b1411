"""README is short, and does what it says."""

from pathlib import Path

import pytest

from tests.pages import ROOT, read_blocks, run_page

README = ROOT / "README.md"
MAX_LINES = 150


def test_readme_is_short() -> None:
    assert len(README.read_text("utf-8").splitlines()) <= MAX_LINES


def test_there_are_blocks_of_both_kinds_and_no_others() -> None:
    assert {block.language for block in read_blocks(README)} == {"python", "console"}


def test_the_first_program_has_five_lines_at_most() -> None:
    first = next(block for block in read_blocks(README) if block.language == "python")
    assert len(first.text.splitlines()) <= 5


@pytest.mark.slow
def test_readme_runs(tmp_path: Path) -> None:
    assert run_page(README, tmp_path) >= len(read_blocks(README))
