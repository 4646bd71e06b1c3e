"""How the clients of the three forges ask: one object below the repository's address, and several issues by number.

Their ``Wired`` builds on ``Wire``. Listings are ``payloads.listed``; what a forge calls its objects is the client's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from pydantic import TypeAdapter

from connectors.errand import Errand
from connectors.errors import ForgeError, ForgeRefused, RateLimited
from connectors.forge.client import Target
from connectors.forge.payloads import missing
from connectors.forge.records import Issue, Missing, Sighting
from connectors.transport.client import Transport
from connectors.transport.models import accept
from connectors.transport.request import Answer, Request

P = TypeVar("P")


class Wire:
    """A transport to one repository, whose address on the forge begins with ``path``."""

    def __init__(self, transport: Transport, target: Target, path: str) -> None:
        self._transport = transport
        self._target = target
        self._path = path

    def _get(self, errand: Errand, path: str, **query: str) -> Answer:
        """One object below the repository's address. Raises ``ForgeError``."""
        return self._transport.read(errand, Request("GET", self._path + path, tuple(query.items())))

    def _one(self, errand: Errand, path: str, model: TypeAdapter[P]) -> P | Missing:
        """One object, or how it is not there. Raises ``ForgeError`` for what says neither."""
        try:
            return accept(self._get(errand, path), model, errand)
        except ForgeRefused as error:
            return missing(error)


def sighted(numbers: Iterable[int], ask: Callable[[int], Issue | Missing]) -> Sighting:
    """Each issue by itself: a failure beside one says nothing about another (connectors.md 3). Raises ``RateLimited``,
    which ends the asking."""
    found: dict[int, Issue] = {}
    absent: dict[int, Missing] = {}
    unread: dict[int, str] = {}
    for number in numbers:
        try:
            seen = ask(number)
        except RateLimited:
            raise
        except ForgeError as error:
            unread[number] = error.message
            continue
        if isinstance(seen, Missing):
            absent[number] = seen
        else:
            found[number] = seen
    return Sighting(found, absent, unread)
