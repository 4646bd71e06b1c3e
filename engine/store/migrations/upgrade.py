"""Runs the migrations on a connection that is inside a transaction. Imported only when there is something to run."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection


def configuration() -> Config:
    """What Alembic needs to know; there is no ini file."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def to_head(connection: Connection) -> None:
    """Bring the schema to the newest revision, all of it or nothing."""
    to(connection, "head")


def to(connection: Connection, revision: str) -> None:
    """Bring the schema up to ``revision``, all of it or nothing."""
    config = configuration()
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
