"""`harmonium report` and `harmonium study watch` as processes of their own."""

import re
import signal
import socket
import time
import urllib.request
from pathlib import Path

import pytest

from tests.cli.commands import call_here, running
from tests.reports.stores import ONE_SIZE, SMALL, fill_store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill_store(tmp_path_factory.mktemp("report") / "one.db", ONE_SIZE)


def test_the_page_is_written_where_one_stands_and_figures_into_their_folder(
    store: Path, tmp_path: Path
) -> None:
    figures = ("--figures", "deep/figures", "--format", "svg")
    done = call_here("report", str(store), *figures, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    size = (tmp_path / "one.html").stat().st_size / 1e6
    told = f"report: one.html ({size:.1f} MB)\nfigures: 10 in deep/figures\n"
    assert done.stdout == told
    assert size < 5
    paths = list((tmp_path / "deep" / "figures").iterdir())
    assert {path.name.removesuffix(".svg") for path in paths} == {
        *("evaluations", "cpu", "population", "building", "phases", "convergence"),
        *("training", "learned", "pairs", "weights"),
    }


def test_watching_ends_with_ctrl_c(tmp_path: Path) -> None:
    store = fill_store(tmp_path / "half.db", SMALL, trials=30)
    with running(tmp_path, "study", "watch", str(store), "--port", "0") as process:
        assert process.stdout is not None
        address = re.fullmatch(r".*(http://127\.0\.0\.1:\d+/)\n", process.stdout.readline())
        assert address is not None
        with urllib.request.urlopen(address[1], timeout=60) as answer:  # noqa: S310
            assert "A snapshot of an unfinished study" in answer.read().decode()
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Traceback" not in errors


def test_a_port_in_use_is_said(store: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = call_here("study", "watch", str(store), "--port", str(port))
    assert done.returncode == 2
    assert done.stderr.startswith(f"harmonium: port {port} cannot be used: ")
    assert "choose another with --port" in done.stderr
