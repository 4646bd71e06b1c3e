"""The normalized board item and the small records around it: mover, column, comment, board event, start time.

Made by the boards (``native``, ``memory``, the forges), read by everybody else; nobody outside a connector sees a
forge's own payload (connectors.md 3). Frozen; all instants are aware and UTC. Nothing here decides or writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class MoverKind(StrEnum):
    """Who put a card where it is (dispatcher.md 29)."""

    PERSON = "person"
    """The command line or HTTP."""
    DISPATCHER = "dispatcher"
    """The daemon, for an outcome, a park or a start."""
    FORGE = "forge"
    """Seen on a forge, or on a board synchronised from one."""
    BOT = "bot"
    """A tool or hook of a run; the run's id is kept with the move."""


@dataclass(frozen=True, slots=True)
class Mover:
    """Kind, name (a login, an instance) and, for a bot, the id of its run."""

    kind: MoverKind
    name: str = ""
    run_id: str = ""


PERSON = Mover(MoverKind.PERSON)
"""A person without a name."""
DISPATCHER = Mover(MoverKind.DISPATCHER)
"""The daemon."""


@dataclass(frozen=True, slots=True)
class CardRef:
    """A card's address over all boards: board name and card id."""

    board: str
    id: str


@dataclass(frozen=True, slots=True)
class NotBefore:
    """A scheduled start (dispatcher.md 18): the text as given and the instant that is compared.

    ``instant`` is None when the text cannot be read; ``problem`` then says why, and the card is held.
    """

    text: str
    instant: datetime | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of one board. ``id`` never changes; ``aliases`` are earlier names that still resolve."""

    id: str
    name: str
    title: str
    eligible: bool = False
    terminal: bool = False
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Card:
    """One board item as last read.

    ``archived`` is put away by a person: closed, and in no listing. ``column`` is the mapped name, None when the
    board has no such column; ``columns_seen`` has more than one entry when labels contradict each other.
    ``blockers`` is None when they could not be read. ``version`` is opaque and changes with any change.
    ``column_sequence`` is the store sequence that the last move took, ``column_run`` the run of a bot that made it.
    ``entrant`` is the login of the person who moved it last, ``pinned`` the digest of its text at that move; both
    are empty where the board does not tell.
    """

    board: str
    id: str
    number: int
    title: str
    column: str | None
    created_at: datetime
    updated_at: datetime
    column_since: datetime
    column_by: MoverKind
    column_sequence: int = 0
    column_run: str = ""
    column_mover: str = ""
    entrant: str = ""
    pinned: str = ""
    body: str = ""
    columns_seen: tuple[str, ...] = ()
    closed: bool = False
    labels: tuple[str, ...] = ()
    priority: int = 0
    position: float | None = None
    assignees: tuple[str, ...] = ()
    author: str = ""
    bot: str = ""
    bot_args: Mapping[str, object] = field(default_factory=dict)
    fields: Mapping[str, object] = field(default_factory=dict)
    blockers: tuple[CardRef, ...] | None = ()
    url: str = ""
    not_before: NotBefore | None = None
    version: str = "1"
    archived: bool = False

    @property
    def assignee(self) -> str:
        """The first assignee, or nothing."""
        return self.assignees[0] if self.assignees else ""

    @property
    def ref(self) -> CardRef:
        """The card's address."""
        return CardRef(self.board, self.id)


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment; ``edited_at`` is None for one that still has its first text."""

    id: str
    card_id: str
    author: Mover
    text: str
    created_at: datetime
    edited_at: datetime | None = None


class BoardEventType(StrEnum):
    """What a native board's history tells (dispatcher.md 29)."""

    CARD_CREATED = "card_created"
    CARD_UPDATED = "card_updated"
    CARD_MOVED = "card_moved"
    CARD_CLOSED = "card_closed"
    CARD_REOPENED = "card_reopened"
    CARD_ARCHIVED = "card_archived"
    CARD_UNARCHIVED = "card_unarchived"
    CARD_DELETED = "card_deleted"
    CARD_CLAIMED = "card_claimed"
    CARD_RELEASED = "card_released"
    LAST_RUN_STAMPED = "last_run_stamped"
    COMMENT_ADDED = "comment_added"
    COMMENT_EDITED = "comment_edited"
    BLOCKERS_CHANGED = "blockers_changed"
    UNBLOCKED = "unblocked"
    GAVE_UP = "gave_up"
    COLUMN_ADDED = "column_added"
    COLUMN_RENAMED = "column_renamed"
    COLUMN_DELETED = "column_deleted"
    COLUMNS_REORDERED = "columns_reordered"
    FIELD_CHANGED = "field_changed"
    LABEL_RENAMED = "label_renamed"
    VIEW_SAVED = "view_saved"
    VIEW_DELETED = "view_deleted"
    BOARD_IMPORTED = "board_imported"


@dataclass(frozen=True, slots=True)
class BoardEvent:
    """One entry of a board's history; ``seq`` counts from 1 without gap, ``data`` holds JSON values only."""

    board: str
    seq: int
    time: datetime
    type: str
    card_id: str
    mover: Mover
    data: Mapping[str, object]
