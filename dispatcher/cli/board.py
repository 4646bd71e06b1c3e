"""``pointsman board ...``: a native board as a whole, its columns and its fields (interface.md 4)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dispatcher.cli.board_access import (
    BOARD,
    board_anywhere,
    board_of,
    documents_of,
    glance_of,
    mover_of,
    named_board,
    text_or_stdin,
)
from dispatcher.cli.board_views import labels, views
from dispatcher.cli.numbers import FROM_ONE, FROM_ZERO
from dispatcher.cli.session import Session
from dispatcher.refusals import Refused

if TYPE_CHECKING:
    from connectors.base import Unread
    from connectors.card import Card, Column
    from connectors.native.board import NativeBoard

_FIELD_TYPES = ("text", "number", "bool", "date", "enum")


@click.group(help="Show, export or import a board, and change its columns and fields.")
@click.option("--board", "board_name", default="", metavar="NAME", help="which board; default: the first native one")
@click.pass_context
def command(context: click.Context, board_name: str) -> None:
    """The group; it only notes the board."""
    context.meta[BOARD] = board_name


def _board(session: Session) -> NativeBoard:
    return board_of(session, named_board())


def _columns(session: Session) -> tuple[Column, ...]:
    """The board's columns; a store that does not exist has the default ones and is not made."""
    if session.store_exists():
        return _board(session).columns()
    from connectors.native.defaults import DEFAULT_COLUMNS

    return DEFAULT_COLUMNS


def _flags(column: Column) -> str:
    return "eligible" if column.eligible else "terminal" if column.terminal else ""


@command.command("show", help="Show the columns with their cards.")
@click.pass_obj
def show(session: Session) -> None:
    """Print the whole board."""
    from dispatcher.cli.card_text import board_page
    from dispatcher.documents import UNMAPPED, unread_document

    columns = _columns(session)
    listing = _board(session).list_cards(None) if session.store_exists() else None
    documents = documents_of(session, listing.cards) if listing is not None else []
    unread = [unread_document(each) for each in listing.unread] if listing is not None else []
    by_column: dict[str, list[dict[str, object]]] = {column.name: [] for column in columns}
    for document in documents:
        by_column.setdefault(str(document["column"]), []).append(document)
    flags = {column.name: _flags(column) for column in columns} | {UNMAPPED: "no such column, never started"}
    if session.json:
        shown = [{"name": name, "cards": cards} for name, cards in by_column.items()]
        session.emit({"columns": shown, "unread": unread})
        return
    session.say(board_page(by_column, flags))
    for each in unread:
        session.warn(f"Card {each['id']} (#{each['number']}): {each['error']}. The others are shown.")


command.add_command(views, "views")
command.add_command(labels, "labels")


@command.command("export", help="Print the board as one JSON document, or its cards as a sheet (CSV); for import.")
@click.option("--format", "form", type=click.Choice(("json", "csv")), default="json")
@click.pass_obj
def export(session: Session, form: str) -> None:
    """Print the document, archived cards included; it is JSON with and without ``--json``."""
    from dispatcher.cli.output import json_text
    from dispatcher.documents import board_document, comment_document

    if form == "csv" and session.json:
        raise Refused("usage", "--json and --format csv exclude each other.", "Give one of them.")
    board = _board(session) if session.store_exists() else None
    every, lost = _every_card(board) if board is not None else ((), ())
    for each in lost:
        session.warn(f"Card {each.id} (#{each.number}): {each.why}. It is not in the export.")
    cards = documents_of(session, every) if every else []
    said = board.every_comment() if board is not None else {}
    for card, document in zip(every, cards, strict=True):
        document["column"] = card.column or card.columns_seen[0]  # also the name of a column that is not there
        document["comments"] = [comment_document(each) for each in said.get(card.id, ())]
    if form == "csv":
        from dispatcher.sheets import sheet

        session.output.line(sheet(cards).rstrip("\n"))
        return
    fields = board.fields() if board is not None else ()
    name = board.name if board is not None else "native"
    document = board_document(name, _column_documents(session), fields, cards)
    session.output.line(json_text(document, indent=None if session.json else 2))


def _every_card(board: NativeBoard) -> tuple[Sequence[Card], Sequence[Unread]]:
    """The cards, those that were put away as well, and those that cannot be read."""
    from connectors.base import CardQuery

    here, away = board.list_cards(None), board.query(CardQuery(archived=True))
    return (*here.cards, *away.cards), (*here.unread, *away.unread)


@command.command("import", help="Take cards over from a document that export printed; - reads stdin.")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True, path_type=Path))
@click.option(
    "--format", "form", type=click.Choice(("", "json", "csv")), default="", help="else as the name of FILE ends"
)
@click.pass_obj
def import_(session: Session, file: Path, form: str) -> None:
    """Import all cards or none; cards that somebody works on are left alone."""
    cards = _cards_of(file if str(file) == "-" else session.folder / file, form)
    board = _board(session)
    report = board.import_cards(cards, glance_of(session).claimed(board.name), mover_of(session))
    if session.json:
        names = ("created", "updated", "unchanged", "skipped_claimed", "unmapped")
        session.emit({**{name: list(getattr(report, name)) for name in names}, "renumbered": dict(report.renumbered)})
        return
    session.say(
        f"Imported: {len(report.created)} made, {len(report.updated)} changed, {len(report.unchanged)} as they were."
    )
    if report.skipped_claimed:
        session.warn(f"Left alone, since somebody works on them: {', '.join(report.skipped_claimed)}.")
    if report.unmapped:
        session.warn(f"Unmapped, since this board lacks their column: {', '.join(report.unmapped)}.")
    for card_id, number in report.renumbered.items():
        session.warn(f"Card {card_id} is #{number} here; its number was taken.")


def _cards_of(file: Path, form: str) -> list[object]:
    name = "What came on stdin" if str(file) == "-" else str(file)
    try:
        text = text_or_stdin("-") if str(file) == "-" else file.read_bytes().decode("utf-8")
        if form == "csv" or (not form and file.suffix.lower() == ".csv"):
            from dispatcher.sheets import documents

            return documents(text)
        document = json.loads(text.removeprefix("\ufeff"))
    except OSError as error:
        raise Refused("bad_input", f"{name} cannot be read: {error.strerror}.", "Name a readable file.") from error
    except UnicodeDecodeError as error:
        raise Refused("invalid_import", f"{name} is no UTF-8: {error.reason}.", "Save it as UTF-8.") from error
    except RecursionError as error:
        raise Refused("invalid_import", f"{name} is nested too deeply.", "Use what board export prints.") from error
    except ValueError as error:
        raise Refused("invalid_import", f"{name} is no JSON: {error}.", "Use what board export prints.") from error
    cards = document.get("cards") if isinstance(document, dict) else None
    if not isinstance(cards, list):
        raise Refused("invalid_import", f"{name} has no list of cards.", "Use what board export prints.")
    return cards


@command.command("history", help="Tell what happened on the board.")
@click.option("--since", type=FROM_ZERO, default=0, metavar="SEQ", help="only what came after this number")
@click.option("--limit", type=FROM_ONE, metavar="N", help="at most so many")
@click.pass_obj
def history(session: Session, since: int, limit: int | None) -> None:
    """Print the board's events, oldest first."""
    from dispatcher.cli.card_text import history_text
    from dispatcher.documents import event_document

    found = _board(session).history(since=since, limit=limit) if session.store_exists() else ()
    events = [event_document(event) for event in found]
    if session.json:
        session.emit({"events": events})
    else:
        session.say(history_text(events))


@command.group("columns", invoke_without_command=True, help="List the columns, or change them.")
@click.pass_context
def columns(context: click.Context) -> None:
    """Without a further word: the list."""
    if context.invoked_subcommand is None:
        _tell_columns(context.obj)


def _column_documents(session: Session) -> list[dict[str, object]]:
    from dispatcher.documents import column_document, wip_of

    limits = session.settings().concurrency.wip
    return [column_document(column, wip_of(limits, column)) for column in _columns(session)]


def _tell_columns(session: Session) -> None:
    from dispatcher.cli.output import table

    documents = _column_documents(session)
    if session.json:
        session.emit({"columns": documents})
        return
    rows = [
        (
            each["name"],
            "eligible" if each["eligible"] else "terminal" if each["terminal"] else "-",
            "-" if each["wip"] is None else each["wip"],
            each["title"],
        )
        for each in documents
    ]
    session.say(table(("name", "kind", "wip", "title"), rows))


@columns.command("add", help="Add a column at the end, or before another.")
@click.argument("name")
@click.option("--title", default="", metavar="TEXT")
@click.option("--eligible", is_flag=True, help="the dispatcher picks cards from it")
@click.option("--terminal", is_flag=True, help="cards in it are closed")
@click.option("--before", default="", metavar="COLUMN")
@click.pass_obj
def add(session: Session, /, **given: Any) -> None:
    """Add a column."""
    from connectors.native.board import NewColumn

    _board(session).add_column(NewColumn(**given), mover_of(session))
    _tell_columns(session)


@columns.command("rename", help="Rename a column; its cards stay and the old name goes on working.")
@click.argument("old")
@click.argument("new")
@click.pass_obj
def rename(session: Session, old: str, new: str) -> None:
    """Rename a column and name the configuration keys that still say the old name."""
    from dispatcher.column_uses import keys_naming
    from dispatcher.ledger.columns import rename_column

    board = _board(session)
    board.rename_column(old, new, mover_of(session), lambda *names: rename_column(names[0], board.name, *names[1:]))
    _tell_columns(session)
    keys = keys_naming(session.settings(), board.name, old)
    if keys and old != new:
        session.warn(f"The configuration still says {old} in {', '.join(keys)}. It goes on working; change it there.")


@columns.command("delete", help="Delete a column; its cards go to another.")
@click.argument("name")
@click.option("--to", default="", metavar="COLUMN", help="where its cards go")
@click.pass_obj
def delete(session: Session, name: str, to: str) -> None:
    """Delete a column that no role of the configuration needs."""
    from connectors.native.board import Deletion
    from dispatcher.column_uses import keys_naming, role_columns
    from dispatcher.ledger.columns import rename_column

    board = _board(session)
    wanted = Deletion(name, to, role_columns(session.settings()))
    board.delete_column(wanted, mover_of(session), lambda *names: rename_column(names[0], board.name, *names[1:]))
    _tell_columns(session)
    keys = keys_naming(session.settings(), board.name, name)
    if keys:
        session.warn(f"The configuration still says {name} in {', '.join(keys)}, to no effect. Take it out there.")


@columns.command("reorder", help="Put the columns into another order; name them all.")
@click.argument("names", nargs=-1, required=True)
@click.pass_obj
def reorder(session: Session, names: tuple[str, ...]) -> None:
    """Reorder the columns."""
    _board(session).reorder_columns(names, mover_of(session))
    _tell_columns(session)


@command.group("fields", invoke_without_command=True, help="List the declared fields, or change them.")
@click.pass_context
def fields(context: click.Context) -> None:
    """Without a further word: the list."""
    if context.invoked_subcommand is None:
        _tell_fields(context.obj)


def _tell_fields(session: Session) -> None:
    from dispatcher.cli.output import table
    from dispatcher.documents import field_document

    documents = [field_document(spec) for spec in (_board(session).fields() if session.store_exists() else ())]
    if session.json:
        session.emit({"fields": documents})
    elif not documents:
        session.say("No fields are declared; any field is taken as text.")
    else:
        session.say(table(("name", "type", "required", "default", "values"), [_field_row(each) for each in documents]))


def _field_row(document: dict[str, Any]) -> tuple[str, ...]:
    default = document["default"]
    told = "-" if default is None else json.dumps(default, ensure_ascii=False) if default in (True, False) else default
    required = "required" if document["required"] else "-"
    return (document["name"], document["type"], required, str(told), ", ".join(document["values"]) or "-")


@fields.command("add", help="Declare a field; from then on the board takes no others.")
@click.argument("name")
@click.option("--type", "kind", type=click.Choice(_FIELD_TYPES), default="text")
@click.option("--required", is_flag=True)
@click.option("--default", metavar="VALUE")
@click.option("--value", "values", multiple=True, metavar="VALUE", help="one allowed value of an enum; repeat it")
@click.pass_obj
def add_field(session: Session, /, name: str, kind: str, **given: Any) -> None:
    """Declare a field."""
    from connectors.fields import FieldSpec, FieldType

    _board(session).declare_field(FieldSpec(name, FieldType(kind), **given), mover_of(session))
    _tell_fields(session)


@fields.command("remove", help="Take a declared field away; cards keep what they have.")
@click.argument("name")
@click.pass_obj
def remove_field(session: Session, name: str) -> None:
    """Remove a declared field."""
    _board(session).remove_field(name, mover_of(session))
    _tell_fields(session)


board_anywhere(command)
