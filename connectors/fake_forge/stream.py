"""Bytes of one connection: reads HTTP/1.1 requests, writes answers whole, and closes in every way that a peer can.

Knows no forge. ``OSError`` and ``ConnectionError`` of a peer that left are the caller's to expect.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from connectors.fake_forge.exchange import Answer

MOST_HEAD = 256 * 1024


class Garbled(Exception):
    """What came is no HTTP request."""


@dataclass(frozen=True, slots=True)
class Head:
    """A request's head. Header names are lower case; of a name that comes twice the last counts."""

    method: str
    target: str
    headers: Mapping[str, str]

    @property
    def length(self) -> int:
        """The announced length of the body."""
        text = self.headers.get("content-length", "0")
        return int(text) if text.isdecimal() else 0

    @property
    def chunked(self) -> bool:
        """Whether the body comes in chunks."""
        return "chunked" in self.headers.get("transfer-encoding", "").lower()

    @property
    def last(self) -> bool:
        """Whether the peer wants the connection closed after the answer."""
        return self.headers.get("connection", "").lower() == "close"


class Stream:
    """One connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._kept = b""

    def read_head(self) -> Head | None:
        """The next request's head, None when the peer closed. Raises ``Garbled``."""
        while b"\r\n\r\n" not in self._kept:
            more = self._socket.recv(65536)
            if not more:
                return None
            self._kept += more
            if len(self._kept) > MOST_HEAD and b"\r\n\r\n" not in self._kept:
                raise Garbled
        text, _, self._kept = self._kept.partition(b"\r\n\r\n")
        first, *lines = text.decode("latin-1").split("\r\n")
        parts = first.split(" ")
        if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
            raise Garbled
        pairs = [line.partition(":") for line in lines]
        return Head(parts[0], parts[1], {name.strip().lower(): value.strip() for name, _, value in pairs})

    def read_some(self, count: int) -> bytes:
        """At most ``count`` bytes of a body, or fewer at the end."""
        while len(self._kept) < count:
            more = self._socket.recv(65536)
            if not more:
                break
            self._kept += more
        found, self._kept = self._kept[:count], self._kept[count:]
        return found

    def read_body(self, head: Head) -> bytes | None:
        """The whole body, None when the peer left in the middle."""
        if head.headers.get("expect", "").lower() == "100-continue":
            self.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if head.chunked:
            return self._read_chunks()
        body = self.read_some(head.length)
        return body if len(body) == head.length else None

    def _read_chunks(self) -> bytes | None:
        body = b""
        while True:
            line = self._read_line()
            if line is None:
                return None
            size = int(line.split(b";")[0], 16)
            chunk = self.read_some(size)
            if len(chunk) < size or self._read_line() is None:
                return None
            if size == 0:
                return body
            body += chunk

    def _read_line(self) -> bytes | None:
        while b"\r\n" not in self._kept:
            more = self._socket.recv(65536)
            if not more:
                return None
            self._kept += more
        line, _, self._kept = self._kept.partition(b"\r\n")
        return line

    def write(self, data: bytes) -> None:
        """All of it."""
        self._socket.sendall(data)

    def finish(self) -> None:
        """End in order: what was written arrives, then the end."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        self.close()

    def reset(self) -> None:
        """End with a reset: the peer sees an error, not an end."""
        linger(self._socket)
        self.close()

    def close(self) -> None:
        """Give the socket back."""
        with contextlib.suppress(OSError):
            self._socket.close()

    def raw(self) -> socket.socket:
        """The same connection below TLS, for bytes that are no record."""
        return socket.socket(fileno=socket.dup(self._socket.fileno()))


def linger(connection: socket.socket) -> None:
    """Make the coming close a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def head_of(answer: Answer, length: int | None, more: Mapping[str, str] | None = None) -> bytes:
    """Status line and headers; ``length`` None announces chunks."""
    try:
        phrase = HTTPStatus(answer.status).phrase
    except ValueError:
        phrase = "Unknown"
    headers = {"Content-Type": answer.content_type} if answer.body is not None else {}
    headers |= {**answer.headers, **(more or {})}
    if length is None:
        headers["Transfer-Encoding"] = "chunked"
    elif answer.status not in (204, 304):
        headers["Content-Length"] = str(length)
    lines = [f"HTTP/1.1 {answer.status} {phrase}", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")


def bytes_of(answer: Answer) -> bytes:
    """A whole answer."""
    payload = answer.payload()
    return head_of(answer, len(payload)) + (b"" if answer.status in (204, 304) else payload)
