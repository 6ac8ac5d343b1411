"""Messages between a driver and a worker over a socket; whatever else arrives is noticed."""

import pickle
import socket
import struct
from collections.abc import Callable
from typing import Any, Final
from zlib import crc32

_HEADER: Final = struct.Struct("!16sQQI")
"""Token, number of the call, size and CRC-32 of the pickled message."""

TOKEN_BYTES: Final = 16

LOOK_SECONDS: Final = 1.0
"""Longest wait without a look at the other end."""

_PIECE_BYTES: Final = 2**20


class WrongMessage(Exception):  # noqa: N818  # says what happened
    """Something arrived that is not a message of the other end."""


class Channel:
    """One end of a socket, for pickled messages with numbers.

    A message begins with a token that only the two ends know. Other bytes, which a trial may write
    into the socket, do not have it, so their lengths are not believed.

    Parameters
    ----------
    end : socket
        This end.
    token : bytes
        Random bytes, the same at the other end.
    look : callable, optional
        Called every second of a wait for the other end; it raises to end the wait.
    """

    def __init__(
        self, end: socket.socket, token: bytes, look: Callable[[], None] | None = None
    ) -> None:
        self._socket, self._token, self._look = end, token, look
        end.settimeout(None if look is None else LOOK_SECONDS)

    def close(self) -> None:
        """Close this end."""
        self._socket.close()

    def send(self, number: int, payload: bytes) -> None:
        """Send a message."""
        header = _HEADER.pack(self._token, number, len(payload), crc32(payload))
        left = memoryview(header + payload)
        while left:
            left = left[self._wait(self._socket.send, left) :]

    def receive(self) -> tuple[int, bytes]:
        """Return the number and the bytes of the next message.

        Raises
        ------
        EOFError
            If the other end is closed.
        WrongMessage
            If something else arrives.
        """
        token, number, size, checksum = _HEADER.unpack(self._read(_HEADER.size))
        if token != self._token:
            raise WrongMessage
        payload = self._read(size)
        if crc32(payload) != checksum:
            raise WrongMessage
        return number, payload

    def _read(self, size: int) -> bytes:
        read = bytearray()
        while len(read) < size:
            piece = self._wait(self._socket.recv, min(size - len(read), _PIECE_BYTES))
            if not piece:
                raise EOFError
            read += piece
        return bytes(read)

    def _wait(self, act: Callable[[Any], Any], argument: object) -> Any:
        """Send or receive; look at the other end while that has to wait."""
        while True:
            try:
                return act(argument)
            except TimeoutError:
                if self._look is not None:
                    self._look()


def pack(message: object) -> bytes:
    """Return a message as bytes."""
    return pickle.dumps(message)


def unpack(payload: bytes) -> Any:
    """Return the message that was packed by the other end."""
    return pickle.loads(payload)  # noqa: S301  # of our own process
