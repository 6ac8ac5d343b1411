"""README is short, and does what it says."""

from tests.pages import ROOT, read_blocks

README = ROOT / "README.md"
MAX_LINES = 150


def test_readme_is_short() -> None:
    assert len(README.read_text("utf-8").splitlines()) <= MAX_LINES


def test_there_are_programs_with_their_output_and_commands() -> None:
    languages = [block.language for block in read_blocks(README)]
    assert languages[:3] == ["console", "python", "text"]  # install, the first program, its output
    assert set(languages) == {"console", "python", "text"}


def test_no_line_is_wider_than_100_columns_but_rows_of_tables() -> None:
    lines = README.read_text("utf-8").splitlines()
    assert [line for line in lines if len(line) > 100 and not line.startswith("|")] == []


def test_the_first_program_has_five_lines_at_most() -> None:
    first = next(block for block in read_blocks(README) if block.language == "python")
    assert len([line for line in first.text.splitlines() if line]) <= 5


def test_every_block_is_run_or_is_what_a_program_prints() -> None:
    """`test_docs.py` runs them."""
    blocks = read_blocks(README)
    assert all(block.is_script or block.commands or block.language == "text" for block in blocks)
