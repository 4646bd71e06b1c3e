"""``pointsman db``: which schema the store has, migrating it, whether it is sound, and a copy while everything runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dispatcher.cli.output import table
from dispatcher.cli.session import Session
from dispatcher.refusals import Refused

if TYPE_CHECKING:
    from engine.store.checking import StoreCheck
    from engine.store.health import StoreLook


@click.group()
def command() -> None:
    """Look after the database."""


@command.command(name="current")
@click.pass_obj
def show_current(session: Session) -> int:
    """Show the schema of the store and the newest that this build knows."""
    from engine.store.schema import revisions

    seen, head = _seen(session), revisions()[-1]
    state = "newer" if seen.newer else "behind" if seen.behind else "current"
    if session.json:
        session.emit({"revision": seen.revision, "head": head, "state": state})
    else:
        session.say(f"The store has schema {seen.revision or 'none'}; this build's newest is {head}: {state}.")
    return 0


@command.command(name="upgrade")
@click.pass_obj
def upgrade(session: Session) -> int:
    """Make the store when it is missing, and bring its schema to this build's."""
    from engine.store.health import look

    before = look(session.store_url).revision
    opened = session.wiring().database
    with opened.read():
        after = look(session.store_url).revision
    if session.json:
        session.emit({"from": before, "to": after, "migrated": before != after})
    elif before == after:
        session.say(f"The store has schema {after} already.")
    else:
        session.say(f"The store went from schema {before or 'none'} to {after}.")
    return 0


@command.command(name="check")
@click.pass_obj
def check_store(session: Session) -> int:
    """Check the database file and every row; nothing is written. Exit 1 when something is damaged."""
    from connectors.native.schema import JSON_COLUMNS
    from connectors.native.tables import metadata
    from dispatcher.ledger.schema import TABLES
    from engine.store.checking import check

    _seen(session)
    found = check(session.store_url, (*metadata.tables.values(), *TABLES), JSON_COLUMNS)
    if session.json:
        session.emit(_document(found))
    else:
        session.say(_text(found))
    return 0 if found.sound else 1


@command.command(name="backup")
@click.argument("file", type=click.Path(path_type=Path))
@click.pass_obj
def backup(session: Session, file: Path) -> int:
    """Copy the database to FILE while everything runs; an existing FILE is never replaced."""
    from engine.store.copying import backup as copy

    seen = _seen(session)
    target = (session.folder / file).absolute()
    size = copy(session.store_url, target, session.environment)
    if session.json:
        session.emit({"file": str(target), "bytes": size, "revision": seen.revision})
    else:
        session.say(f"{target} holds the database as it is now ({size} bytes). Files of runs are copied apart.")
    return 0


def _seen(session: Session) -> StoreLook:
    """The store, which must be there. Raises Refused, StoreUnreachable."""
    from engine.store.health import look

    seen = look(session.store_url)
    if not seen.exists:
        raise Refused("not_found", f"There is no store at {session.store_dir}", "Make one: pointsman db upgrade")
    return seen


def _document(found: StoreCheck) -> Mapping[str, object]:
    tables = {
        name: {"rows": each.rows, "unreadable": each.unreadable, "strays": each.strays}
        for name, each in found.tables.items()
    }
    return {"ok": found.sound, "revision": found.revision, "faults": list(found.faults), "tables": tables}


def _text(found: StoreCheck) -> str:
    if found.faults:
        damage = "\n".join(f"  {fault}" for fault in found.faults)
        return f"The database file is damaged. Restore it from a backup.\n{damage}"
    rows = [
        (name, str(each.rows), str(each.unreadable), str(each.strays))
        for name, each in found.tables.items()
        if each.unreadable or each.strays
    ]
    total = sum(each.rows for each in found.tables.values())
    verdict = f"The database file is whole; {total} rows were read."
    return f"{verdict}\n{table(('TABLE', 'ROWS', 'UNREADABLE', 'OF NO RUN'), rows)}" if rows else verdict
