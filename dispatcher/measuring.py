"""The gauges of dispatcher.md 33 from the world of one tick, and what only its end knows how to count.

Called by publishing. It reads nothing that the tick did not read, but for the names of the workspaces, remote calls by
state and the day's cost once a minute. Labels never carry a card, a run or a person.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from dispatcher.breakers import CARD, OPEN, TRIAL
from dispatcher.doubts import ambiguous
from dispatcher.policy import Action
from dispatcher.world import Gauges, World, cause_of
from engine import states

LOOK_EVERY = 60.0
"""Seconds between two counts of the workspace folders and of the day's cost where no cap needs it."""
REMEMBERED = 20_000
"""So many runs' costs are kept to tell by how much they grew; the ones seen longest ago go."""


def measure(world: World) -> Gauges:
    """Every gauge that a tick knows; those of ``_look_around`` only when it looked."""
    station, snapshot = world.station, world.snapshot
    _promotions(world)
    _spending(world)
    slots = station.slots.executing()
    most = world.daemon.slots
    under_way = (record.status for record in world.runs.values() if not states.is_ended(record.status))
    found: dict[str, Mapping[tuple[str, ...], float]] = {
        "pointsman_slots": {
            ("used",): float(len(slots)),
            ("max",): float(most),
            ("over",): float(max(0, len(slots) - most)),
        },
        "pointsman_stops_overdue": {(): float(sum(station.slots.overdue(work.key) for work in slots))},
        "pointsman_runs": _tallied((status,) for status in under_way),
        "pointsman_claims": _tallied((key[0], claim.state.value) for key, claim in snapshot.claims.items()),
        "pointsman_parks": _tallied((key[0], cause_of(park)) for key, park in snapshot.parks.items()),
        "pointsman_retries_waiting": _tallied((key[0],) for key in snapshot.retries),
        "pointsman_pending_moves": _tallied((key[0],) for key in snapshot.pending),
        "pointsman_cards_held": _tallied(
            (key[0], told.reason.value) for key, told in world.held.items() if told.reason and key not in snapshot.parks
        ),
        "pointsman_cards": _tallied((card.board, card.column or "unmapped") for card in world.cards.values()),
        "pointsman_breaker_open": _tallied(
            (scope, "" if scope == CARD else name)
            for (scope, name), row in snapshot.breakers.items()
            if row.state in (OPEN, TRIAL)
        ),
        "pointsman_board_last_complete_timestamp_seconds": {
            (name,): _unix(station.memory.last_complete.get(name))
            for name, read in world.reads.items()
            if not read.standby
        },
        "pointsman_cost_day_usd": {(): world.daemon.spent},
    }
    return {**found, **_look_around(world)}


def _unix(moment: datetime | None) -> float:
    """Unix time; 0 for a board that was never read whole, which an alert rule takes for very long ago."""
    return moment.timestamp() if moment is not None else 0.0


def _tallied(labels: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], float]:
    found: dict[tuple[str, ...], float] = {}
    for each in labels:
        found[each] = found.get(each, 0.0) + 1.0
    return found


def _promotions(world: World) -> None:
    """What the orphans of this tick were promoted to."""
    promoted = [each.decision.run_id for each in world.decided if each.decision.action is Action.PROMOTE]
    if world.dry or not promoted:
        return
    world.know_runs(run_id for run_id in promoted if run_id)
    for run_id in promoted:
        record = world.runs.get(run_id or "")
        if record is not None:
            world.station.memory.tally.count("pointsman_orphans_promoted_total", to=record.status)


def _spending(world: World) -> None:
    """By how much the cost of each known run grew; what an older one had cost before this process is not counted."""
    memory, boards = world.station.memory, {link.last_run: link.board for link in world.links.values()}
    for record in world.runs.values():
        before = memory.costs.pop(record.id, None)
        memory.costs[record.id] = record.cost_usd_total
        if before is None:
            new = memory.since is not None and record.created_at >= memory.since
            before = 0.0 if new else record.cost_usd_total
        if record.cost_usd_total > before and record.id in boards:
            grown = record.cost_usd_total - before
            memory.tally.count("pointsman_cost_usd_total", grown, board=boards[record.id])
    while len(memory.costs) > REMEMBERED:
        del memory.costs[next(iter(memory.costs))]


def _look_around(world: World) -> Gauges:
    """What costs more than a tick should: looked at once a minute."""
    station, now = world.station, world.station.clock.monotonic()
    looked = station.memory.looked_around
    if looked is not None and now - looked < LOOK_EVERY:
        return {}
    station.memory.looked_around = now
    if not world.daemon.spend_limit:
        day, spend = world.now.date(), station.store.spend
        station.memory.spent_today = world.unchanged("spent", day, lambda: spend.on(day))
    doubts = [each.settled_at or each.created_at for each in ambiguous(world)]
    counted = world.unchanged("effects by state", None, station.store.effects.by_state)
    oldest = min(doubts).timestamp() if doubts else 0.0
    return {
        "pointsman_workspaces": {(state,): float(n) for state, n in station.workspaces.counts().items()},
        "pointsman_effects": {(state,): float(n) for state, n in counted.items()},
        "pointsman_effects_ambiguous_oldest_timestamp_seconds": {(): oldest},
    }
