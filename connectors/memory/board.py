"""The memory board: the contract of ``base.EditableBoard`` over a dictionary, with faults that a test can order.

Used by tests and dry runs. Lost with the process. Columns are fixed at the start; there are no declared fields.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from connectors.answer import StopReason
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
from connectors.card import BoardEvent, BoardEventType, Card, CardRef, Column, Comment, Mover
from connectors.chains import find_cycle
from connectors.drafts import CardDraft, CardPatch, check_arguments, check_draft, check_not_before, check_patch, merged
from connectors.errors import (
    BadCard,
    BlockerCycle,
    CardDeleted,
    Conflict,
    DamagedCard,
    InvalidText,
    UnknownBlocker,
    UnknownCard,
)
from connectors.fields import fit_fields
from connectors.moves import Go, Refuse, Spot, decide_move, order_key, place_of, positions_for
from connectors.queries import column_named, page_of
from connectors.text import check_text

_TYPE = BoardEventType


@dataclass
class Faults:
    """What goes wrong until somebody resets it: a partial listing, ids that cannot be read, an error of every call."""

    stopped: StopReason | None = None
    unread: dict[str, str] = field(default_factory=dict)
    error: Exception | None = None


class MemoryBoard:
    """One board; every verb holds one lock."""

    kind = "memory"
    capabilities = frozenset({Capability.EDIT, Capability.HISTORY})

    def __init__(self, name: str, columns: tuple[Column, ...], clock: Clock, ids: IdMaker) -> None:
        self.name = name
        self.faults = Faults()
        self.calls: list[str] = []
        self._columns = columns
        self._clock, self._ids = clock, ids
        self._cards: dict[str, Card] = {}
        self._gone: set[str] = set()
        self._comments: list[Comment] = []
        self._events: list[BoardEvent] = []
        self._numbers = self._sequence = 0
        self._lock = threading.RLock()

    def columns(self) -> tuple[Column, ...]:
        """All columns in their order."""
        return self._columns

    def list_cards(self, columns: Collection[str] | None) -> Listing:
        """Every card of the named columns; None for all."""
        if columns is not None and not columns:
            return Listing((), True, self._clock.now())
        with self._call("list_cards"):
            return self._listing(card for card in self._cards.values() if columns is None or card.column in columns)

    def query(self, query: CardQuery) -> Listing:
        """One filtered page. Raises ``UnknownColumn``."""
        names = {self._column(name).name for name in query.columns}
        with self._call("query"):
            return page_of(self._listing(self._cards.values()), query, names)

    def get(self, card_id: str) -> Card | Absent:
        """One card by its full id. Raises ``DamagedCard``."""
        with self._call("get"):
            if card_id in self.faults.unread:
                raise DamagedCard(f"Card {card_id}: {self.faults.unread[card_id]}.")
            return self._cards.get(card_id) or self._absent(card_id)

    def get_many(self, card_ids: Collection[str]) -> Lookup:
        """Many cards by their full ids."""
        if not card_ids:
            return Lookup()
        with self._call("get_many"):
            unread = {each: self.faults.unread[each] for each in card_ids if each in self.faults.unread}
            rest = [each for each in card_ids if each not in unread]
            found = {each: self._cards[each] for each in rest if each in self._cards}
            gone = {each: self._absent(each) for each in rest if each not in self._cards}
            return Lookup(found, gone, {}, unread)

    def resolve(self, text: str) -> str:
        """The full id behind a number, an id or a unique prefix."""
        number = text.removeprefix("#")
        with self._lock:
            if number.isdigit():
                found = [card.id for card in self._cards.values() if card.number == int(number)]
            else:
                found = (
                    [text] if text in self._cards else [each for each in self._cards if text and each.startswith(text)]
                )
            if len(found) == 1:
                return found[0]
        if text in self._gone:
            raise CardDeleted(f"Card {text} was deleted.")
        raise UnknownCard(f"There is no card {text}, or more than one.", "See which there are: card list.")

    def move(self, card_id: str, move: Move) -> Moved | Refused | Absent:
        """Compare-and-set move."""
        with self._call("move"):
            to = self._column(move.to)
            card = self._cards.get(card_id)
            if card is None:
                return self._absent(card_id)
            present = next((column for column in self._columns if column.name == card.column), None)
            decision = decide_move(card, move, present, to)
            if isinstance(decision, Refuse):
                return Refused(card, decision.why)
            if not isinstance(decision, Go):
                return Moved(card, changed=False)
            moved = self._put(card, position=None, **self._place_values(to, move.mover))
            told = {"from": place_of(card), "to": to.name, "reason": move.reason, "sequence": moved.column_sequence}
            self._event(_TYPE.CARD_MOVED, card_id, move.mover, told)
            if decision.reopens:
                self._event(_TYPE.CARD_REOPENED, card_id, move.mover, {"column": to.name})
            if decision.closes:
                self._event(_TYPE.CARD_CLOSED, card_id, move.mover, {"column": to.name})
            return Moved(moved)

    def create(self, draft: CardDraft, author: Mover) -> Card:
        """Make a card."""
        draft = check_draft(draft)
        with self._call("create"):
            column = self._column(draft.column) if draft.column else self._columns[0]
            fields = fit_fields((), draft.fields)
            start = check_not_before(draft.not_before)
            card_id = self._ids.new("c")
            blockers = self._blockers(card_id, draft.blockers)
            self._numbers += 1
            now = self._clock.now()
            card = Card(
                board=self.name,
                id=card_id,
                number=self._numbers,
                title=draft.title,
                body=draft.body,
                created_at=now,
                updated_at=now,
                labels=draft.labels,
                priority=draft.priority,
                assignees=(draft.assignee,) if draft.assignee else (),
                author=author.name,
                bot=draft.bot,
                bot_args=draft.bot_args,
                fields=fields,
                blockers=blockers,
                url=draft.url,
                not_before=start,
                **self._place_values(column, author),
            )
            self._cards[card_id] = card
            told = {"number": card.number, "title": card.title, "column": column.name}
            self._event(_TYPE.CARD_CREATED, card_id, author, told)
            return card

    def update(self, card_id: str, patch: CardPatch, mover: Mover) -> Card:
        """Change what the patch names."""
        with self._call("update"):
            card = self._need(card_id)
            if patch.version is not None and patch.version != card.version:
                raise Conflict(f"Card #{card.number} is at version {card.version}, not {patch.version}.")
            changes: dict[str, Any] = check_patch(patch)
            if "assignee" in changes:
                assignee = changes.pop("assignee")
                changes["assignees"] = (assignee,) if assignee else ()
            if patch.fields is not None:
                changes["fields"] = fit_fields((), merged(card.fields, patch.fields))
            if patch.bot_args is not None:
                changes["bot_args"] = check_arguments(merged(card.bot_args, patch.bot_args))
            if patch.not_before is not None:
                changes["not_before"] = check_not_before(patch.not_before)
            blockers = card.blockers if patch.blockers is None else self._blockers(card_id, patch.blockers)
            changes = {name: value for name, value in changes.items() if value != getattr(card, name)}
            if patch.column is not None:
                self._column(patch.column)
            if blockers != card.blockers:
                told = {"from": _ids(card.blockers), "to": _ids(blockers)}
                self._event(_TYPE.BLOCKERS_CHANGED, card_id, mover, told)
            if changes:
                self._event(_TYPE.CARD_UPDATED, card_id, mover, {"changed": sorted(changes)})
            if changes or blockers != card.blockers:
                card = self._put(card, blockers=blockers, **changes)
            answer = None if patch.column is None else self.move(card_id, Move(patch.column, mover))
            return answer.card if isinstance(answer, Moved) else card

    def place(self, card_id: str, place: Place, mover: Mover) -> Card:
        """Change a card's position within its column."""
        with self._call("place"):
            card, other = self._need(card_id), self._need(place.before or place.behind)
            if other.id == card.id:
                raise BadCard(f"Card #{card.number} has no place beside itself.", "Name another card of its column.")
            if other.column != card.column:
                raise BadCard(f"Card #{other.number} is in {place_of(other)}.", "Name another card of the same column.")
            here = [each for each in self._cards.values() if each.column == card.column and each.id != card_id]
            here.sort(key=lambda each: order_key(replace(each, priority=0)))
            spots = [Spot(each.id, each.position) for each in here]
            index = [spot.id for spot in spots].index(other.id) + (0 if place.before else 1)
            spots.insert(index, Spot(card_id, None))
            for each, position in positions_for(spots, index).items():
                if each != card_id:
                    self._cards[each] = replace(self._cards[each], position=position)
            self._event(_TYPE.CARD_UPDATED, card_id, mover, {"changed": ["position"]})
            return self._put(card, position=positions_for(spots, index)[card_id])

    def close(self, card_id: str, mover: Mover, *, failed: str = "") -> Moved:
        """Move a card to the first terminal column that is not ``failed``."""
        with self._lock:
            card = self._need(card_id)
            if card.closed:
                return Moved(card, changed=False)
            to = next(column for column in self._columns if column.terminal and column.name != failed)
            answer = self.move(card_id, Move(to=to.name, mover=mover, reason="closed"))
        assert isinstance(answer, Moved)
        return answer

    def delete(self, card_id: str, mover: Mover) -> tuple[str, ...]:
        """Delete a card; answers the ids of the cards that wait for it."""
        with self._call("delete"):
            card = self._need(card_id)
            del self._cards[card_id]
            self._gone.add(card_id)
            waiting = tuple(each.id for each in self._cards.values() if card_id in _ids(each.blockers))
            told = {"number": card.number, "title": card.title, "waiting": list(waiting)}
            self._event(_TYPE.CARD_DELETED, card_id, mover, told)
            return waiting

    def comment(self, card_id: str, text: str, author: Mover) -> Comment:
        """Add a comment."""
        with self._call("comment"):
            if not check_text("comment", text).strip():
                raise InvalidText("The comment is empty.", "Write something.")
            self._need(card_id)
            comment = Comment(self._ids.new("m"), card_id, author, text, self._clock.now())
            self._comments.append(comment)
            self._event(_TYPE.COMMENT_ADDED, card_id, author, {"comment": comment.id, "text": text})
            return comment

    def comments(self, card_id: str) -> tuple[Comment, ...]:
        """A card's comments, oldest first."""
        return tuple(comment for comment in self._comments if comment.card_id == card_id)

    def history(self, card_id: str = "", *, since: int = 0, limit: int | None = None) -> tuple[BoardEvent, ...]:
        """Events above ``since``, oldest first."""
        with self._lock:
            found = [event for event in self._events[since:] if card_id in {"", event.card_id}]
        return tuple(found[:limit])

    def _call(self, name: str) -> threading.RLock:
        self.calls.append(name)
        if self.faults.error is not None:
            raise self.faults.error
        return self._lock

    def _column(self, name: str) -> Column:
        return column_named(self._columns, name)

    def _need(self, card_id: str) -> Card:
        if card_id in self._gone:
            raise CardDeleted(f"Card {card_id} was deleted.")
        if card_id not in self._cards:
            raise UnknownCard(f"There is no card {card_id}.", "See which there are: card list.")
        return self._cards[card_id]

    def _absent(self, card_id: str) -> Absent:
        return Absent(card_id, AbsentKind.GONE if card_id in self._gone else AbsentKind.UNKNOWN)

    def _listing(self, found: Iterable[Card]) -> Listing:
        every = sorted(found, key=order_key)
        broken = tuple(
            Unread(card.id, self.faults.unread[card.id], card.number) for card in every if card.id in self.faults.unread
        )
        whole = tuple(card for card in every if card.id not in self.faults.unread)
        stopped = self.faults.stopped
        return Listing(whole, stopped is None, self._clock.now(), stopped, stopped or "", broken)

    def _blockers(self, card_id: str, texts: Collection[str]) -> tuple[CardRef, ...]:
        try:
            ids = tuple(dict.fromkeys(self.resolve(text) for text in texts))
        except (UnknownCard, CardDeleted) as error:
            raise UnknownBlocker(f"A blocker is no card of this board. {error}", "Name a card that exists.") from error
        chain = find_cycle(card_id, ids, self._links)
        if chain:
            names = " -> ".join(
                f"#{self._cards[each].number}" if each in self._cards else "this card" for each in chain
            )
            raise BlockerCycle(f"The card would wait for itself: {names}.", "Leave one of these blockers out.")
        return tuple(CardRef(self.name, each) for each in ids)

    def _links(self, ids: Collection[str]) -> dict[str, tuple[str, ...]]:
        return {each: _ids(self._cards[each].blockers) for each in ids if each in self._cards}

    def _place_values(self, column: Column, mover: Mover) -> dict[str, Any]:
        return {
            "column": column.name,
            "columns_seen": (column.name,),
            "closed": column.terminal,
            "column_since": self._clock.now(),
            "column_by": mover.kind,
            "column_mover": mover.name,
            "column_run": mover.run_id,
            "column_sequence": self._next_sequence(),
        }

    def _next_sequence(self) -> int:
        """The number that a move takes; a board that shares a store's counter takes it from there."""
        self._sequence += 1
        return self._sequence

    def _put(self, card: Card, **changes: Any) -> Card:
        now: datetime = self._clock.now()
        changed = replace(card, **changes, version=str(int(card.version) + 1), updated_at=now)
        self._cards[card.id] = changed
        return changed

    def _event(self, kind: BoardEventType, card_id: str, mover: Mover, data: Mapping[str, object]) -> None:
        seq = len(self._events) + 1
        self._events.append(BoardEvent(self.name, seq, self._clock.now(), kind, card_id, mover, dict(data)))


def _ids(refs: tuple[CardRef, ...] | None) -> tuple[str, ...]:
    return tuple(ref.id for ref in refs or ())
