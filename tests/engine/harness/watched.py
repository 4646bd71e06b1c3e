"""A database that announces its write transactions, so that a fault strikes exactly one of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from sqlalchemy import Connection

from engine.store.cursors import Cursor
from engine.store.database import Database

BEFORE, AFTER = "before", "after"


class WatchedDatabase(Database):
    """Counts write transactions from 1; ``around`` is entered around each with its number, ``told`` hears of each
    right before its commit and right behind it."""

    count = 0
    told: Callable[[str, int], None] = staticmethod(lambda _when, _number: None)
    around: Callable[[int], AbstractContextManager[None]] = staticmethod(lambda _number: nullcontext())

    @contextmanager
    def write_raw(self) -> Iterator[Cursor]:
        """As the real one."""
        with self._watched(super().write_raw) as cursor:
            yield cursor

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """As the real one."""
        with self._watched(super().write) as connection:
            yield connection

    @contextmanager
    def _watched(self, opened: Callable[[], AbstractContextManager[Any]]) -> Iterator[Any]:
        with self._turn:
            self.count += 1
            number = self.count
            with self.around(number):
                with opened() as inner:
                    yield inner
                    self.told(BEFORE, number)
                self.told(AFTER, number)


def killing(when: str, number: int) -> Callable[[str, int], None]:
    """What kills this process at that moment of that transaction."""

    def told(moment: str, count: int) -> None:
        if (moment, count) == (when, number):
            os.kill(os.getpid(), signal.SIGKILL)

    return told


class Crash(BaseException):
    """The death of a process, played inside one: nothing of the engine may catch it."""


def crashing(
    when: str, number: int
) -> tuple[Callable[[str, int], None], Callable[[int], AbstractContextManager[None]]]:
    """``told`` and ``around`` of a database that is gone from that moment on, for whoever comes."""
    dead = False

    def told(moment: str, count: int) -> None:
        nonlocal dead
        dead = dead or (moment, count) == (when, number)
        if dead:
            raise Crash

    @contextmanager
    def around(_: int) -> Iterator[None]:
        if dead:
            raise Crash
        yield

    return told, around
