"""``pointsman explain CARD``: every gate in order, its verdict, its fact, what would change it (interface.md 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dispatcher.cli.session import Session
from dispatcher.refusals import Refused

if TYPE_CHECKING:
    from dispatcher.explaining import Explanation

_SIGNS = {"pass": "✓", "hold": "✗", "unknown": "?"}


@click.command()
@click.argument("card")
@click.pass_obj
def command(session: Session, card: str) -> int:
    """Tell why a card starts or does not."""
    from dispatcher.explaining import explain

    if not session.store_exists():
        text = f"There is no card {card}: there is no store yet."
        raise Refused("card_unknown", text, "Make a card: card create; or read the boards: dispatch --once.")
    told = explain(session.wiring(), session.environment, card)
    if session.json:
        session.emit(told.document())
    else:
        _say(session, told)
    return 0


def _say(session: Session, told: Explanation) -> None:
    decision, card = told.judgement.decision, told.card
    session.say(f"#{card.number} {card.title} ({card.board}, in {card.column or 'no column'})")
    reason = f", {decision.reason.value}: {decision.text}" if decision.reason else ""
    session.say(f"decision: {decision.action.value} (row {decision.row}){reason}")
    if decision.unblock:
        session.say(f"what unblocks: {decision.unblock}")
    for gate in told.judgement.gates:
        text = f" {gate.text} → {gate.unblock}" if gate.text else ""
        session.say(f"{_SIGNS[gate.verdict]} {gate.order:>2} {gate.code.value}{text}")
