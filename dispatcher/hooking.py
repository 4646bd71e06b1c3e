"""Which hook runs when, and that a completed one does not run twice (dispatcher.md 22).

Between ``hooks`` (how a hook runs) and the ledger (what completed). ``after_create`` is marked in the workspace's mark,
per generation; ``before_run`` and ``after_run`` are marked per attempt.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from connectors.card import Card
from dispatcher import log
from dispatcher.documents import card_document
from dispatcher.hooks import Call, Hook, HookEnd
from dispatcher.ledger import daemon_rows
from dispatcher.ledger.records import ClaimState
from dispatcher.station import Station
from dispatcher.workspaces import Workspace
from dispatcher.world import World
from engine.run import RunRecord

_log = log.get(__name__)


def after_run(world: World, card: Card, record: RunRecord) -> None:
    """E3: once per attempt of ours; a failure is written and changes nothing."""
    station = world.station
    claim = world.snapshot.claims.get((card.board, card.id))
    wanted = station.settings.hooks.after_run
    if wanted is None or claim is None or claim.state is not ClaimState.LIVE or not Path(record.workspace).is_dir():
        return
    mark = (record.id, record.epoch, Hook.AFTER_RUN.value)
    with station.ledger.write() as connection:
        done = daemon_rows.hook_result(connection, *mark)
    if done:
        return
    link = world.links[(card.board, card.id)]
    call = _call(station, card, record.id, link.attempts, Path(record.workspace))
    end = run(station, Hook.AFTER_RUN, replace(call, status=record.status, code=record.failure_code))
    with station.ledger.write() as connection:
        daemon_rows.mark_hook(connection, mark, "ok" if end.ok else end.why, world.now)


def before_start(station: Station, card: Card, workspace: Workspace, run_id: str, attempt: int) -> tuple[Hook, HookEnd]:
    """S8: ``after_create`` once per generation, then ``before_run``; the first that fails, or the last."""
    call = replace(_call(station, card, run_id, attempt, workspace.path), stop=station.memory.break_off)
    mark = workspace.mark
    if station.settings.hooks.after_create is not None and mark.created_hook < mark.generation:
        end = run(station, Hook.AFTER_CREATE, call)
        if not end.ok:
            return Hook.AFTER_CREATE, end
        done = replace(mark, created_hook=mark.generation)
        station.workspaces.write_mark(workspace.path.name, done)
    if station.settings.hooks.before_run is None:
        return Hook.BEFORE_RUN, HookEnd(ok=True)
    return Hook.BEFORE_RUN, run(station, Hook.BEFORE_RUN, call)


def run(station: Station, hook: Hook, call: Call) -> HookEnd:
    """Run one hook and tell how it ended."""
    settings = getattr(station.settings.hooks, hook.value)
    if settings is None:
        return HookEnd(ok=True)
    end = station.run_hook(settings, call)
    result = "ok" if end.ok else "failed"
    station.memory.tally.observe("pointsman_hook_seconds", end.seconds, hook=hook.value, result=result)
    ids = {"board": call.card.board, "card_id": call.card.id, "run_id": call.run_id, "hook": hook.value}
    if end.ok:
        _log.info("hook.finished", seconds=round(end.seconds, 3), **ids)
    else:
        _log.warning("hook.failed", reason=end.why, **ids)
    return end


def _call(station: Station, card: Card, run_id: str, attempt: int, workspace: Path) -> Call:
    return Call(card, run_id, attempt, workspace, station.store.root, card_document(card))
