"""What people ask a board for: a column by its name, and a filtered page of cards (interface.md 4).

Pure. Called by all kinds of boards; the native one filters its cards where they lie and takes only the names from here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from difflib import get_close_matches

from connectors.base import CardQuery, Listing
from connectors.card import Card, Column
from connectors.errors import UnknownColumn
from connectors.text import folded, same_name


def column_named(columns: Iterable[Column], name: str) -> Column:
    """The column of that name, or of that earlier name. Raises ``UnknownColumn`` with the nearest one."""
    known = tuple(columns)
    wanted = same_name(name)
    found = next((column for column in known if same_name(column.name) == wanted), None)
    found = found or next((column for column in known if name in column.aliases), None)
    if found is None:
        names = [column.name for column in known]
        near = get_close_matches(name, names, n=1)
        meant = f' Did you mean "{near[0]}"?' if near else ""
        raise UnknownColumn(f'There is no column "{name}" on this board.{meant}', f"Its columns: {', '.join(names)}.")
    return found


def present_name(columns: Iterable[Column], name: str) -> str:
    """The present name of the column that has this name or had it; a name that no column has stays as it is."""
    known = tuple(columns)
    if any(column.name == name for column in known):
        return name
    return next((column.name for column in known if name in column.aliases), name)


def page_of(listing: Listing, query: CardQuery, columns: Collection[str]) -> Listing:
    """The cards that pass all filters, from ``offset`` on, at most ``limit``. ``columns`` are those asked for by their
    present names; none means all."""
    found = [card for card in listing.cards if _fits(card, query, columns)]
    end = None if query.limit is None else query.offset + query.limit
    return replace(listing, cards=tuple(found[query.offset : end]))


def _fits(card: Card, query: CardQuery, columns: Collection[str]) -> bool:
    text = folded(query.text)
    return (
        (not columns or card.column in columns)
        and (not query.label or same_name(query.label) in map(same_name, card.labels))
        and (not query.assignee or query.assignee in card.assignees)
        and (not text or text in folded(card.title) or text in folded(card.body))
        and (query.only is None or card.id in query.only)
        and card.id not in query.without
        and not query.archived
    )
