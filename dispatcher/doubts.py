"""Remote calls in doubt, as a tick sees them: are they settled, what do people read, when is the forge asked again.

Asked by ``facts`` and ``following``; ``parking`` lets it ask the forge while a card is parked. The rows are those of
the engine (engine.md 5.3, 5.4); a run answers for its child runs too. Nothing is kept: the schedule follows from them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from datetime import datetime, timedelta

from dispatcher.station import Station
from dispatcher.world import World
from engine.errors import EffectSettled, RunDeleted, RunUnknown
from engine.run import SETTLES, EffectRecord, EffectState
from engine.store.store import Store

PROBES = (60.0, 300.0, 1800.0)
"""Seconds after a call became ambiguous at which the forge is asked again while the card is parked."""


def probe_due(effect: EffectRecord, now: datetime) -> bool:
    """Whether one of the three instants has passed at which nobody has asked since. Pure."""
    since = effect.settled_at or effect.created_at
    passed = [since + timedelta(seconds=wait) for wait in PROBES if since + timedelta(seconds=wait) <= now]
    return bool(passed) and (effect.probed_at is None or effect.probed_at < passed[-1])


def settled(rows: Collection[EffectRecord]) -> bool:
    """Whether a call stopped the run and each that did is ``done`` or ``not_sent`` (engine.md 4.3). Pure."""
    return bool(rows) and all(row.state in SETTLES for row in rows)


def texts(rows: Collection[EffectRecord]) -> Mapping[str, object]:
    """What fills the reason of a card that is parked for a call in doubt. Pure."""
    first = next((row for row in rows if row.state not in SETTLES), None)
    if first is None:
        return {"operation": "a remote call", "node": "a node", "effect": "ID"}
    node = f"{first.node_id} ({first.note})" if first.probes else first.node_id
    return {"operation": first.operation, "node": node, "effect": first.id}


def ask(station: Station, rows: Collection[EffectRecord], now: datetime) -> None:
    """Ask the forge about each of these calls for which it is time; what is found is settled."""
    for row in rows:
        if row.state == EffectState.AMBIGUOUS and probe_due(row, now):
            with suppress(EffectSettled):
                station.engine.probe_effect(row.id)


def recover_writes(station: Station, boards: Collection[str], now: datetime) -> None:
    """T2: board writes of a sender that died, then those in doubt that are due to be asked about, then half moves."""
    if station.journal is None:
        return
    for name in sorted(boards):
        if station.memory.first_time(f"writes recovered {name}"):
            station.journal.lose_orphans(name)
    for row in station.store.effects.apart((EffectState.AMBIGUOUS.value,)):
        if row.connection in boards and probe_due(row, now):
            with suppress(EffectSettled):
                station.engine.probe_effect(row.id)
    for name in sorted(boards):
        finish = getattr(station.boards.get(name), "finish_moves", None)
        if finish is not None:
            finish()


def ambiguous(world: World) -> tuple[EffectRecord, ...]:
    """Every call whose answer was lost and that nobody has settled, oldest first."""
    effects = world.station.store.effects
    return world.unchanged("effects", None, lambda: effects.list(states=(EffectState.AMBIGUOUS,)))


def stopping(world: World, run_id: str) -> tuple[EffectRecord, ...]:
    """The calls because of which the run, or a child run that it waits for, stopped; settled or not, oldest first."""
    store = world.station.store
    return world.unchanged(f"doubts of {run_id}", None, lambda: store.effects.stopping(_family(store, run_id)))


def _family(store: Store, run_id: str) -> list[str]:
    """The run and the child runs that it waits for."""
    found = [run_id]
    for each in found:
        with suppress(RunUnknown, RunDeleted):
            found += [child for child in store.runs.get(each).children.values() if child not in found]
    return found
