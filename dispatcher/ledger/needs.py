"""Which runs the dispatcher still needs, and what for: asked before old runs are deleted."""

from __future__ import annotations

from sqlalchemy import ColumnElement, Connection, Table, and_, select, true

from dispatcher.ledger.records import Follows
from dispatcher.ledger.schema import CardLink, ClaimRow, IntentRow, ParkRow, RetryRow, SettlementRow

_SAID = (
    (ClaimRow, true(), "a card holds it"),
    (IntentRow, true(), "a start of its card is under way"),
    (RetryRow, true(), "its card waits for another attempt"),
    (ParkRow, ParkRow.c.released == "", "its card is parked"),
    (SettlementRow, SettlementRow.c.closed.is_(False), "its outcome is being carried onto its card"),
)
POINTED = "its card points at it and may go on with it"


def needed(connection: Connection) -> dict[str, str]:
    """run -> why. Of a run that a card points at nothing more is needed once it is final and moved its card."""
    found = dict.fromkeys(_pointed(connection), POINTED)
    for table, condition, why in _SAID:
        found |= dict.fromkeys(_run_ids(connection, table, condition), why)
    found.pop("", None)
    return found


def _pointed(connection: Connection) -> set[str]:
    """The runs that cards point at, less those whose end moved the card for good."""
    settled = and_(
        SettlementRow.c.board == CardLink.c.board,
        SettlementRow.c.card_id == CardLink.c.card_id,
        SettlementRow.c.run_id == CardLink.c.last_run,
        SettlementRow.c.closed.is_(True),
        SettlementRow.c.moved.is_(True),
        SettlementRow.c.follows.in_((Follows.COMPLETED, Follows.FAILED)),
    )
    done = select(SettlementRow.c.run_id).where(settled).exists()
    return set(connection.execute(select(CardLink.c.last_run).where(~done)).scalars())


def _run_ids(connection: Connection, table: Table, condition: ColumnElement[bool]) -> list[str]:
    return list(connection.execute(select(table.c.run_id).where(condition)).scalars())
