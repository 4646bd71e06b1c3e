"""The only place where engine, connectors and config meet: everything is built from the settings, when it is asked for.

Made by the command line's session and by the daemon. Each attribute is built once; ``close`` gives back what was built.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from connectors.registry import connector_class
from engine.ports import Clock, IdMaker, RandomIds, SystemClock

if TYPE_CHECKING:
    from config.settings import Settings
    from connectors.base import Board
    from dispatcher.ledger import Ledger
    from engine.store.database import Database
    from engine.store.store import Store


class Wiring:
    """Database, store, boards and ledger of one process; ``store_dir`` and ``store_url`` are absolute."""

    def __init__(self, settings: Settings, *, store_dir: Path, store_url: str) -> None:
        self.settings = settings
        self.store_dir = store_dir
        self.store_url = store_url
        self.clock: Clock = SystemClock()
        self.ids: IdMaker = RandomIds()

    @cached_property
    def database(self) -> Database:
        """The open store."""
        from engine.store.database import Database

        return Database.open(self.store_url, synchronous=self.settings.store.synchronous)

    @cached_property
    def store(self) -> Store:
        """The engine's verbs over the database."""
        from engine.store.store import Store

        return Store(self.database, self.clock, self.store_dir)

    @cached_property
    def ledger(self) -> Ledger:
        """The dispatcher's own rows."""
        from dispatcher.ledger import Ledger

        return Ledger(self.database)

    @cached_property
    def boards(self) -> Mapping[str, Board]:
        """Every board of the configuration, by name."""
        return {
            each.name: connector_class(each.kind)(each.name, self.database, self.clock, self.ids)
            for each in self.settings.boards
        }

    def close(self) -> None:
        """Close what was opened."""
        if "database" in self.__dict__:
            self.database.close()
