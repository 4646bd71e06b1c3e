"""What a board offers: the protocol of the dispatcher, and the wider one of boards that people edit through us.

Implemented by ``native``, ``memory`` and the forges, called by the dispatcher, the command line and the web side. A
board reports; it never starts, claims or decides, and never filters by trust, blockers, schedule or caps
(connectors.md 3). Reads that fail in part say so in their answer; they do not raise through a tick.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from connectors.answer import StopReason
from connectors.card import BoardEvent, Card, Column, Comment, Mover
from connectors.drafts import CardDraft, CardPatch


class Clock(Protocol):
    """The present instant; the engine's clock satisfies it."""

    def now(self) -> datetime:
        """Aware, UTC."""
        ...


class IdMaker(Protocol):
    """Makes identifiers that have never been used; the engine's id maker satisfies it."""

    def new(self, prefix: str = "") -> str:
        """A fresh identifier of letters and digits, after ``prefix``."""
        ...


class Capability(StrEnum):
    """What a kind of board can do beyond ``Board``; the conformance suite skips by these names."""

    EDIT = "edit"
    """Offers ``EditableBoard``."""
    HISTORY = "history"
    """Keeps an event history with contiguous numbers."""
    COLUMNS = "columns"
    """Columns can be added, renamed, deleted, reordered."""
    REMOTE = "remote"
    """Lives on another machine: pages, lost answers, lag, limits, refusals; other people's comments."""
    LABELS = "labels"
    """Columns are labels and states that people can rename, delete and contradict."""
    CONTRADICTIONS = "contradictions"
    """People can put a card into two columns at once."""
    HALVES = "halves"
    """A move is two requests, so it can stop between them."""
    SINGLE_READS = "single_reads"
    """Cards are read by id one by one, so each read fails alone."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A card that is there and cannot be read: its id, its number when known, and the field or fault."""

    id: str
    why: str
    number: int = 0


@dataclass(frozen=True, slots=True)
class Listing:
    """The answer to a listing. ``complete`` only when the end was reached; else ``stopped`` and ``why`` tell.

    ``degraded``: it was read, and yet nothing may start from it or be written to it; in words.
    """

    cards: tuple[Card, ...]
    complete: bool
    read_at: datetime
    stopped: StopReason | None = None
    why: str = ""
    unread: tuple[Unread, ...] = ()
    degraded: str = ""


class AbsentKind(StrEnum):
    """Why a card is not there."""

    GONE = "gone"
    """It existed and was deleted."""
    UNKNOWN = "unknown"
    """The board never heard of it."""


@dataclass(frozen=True, slots=True)
class Absent:
    """A by-id read that proves the card absent."""

    id: str
    kind: AbsentKind
    moved_to: str = ""


@dataclass(frozen=True, slots=True)
class Lookup:
    """The answer to a by-id read: each id lands in exactly one of the four."""

    found: Mapping[str, Card] = field(default_factory=dict)
    gone: Mapping[str, Absent] = field(default_factory=dict)
    moved: Mapping[str, str] = field(default_factory=dict)
    unread: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Move:
    """A move as asked: compare-and-set on the column (``expected``; None expects nothing) and, when given, on the
    version."""

    to: str
    mover: Mover
    expected: str | None = None
    version: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Moved:
    """The card is in the column. ``changed`` is False when it was there before: no event, no new store sequence."""

    card: Card
    changed: bool = True


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing was moved, since the card is not as expected: here is how it is."""

    card: Card
    why: str


class Board(Protocol):
    """What the dispatcher needs of any board."""

    @property
    def name(self) -> str:
        """The board's name in the configuration."""
        ...

    @property
    def kind(self) -> str:
        """The connector's kind, ``native`` or a forge's."""
        ...

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What this board can do beyond this protocol."""
        ...

    def columns(self) -> tuple[Column, ...]:
        """All columns in their order."""
        ...

    def list_cards(self, columns: Collection[str] | None) -> Listing:
        """Every card of the named columns, each once, in the order of dispatcher.md 17; None means all columns and the
        unmapped cards too, no names make no call. Names that the board does not have are ignored."""
        ...

    def get(self, card_id: str) -> Card | Absent:
        """One card by its full id. Raises ``DamagedCard`` when it is there and cannot be read."""
        ...

    def get_many(self, card_ids: Collection[str]) -> Lookup:
        """Many cards by their full ids."""
        ...

    def move(self, card_id: str, move: Move) -> Moved | Refused | Absent:
        """Move a card if it is as expected. Raises ``UnknownColumn``."""
        ...

    def comment(self, card_id: str, text: str, author: Mover) -> Comment:
        """Add one comment. Raises ``UnknownCard``, ``CardDeleted``, ``InvalidText``."""
        ...


@dataclass(frozen=True, slots=True)
class CardQuery:
    """A filtered page. ``only`` and ``without`` are card ids, for what the caller knows better (claims).

    ``text`` stands anywhere in title or body, where A and a are the same; ``archived`` asks for the cards that were put
    away instead of the others.
    """

    columns: tuple[str, ...] = ()
    label: str = ""
    assignee: str = ""
    only: frozenset[str] | None = None
    without: frozenset[str] = frozenset()
    limit: int | None = None
    offset: int = 0
    text: str = ""
    archived: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Where in its column a card goes: right before or right behind another card (its full id)."""

    before: str = ""
    behind: str = ""


class ShownBoard(Board, Protocol):
    """A board of which people are shown lists and cards; every kind of board is one."""

    def resolve(self, text: str) -> str:
        """The full id behind ``#12``, ``12``, a full id or a unique prefix. Raises ``UnknownCard``, ``CardDeleted``."""
        ...

    def query(self, query: CardQuery) -> Listing:
        """One filtered page. Raises ``UnknownColumn``."""
        ...

    def comments(self, card_id: str) -> tuple[Comment, ...]:
        """A card's comments, oldest first."""
        ...


class EditableBoard(ShownBoard, Protocol):
    """A board whose cards live with us: what people's verbs need besides."""

    def create(self, draft: CardDraft, author: Mover) -> Card:
        """Make a card. Raises ``BadCard`` kinds; nothing is made then."""
        ...

    def update(self, card_id: str, patch: CardPatch, mover: Mover) -> Card:
        """Change what the patch names. Raises ``Conflict`` on another version, ``BadCard`` kinds, ``UnknownCard``."""
        ...

    def place(self, card_id: str, place: Place, mover: Mover) -> Card:
        """Change a card's position within its column. Raises ``BadCard`` when the other card is elsewhere."""
        ...

    def close(self, card_id: str, mover: Mover, *, failed: str = "") -> Moved:
        """Move the card to the first terminal column that is not ``failed``."""
        ...

    def delete(self, card_id: str, mover: Mover) -> tuple[str, ...]:
        """Delete a card; its number stays spent. Answers the ids of the cards that wait for it."""
        ...

    def history(self, card_id: str = "", *, since: int = 0, limit: int | None = None) -> tuple[BoardEvent, ...]:
        """Events with a ``seq`` above ``since``, oldest first, of one card or of the whole board."""
        ...
