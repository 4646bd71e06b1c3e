"""A person points a card at a run that the dispatcher did not start (dispatcher.md 6, ``card update --last-run``).

From then on the run blocks the card and is resumed like any other; its pauses do not move the card.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dispatcher.ledger import cards
from dispatcher.refusals import Refused
from engine import states

if TYPE_CHECKING:
    from connectors.card import Card
    from dispatcher.wiring import Wiring


def point(wiring: Wiring, card: Card, run_id: str) -> None:
    """Make ``run_id`` the card's ``last_run``; the empty text takes the pointer away.

    Raises ``Refused`` while the present one is alive, and the engine's refusals for a run that is not there.
    """
    key = (card.board, card.id)
    present = wiring.ledger.views([key])[key].last_run
    if present and present != run_id and _alive(wiring, present):
        hint = f"Wait for its end, or stop it: pointsman cancel --run-id {present}"
        raise Refused(
            "refused", f"Run {present} of card #{card.number} is alive; the card goes on pointing at it", hint
        )
    if run_id:
        wiring.store.runs.get(run_id)
    with wiring.ledger.write() as connection:
        cards.point_at(connection, key, card.number, run_id)


def _alive(wiring: Wiring, run_id: str) -> bool:
    """Whether the run executes, or nobody can tell."""
    found = wiring.store.runs.get_many({run_id})
    if found.unreadable:
        return True
    return any(states.is_running(record.status) for record in found.records)
