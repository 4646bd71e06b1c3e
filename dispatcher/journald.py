"""Log lines as entries of the system's journal, with their keys as fields (dispatcher.md 34).

Used by ``log`` where stderr is the journal anyway: the same lines, but ``journalctl POINTSMAN_RUN_ID=…`` finds them.
One datagram per line in the journal's own protocol. As everywhere in logging, a line that cannot be written is lost.
"""

from __future__ import annotations

import logging
import os
import re
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TextIO

SOCKET = Path("/run/systemd/journal/socket")
IDENTIFIER = "pointsman"
PREFIX = "POINTSMAN_"
LONGEST = 48 * 1024
"""Bytes of one value; longer ones are cut, so that the whole fits into a datagram."""
PRIORITIES = ((logging.CRITICAL, 2), (logging.ERROR, 3), (logging.WARNING, 4), (logging.INFO, 6))
_DEBUG = 7
_OWN = frozenset({"event", "time", "level"})
"""Keys that the journal has fields of its own for."""
_NO_NAME = re.compile(r"[^A-Z0-9_]")


def is_journal(stream: TextIO, told: str) -> bool:
    """Whether the stream is the one that the service manager connected to the journal (``$JOURNAL_STREAM``)."""
    try:
        found = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return False
    return bool(told) and told == f"{found.st_dev}:{found.st_ino}"


class JournalHandler(logging.Handler):
    """Writes records to the journal's socket; ``record.msg`` is a mapping for lines of ours."""

    def __init__(self, path: Path = SOCKET) -> None:
        super().__init__()
        self._path = str(path)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.setblocking(False)

    def emit(self, record: logging.LogRecord) -> None:
        """Send one line, or lose it."""
        try:
            self._socket.sendto(entry_of(record, self.format(record)), self._path)
        except OSError:
            return

    def close(self) -> None:
        """Give the socket back."""
        self._socket.close()
        super().close()


def entry_of(record: logging.LogRecord, text: str) -> bytes:
    """The datagram of a line; ``text`` is what people read."""
    priority = next((number for level, number in PRIORITIES if record.levelno >= level), _DEBUG)
    fields = {"MESSAGE": text, "PRIORITY": str(priority), "SYSLOG_IDENTIFIER": IDENTIFIER, "LOGGER": record.name}
    if isinstance(record.msg, Mapping):
        fields |= dict(_fields(record.msg))
    return b"".join(_field(name, value) for name, value in fields.items())


def _fields(told: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    if "event" in told:
        yield f"{PREFIX}EVENT", str(told["event"])
    for key, value in told.items():
        if key not in _OWN and not key.startswith("_") and value is not None:
            yield PREFIX + _NO_NAME.sub("_", key.upper()), str(value)


def _field(name: str, value: str) -> bytes:
    """One field; a value with line ends goes with its length."""
    data = value.encode("utf-8", "backslashreplace")[:LONGEST]
    if b"\n" not in data:
        return name.encode() + b"=" + data + b"\n"
    return name.encode() + b"\n" + len(data).to_bytes(8, "little") + data + b"\n"


def line_of(_logger: object, _method: str, told: Mapping[str, object]) -> str:
    """The line for people: the event, then what belongs to it. The last of structlog's processors."""
    rest = (f"{key}={value}" for key, value in told.items() if key not in _OWN and not key.startswith("_"))
    return " ".join((str(told.get("event", "")), *rest))
