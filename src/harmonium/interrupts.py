"""Ctrl-C, also where it strikes inside a compiled kernel and comes out wrapped up."""

from collections.abc import Iterator
from contextlib import contextmanager


def is_interrupt(error: BaseException | None) -> bool:
    """Whether an error is Ctrl-C, or the `SystemError` that Numba makes of it, however deep."""
    while isinstance(error, SystemError):
        error = error.__cause__ or error.__context__
    return isinstance(error, KeyboardInterrupt)


@contextmanager
def plain_interrupts() -> Iterator[None]:
    """Let Ctrl-C come out of the block as `KeyboardInterrupt`, wherever it struck."""
    try:
        yield
    except SystemError as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from None
        raise
