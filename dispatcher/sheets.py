"""Cards as a sheet (CSV) and back: what spreadsheets read, without letting a card's text become a formula. Pure.

Called by ``board export --format csv`` and ``board import``. A cell that would begin a formula gets an apostrophe,
which the way back takes away; so a sheet that was exported is imported without a change.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from config.problems import nearest
from connectors.errors import InvalidImport

FIELD = "field:"
"""Begins the heading of a column that holds a field of the cards."""
FORMULA = ("=", "+", "-", "@", "\t", "\r")
BETWEEN = "; "


def _plain(text: str) -> object:
    return text


def _list(text: str) -> object:
    return [part.strip() for part in text.split(BETWEEN.strip()) if part.strip()]


def _json(text: str) -> object:
    return json.loads(text) if text else {}


_READERS: Mapping[str, Callable[[str], object]] = MappingProxyType(
    {
        **dict.fromkeys(("id", "source", "title", "column", "assignee", "bot", "url", "not_before", "body"), _plain),
        **dict.fromkeys(("created_at",), _plain),
        **dict.fromkeys(("number", "priority"), lambda text: int(text) if text else 0),
        "position": lambda text: float(text) if text else None,
        "archived": lambda text: text == "true",
        **dict.fromkeys(("labels", "blockers"), _list),
        "bot_args": _json,
    }
)
"""heading -> how a cell becomes a value of the document."""
TOLD = ("last_run", "last_run_status", "closed", "updated_at")
"""Headings that are written for people and read by nobody."""
ORDER = (
    *(
        "number",
        "title",
        "column",
        "priority",
        "assignee",
        "labels",
        "blockers",
        "not_before",
        "bot",
        "bot_args",
        "url",
    ),
    *("position", "last_run", "last_run_status", "closed", "archived", "created_at", "updated_at", "id", "body"),
)


def sheet(documents: Sequence[Mapping[str, object]]) -> str:
    """The cards' documents as a sheet with a heading."""
    fields = sorted({name for each in documents for name in _mapping(each.get("fields"))})
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*ORDER, *(FIELD + name for name in fields)])
    for each in documents:
        own = _mapping(each.get("fields"))
        writer.writerow(_safe(_cell(value)) for value in (*map(each.get, ORDER), *map(own.get, fields)))
    return out.getvalue()


def documents(text: str) -> list[object]:
    """The documents of a sheet, as ``board import`` takes them. Raises ``InvalidImport`` naming row and heading."""
    rows = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"))))
    if not rows:
        raise InvalidImport("The sheet is empty.", "Its first row names the columns; use what board export prints.")
    headings = [heading.strip() for heading in rows[0]]
    for heading in headings:
        if heading not in _READERS and heading not in TOLD and not heading.startswith(FIELD):
            close = nearest(heading, (*_READERS, *TOLD))
            raise InvalidImport(
                f'The sheet has a column "{heading}" that cards do not have.',
                f"Did you mean {close}?" if close else f"A field of the cards is called {FIELD}NAME.",
            )
    return [_document(headings, row, at) for at, row in enumerate(rows[1:], start=2) if any(row)]


def _document(headings: Sequence[str], row: Sequence[str], at: int) -> dict[str, object]:
    if len(row) > len(headings):
        raise InvalidImport(f"Row {at} has more cells than the heading.", "Put a cell with commas into quotes.")
    made: dict[str, object] = {}
    fields: dict[str, object] = {}
    for heading, cell in zip(headings, row, strict=False):
        text = _unsafe(cell)
        if heading.startswith(FIELD):
            fields |= {heading.removeprefix(FIELD): text} if text else {}
        elif heading in _READERS:
            try:
                made[heading] = _READERS[heading](text)
            except ValueError as error:
                raise InvalidImport(f"Row {at}, {heading}: {error}.", "Correct it; nothing was taken over.") from error
    return {**made, "fields": fields}


def _cell(value: object) -> str:
    if value is None or value == {} or value == []:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return BETWEEN.join(map(str, value))
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    return str(value)


def _safe(cell: str) -> str:
    risky = cell.startswith(FORMULA) or (cell.startswith("'") and cell[1:].startswith((*FORMULA, "'")))
    return f"'{cell}" if risky and not _is_number(cell) else cell


def _unsafe(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and cell[1:].startswith((*FORMULA, "'")) else cell


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
