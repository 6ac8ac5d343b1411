"""Markdown pages as programs: the files, Python blocks and commands of a page, run in one folder.

A block that begins with a comment that names a file (`# pbil.py`, `# ring.mc`) is that file. Any
other Python block is a script. A console block has commands after `$ `. Blocks run in the order of
the page, and all files are there from the beginning. Scripts and commands of harmonium that follow
each other share a process, which takes a second of CPU to start. A block `text` right after a
script is what the script prints.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
LANGUAGES = {"python", "console", "toml", "text", ""}
TIMEOUT = 300

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
_FILE = re.compile(r"# ([\w-]+\.(?:py|toml|mc))\b")
_EXECUTE = """
import json, os, runpy, sys, warnings
from pathlib import Path

with warnings.catch_warnings(action="error"):
    from harmonium.cli import execute
    from harmonium.specs import importable

for program, *words in json.loads(sys.argv[1]):
    print(end="\\0", flush=True)
    if program == "python":
        before = set(os.listdir())
        with warnings.catch_warnings(action="error"), importable(Path.cwd()):
            runpy.run_path(words[0], run_name="__main__")
        print("\\1", *set(os.listdir()) - before)
    elif code := execute(words):
        sys.exit(f"{words} ended with code {code}")
"""
_HARMONIUM = (sys.executable, "-P", "-c", _EXECUTE)


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    text: str
    line: int
    """Number of the line at which it begins."""

    @property
    def file(self) -> str | None:
        """The file that the block is, if its first line names one."""
        named = _FILE.match(self.text)
        return named[1] if named and self.language in ("python", "toml", "text") else None

    @property
    def commands(self) -> list[list[str]]:
        """The words of each command of a console block."""
        lines = self.text.splitlines() if self.language == "console" else []
        return [shlex.split(line[2:], comments=True) for line in lines if line.startswith("$ ")]

    @property
    def is_script(self) -> bool:
        return self.language == "python" and self.file is None


def read_blocks(page: Path) -> list[Block]:
    text = page.read_text("utf-8")
    found = _BLOCK.finditer(text)
    return [Block(one[1], one[2], text.count("\n", 0, one.start()) + 1) for one in found]


def read_prose(page: Path) -> str:
    """Return the text outside of blocks."""
    return _BLOCK.sub("", page.read_text("utf-8"))


def is_executable(page: Path) -> bool:
    return any(block.is_script or block.commands for block in read_blocks(page))


def write_files(page: Path, folder: Path) -> list[Path]:
    """Write the files of a page, and a small version of the study that pages run."""
    shrink_study(ROOT / "studies" / "quick.toml", folder / "studies" / "quick.toml")
    files = []
    for block in read_blocks(page):
        if block.file is not None:
            files.append(folder / block.file)
            files[-1].write_text(block.text, "utf-8")
    return files


def run_pages(pages: Sequence[Path], folder: Path) -> int:
    """Run every script and command of some pages in one folder; return how many there were."""
    for page in pages:
        write_files(page, folder)
    steps = [step for page in pages for step in _list_steps(page, folder)]
    for program, group in groupby(steps, key=_find_program):
        where = ", ".join(page.name for page in pages)
        if program == "harmonium":
            _run_harmonium(list(group), folder, where)
            continue
        for _, *words in group:
            if program == "make":  # not the test suite inside the test suite
                assert _run(["make", "--dry-run", "-C", str(ROOT), *words], folder, where)
            elif program == "pip":
                _check_installation(words, where)
            else:  # it serves until Ctrl-C: tests/cli/test_report.py
                assert program == "watch", where
                assert (folder / words[2]).exists(), where
    return len(steps)


def _list_steps(page: Path, folder: Path) -> Iterator[list[str]]:
    """Yield what a page runs, as words: commands, or Python and a file that is written.

    What a script has to print is written beside it.
    """
    blocks = read_blocks(page)
    for block, following in zip_longest(blocks, blocks[1:]):
        yield from block.commands
        if block.is_script:
            script = folder / f"{page.stem}_{block.line}.py"
            script.write_text(block.text, "utf-8")
            if following is not None and following.language == "text" and not following.file:
                script.with_suffix(".out").write_text(following.text, "utf-8")
            yield ["python", script.name]


def shrink_study(source: Path, target: Path) -> None:
    """Copy a study with two small sizes, few runs and a coarse bisection: it takes seconds."""

    def shrink(sizes: re.Match[str]) -> str:
        first = int(sizes[1])
        two = (first * 2 // 3, first) if first <= 15 else (first // 2, first * 3 // 4)
        return "sizes = [{}, {}]".format(*two)

    text = re.sub(r"sizes = \[(\d+), .*?\]", shrink, source.read_text("utf-8"))
    text = re.sub(r"(runs|instances) = \d+", r"\1 = 2", text)
    text = re.sub(r"tolerance = 0\.\d+", "tolerance = 0.9", text)
    target.parent.mkdir(exist_ok=True)
    target.write_text(text, "utf-8")


def _find_program(words: Sequence[str]) -> str:
    if words[1:3] == ["study", "watch"]:
        return "watch"
    return "harmonium" if words[0] == "python" else words[0]


def _run_harmonium(steps: Sequence[Sequence[str]], folder: Path, where: str) -> None:
    """Run consecutive scripts and commands in one process, and look at what they print."""
    printed = _run([*_HARMONIUM, json.dumps(steps)], folder, where).split("\0")[1:]
    for step, text in zip(steps, printed, strict=True):
        assert text.strip("\1 \n") or "-o" in step, f"{where}: {shlex.join(step)}: shows nothing"
        expected = folder / Path(step[1]).with_suffix(".out")
        if step[0] == "python" and expected.exists():
            assert text.partition("\1")[0] == expected.read_text("utf-8"), step[1]


def _run(words: Sequence[str], folder: Path, where: str) -> str:
    """Run a program in a folder, and return what it prints; a browser is not opened."""
    environment = {**os.environ, "BROWSER": "true"}
    options: dict[str, Any] = {"capture_output": True, "text": True, "timeout": TIMEOUT}
    done = subprocess.run(words, cwd=folder, env=environment, check=False, **options)
    assert done.returncode == 0, f"{where}\n{done.stdout}{done.stderr}"
    return str(done.stdout)


def _check_installation(arguments: Sequence[str], where: str) -> None:
    """Check that this folder is installed, with extras that exist; install nothing."""
    named = re.fullmatch(r"install \.(?:\[([\w,]+)\])?", " ".join(arguments))
    assert named, where
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert set((named[1] or "all").split(",")) <= set(project["optional-dependencies"]), where
