"""``pointsman board views ...`` and ``board labels ...``: saved filters, and the labels of the whole board."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import click

from dispatcher.cli.board_access import board_of, mover_of, named_board
from dispatcher.cli.session import Session

if TYPE_CHECKING:
    from connectors.native.board import NativeBoard


def _board(session: Session) -> NativeBoard:
    return board_of(session, named_board())


def filter_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """What a list of cards can be asked for."""
    options = (
        click.option("--column", "columns", multiple=True, metavar="NAME", help="may be repeated"),
        click.option("--label", default="", metavar="LABEL"),
        click.option("--assignee", default="", metavar="NAME"),
        click.option("--text", default="", metavar="TEXT", help="stands in title or body; A and a are the same"),
        click.option("--archived", is_flag=True, help="the cards that were put away, instead of the others"),
    )
    for option in reversed(options):
        function = option(function)
    return function


@click.group(invoke_without_command=True, help="List the saved views, or change them; card list --view NAME uses one.")
@click.pass_context
def views(context: click.Context) -> None:
    """Without a further word: the list."""
    if context.invoked_subcommand is None:
        _tell_views(context.obj)


@views.command("save", help="Save filters under a name, in the place of those it had.")
@click.argument("name")
@filter_options
@click.pass_obj
def save(session: Session, /, name: str, **given: Any) -> None:
    """Save a view."""
    from connectors.base import CardQuery

    _board(session).save_view(name, CardQuery(**given), mover_of(session))
    _tell_views(session)


@views.command("delete", help="Delete a view; its cards stay.")
@click.argument("name")
@click.pass_obj
def delete(session: Session, name: str) -> None:
    """Delete a view."""
    _board(session).delete_view(name, mover_of(session))
    _tell_views(session)


def _tell_views(session: Session) -> None:
    from dispatcher.cli.output import table
    from dispatcher.documents import view_document

    found = _board(session).views() if session.store_exists() else {}
    documents = [view_document(name, query) for name, query in found.items()]
    if session.json:
        session.emit({"views": documents})
    elif not documents:
        session.say("No views are saved.")
    else:
        rows = [(each["name"], _filters(each)) for each in documents]
        session.say(table(("name", "filters"), rows))


def _filters(document: Mapping[str, object]) -> str:
    told = (f"{name} {_told(value)}".rstrip() for name, value in document.items() if name != "name" and value)
    return ", ".join(told) or "every card"


def _told(value: object) -> str:
    return "+".join(map(str, value)) if isinstance(value, list) else "" if value is True else str(value)


@click.group(invoke_without_command=True, help="List the labels that cards carry, or rename one on all of them.")
@click.pass_context
def labels(context: click.Context) -> None:
    """Without a further word: the list."""
    if context.invoked_subcommand is None:
        _tell_labels(context.obj)


@labels.command(
    "rename", help="Give every card that carries OLD the label NEW instead; both become one where NEW exists."
)
@click.argument("old")
@click.argument("new")
@click.pass_obj
def rename(session: Session, old: str, new: str) -> None:
    """Rename a label."""
    _board(session).rename_label(old, new, mover_of(session))
    _tell_labels(session)


@labels.command("remove", help="Take a label off every card.")
@click.argument("name")
@click.pass_obj
def remove(session: Session, name: str) -> None:
    """Remove a label."""
    _board(session).rename_label(name, "", mover_of(session))
    _tell_labels(session)


def _tell_labels(session: Session) -> None:
    from dispatcher.cli.output import table

    found = _board(session).labels() if session.store_exists() else {}
    if session.json:
        session.emit({"labels": [{"name": name, "cards": n} for name, n in found.items()]})
    else:
        session.say(table(("label", "cards"), found.items()) if found else "No card carries a label.")
