"""The end of a tick: idle reasons that changed, and the state document (dispatcher.md 4 T11, 25).

An idle reason is rewritten only when its code or the facts in its text change; ages do not count as a change.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from dispatcher import log
from dispatcher.ledger import daemon_rows
from dispatcher.ledger.records import IdleReason, Key
from dispatcher.measuring import measure
from dispatcher.policy import Decision
from dispatcher.reasons import CAPACITY_FROM, REASONS, Reason
from dispatcher.state import document
from dispatcher.troubles import next_trouble
from dispatcher.world import World
from engine.errors import StoreError

_log = log.get(__name__)
_VOLATILE = frozenset({"age", "owner"})


def publish(world: World) -> None:
    """T11."""
    if not world.dry and not world.daemon.store_error:
        _idle(world)
    memory = world.station.memory
    memory.last_error = next_trouble(memory.last_error, _troubles(world), world.now)
    world.state = document(world)
    world.gauges = measure(world)


def publish_held(world: World) -> None:
    """T11 of a daemon that stops: reasons of the cards that it looked at; all others keep theirs."""
    if not world.daemon.store_error:
        _idle(world, whole=False)


def _troubles(world: World) -> dict[str, str]:
    """What went wrong in this tick, by place; the first one is shown."""
    found = {"store": world.daemon.store_error} if world.daemon.store_error else {}
    found |= {read.name: read.error for read in world.reads.values() if read.error}
    return found | {f"card {key[0]} {key[1]}": text for key, text in world.errors.items()}


def _idle(world: World, *, whole: bool = True) -> None:
    memory, ledger = world.station.memory, world.station.ledger
    if memory.idle is None:
        memory.idle = ledger.idle_reasons()
    known = memory.idle
    shown = {key: decision for key, decision in world.held.items() if _shown(world, key, decision)}
    made = [_reason(world, key, decision) for key, decision in shown.items() if _changed(known.get(key), decision)]
    gone = [key for key in known if whole and key not in shown and _may_go(world, key)]
    if not made and not gone:
        return
    try:
        with ledger.write() as connection:
            daemon_rows.write_idle_reasons(connection, made, gone)
    except StoreError as error:
        _log.error("store.degraded", error=error.message)
        return
    for reason in made:
        _tell(reason, known.get((reason.board, reason.card_id)))
        known[(reason.board, reason.card_id)] = reason
    for key in gone:
        del known[key]
        _log.debug("card.freed", board=key[0], card_id=key[1])


def _shown(world: World, key: Key, decision: Decision) -> bool:
    """A card that left the eligible columns loses its reason, unless a park, retry or pending move explains it."""
    if decision.reason is None:
        return False
    return decision.reason is not Reason.COLUMN_NOT_ELIGIBLE or key in world.snapshot.retries


def _may_go(world: World, key: Key) -> bool:
    """A board that could not be read as a whole, or is another daemon's, proves nothing about its cards, nor does a
    card under way that could not be read by its id."""
    read = world.reads.get(key[0])
    known = key in world.cards or key in world.gone or key not in world.snapshot.active()
    return read is None or (known and not (read.error or read.standby or read.partial))


def _changed(known: IdleReason | None, decision: Decision) -> bool:
    if known is None or known.code != decision.reason:
        return True
    return known.text != decision.text and known.facts != _stable(decision.facts)


def _stable(told: Mapping[str, object]) -> str:
    return json.dumps({k: v for k, v in told.items() if k not in _VOLATILE}, sort_keys=True, default=str)


def _reason(world: World, key: Key, decision: Decision) -> IdleReason:
    assert decision.reason is not None
    memory = world.station.memory
    known = (memory.idle or {}).get(key)
    since = known.since if known is not None and known.code == decision.reason else world.now
    code = decision.reason.value
    return IdleReason(key[0], key[1], code, decision.text, decision.unblock, _stable(decision.facts), since)


def _tell(reason: IdleReason, before: IdleReason | None) -> None:
    """A hold is told when it begins; capacity is never a fault."""
    if before is not None and before.code == reason.code:
        return
    quiet = REASONS[Reason(reason.code)].order >= CAPACITY_FROM
    tell = _log.debug if quiet else _log.info
    tell("card.held", board=reason.board, card_id=reason.card_id, code=reason.code, text=reason.text)
