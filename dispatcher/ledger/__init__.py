"""What must survive the daemon: links, claims, intents, settlements, retries, parks and reasons (dispatcher.md 3).

``Ledger`` is the door: consistent looks for the tick, and write transactions whose verbs live in ``cards``,
``outcomes`` and ``daemon_rows``. ``Glance`` is the narrow one of verbs that only show cards; it loads no table class,
and for its sake the names of this package load when they are asked for. The rows decide nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dispatcher.ledger.ledger import Ledger, LedgerDatabase, Stopwatch, Transaction

__all__ = ["Ledger", "LedgerDatabase", "Stopwatch", "Transaction"]


def __getattr__(name: str) -> object:
    """The names of the door, from ``ledger``."""
    if name not in __all__:
        raise AttributeError(f"module {__name__} has no attribute {name}")
    return getattr(import_module("dispatcher.ledger.ledger"), name)
