"""What people ask of the dispatcher as a whole, stored: pick up, start nothing, or let what exists end (section 24)."""

from __future__ import annotations

from datetime import datetime

from dispatcher.candidate import Desired
from dispatcher.ledger import Ledger, daemon_rows
from dispatcher.ledger.records import DesiredState


def want(ledger: Ledger, state: Desired, by: str, now: datetime) -> None:
    """Store it; to pick up again also closes the breakers of boards. In force when this returns, also after a crash."""
    with ledger.write() as connection:
        daemon_rows.want(connection, DesiredState(state.value, by, now))
        if state is Desired.RUNNING:
            daemon_rows.close_breakers(connection, "board")
