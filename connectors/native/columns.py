"""Changing the columns and the declared fields of a board, each one open change (dispatcher.md 29).

What other rooms keep under a column's name (parks, pending moves) follows in the same transaction: the caller hands a
function over. Roles live in the configuration; the caller names the columns that they need.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, insert, select, update

from connectors.card import BoardEventType, Column, Mover
from connectors.errors import ColumnInUse, InvalidColumn, InvalidField
from connectors.fields import FieldSpec, FieldType, fit_value
from connectors.native import schema
from connectors.native.cards import column_values
from connectors.native.moving import tell_move
from connectors.native.reading import columns_of, fields_of
from connectors.native.rows import encode
from connectors.native.unit import Look, Unit
from connectors.native.views import replace_column
from connectors.queries import column_named
from connectors.text import check_name

_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")
_TYPE = BoardEventType
UNMAPPED_NAME = "unmapped"
"""How a card is shown whose column does not exist: no column is called that."""

Follow = Callable[[Connection, str, str], None]
"""Called with the open transaction, the old and the new column name, before it commits."""


def no_followers(_connection: Connection, _old: str, _new: str) -> None:
    """Nobody else keeps column names."""


@dataclass(frozen=True, slots=True)
class NewColumn:
    """A column to add: at the end, or right before another one."""

    name: str
    title: str = ""
    eligible: bool = False
    terminal: bool = False
    before: str = ""


def add_column(unit: Unit, new: NewColumn, mover: Mover) -> Column:
    """Add a column. Raises ``InvalidColumn``; a name that an earlier one of a column still uses is taken."""
    columns = columns_of(unit)
    _check_free(columns, new.name)
    if new.eligible and new.terminal:
        raise InvalidColumn("A column is eligible or terminal, never both.", "Give one of the two.")
    names = [column.name for column in columns]
    at = names.index(column_named(columns, new.before).name) if new.before else len(names)
    ids = {column.id for column in columns}
    column_id = new.name if new.name not in ids else unit.host.ids.new("k")
    column = Column(column_id, new.name, new.title or new.name, new.eligible, new.terminal)
    values = {
        "board": unit.board,
        "id": column.id,
        "name": column.name,
        "title": column.title,
        "position": len(names),
        "eligible": column.eligible,
        "terminal": column.terminal,
        "aliases": "[]",
    }
    unit.connection.execute(insert(schema.COLUMN).values(values))
    _number(unit, [*names[:at], new.name, *names[at:]])
    unit.event(_TYPE.COLUMN_ADDED, "", mover, {"id": column.id, "name": column.name, "position": at})
    return column


def rename_column(unit: Unit, old: str, new: str, mover: Mover, follow: Follow = no_followers) -> Column:
    """Rename a column; its id and cards stay, and the old name goes on resolving."""
    columns = columns_of(unit)
    column = column_named(columns, old)
    if column.name == new:
        return column
    if new not in column.aliases:
        _check_free(columns, new)
    aliases = tuple(name for name in dict.fromkeys((*column.aliases, column.name)) if name != new)
    title = new if column.title == column.name else column.title
    _write(unit, column.id, {"name": new, "title": title, "aliases": encode(list(aliases))})
    follow(unit.connection, column.name, new)
    unit.event(_TYPE.COLUMN_RENAMED, "", mover, {"id": column.id, "from": column.name, "to": new})
    return Column(column.id, new, title, column.eligible, column.terminal, aliases)


@dataclass(frozen=True, slots=True)
class Deletion:
    """A column to delete: where its cards go, and the names that roles of the configuration need."""

    name: str
    to: str = ""
    needed: frozenset[str] = frozenset()


def delete_column(unit: Unit, wanted: Deletion, mover: Mover, follow: Follow = no_followers) -> int:
    """Delete a column and move its cards; answers how many. Raises ``ColumnInUse`` and ``InvalidColumn``."""
    columns = columns_of(unit)
    column = column_named(columns, wanted.name)
    used = wanted.needed & {column.name, *column.aliases}
    if used:
        raise ColumnInUse(
            f"The configuration uses column {column.name} as a role.", "Give the role another column first (columns:)."
        )
    if len(columns) == 1:
        raise InvalidColumn("This is the last column of the board.", "Add another one first: board columns add.")
    table = schema.CARD
    here = (table.c.board == unit.board) & (table.c.column_id == column.id)
    ids = list(unit.connection.execute(select(table.c.id).where(here)).scalars())
    if ids and not wanted.to:
        some = "a card" if len(ids) == 1 else f"{len(ids)} cards"
        raise InvalidColumn(f"Column {column.name} holds {some}.", "Say where they go: --to COLUMN.")
    if wanted.to:
        to = column_named(columns, wanted.to)
        if to.id == column.id:
            raise InvalidColumn("The cards cannot stay in the column that is deleted.", "Name another with --to.")
        _migrate(unit, ids, (column, to), mover)
        replace_column(unit, (column.name, *column.aliases), to.name)
        follow(unit.connection, column.name, to.name)
    gone = (schema.COLUMN.c.board == unit.board) & (schema.COLUMN.c.id == column.id)
    unit.connection.execute(delete(schema.COLUMN).where(gone))
    unit.event(_TYPE.COLUMN_DELETED, "", mover, {"id": column.id, "name": column.name, "to": wanted.to})
    return len(ids)


def reorder_columns(unit: Unit, names: Sequence[str], mover: Mover) -> tuple[Column, ...]:
    """Put the columns into this order; every column is named once. Raises ``InvalidColumn``."""
    columns = columns_of(unit)
    wanted = [column_named(columns, name).name for name in names]
    present = [column.name for column in columns]
    if sorted(wanted) != sorted(present):
        missing = ", ".join(name for name in present if name not in wanted) or "none is missing, one is named twice"
        raise InvalidColumn(f"The order has to name every column once; missing: {missing}.", "Name them all.")
    if wanted != present:
        _number(unit, wanted)
        unit.event(_TYPE.COLUMNS_REORDERED, "", mover, {"from": present, "to": wanted})
    return columns_of(unit)


def declare_field(unit: Unit, spec: FieldSpec, mover: Mover) -> FieldSpec:
    """Declare a field; from the first one on the board takes no others. Raises ``InvalidField``."""
    check_name("field name", spec.name)
    _check_values(spec)
    default = None if spec.default is None else fit_value(spec, spec.default)
    present = fields_of(unit)
    if spec.name in {each.name for each in present}:
        raise InvalidField(f'The field "{spec.name}" is declared already.', "Remove it first: board fields remove.")
    values = {
        "board": unit.board,
        "name": spec.name,
        "type": spec.type.value,
        "required": spec.required,
        "default_value": encode(default),
        "choices": encode(list(spec.values)),
        "position": len(present),
    }
    unit.connection.execute(insert(schema.FIELD).values(values))
    unit.event(_TYPE.FIELD_CHANGED, "", mover, {"name": spec.name, "to": spec.type.value})
    return spec


def remove_field(unit: Unit, name: str, mover: Mover) -> None:
    """Take a declared field away; values that cards have stay on them and in the history."""
    present = {spec.name: spec for spec in fields_of(unit)}
    if name not in present:
        raise InvalidField(f'This board declares no field "{name}".', f"It declares: {', '.join(present) or 'none'}.")
    mine = (schema.FIELD.c.board == unit.board) & (schema.FIELD.c.name == name)
    unit.connection.execute(delete(schema.FIELD).where(mine))
    unit.event(_TYPE.FIELD_CHANGED, "", mover, {"name": name, "from": present[name].type.value, "to": None})


def _check_values(spec: FieldSpec) -> None:
    """An enum has values, each once; no other type has any."""
    if spec.type is FieldType.ENUM and not spec.values:
        raise InvalidField(f'The field "{spec.name}" is an enum without values.', "Name them: --value A --value B.")
    if spec.type is not FieldType.ENUM and spec.values:
        raise InvalidField(
            f'The field "{spec.name}" of type {spec.type} takes any {spec.type}.',
            "Leave --value out, or make it an enum.",
        )
    for at, value in enumerate(spec.values):
        check_name("value", value)
        if value in spec.values[:at]:
            raise InvalidField(f'The field "{spec.name}" has the value "{value}" twice.', "Name each value once.")


def column_count(look: Look) -> dict[str, int]:
    """How many cards are in each column, by column id."""
    card = schema.CARD.c
    here = (card.board == look.board) & (card.archived_at == "")
    statement = select(card.column_id, func.count()).where(here).group_by(card.column_id)
    return {row[0]: row[1] for row in look.connection.execute(statement)}


def _check_free(columns: Collection[Column], name: str) -> None:
    if _NAME.fullmatch(name) is None:
        raise InvalidColumn(
            f'"{name}" is no column name.', "Use 1 to 40 letters, digits, _ and -; the title may hold any text."
        )
    if name == UNMAPPED_NAME:
        raise InvalidColumn(f'"{name}" is what cards are shown in whose column does not exist.', "Choose another name.")
    if any(name == column.name or name in column.aliases for column in columns):
        raise InvalidColumn(f'The name "{name}" is used by a column, now or before.', "Choose another name.")


def _migrate(unit: Unit, ids: Sequence[str], way: tuple[Column, Column], mover: Mover) -> None:
    column, to = way
    table = schema.CARD
    for card_id in ids:
        values = column_values(unit, to.id, mover)
        statement = update(table).where(table.c.id == card_id)
        changed = {**values, "position": None, "version": table.c.version + 1, "updated_at": unit.stamp}
        unit.connection.execute(statement.values(changed))
        told = {"reason": "column deleted", "sequence": values["column_sequence"]}
        tell_move(unit, card_id, (column, to), mover, told)


def _number(unit: Unit, names: Sequence[str]) -> None:
    table = schema.COLUMN
    for position, name in enumerate(names):
        mine = (table.c.board == unit.board) & (table.c.name == name)
        unit.connection.execute(update(table).where(mine).values(position=position))


def _write(unit: Unit, column_id: str, values: dict[str, object]) -> None:
    table = schema.COLUMN
    mine = (table.c.board == unit.board) & (table.c.id == column_id)
    unit.connection.execute(update(table).where(mine).values(values))
