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
from tests.reports.stores import SMALL, Document, fill_store


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


def get(address: str, host: str | None = None) -> str:
    request = urllib.request.Request(address, headers={"Host": host} if host else {})  # noqa: S310
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
        text: str = answer.read().decode()
    return text


def get_error(address: str, host: str | None = None) -> tuple[int, str]:
    with pytest.raises(urllib.error.HTTPError) as caught:
        get(address, host)
    with caught.value as answer:
        return answer.code, answer.read().decode()


def test_the_page_and_nothing_else_is_served(small_store: Path) -> None:
    with serving(small_store) as server:
        assert server.server_address[0] == "127.0.0.1"
        document = Document(get(server.address))
        (body,) = document.find("body")
        assert body.attributes["data-version"] == get(f"{server.address}version")
        assert "This page follows the study" in document.page
        assert "evaluations" in document.figures
        for path in ("etc/passwd", "../small.db", "small.db", "version/"):
            assert get_error(server.address + path) == (404, "There is nothing here.")
        assert get_error(server.address, host="evil.example")[0] == 404


def test_a_missing_store_is_reported(tmp_path: Path) -> None:
    with serving(tmp_path / "none.db") as server:
        code, words = get_error(server.address)
        assert code == 503
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
    small_store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert watch._Handler.timeout == watch.MAX_SILENCE == 30.0
    monkeypatch.setattr(watch._Handler, "timeout", 0.05)
    with serving(small_store) as server:
        for said in (b"", b"GET /version HTTP/1.1\r\nHost: 127"):
            with socket.create_connection(("127.0.0.1", server.server_port), timeout=60) as client:
                client.sendall(said)
                assert client.recv(1000) == b""
    assert capsys.readouterr() == ("", "")
