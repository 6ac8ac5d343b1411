"""The documentation site, built once for all processes of the test suite."""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import ROOT

SOURCES = ("docs", "examples", "tutorials", "CHANGELOG.md")
GENERATED = shutil.ignore_patterns("_build", "gallery", "api", "__pycache__", "*.db")


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site from copied sources, without running the gallery; return its folder."""
    base = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        base = base.parent  # that of all workers
    folder = base / "site"
    with (base / "site.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one process builds, the others wait
        if not (folder / "done").exists():
            _build(folder)
            (folder / "done").touch()
    return folder / "html"


def _build(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=GENERATED)
        else:
            shutil.copy(source, folder / name)
    shutil.rmtree(folder / "docs" / "tutorials", ignore_errors=True)
    words = ["-W", "--keep-going", "-q", "-b", "html", "-D", "plot_gallery=0"]
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", *words, folder / "docs", folder / "html"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
