"""What the commands share on the terminal: consoles and errors of one line."""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

import harmonium
from harmonium.specs import SpecError
from harmonium.text import escape, one_line

PACKAGE = Path(harmonium.__file__).parent


class _SafeConsole(Console):
    """A console that escapes the texts it is given; its own control codes are kept."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(escape(segment.text), segment.style)


class _Messages(_SafeConsole):
    """A console for messages; what cannot be written is dropped, and does not end a study."""

    def print(self, *objects: Any, **options: Any) -> None:
        with suppress(OSError):
            super().print(*objects, **options)


def output() -> Console:
    """Return the console for results: standard output; user text is never read as markup."""
    return _SafeConsole(markup=False, highlight=False, emoji=False)


def messages() -> Console:
    """Return the console for progress and remarks: standard error."""
    return _Messages(stderr=True, markup=False, highlight=False, emoji=False)


def complain(message: str) -> None:
    """Print one line, unwrapped, about what is wrong."""
    if sys.stderr is not None:  # closed; `print` would use standard output
        with suppress(OSError):  # it cannot be written
            print(f"harmonium: {one_line(message)}", file=sys.stderr)  # noqa: T201


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn errors about bad input into one line.

    An error that was raised in a module of the user keeps its traceback.
    """
    try:
        yield
    except (ValueError, TypeError, FileExistsError, FileNotFoundError) as error:
        if not _is_raised_here(error.__traceback__):
            raise
        raise SpecError(_describe(error)) from error


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Turn warnings into lines."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: complain(str(message))
        yield


def _describe(error: Exception) -> str:
    """Return the message of an error, without the number that the system has for it."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _is_raised_here(trace: TracebackType | None) -> bool:
    """Whether the last frame of a traceback is in the package."""
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and PACKAGE in Path(trace.tb_frame.f_code.co_filename).parents
