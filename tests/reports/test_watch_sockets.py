"""Clients of the page that follows a study which connect and say nothing, or read nothing."""

import socket
from pathlib import Path

import pytest

from harmonium.reports import watch
from tests.reports.test_watch import serving


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


def test_a_connection_that_breaks_is_not_reported(
    small_store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(small_store) as server:
        for error in (ConnectionResetError(), TimeoutError()):
            try:
                raise error
            except OSError:
                server.handle_error(None, ("127.0.0.1", 1))
        assert capsys.readouterr() == ("", "")
        try:
            int("a defect")
        except ValueError:
            server.handle_error(None, ("127.0.0.1", 1))
        assert "a defect" in capsys.readouterr().err
