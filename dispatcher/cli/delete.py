"""``pointsman delete --run-id ID``: an ended run goes, a tombstone stays (engine.md 1.6)."""

from __future__ import annotations

import click

from dispatcher.cli.inspect import store_for_reading
from dispatcher.cli.session import Session


@click.command(help="Delete an ended run; its id is never used again.")
@click.option("--run-id", required=True, metavar="ID", help="which run")
@click.pass_obj
def command(session: Session, run_id: str) -> int:
    """Delete under the run's lock."""
    store_for_reading(session, run_id)
    session.wiring().engine.delete(run_id)
    if session.json:
        session.emit({"run_id": run_id, "deleted": True})
    else:
        session.say(f"Run {run_id} is deleted.")
    return 0
