"""Saved views: the filters of a list under a name, kept with the board (dispatcher.md 29)."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from difflib import get_close_matches

from sqlalchemy import delete, insert, select

from connectors.base import CardQuery
from connectors.card import BoardEventType, Mover
from connectors.errors import UnknownColumn, UnknownView
from connectors.native import schema
from connectors.native.reading import columns_of
from connectors.native.rows import encode
from connectors.native.unit import Look, Unit
from connectors.queries import column_named
from connectors.text import check_name

SAVED = ("columns", "label", "assignee", "text", "archived")
"""What of a query is kept: its filters, not its page."""


def views_of(look: Look) -> Mapping[str, CardQuery]:
    """All views by name."""
    table = schema.VIEW
    rows = look.connection.execute(select(table).where(table.c.board == look.board).order_by(table.c.name))
    return {row.name: _query(row.query) for row in rows}


def replace_column(unit: Unit, names: Collection[str], to: str) -> None:
    """In every view, say ``to`` for a column that is deleted, by whichever of its names it is meant."""
    for name, query in views_of(unit).items():
        columns = tuple(dict.fromkeys(to if each in names else each for each in query.columns))
        if columns != query.columns:
            _write(unit, name, replace(query, columns=columns))


def view_named(look: Look, name: str) -> CardQuery:
    """One view. Raises ``UnknownView`` with the nearest name, ``UnknownColumn`` where a column of it was deleted."""
    view = _known(look, name)
    for column in view.columns:
        try:
            column_named(columns_of(look), column)
        except UnknownColumn as error:
            told = f'The view "{name}" shows column "{column}", which this board does not have.'
            raise UnknownColumn(told, f"Save it anew: board views save {name}. {error.hint}") from error
    return view


def _known(look: Look, name: str) -> CardQuery:
    known = views_of(look)
    if name not in known:
        near = get_close_matches(name, known, n=1)
        meant = f' Did you mean "{near[0]}"?' if near else ""
        raise UnknownView(f'There is no view "{name}".{meant}', f"There are: {', '.join(known) or 'none'}.")
    return known[name]


def save(unit: Unit, name: str, query: CardQuery, mover: Mover) -> None:
    """Save the filters under a name; its columns must exist now."""
    check_name("view", name)
    present = columns_of(unit)
    for column in query.columns:
        column_named(present, column)
    text = _write(unit, name, query)
    unit.event(BoardEventType.VIEW_SAVED, "", mover, {"name": name, "query": json.loads(text)})


def delete_view(unit: Unit, name: str, mover: Mover) -> None:
    """Delete a view."""
    _known(unit, name)
    _drop(unit, name)
    unit.event(BoardEventType.VIEW_DELETED, "", mover, {"name": name})


def _write(unit: Unit, name: str, query: CardQuery) -> str:
    plain = {key: getattr(query, key) for key in SAVED}
    text = encode({key: list(value) if isinstance(value, tuple) else value for key, value in plain.items() if value})
    _drop(unit, name)
    unit.connection.execute(insert(schema.VIEW).values({"board": unit.board, "name": name, "query": text}))
    return text


def _drop(unit: Unit, name: str) -> None:
    table = schema.VIEW
    unit.connection.execute(delete(table).where(table.c.board == unit.board, table.c.name == name))


def _query(text: str) -> CardQuery:
    """The stored filters."""
    found = json.loads(text)
    return CardQuery(
        columns=tuple(found.get("columns", ())),
        label=str(found.get("label", "")),
        assignee=str(found.get("assignee", "")),
        text=str(found.get("text", "")),
        archived=bool(found.get("archived", False)),
    )
