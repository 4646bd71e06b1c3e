"""``pointsman cancel --run-id ID``: a person stops a run (engine.md 1.7)."""

from __future__ import annotations

import click

from dispatcher.cli.inspect import store_for_reading
from dispatcher.cli.session import Session


@click.command(help="Stop a run; it can be resumed later.")
@click.option("--run-id", required=True, metavar="ID", help="which run")
@click.option("--reason", default="", metavar="TEXT", help="kept with the run")
@click.pass_obj
def command(session: Session, run_id: str, reason: str) -> int:
    """Write the cancel; a process that executes the run notices within a second."""
    from engine.documents import summary_document

    store_for_reading(session, run_id)
    record = session.wiring().engine.cancel(run_id, reason)
    if session.json:
        session.emit(summary_document(record))
    else:
        session.say(f"Run {run_id} is cancelled.")
    return 0
