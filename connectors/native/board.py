"""The native board: every verb of ``base.EditableBoard`` and the verbs on columns, fields and documents.

Made by ``dispatcher/wiring.py``. Each writing verb is one transaction; each reading verb sees one moment. Thread-safe
as far as the database is. It starts nothing and decides nothing about runs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from connectors.base import (
    Absent,
    AbsentKind,
    Capability,
    CardQuery,
    Clock,
    IdMaker,
    Listing,
    Lookup,
    Move,
    Moved,
    Place,
    Refused,
    Unread,
)
from connectors.card import BoardEvent, BoardEventType, Card, Column, Comment, Mover
from connectors.drafts import CardDraft, CardPatch
from connectors.errors import CardDeleted, Conflict, UnknownCard
from connectors.fields import FieldSpec
from connectors.native import archive, cards, columns, exchange, labels, moving, reading, talk, views
from connectors.native.columns import Deletion, Follow, NewColumn, no_followers
from connectors.native.database import Database
from connectors.native.exchange import ImportReport
from connectors.native.schema import CARD
from connectors.native.unit import Host, Look, change, looking

__all__ = ["Deletion", "Follow", "ImportReport", "NativeBoard", "NewColumn"]


class NativeBoard:
    """One board of the store, by its name."""

    kind = "native"
    capabilities = frozenset({Capability.EDIT, Capability.HISTORY, Capability.COLUMNS})

    def __init__(self, name: str, database: Database, clock: Clock, ids: IdMaker) -> None:
        self.name = name
        self._host = Host(name, database, clock, ids)

    def columns(self) -> tuple[Column, ...]:
        """All columns in their order."""
        with looking(self._host) as look:
            return reading.columns_of(look)

    def fields(self) -> tuple[FieldSpec, ...]:
        """The declared fields; none means that any field is taken as text."""
        with looking(self._host) as look:
            return reading.fields_of(look)

    def list_cards(self, columns: Collection[str] | None) -> Listing:
        """Every card of the named columns, None for all and the unmapped ones; no names make no call."""
        if columns is not None and not columns:
            return Listing((), True, self._host.clock.now())
        with looking(self._host) as look:
            if columns is None:
                return self._listing(look, CardQuery())
            known = reading.columns_of(look)
            named = {column.id for column in known if {column.name, *column.aliases} & set(columns)}
            found = reading.cards_where(look, [CARD.c.column_id.in_(named), reading.NOT_ARCHIVED])
            return _listing(found, self._host)

    def unmapped(self) -> Listing:
        """The cards whose column the board does not have."""
        with looking(self._host) as look:
            condition = reading.unmapped_condition(reading.columns_of(look))
            return _listing(reading.cards_where(look, [condition, reading.NOT_ARCHIVED]), self._host)

    def query(self, query: CardQuery) -> Listing:
        """One filtered page. Raises ``UnknownColumn``."""
        with looking(self._host) as look:
            return self._listing(look, query)

    def counts(self) -> Mapping[str, int]:
        """How many cards each column holds, by column name."""
        with looking(self._host) as look:
            found = columns.column_count(look)
            return {column.name: found.get(column.id, 0) for column in reading.columns_of(look)}

    def revision(self) -> int:
        """A number that grows with every change of the board: the ``seq`` of its newest event, 0 before the first."""
        with looking(self._host) as look:
            return reading.newest_event(look)

    def get(self, card_id: str) -> Card | Absent:
        """One card by its full id. Raises ``DamagedCard``."""
        with looking(self._host) as look:
            try:
                return reading.need_card(look, card_id)
            except UnknownCard:
                return Absent(card_id, AbsentKind.UNKNOWN)
            except CardDeleted:
                return Absent(card_id, AbsentKind.GONE)

    def get_many(self, card_ids: Collection[str]) -> Lookup:
        """Many cards by their full ids; each id lands in one place of the answer."""
        if not card_ids:
            return Lookup()
        with looking(self._host) as look:
            there = reading.cards_by_id(look, card_ids)
            gone = {
                card_id: Absent(card_id, reading.absent_kind(look, card_id))
                for card_id in dict.fromkeys(card_ids)
                if card_id not in there
            }
        found = {card_id: card for card_id, card in there.items() if isinstance(card, Card)}
        unread = {card_id: card.why for card_id, card in there.items() if isinstance(card, Unread)}
        return Lookup(found, gone, {}, unread)

    def resolve(self, text: str) -> str:
        """The full id behind a number, an id or a unique prefix. Raises ``UnknownCard``, ``CardDeleted``."""
        with looking(self._host) as look:
            return reading.resolve_id(look, text)

    def move(self, card_id: str, move: Move) -> Moved | Refused | Absent:
        """Compare-and-set move. Raises ``UnknownColumn`` and ``DamagedCard``."""
        try:
            with change(self._host) as unit:
                return moving.move(unit, card_id, move)
        except UnknownCard:
            return Absent(card_id, AbsentKind.UNKNOWN)
        except CardDeleted:
            return Absent(card_id, AbsentKind.GONE)

    def create(self, draft: CardDraft, author: Mover) -> Card:
        """Make a card. Raises ``BadCard`` kinds."""
        with change(self._host) as unit:
            return cards.create(unit, draft, author)

    def update(self, card_id: str, patch: CardPatch, mover: Mover) -> Card:
        """Change a card, all of it or nothing. Raises ``Conflict``, ``BadCard`` kinds, ``UnknownCard``."""
        with change(self._host) as unit:
            card = cards.update_card(unit, card_id, patch, mover)
            if patch.column is None:
                return card
            answer = moving.move(unit, card_id, Move(patch.column, mover))
            if isinstance(answer, Refused):
                raise Conflict(f"Card #{card.number} was not moved: {answer.why}.", "Look at it again.")
            return answer.card

    def place(self, card_id: str, place: Place, mover: Mover) -> Card:
        """Change a card's position within its column."""
        with change(self._host) as unit:
            return moving.place(unit, card_id, place, mover)

    def close(self, card_id: str, mover: Mover, *, failed: str = "") -> Moved:
        """Move a card to the first terminal column that is not ``failed``."""
        with change(self._host) as unit:
            return moving.close(unit, card_id, mover, failed)

    def delete(self, card_id: str, mover: Mover) -> tuple[str, ...]:
        """Delete a card; answers the ids of the cards that wait for it."""
        with change(self._host) as unit:
            return cards.delete_card(unit, card_id, mover)

    def archive(self, card_id: str, mover: Mover) -> Card:
        """Put a card away: no listing shows it and nothing starts from it. One that is put away already stays."""
        with change(self._host) as unit:
            return archive.put_away(unit, card_id, mover)

    def unarchive(self, card_id: str, mover: Mover) -> Card:
        """Bring a card back to the column that it was put away from."""
        with change(self._host) as unit:
            return archive.bring_back(unit, card_id, mover)

    def labels(self) -> Mapping[str, int]:
        """Every label with the number of cards that carry it, by name."""
        with looking(self._host) as look:
            return labels.counts(look)

    def rename_label(self, old: str, new: str, mover: Mover) -> int:
        """Give every card ``new`` instead of ``old`` (an empty one takes it away); answers how many were changed."""
        with change(self._host) as unit:
            return labels.rename(unit, old, new, mover)

    def views(self) -> Mapping[str, CardQuery]:
        """The saved views by name."""
        with looking(self._host) as look:
            return views.views_of(look)

    def view(self, name: str) -> CardQuery:
        """One saved view. Raises ``UnknownView``."""
        with looking(self._host) as look:
            return views.view_named(look, name)

    def save_view(self, name: str, query: CardQuery, mover: Mover) -> None:
        """Save a view, in the place of one of that name. Raises ``UnknownColumn`` and ``InvalidText``."""
        with change(self._host) as unit:
            views.save(unit, name, query, mover)

    def delete_view(self, name: str, mover: Mover) -> None:
        """Delete a view. Raises ``UnknownView``."""
        with change(self._host) as unit:
            views.delete_view(unit, name, mover)

    def comment(self, card_id: str, text: str, author: Mover) -> Comment:
        """Add a comment."""
        with change(self._host) as unit:
            return talk.add_comment(unit, card_id, text, author)

    def edit_comment(self, comment_id: str, text: str, mover: Mover) -> Comment:
        """Change one's own comment."""
        with change(self._host) as unit:
            return talk.edit_comment(unit, comment_id, text, mover)

    def comments(self, card_id: str) -> tuple[Comment, ...]:
        """A card's comments, oldest first."""
        with looking(self._host) as look:
            return talk.comments_of(look, card_id)

    def every_comment(self) -> Mapping[str, Sequence[Comment]]:
        """The comments of all cards that have any, by card id."""
        with looking(self._host) as look:
            return talk.every_comment(look)

    def history(self, card_id: str = "", *, since: int = 0, limit: int | None = None) -> tuple[BoardEvent, ...]:
        """Events above ``since``, oldest first."""
        with looking(self._host) as look:
            return talk.events_of(look, card_id, since, limit)

    def record(self, card_id: str, kind: BoardEventType, mover: Mover, data: Mapping[str, object]) -> int:
        """Write an event that others cause (a claim, a stamp, giving up); answers its ``seq``."""
        with change(self._host) as unit:
            return unit.event(kind, card_id, mover, data)

    def add_column(self, new: NewColumn, mover: Mover) -> Column:
        """Add a column. Raises ``InvalidColumn``."""
        with change(self._host) as unit:
            return columns.add_column(unit, new, mover)

    def rename_column(self, old: str, new: str, mover: Mover, follow: Follow = no_followers) -> Column:
        """Rename a column; the old name goes on resolving."""
        with change(self._host) as unit:
            return columns.rename_column(unit, old, new, mover, follow)

    def delete_column(self, wanted: Deletion, mover: Mover, follow: Follow = no_followers) -> int:
        """Delete a column and move its cards; answers how many were moved."""
        with change(self._host) as unit:
            return columns.delete_column(unit, wanted, mover, follow)

    def reorder_columns(self, names: Sequence[str], mover: Mover) -> tuple[Column, ...]:
        """Put the columns into another order."""
        with change(self._host) as unit:
            return columns.reorder_columns(unit, names, mover)

    def declare_field(self, spec: FieldSpec, mover: Mover) -> FieldSpec:
        """Declare a field."""
        with change(self._host) as unit:
            return columns.declare_field(unit, spec, mover)

    def remove_field(self, name: str, mover: Mover) -> None:
        """Take a declared field away."""
        with change(self._host) as unit:
            columns.remove_field(unit, name, mover)

    def import_cards(self, documents: Sequence[object], claimed: Collection[str], mover: Mover) -> ImportReport:
        """Take cards over from a document, all or none."""
        with change(self._host) as unit:
            return exchange.import_cards(unit, documents, claimed, mover)

    def _listing(self, look: Look, query: CardQuery) -> Listing:
        conditions = reading.conditions_of(query, reading.columns_of(look))
        return _listing(reading.cards_where(look, conditions, query), self._host)


def _listing(found: Iterable[Card | Unread], host: Host) -> Listing:
    every = tuple(found)
    whole = tuple(each for each in every if isinstance(each, Card))
    broken = tuple(each for each in every if isinstance(each, Unread))
    return Listing(whole, True, host.clock.now(), unread=broken)
