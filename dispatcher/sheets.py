"""Cards as a sheet (CSV) and back: what spreadsheets read, without letting a card's text become a formula. Pure.

Called by ``board export --format csv`` and ``board import``. A cell that would begin a formula gets an apostrophe,
which the way back takes away; a lone apostrophe is a field with an empty text. So a sheet that was exported is imported
without a change. Comments are not in it.
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
EMPTY = "'"
"""The cell of a field that has the empty text: an empty cell means that the card does not have the field."""
QUOTE = '"'
_SPECIAL = frozenset(',"\r\n')
LONGEST_CELL = 4 * 1024 * 1024
"""In characters; a body has at most 1 MiB."""


def _plain(text: str) -> object:
    return text


def _list(text: str) -> object:
    if text.startswith("[") and isinstance(told := _told(text), list):
        return told
    return [part.strip() for part in text.split(BETWEEN.strip()) if part.strip()]


def _told(text: str) -> object:
    """What the text says as JSON; nothing when it is none: a label may well begin with a bracket."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _json(text: str) -> object:
    return json.loads(text) if text else {}


def _whole(text: str) -> object:
    """A whole number, also as a spreadsheet writes it: ``5.0``."""
    number = _number(text) if text else 0.0
    if not isinstance(number, float) or not number.is_integer():
        raise ValueError(f"{text!r} is no whole number")
    return int(number)


def _number(text: str) -> object:
    try:
        return float(text) if text else None
    except ValueError as error:
        raise ValueError(f"{text!r} is no number") from error


def _truth(text: str) -> object:
    if text.strip().lower() not in ("true", "false", ""):
        raise ValueError(f"{text!r} is neither true nor false")
    return text.strip().lower() == "true"


_READERS: Mapping[str, Callable[[str], object]] = MappingProxyType(
    {
        **dict.fromkeys(("id", "source", "title", "column", "assignee", "bot", "url", "not_before", "body"), _plain),
        **dict.fromkeys(("created_at",), _plain),
        **dict.fromkeys(("number", "priority"), _whole),
        "position": _number,
        "archived": _truth,
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
    lines = [_line([*ORDER, *(FIELD + name for name in fields)])]
    for each in documents:
        own = _mapping(each.get("fields"))
        cells = (*(_cell(each.get(name)) for name in ORDER), *(_field_cell(own.get(name)) for name in fields))
        lines.append(_line([_safe(cell) for cell in cells]))
    return "".join(lines)


def documents(text: str) -> list[object]:
    """The documents of a sheet, as ``board import`` takes them. Raises ``InvalidImport`` naming row and heading."""
    rows = _rows(text)
    if not rows:
        raise InvalidImport("The sheet is empty.", "Its first row names the columns; use what board export prints.")
    headings = [_unsafe(heading.strip()) for heading in rows[0]]
    for at, heading in enumerate(headings):
        if heading in headings[:at]:
            raise InvalidImport(f'The sheet has two columns "{heading}".', "Leave one of them out.")
        if heading not in _READERS and heading not in TOLD and not heading.startswith(FIELD):
            close = nearest(heading, (*_READERS, *TOLD))
            raise InvalidImport(
                f'The sheet has a column "{heading}" that cards do not have.',
                f"Did you mean {close}?" if close else f"A field of the cards is called {FIELD}NAME.",
            )
    return [_document(headings, row, at) for at, row in enumerate(rows[1:], start=2) if any(row)]


def _rows(text: str) -> list[list[str]]:
    csv.field_size_limit(LONGEST_CELL)
    text = text.removeprefix("\ufeff")
    first = text.partition("\n")[0]
    between = next((sign for sign in ",;\t" if sign in first), ",")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=between)
    try:
        return list(reader)
    except csv.Error as error:
        told = f"The sheet cannot be read near line {reader.line_num}: {error}."
        raise InvalidImport(told, "A cell with commas, quotes or line ends stands in double quotes.") from error


def _document(headings: Sequence[str], row: Sequence[str], at: int) -> dict[str, object]:
    if len(row) > len(headings):
        raise InvalidImport(f"Row {at} has more cells than the heading.", "Put a cell with commas into quotes.")
    made: dict[str, object] = {}
    fields: dict[str, object] = {}
    for heading, cell in zip(headings, row, strict=False):
        text = _unsafe(cell)
        if heading.startswith(FIELD):
            fields |= {heading.removeprefix(FIELD): text if text.strip(EMPTY) else text[1:]} if text else {}
        elif heading in _READERS:
            try:
                made[heading] = _READERS[heading](text)
            except (ValueError, RecursionError) as error:
                raise InvalidImport(f"Row {at}, {heading}: {error}.", "Correct it; nothing was taken over.") from error
    return {**made, "fields": fields}


def _cell(value: object) -> str:
    if value is None or value == {} or value == []:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        parts = [str(part) for part in value]
        plain = BETWEEN.join(parts)
        return plain if not plain.startswith("[") and _list(plain) == parts else json.dumps(parts, ensure_ascii=False)
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    return str(value)


def _field_cell(value: object) -> str:
    """As ``_cell``; a text of nothing but apostrophes, also of none, gets one more: an empty cell means no field."""
    return f"{EMPTY}{value}" if isinstance(value, str) and not value.strip(EMPTY) else _cell(value)


def _line(cells: Sequence[str]) -> str:
    """One line of the sheet. Line ends of either kind are quoted, which the writer of the library leaves open."""
    return (
        ",".join(f'"{cell.replace(QUOTE, QUOTE + QUOTE)}"' if _SPECIAL & set(cell) else cell for cell in cells) + "\n"
    )


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
