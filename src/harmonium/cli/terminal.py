"""What the commands share on the terminal: consoles and errors of one line."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from rich.console import Console

import harmonium
from harmonium.specs import SpecError

PACKAGE = Path(harmonium.__file__).parent


def output() -> Console:
    """Return the console for results: standard output; user text is never read as markup."""
    return Console(markup=False, highlight=False, emoji=False)


def messages() -> Console:
    """Return the console for progress and remarks: standard error."""
    return Console(stderr=True, markup=False, highlight=False, emoji=False)


def complain(message: str) -> None:
    """Print one line, unwrapped, about what is wrong."""
    one_line = " ".join(message.split())
    print(f"harmonium: {one_line}", file=sys.stderr)  # noqa: T201


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn errors about bad input into one line, and warnings too.

    An error that was raised in a module of the user keeps its traceback.
    """
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: complain(str(message))
        try:
            yield
        except (ValueError, TypeError, FileExistsError, FileNotFoundError) as error:
            if not _is_raised_here(error.__traceback__):
                raise
            raise SpecError(str(error)) from error


def _is_raised_here(trace: TracebackType | None) -> bool:
    """Whether the last frame of a traceback is in the package."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and PACKAGE in Path(trace.tb_frame.f_code.co_filename).parents
