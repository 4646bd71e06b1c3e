"""What the main thread waits for: signals and wake-ups, in one queue that a signal handler may write to.

Nothing that a message says decides anything; it only hurries (dispatcher.md 2).
"""

from __future__ import annotations

import queue
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from types import FrameType

APART = 0.1
"""Seconds between two ticks at the least."""


class Message(StrEnum):
    """What may come in."""

    STOP = "stop"
    RELOAD = "reload"
    WAKE = "wake"


_SIGNALS = {signal.SIGTERM: Message.STOP, signal.SIGINT: Message.STOP, signal.SIGHUP: Message.RELOAD}


class Inbox:
    """The queue of one process."""

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Message] = queue.SimpleQueue()

    def put(self, message: Message) -> None:
        """Leave a message; safe inside a signal handler."""
        self._queue.put(message)

    def wake(self) -> None:
        """Something ended or came in."""
        self._queue.put(Message.WAKE)

    def get(self, seconds: float) -> Message | None:
        """The next message, waiting up to ``seconds``; None when none came."""
        try:
            return self._queue.get(timeout=max(0.0, seconds))
        except queue.Empty:
            return None

    @contextmanager
    def catching(self) -> Iterator[None]:
        """Turn SIGTERM, SIGINT and SIGHUP into messages for the length of the block."""

        def handler(number: int, _frame: FrameType | None) -> None:
            self.put(_SIGNALS[signal.Signals(number)])

        before = {number: signal.signal(number, handler) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, old in before.items():
                signal.signal(number, old)
