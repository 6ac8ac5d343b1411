"""The page that follows a study, over real HTTP on this machine."""

import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

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
        assert answer.headers["Cache-Control"] == "no-store"
        text: str = answer.read().decode()
    return text


def get_error(address: str, host: str | None = None) -> tuple[int, str]:
    with pytest.raises(urllib.error.HTTPError) as caught:
        get(address, host)
    with caught.value as answer:
        return answer.code, answer.read().decode()


def test_the_page_and_its_version_are_served(small_store: Path) -> None:
    with serving(small_store) as server:
        assert server.server_address[0] == "127.0.0.1"
        document = Document(get(server.address))
        (body,) = document.find("body")
        assert body.attributes["data-version"] == get(f"{server.address}version")
        assert "This page follows the study" in document.page
        assert document.find("figure", id="figure-evaluations")


def test_nothing_else_is_served(small_store: Path) -> None:
    with serving(small_store) as server:
        for path in ("etc/passwd", "../small.db", "small.db", "version/"):
            assert get_error(server.address + path) == (404, "There is nothing here.")
        assert get_error(server.address, host="evil.example")[0] == 404


def test_a_missing_store_is_reported(tmp_path: Path) -> None:
    with serving(tmp_path / "none.db") as server:
        code, words = get_error(server.address)
        assert code == 503
        assert "there is no such" in words


def test_the_page_is_rebuilt_only_when_the_store_has_grown(tmp_path: Path) -> None:
    path = fill_store(tmp_path / "growing.db", SMALL, trials=20)
    watched = Watched(path, pause=0.0)
    first = watched.page()
    assert watched.page() is first
    fill_store(path, SMALL, trials=15)
    second = watched.page()
    assert second is not first
    assert Document(second).find("body")[0].attributes["data-version"] == watched.version()


def test_the_page_is_not_rebuilt_more_often_than_the_pause(tmp_path: Path) -> None:
    path = fill_store(tmp_path / "growing.db", SMALL, trials=20)
    watched = Watched(path, pause=1000.0)
    first, version = watched.page(), watched.version()
    fill_store(path, SMALL, trials=15)
    assert watched.page() is first
    assert watched.version() == version
