"""``pointsman effects``: remote calls whose answer was lost (interface.md 5)."""

from __future__ import annotations

import click

from dispatcher.cli.output import rfc3339, table
from dispatcher.cli.session import Session
from engine.run import EffectRecord


@click.group()
def command() -> None:
    """List remote calls whose answer was lost."""


@command.command(name="list")
@click.option("--run-id", default="", help="of this run only")
@click.pass_obj
def list_effects(session: Session, run_id: str) -> int:
    """Every recorded remote call, oldest first."""
    found = session.wiring().store.effects.list(run_id) if session.store_exists() else ()
    if session.json:
        session.emit({"effects": [_document(each) for each in found]})
    elif not found:
        session.say("There are no recorded remote calls.")
    else:
        rows = [(each.id, each.state, each.operation, each.run_id, each.node_id) for each in found]
        session.say(table(("ID", "STATE", "OPERATION", "RUN", "NODE"), rows))
    return 0


def _document(each: EffectRecord) -> dict[str, object]:
    return {
        "id": each.id,
        "run_id": each.run_id,
        "node_id": each.node_id,
        "connection": each.connection,
        "operation": each.operation,
        "state": each.state,
        "marker": each.marker,
        "note": each.note,
        "created_at": rfc3339(each.created_at),
        "settled_at": rfc3339(each.settled_at) if each.settled_at else None,
    }
