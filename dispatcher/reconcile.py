"""Who is still there: starts and claims of dead owners, and running records without a live owner (dispatcher.md 9, 10).

Phases T2 and T3. A run is judged dead only when its lock could be taken past the grace and, in a shared store, its
lease has ended; an owner only when its process, or its daemon's lease, is provably gone. Both passes are safe to repeat
and safe to interrupt.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import timedelta
from functools import partial

from connectors.card import BoardEventType
from dispatcher import log
from dispatcher.doubts import recover_writes
from dispatcher.ledger import Transaction, cards, outcomes
from dispatcher.ledger.records import OWED, Claim, ClaimState, Intent, Key
from dispatcher.policy import Action, Decision, Life
from dispatcher.slots import Work
from dispatcher.station import STARTED
from dispatcher.world import Alive, World
from engine import states
from engine.errors import StoreError
from engine.run import Owner, RunRecord
from engine.store.leases import Lease, run_lease, short
from engine.store.owners import is_here

_log = log.get(__name__)
STUCK_AFTER = timedelta(minutes=2)
"""Two leases of one host: how long a claim without a stamped run may stay; in a shared store its own two leases."""


def recover(world: World) -> None:
    """T2: finish or undo what a dead owner left half-done; our own starts under way are left alone."""
    if not world.dry:
        led = [name for name, read in world.reads.items() if not read.standby]
        mirrored = [world.station.mirrors[name].name for name in led if name in world.station.mirrors]
        recover_writes(world.station, [*led, *mirrored], world.now)
    if world.station.leadership.shared:
        instances = {claim.owner.instance for claim in world.snapshot.claims.values() if claim.owner.instance}
        world.living = world.station.leadership.living(instances)
    for key, claim in list(world.snapshot.claims.items()):
        intent = world.snapshot.intents.get(key)
        if claim.state is ClaimState.LIVE and not world.station.slots.has(key) and _abandoned(world, claim, intent):
            _recover_claim(world, key, claim, intent)
    for key, begun in world.snapshot.intents.items():
        if key not in world.snapshot.claims and begun.point != OWED and not world.station.slots.has(key):
            _write(world, partial(cards.close_intent, key=key))
    if world.wrote:
        world.refresh()


def _abandoned(world: World, claim: Claim, intent: Intent | None) -> bool:
    if _gone(world, claim.owner):
        return True
    ours = claim.owner.instance == world.station.owner.instance
    leases = timedelta(seconds=2 * world.station.settings.claims.lease)
    after = leases if world.station.leadership.shared else STUCK_AFTER
    stuck = not claim.run_id and world.now - claim.claimed_at >= after
    return stuck or (ours and intent is not None)


def _gone(world: World, owner: Owner) -> bool:
    ours = world.station.owner
    if owner.instance == ours.instance and owner.pid == ours.pid:
        return False
    earlier_self = (owner.pid, owner.start_ticks, owner.boot) == (ours.pid, ours.start_ticks, ours.boot)
    dead = (earlier_self and bool(owner.instance)) or not world.station.engine.owner_alive(owner)
    if not owner.instance or is_here(owner):
        return dead and owner.instance not in world.living
    # A daemon of another host: its lease says it; where there is none, the instance lock that we hold does.
    return owner.instance not in world.living


def _recover_claim(world: World, key: Key, claim: Claim, intent: Intent | None) -> None:
    """A claim without a stamped run is dropped at once; one with a run is adopted, its start finished or undone."""
    if not claim.run_id:
        _write(world, partial(_drop, world=world, key=key))
        _log.info("claim.swept", board=key[0], card_id=key[1], epoch=claim.epoch)
        return
    world.know_runs([claim.run_id])
    record = world.runs.get(claim.run_id)
    running = record is not None and states.is_running(record.status)
    if intent is None and record is not None and not running:
        if world.is_settled(record):  # carried already: the claim goes back to what the card still needs it for
            _write(world, partial(_drop, world=world, key=key))
        return  # else its outcome waits for T4, which releases or keeps the claim
    if intent is None and claim.owner.instance == world.station.owner.instance:
        return
    if intent is not None and not running and _locked(world, claim.run_id):
        return  # a process of its own is about to claim the run: it outlived the daemon that started it
    _write(world, partial(_adopt, world=world, claim=claim, running=running))
    _log.info("claim.adopted", board=key[0], card_id=key[1], run_id=claim.run_id, epoch=claim.epoch + 1)


def _locked(world: World, run_id: str) -> bool:
    """Whether somebody holds the run's lock, or it cannot be told."""
    try:
        return world.station.engine.lock_held(run_id)
    except StoreError:
        return True


def _adopt(connection: Transaction, world: World, claim: Claim, running: bool) -> None:
    if not cards.adopt(connection, claim.key, world.station.owner, claim.epoch):
        return
    if running:
        cards.door_passed(connection, claim.key)
    else:
        _drop(connection, world, claim.key)


def _drop(connection: Transaction, world: World, key: Key) -> None:
    """A start that reached no run, or whose run is over: the claim goes back to what the card still needs it for."""
    if key in world.snapshot.intents:
        cards.break_off(connection, world.snapshot.intents[key])
    if key in world.snapshot.parks:
        cards.keep_claim(connection, key, ClaimState.PARKED)
    elif key in world.snapshot.retries:
        cards.keep_claim(connection, key, ClaimState.RETRYING)
    else:
        cards.release(connection, key)


def _write(world: World, change: Callable[[Transaction], object]) -> None:
    world.wrote = True
    if not world.dry:
        with world.station.ledger.write() as connection:
            change(connection)


def reconcile(world: World) -> None:
    """T3: say who lives behind each running record, and promote the orphans past their grace."""
    listing = world.unchanged("running", None, world.station.store.runs.running)
    here = world.station.engine.executing()
    leases = _leases(world, [record.id for record in listing.records if record.id not in here])
    for record in listing.records:
        world.know(record)
        lease = leases.get(run_lease(record.id))
        mine = record.id in here
        world.alive[record.id] = Alive(Life.HELD, _last_sign(world, record)) if mine else _life(world, record, lease)
        if world.alive[record.id].life in (Life.ORPHAN, Life.LEASE_ENDED):
            try:
                _promote(world, record)
            except StoreError as problem:
                world.alive[record.id] = _unproven(problem.message)
    world.station.slots.adopt(_at_work(world, listing.records))


def _at_work(world: World, records: Collection[RunRecord]) -> Mapping[Key, Work]:
    """Runs of our claims that other processes of this host execute: each uses a slot.

    To the daemon these are processes that an earlier one started; to who only looks, also the threads of the daemon.
    """
    station, claims = world.station, {claim.run_id: claim for claim in world.snapshot.claims.values()}
    found: dict[Key, Work] = {}
    for record in records:
        claim = claims.get(record.id)
        if claim is None or claim.state is not ClaimState.LIVE or not _uses_a_slot(world, record):
            continue
        link = world.link(claim.key)
        attempt, bot = (link.attempts, link.bot) if link else (1, "")
        column, since = _picked_from(world, claim.key), station.clock.monotonic()
        found[claim.key] = Work(claim.key, record.id, column, bot, attempt=attempt, since=since)
    return found


def _uses_a_slot(world: World, record: RunRecord) -> bool:
    if world.dry:
        return world.alive[record.id].life is Life.HELD
    station, owner = world.station, record.owner
    if record.id in station.engine.executing() or owner.pid == station.owner.pid or owner.instance:
        return False
    return is_here(owner) and station.engine.owner_alive(owner) and _locked(world, record.id)


def _picked_from(world: World, key: Key) -> str:
    """The column that the card was started from, where its board keeps a history; else the running one.

    Only a cap of columns asks, so that no tick reads a history for nothing.
    """
    found = running = world.roles(key[0]).running or ""
    if not world.station.settings.concurrency.by_column:
        return running
    tell = getattr(world.station.boards.get(key[0]), "history", None)
    for event in tell(key[1]) if tell is not None else ():
        if event.type == BoardEventType.LAST_RUN_STAMPED:
            found = running
        elif event.type == BoardEventType.CARD_MOVED and event.data.get("reason") == STARTED:
            found = str(event.data.get("from", ""))
    return found


def _leases(world: World, run_ids: Collection[str]) -> Mapping[str, Lease]:
    """The leases of those runs, where owners have leases."""
    leases = world.station.store.leases
    return leases.look(map(run_lease, run_ids)) if leases.used else {}


def _life(world: World, record: RunRecord, lease: Lease | None) -> Alive:
    """Who lives behind the record. One lock that cannot be asked holds its own card only."""
    try:
        return _probed(world, record, lease)
    except StoreError as problem:
        return _unproven(problem.message)


def _unproven(why: str) -> Alive:
    return Alive(Life.UNPROVEN, {"error": f"whether it lives cannot be told, since {why}"})


def _probed(world: World, record: RunRecord, lease: Lease | None) -> Alive:
    station = world.station
    shared = station.store.leases.used
    if lease is not None and lease.live:
        return Alive(Life.LEASED, {"owner": short(lease.holder)})
    grace = station.settings.runs.orphan_grace
    age = _age(world, record)
    if station.engine.lock_held(record.id):
        return _holder(world, record)
    if shared and _elsewhere_here(world, record.owner):
        return Alive(Life.HELD, {"owner": record.owner.pid})
    if age < grace:
        claimed = record.claimed_at or record.created_at
        until = (claimed + timedelta(seconds=grace)).isoformat(timespec="seconds").replace("+00:00", "Z")
        return Alive(Life.YOUNG, {"age": f"{age:.0f} s", "grace": f"{grace:g} s", "until": until})
    if station.lock_doubt:
        return _unproven(station.lock_doubt)
    return Alive(Life.LEASE_ENDED if shared else Life.ORPHAN)


def _elsewhere_here(world: World, owner: Owner) -> bool:
    """Whether the owner is another process of this host that lives, and keeps its locks in another folder."""
    return is_here(owner) and owner.pid != world.station.owner.pid and world.station.engine.owner_alive(owner)


def _age(world: World, record: RunRecord) -> float:
    """Seconds since the present claim: monotonic where this process saw it first, at most two graces when negative."""
    seen = world.station.memory.claimed_at
    mono = world.station.clock.monotonic()
    claimed = record.claimed_at or record.created_at
    by_wall = (world.now - claimed).total_seconds()
    first = seen.setdefault((record.id, record.epoch), mono - max(0.0, by_wall))
    by_mono = mono - first
    if by_wall < 0:
        return by_mono - world.station.settings.runs.orphan_grace
    return by_mono


def _holder(world: World, record: RunRecord) -> Alive:
    """The lock is held: by its owner, or by children of an owner that is gone."""
    if not _gone(world, record.owner):
        return Alive(Life.HELD, {"owner": record.owner.pid, **_last_sign(world, record)})
    station = world.station
    children = station.engine.children(record.id)
    first = children[0] if children else None
    told: dict[str, object] = {"pid": first.pid if first else "unknown", "command": first.command if first else ""}
    limit = station.settings.runs.stall_timeout
    if limit and not world.dry:
        with station.ledger.write() as connection:
            since = outcomes.sighted(connection, record.id, world.now)
        until = since + timedelta(seconds=limit)
        told["until"] = until.isoformat(timespec="seconds").replace("+00:00", "Z")
        if world.now >= until and station.engine.stop_children(record.id):
            _log.warning("run.children_stopped", run_id=record.id)
    return Alive(Life.CHILDREN, told)


def _last_sign(world: World, record: RunRecord) -> Mapping[str, object]:
    """How long ago the run was heard of, for who looks once; a reason that is stored must not change by itself."""
    heard = record.last_event_at or record.claimed_at or record.created_at
    return {"age": f"{max(0.0, (world.now - heard).total_seconds()):.0f} s"} if world.dry else {}


def _promote(world: World, record: RunRecord) -> None:
    row = "R11" if world.alive[record.id].life is Life.LEASE_ENDED else "R09"
    decision = Decision(Action.PROMOTE, None, "", "", row, record.id)
    link = world.station.ledger.links_of_runs([record.id]).get(record.id)
    key = link.key if link else ("", record.id)
    world.note(key, link.number if link else 0, decision)
    if world.dry:
        return
    from_ahead = (record.claimed_at or record.created_at) > world.now
    if world.station.engine.promote(record.id, from_ahead=from_ahead):
        _log.warning("run.promoted", run_id=record.id)
    with world.station.ledger.write() as connection:
        outcomes.forget_sighting(connection, record.id)
    world.forget(record.id)
