"""``pointsman gc --older-than D``: ended runs that nobody needs go, each leaves a tombstone (engine.md 1.6)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import click

from dispatcher.cli.output import rfc3339, table
from dispatcher.cli.run_options import Duration
from dispatcher.cli.session import Session

if TYPE_CHECKING:
    from dispatcher.garbage import Readings, Sweep


@click.command(help="Delete runs that ended long ago and that no card needs, with their files.")
@click.option("--older-than", required=True, type=Duration(), metavar="D", help="since their end: 90s, 12h, 720h")
@click.option("--dry-run", is_flag=True, help="only tell what would go")
@click.pass_obj
def command(session: Session, older_than: float, dry_run: bool) -> int:
    """Read, decide, delete one by one."""
    from dispatcher.garbage import Sweep, plan, sweep

    found = Sweep((), {})
    if session.store_exists():
        wiring = session.wiring()
        found = plan(_readings(session), wiring.clock.now() - timedelta(seconds=older_than))
        if not dry_run:
            found = sweep(found, wiring.engine.delete)
    if session.json:
        session.emit(_document(found, dry_run))
    else:
        session.say(_text(found, dry_run))
    return 0


def _readings(session: Session) -> Readings:
    from dispatcher.garbage import Readings
    from engine.run import IN_DOUBT

    wiring = session.wiring()
    records = wiring.store.runs.list().records
    doubted = {
        each.run_id: "a remote call of it has no answer" for each in wiring.store.effects.list("", tuple(IN_DOUBT))
    }
    statuses = {each.id: each.status for each in records}
    return Readings(records, {**doubted, **wiring.ledger.needed_runs()}, statuses)


def _document(found: Sweep, dry_run: bool) -> dict[str, object]:
    deleted = [
        {"run_id": each.id, "status": each.status, "finished_at": rfc3339(each.finished_at or each.updated_at)}
        for each in found.old
    ]
    kept = [{"run_id": run_id, "reason": reason} for run_id, reason in found.kept.items()]
    return {"dry_run": dry_run, "deleted": deleted, "kept": kept}


def _text(found: Sweep, dry_run: bool) -> str:
    verb = "would be deleted" if dry_run else "deleted"
    lines = [f"{len(found.old)} runs {verb}, {len(found.kept)} old ones kept."]
    rows = [(each.id, each.status, verb) for each in found.old]
    rows += [(run_id, "", f"kept: {reason}") for run_id, reason in found.kept.items()]
    return "\n".join([*lines, table(("RUN", "STATUS", "WHAT"), rows)] if rows else lines)
