"""Cards as documents, joined from board, ledger and run store; for the command line and the web.

Three reads whatever the number of cards: the board's (the caller's), the ledger's rows of those cards, the statuses of
the runs they point at. Nothing is written, nothing decided.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from connectors.card import Card
from dispatcher.documents import Document, card_document, comment_document

if TYPE_CHECKING:
    from connectors.base import ShownBoard
    from dispatcher.ledger.records import CardView, Key


class LedgerViews(Protocol):
    """What is read of the ledger."""

    def views(self, keys: Collection[Key]) -> Mapping[Key, CardView]:
        """What the documents of those cards show."""
        ...


class RunStatuses(Protocol):
    """What is read of the run store."""

    def status_of(self, run_ids: Iterable[str]) -> dict[str, str]:
        """run id -> status, for those that exist."""
        ...


def documents_of(cards: Sequence[Card], ledger: LedgerViews, runs: RunStatuses) -> list[Document]:
    """One document per card, in the order given."""
    if not cards:
        return []
    views = ledger.views([(card.board, card.id) for card in cards])
    pointers = {view.last_run for view in views.values() if view.last_run}
    statuses = runs.status_of(pointers) if pointers else {}
    documents = []
    for card in cards:
        view = views.get((card.board, card.id))
        status = statuses.get(view.last_run) if view is not None else None
        documents.append(card_document(card, view, status))
    return documents


def whole_document(board: ShownBoard, card: Card, ledger: LedgerViews, runs: RunStatuses) -> Document:
    """The document of one card with its comments (``card show``)."""
    document = documents_of([card], ledger, runs)[0]
    document["comments"] = [comment_document(comment) for comment in board.comments(card.id)]
    return document
