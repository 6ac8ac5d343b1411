"""A page on 127.0.0.1 that follows a study: it is rebuilt when the store has grown."""

import threading
import time
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

from harmonium.reports.page import render
from harmonium.reports.study_page import make_study_page, take_snapshot
from harmonium.specs import SpecError
from harmonium.studies.store import Store

MIN_PAUSE: Final = 5.0
"""Minimum seconds between two builds."""

MAX_SILENCE: Final = 30.0
"""Seconds after which a connection is closed on which nothing is sent or read."""


class Watched:
    """The newest page of a store, built on request; safe to use from several threads."""

    def __init__(self, store: Path, pause: float = MIN_PAUSE) -> None:
        self._store = store
        self._pause = pause
        self._lock = threading.Lock()
        self._version = ""
        self._page = ""
        self._built = float("-inf")

    def version(self) -> str:
        """Return the version of the page that a request would get now."""
        with self._lock:
            return self._choose_version()

    def page(self) -> str:
        """Return the page, rebuilt if the store has grown and the last page is old enough."""
        with self._lock:
            version = self._choose_version()
            if version != self._version:
                with Store.open(self._store) as store:
                    snapshot = take_snapshot(store)
                self._page = render(make_study_page(snapshot), watched=version)
                self._version, self._built = version, time.monotonic()
            return self._page

    def _choose_version(self) -> str:
        if time.monotonic() - self._built < self._pause:
            return self._version
        with Store.open(self._store) as store:
            return store.version()


class Server(ThreadingHTTPServer):
    """Serves the page of one store, to this machine only."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, store: Path, port: int) -> None:
        self.watched = Watched(store)
        super().__init__(("127.0.0.1", port), _Handler)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"


class _Handler(BaseHTTPRequestHandler):
    server: Server
    timeout = MAX_SILENCE

    def do_GET(self) -> None:  # named by http.server
        host = self.headers.get("Host", "").partition(":")[0]
        answers = {"/": self.server.watched.page, "/version": self.server.watched.version}
        if host not in ("127.0.0.1", "localhost") or self.path not in answers:
            self._answer(HTTPStatus.NOT_FOUND, "There is nothing here.", "text/plain")
            return
        try:
            text = answers[self.path]()
        except SpecError as error:  # the store was deleted or cannot be read
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, str(error), "text/plain")
            return
        self._answer(HTTPStatus.OK, text, "text/html" if self.path == "/" else "text/plain")

    def _answer(self, status: HTTPStatus, text: str, kind: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        with suppress(ConnectionError, TimeoutError):  # the browser is gone, or does not read
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing: the terminal shows messages to the user."""
