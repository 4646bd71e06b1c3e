"""``pointsman pause --run-id ID``: a soft pause at the next node boundary (engine.md 1.7)."""

from __future__ import annotations

import click

from dispatcher.cli.inspect import store_for_reading
from dispatcher.cli.session import Session


@click.command(help="Pause a running run at its next node boundary.")
@click.option("--run-id", required=True, metavar="ID", help="which run")
@click.pass_obj
def command(session: Session, run_id: str) -> int:
    """Ask for the pause; the run's own process honours it."""
    from engine.documents import summary_document

    store = store_for_reading(session, run_id)
    session.wiring().engine.pause(run_id)
    if session.json:
        session.emit(summary_document(store.runs.get(run_id)))
    else:
        session.say(f"Run {run_id} pauses at its next node boundary.")
    return 0
