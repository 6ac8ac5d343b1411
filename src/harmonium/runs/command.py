"""A program as a function of bits: it gets them as text and prints a number."""

import math
import shlex
import subprocess
from dataclasses import dataclass

from harmonium.bits import Bits
from harmonium.specs import SpecError


@dataclass(frozen=True)
class Command:
    """Runs a program for each row, without a shell; {bits} becomes a string of 0 and 1."""

    words: tuple[str, ...]
    timeout: float | None = None
    """Seconds the program may take."""

    def __call__(self, bits: Bits) -> float:
        """Return the number that the program prints, last of all, for one row."""
        text = "".join("1" if bit else "0" for bit in bits)
        words = [word.replace("{bits}", text) for word in self.words]
        try:
            done = subprocess.run(  # noqa: S603  # the user's own program, no shell
                words, capture_output=True, text=True, timeout=self.timeout, check=False
            )
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"{words[0]} took longer than {self.timeout:g} s") from None
        except OSError as error:
            raise RuntimeError(f"{words[0]} cannot be run: {error.strerror}") from None
        if done.returncode:
            said = done.stderr.strip().rpartition("\n")[2]
            raise RuntimeError(f"{words[0]} ended with code {done.returncode}: {said}")
        answer = done.stdout.split()[-1:] or [""]
        try:
            number = float(answer[0])
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise RuntimeError(f"{words[0]} printed {answer[0]!r} last; expected a finite number")
        return number


def parse_command(text: str, timeout: float | None = None) -> Command:
    """Make a command from a text with {bits} in it, or raise for what is wrong with it."""
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise SpecError(f"the command {text!r} cannot be split into words: {error}") from None
    if shell := {"|", "<", ">", ">>", "&&", "||", ";", "&"} & set(words):
        raise SpecError(
            f"the command {text!r} has {min(shell)}, which is for a shell, and none is used; write "
            "sh -c '…'"
        )
    if not any("{bits}" in word for word in words):
        raise SpecError(f"the command {text!r} has no {{bits}}; write it where the bits belong")
    return Command(words, timeout)
