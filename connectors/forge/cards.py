"""From a forge's issue to a card: its column, priority, start time, who put it there. Pure (connectors.md 3, 4).

The board adds what needs a read: blockers, and who moved a card that is elsewhere than remembered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from connectors.card import Card, CardRef, Column
from connectors.forge.body import blockers_in, start_in
from connectors.forge.columns import ColumnPlace, Resolved, columns_of
from connectors.forge.memory import Crossing, Placed
from connectors.forge.records import Blocker, Issue


@dataclass(frozen=True, slots=True)
class BoardPlan:
    """A board as configured. ``columns`` are in their order, ``places`` say how each shows on the forge.

    ``roles`` are columns that the configuration names for outcomes; one that has no place takes the present label away.
    ``repos`` gives the board of each repository, for blockers across repositories.
    """

    name: str
    columns: tuple[Column, ...]
    places: Mapping[str, ColumnPlace]
    roles: frozenset[str] = frozenset()
    priority_labels: Mapping[str, int] = field(default_factory=dict)
    repos: Mapping[str, str] = field(default_factory=dict)
    claims_by_ref: bool = False
    """Whether claims are refs of the repository, where the forge can make such; else comments."""

    @property
    def closed_column(self) -> str:
        """The column of closed cards, empty when none is mapped."""
        return next((name for name, place in self.places.items() if place.closed is True), "")

    @property
    def open_column(self) -> str:
        """The column of open cards without another, empty when none is mapped."""
        return next((name for name, place in self.places.items() if place.closed is False), "")


@dataclass(frozen=True, slots=True)
class Spotted:
    """A card's columns as its labels and state show them; ``columns`` has several when they contradict each other."""

    columns: tuple[str, ...]

    @property
    def column(self) -> str:
        """The one column; empty for none and for several."""
        return self.columns[0] if len(self.columns) == 1 else ""


def spot(
    plan: BoardPlan, issue: Issue, found: Mapping[str, Resolved], crossing: Crossing | None, *, folds_case: bool
) -> Spotted:
    """Where the issue is: closed wins over any label, and a move of ours under way is no contradiction."""
    if not issue.is_open and plan.closed_column:
        return Spotted((plan.closed_column,))
    seen = columns_of(issue.labels, found, folds_case=folds_case)
    if crossing is not None and set(seen) == {crossing.origin, crossing.to}:
        return Spotted((crossing.to,))
    if not seen and issue.is_open and plan.open_column:
        return Spotted((plan.open_column,))
    return Spotted(seen)


def card_of(
    plan: BoardPlan, issue: Issue, spotted: Spotted, placed: Placed, blockers: tuple[CardRef, ...] | None
) -> Card:
    """The card."""
    return Card(
        board=plan.name,
        id=str(issue.number),
        number=issue.number,
        title=issue.title,
        column=spotted.column or None,
        created_at=issue.created_at,
        updated_at=issue.updated_at,
        column_since=placed.since,
        column_by=placed.by,
        column_sequence=placed.sequence,
        column_run=placed.run_id,
        column_mover=placed.mover,
        entrant=placed.entrant,
        pinned=placed.pinned,
        body=issue.body,
        columns_seen=spotted.columns,
        closed=not issue.is_open,
        labels=issue.labels,
        priority=priority(issue, plan.priority_labels),
        assignees=issue.assignees,
        author=issue.author,
        blockers=blockers,
        url=issue.url,
        not_before=start_in(issue.body),
        version=version(issue),
    )


def moved_card(card: Card, placed: Placed) -> Card:
    """The card at a place that was written down after it was read."""
    return replace(
        card,
        column=placed.column or None,
        columns_seen=(placed.column,) if placed.column else (),
        column_since=placed.since,
        column_by=placed.by,
        column_sequence=placed.sequence,
        column_run=placed.run_id,
        column_mover=placed.mover,
        entrant=placed.entrant,
        pinned=placed.pinned,
    )


def text_digest(title: str, body: str) -> str:
    """What a card's text is recognised by; line ends and the blanks behind a text do not count."""
    text = "\n".join((title, *body.splitlines())).rstrip()
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def priority(issue: Issue, labels: Mapping[str, int]) -> int:
    """The highest priority that a label of the card gives."""
    return max((labels[label] for label in issue.labels if label in labels), default=0)


def version(issue: Issue) -> str:
    """Changes with any change that a board shows; the forge's time of update alone has whole seconds only."""
    told = (
        issue.title,
        issue.body,
        issue.is_open,
        sorted(issue.labels),
        sorted(issue.assignees),
        issue.updated_at.isoformat(),
        issue.etag,
    )
    return hashlib.sha256(repr(told).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def refs(plan: BoardPlan, native: tuple[Blocker, ...], body: str) -> tuple[CardRef, ...] | None:
    """What a card waits for: native links first, then lines of its text. None when one is on no board of ours."""
    found: dict[CardRef, None] = {}
    for blocker in (*native, *blockers_in(body)):
        board = plan.repos.get(blocker.repo.lower()) if blocker.repo else plan.name
        if board is None:
            return None
        found[CardRef(board, str(blocker.number))] = None
    return tuple(found)
