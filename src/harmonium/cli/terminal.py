"""What the commands share on the terminal: consoles that never read markup out of user text."""

import sys

from rich.console import Console


def output() -> Console:
    """Return the console for results: standard output."""
    return Console(markup=False, highlight=False, emoji=False)


def messages() -> Console:
    """Return the console for progress and remarks: standard error."""
    return Console(stderr=True, markup=False, highlight=False, emoji=False)


def complain(message: str) -> None:
    """Say in one line, unwrapped, what went wrong."""
    one_line = " ".join(message.split())
    print(f"harmonium: {one_line}", file=sys.stderr)  # noqa: T201
