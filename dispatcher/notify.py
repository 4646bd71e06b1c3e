"""Telling systemd how the daemon is (``sd_notify``, dispatcher.md 32). Without ``NOTIFY_SOCKET`` it is silent.

One sender per process, made by the daemon; one datagram per message. A refusing or missing socket is never an error:
the first one is logged, the daemon goes on. After ``stopping`` neither ``READY`` nor ``WATCHDOG`` is sent.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping

from dispatcher import log
from engine.ports import Clock

STATUS_LENGTH = 200
_log = log.get(__name__)


class Notifier:
    """The one sender. Thread-safe; every method returns at once."""

    def __init__(self, environment: Mapping[str, str], clock: Clock) -> None:
        self._address = _address(environment.get("NOTIFY_SOCKET", ""))
        self._watchdog = _watchdog_seconds(environment)
        self._clock = clock
        self._lock = threading.Lock()
        self._stopping = False
        self._ready = False
        self._failed = False

    @property
    def watchdog_seconds(self) -> float:
        """How often systemd wants a ping at the least; 0 when it does not watch."""
        return self._watchdog if self._address else 0.0

    @property
    def heard(self) -> bool:
        """Whether anybody listens."""
        return bool(self._address)

    def ready(self, status: str) -> None:
        """``READY=1``: a first complete tick ended."""
        self._ready = True
        self._send(f"READY=1\n{_status(status)}", before_stop=True)

    def status(self, text: str) -> None:
        """``STATUS=``: one line of at most 200 characters."""
        self._send(_status(text))

    def watchdog(self) -> None:
        """``WATCHDOG=1``: progress is fresh. Whether it is, the caller knows."""
        self._send("WATCHDOG=1", before_stop=True)

    def reloading(self) -> None:
        """``RELOADING=1`` with the monotonic time, in one datagram; nothing before the first ``READY``."""
        if self._ready:
            self._send(f"RELOADING=1\nMONOTONIC_USEC={int(self._clock.monotonic() * 1e6)}", before_stop=True)

    def reloaded(self, status: str) -> None:
        """``READY=1`` again: a reload ended, also when it was refused; before the first one, only the status."""
        if self._ready:
            self.ready(status)
        else:
            self.status(status)

    def stopping(self, status: str) -> None:
        """``STOPPING=1``, once."""
        with self._lock:
            if self._stopping:
                return
            self._stopping = True
        self._send(f"STOPPING=1\n{_status(status)}")

    def extend(self, seconds: float) -> None:
        """``EXTEND_TIMEOUT_USEC``: start-up or draining still advances."""
        self._send(f"EXTEND_TIMEOUT_USEC={int(seconds * 1e6)}")

    def _send(self, message: str, *, before_stop: bool = False) -> None:
        if not self._address:
            return
        with self._lock:
            if before_stop and self._stopping:
                return
            failure = _datagram(self._address, message.encode("utf-8", "replace"))
            first, self._failed = failure and not self._failed, bool(failure)
        if first:
            _log.warning("notify.failed", reason=failure)


def _datagram(address: str, message: bytes) -> str:
    """Send one datagram without waiting; why it could not be sent, or the empty text."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.setblocking(False)
            sender.sendto(message, address)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _address(name: str) -> str:
    """A path, or an abstract name (``@name`` means a leading NUL); anything else is not understood."""
    if name.startswith("@"):
        return "\0" + name[1:]
    return name if name.startswith("/") else ""


def _status(text: str) -> str:
    line = " ".join(text.split())
    return f"STATUS={line if len(line) <= STATUS_LENGTH else line[: STATUS_LENGTH - 1] + '…'}"


def _watchdog_seconds(environment: Mapping[str, str]) -> float:
    text = environment.get("WATCHDOG_USEC", "")
    return int(text) / 1e6 if text.isascii() and text.isdigit() else 0.0
