"""Warnings that point at the line of the user that called into harmonium."""

import sys
import warnings
from pathlib import Path

_PACKAGE = str(Path(__file__).parent)


def warn(message: str) -> None:
    """Warn with the line that called into harmonium."""
    level = 1
    frame = sys._getframe(level)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
        level += 1
    warnings.warn(message, RuntimeWarning, stacklevel=level + 1)
