"""``pointsman events --run-id ID``: the timeline as JSON lines, oldest first (interface.md 3)."""

from __future__ import annotations

import threading

import click

from dispatcher.cli.inspect import store_for_reading
from dispatcher.cli.numbers import FROM_ZERO
from dispatcher.cli.session import Session

LOOK = 0.3


@click.command(help="Print the timeline of a run as JSON lines, oldest first.")
@click.option("--run-id", required=True, metavar="ID", help="which run")
@click.option("--follow", is_flag=True, help="go on until the run stops")
@click.option("--since", type=FROM_ZERO, default=0, metavar="SEQ", help="only events after this one")
@click.pass_obj
def command(session: Session, run_id: str, follow: bool, since: int) -> int:
    """Print, and with ``--follow`` wait for more until the run has stopped."""
    from engine.documents import event_document
    from engine.states import is_running

    store = store_for_reading(session, run_id)
    clock, never = session.wiring().clock, threading.Event()
    while True:
        running = is_running(store.runs.get(run_id).status)
        for event in store.timeline.events(run_id, since):
            session.emit(event_document(event))
            since = event.seq
        if not follow or not running or session.output.closed:
            return 0
        clock.wait(never, LOOK)
