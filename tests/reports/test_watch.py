"""The page that follows a study, over real HTTP on this machine."""

import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harmonium.reports import watch
from harmonium.reports.watch import Server, Watched
from tests.reports.stores import SMALL, Document, Report, fill_store


@contextmanager
def serving(store: Path) -> Iterator[Server]:
    with Server(store, 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def get(address: str, host: str = "localhost") -> tuple[int, str]:
    """Return the status and the text of an answer."""
    request = urllib.request.Request(address, headers={"Host": host})  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_the_page_and_nothing_else_is_served(report: Report, tmp_path: Path) -> None:
    with serving(report(SMALL).with_suffix(".db")) as server:
        assert server.server_address[0] == "127.0.0.1"
        document = Document(get(server.address)[1])
        (body,) = document.find("body")
        assert get(f"{server.address}version") == (200, body.attributes["data-version"])
        assert "This page follows the study" in document.page
        assert "evaluations" in document.figures
        for path in ("etc/passwd", "../study.db", "study.db", "version/"):
            assert get(server.address + path) == (404, "There is nothing here.")
        assert get(server.address, host="evil.example")[0] == 404
    with serving(tmp_path / "none.db") as server:
        status, words = get(server.address)
        assert status == 503
        assert "there is no such" in words


def test_the_page_is_rebuilt_when_the_store_has_grown_and_the_pause_is_over(tmp_path: Path) -> None:
    path = fill_store(tmp_path / "growing.db", SMALL, trials=20)
    eager, patient = Watched(path, pause=0.0), Watched(path, pause=1000.0)
    first, before = eager.page(), patient.page()
    assert eager.page() is first
    fill_store(path, SMALL, trials=15)
    second = eager.page()
    assert second is not first
    assert Document(second).find("body")[0].attributes["data-version"] == eager.version()
    assert patient.page() is before


def test_a_connection_that_is_silent_is_closed(
    report: Report, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(watch._Handler, "timeout", 0.05)
    with serving(report(SMALL).with_suffix(".db")) as server:
        for said in (b"", b"GET /version HTTP/1.1\r\nHost: 127"):
            with socket.create_connection(("127.0.0.1", server.server_port), timeout=60) as client:
                client.sendall(said)
                assert client.recv(1000) == b""
    assert capsys.readouterr() == ("", "")
