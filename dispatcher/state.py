"""The state document of ``GET /api/dispatcher``: pure, from the world of one tick (dispatcher.md 25).

Replaced as a whole at T11; the daemon adds what only it knows (configuration, next tick, readiness). Credentials appear
by name. Lists are in the order of section 17 and never cut.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime

from dispatcher import facts, order
from dispatcher.candidate import Desired
from dispatcher.doubts import ambiguous
from dispatcher.ledger.records import COUNTING, Key
from dispatcher.reasons import Reason, render
from dispatcher.slots import Work
from dispatcher.station import REMOVED
from dispatcher.troubles import last_error_document
from dispatcher.world import BoardRead, World, cause_of

Document = dict[str, object]


def instant(moment: datetime | None) -> str | None:
    """RFC 3339 in UTC with milliseconds."""
    return None if moment is None else moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def document(world: World) -> Document:
    """What the tick knows."""
    daemon, memory = world.daemon, world.station.memory
    executing = sorted(world.station.slots.executing(), key=lambda work: _place(world, work.key))
    snapshot = world.snapshot
    desired = {"state": daemon.desired.value, "by": daemon.desired_by or None, "since": daemon.desired_since or None}
    retrying = bool(snapshot.retries)
    return {
        "name": world.station.settings.name,
        "instance": memory.instance,
        "desired": desired,
        "drained": daemon.desired is Desired.DRAINING and not executing and not retrying,
        "degraded": _degraded(world),
        "tick": {"number": memory.tick, "started_at": instant(world.now), "phase": None},
        "last_error": last_error_document(memory.last_error),
        "slots": {
            "used": len(executing),
            "max": daemon.slots,
            "over": max(0, len(executing) - daemon.slots),
            "overdue": sum(world.station.slots.overdue(work.key) for work in executing),
        },
        "running": [_running(world, each.key, each.run_id, each.attempt) for each in executing],
        "parked": [_parked(world, key) for key in _in_order(world, snapshot.parks)],
        "retries": [_retry(world, key) for key in _in_order(world, snapshot.retries)],
        "held": [_held(world, key) for key in world.held if key not in snapshot.parks],
        "pending_moves": [
            {"card": key[1], "board": key[0], "from": move.origin, "to": move.to, "since": instant(move.since)}
            for key, move in ((key, snapshot.pending[key]) for key in _in_order(world, snapshot.pending))
        ],
        "caps": _caps(world),
        "breakers": [
            {"scope": row.scope, "name": row.name, "cause": row.cause, "state": row.state, "until": instant(row.until)}
            for _, row in sorted(snapshot.breakers.items())
            if row.state != COUNTING
        ],
        "boards": [_board(world, read) for read in world.reads.values()],
        "cost": {"day": daemon.day, "spent_usd": daemon.spent, "limit_usd": daemon.spend_limit, "unpriced": 0},
        "effects": _effects(world),
    }


def _in_order(world: World, keys: Iterable[Key]) -> list[Key]:
    """As section 17 says; cards that this tick did not read come last."""
    return sorted(keys, key=lambda key: _place(world, key))


def _place(world: World, key: Key) -> tuple[object, ...]:
    card = world.cards.get(key)
    return (1, key) if card is None else (0, order.key(card))


def _effects(world: World) -> Document:
    """The remote calls whose answer was lost and that nobody has settled."""
    unsettled = [
        {"id": each.id, "run_id": each.run_id, "node_id": each.node_id, "operation": each.operation}
        for each in ambiguous(world)
        if each.doubtful and not each.dropped_by
    ]
    return {"ambiguous": len(unsettled), "unsettled": unsettled}


def _degraded(world: World) -> list[Document]:
    """What is not as it should be, each with since when."""
    known, found = world.station.memory.degraded_since, list(_troubles(world))
    world.station.memory.degraded_since = {
        (reason, board): known.get((reason, board), world.now) for reason, board, _ in found
    }
    since = world.station.memory.degraded_since
    return [
        {"code": reason.value, **({"board": board} if board else {}), "text": text}
        | {"since": instant(since[reason, board])}
        for reason, board, text in found
    ]


def _troubles(world: World) -> Iterator[tuple[Reason, str, str]]:
    if world.daemon.store_error:
        yield Reason.STORE_DEGRADED, "", render(Reason.STORE_DEGRADED, {"error": world.daemon.store_error})[0]
    for name in sorted(world.station.removed):
        yield Reason.BOARD_DEGRADED, name, render(Reason.BOARD_DEGRADED, {"board": name, "what": REMOVED})[0]
    for (name, card_id), why in world.snapshot.damaged.items():
        yield Reason.RUN_UNREADABLE, name, f"a row of card {card_id} cannot be read: {why}"
    for name, read in world.reads.items():
        held = facts.credential(read, world.station.boards[name].kind)
        for reason, told in held.items():
            yield reason, name, render(reason, told)[0]
        if read.error and not held:
            yield Reason.BOARD_UNREADABLE, name, render(Reason.BOARD_UNREADABLE, facts.unreadable(world, read))[0]
        if read.degraded:
            yield Reason.BOARD_DEGRADED, name, render(Reason.BOARD_DEGRADED, {"board": name, "what": read.degraded})[0]
        if read.partial and not held:
            yield Reason.BOARD_PARTIAL, name, render(Reason.BOARD_PARTIAL, read.partial)[0]


def _card(world: World, key: Key) -> Document:
    known = world.cards.get(key) or world.link(key)
    return {"card": key[1], "board": key[0], "number": known.number if known else 0}


def _running(world: World, key: Key, run_id: str, attempt: int) -> Document:
    record = world.runs.get(run_id)
    told: Document = {"run_id": run_id, "attempt": attempt}
    if record is not None:
        told |= {
            "since": instant(record.claimed_at),
            "last_sign_at": instant(record.last_event_at),
            "cost_usd": record.cost_usd_total,
            "node": world.station.engine.at_node(run_id),
        }
    return _card(world, key) | told


def _parked(world: World, key: Key) -> Document:
    park = world.snapshot.parks[key]
    held = world.held.get(key)
    text, unblock = (held.text, held.unblock) if held else _texts(park.reason, park.run_id, park.facts)
    told = {
        "run_id": park.run_id,
        "cause": cause_of(park),
        "since": instant(park.since),
        "text": text,
        "unblock": unblock,
    }
    return _card(world, key) | told


def _texts(reason: str, run_id: str, stored: str) -> tuple[str, str]:
    told: Mapping[str, object] = json.loads(stored)
    return render(Reason(reason), {"run": run_id, **told})


def _retry(world: World, key: Key) -> Document:
    row = world.snapshot.retries[key]
    told = {
        "run_id": row.run_id or None,
        "attempt": row.attempt,
        "max": world.station.settings.retry.max_attempts,
        "code": row.code,
        "not_before": instant(row.not_before),
    }
    return _card(world, key) | told


def _held(world: World, key: Key) -> Document:
    decision = world.held[key]
    known = (world.station.memory.idle or {}).get(key)
    code = decision.reason.value if decision.reason else ""
    since = instant(known.since if known is not None and known.code == code else world.now)
    return {**_card(world, key), "code": code, "text": decision.text, "unblock": decision.unblock, "since": since}


def _caps(world: World) -> list[Document]:
    """Every cap with how much of it is used, and since when it is full."""
    full = world.station.memory.full_since
    found: list[Document] = []
    for name, used, limit in _used_caps(world):
        if used < limit:
            full.pop(name, None)
        since = full.setdefault(name, world.now) if used >= limit else None
        found.append({"name": name, "used": used, "limit": limit, "full_since": instant(since)})
    return found


_COUNTED: Mapping[str, Callable[[World, Work], tuple[str, ...]]] = {
    "by_board": lambda _, work: (work.key[0],),
    "by_column": lambda world, work: world.columns_of(work.key[0]).names(work.column),
    "by_bot": lambda _, work: (work.bot,),
    "by_assignee": lambda _, work: work.assignees,
}
"""For each kind of cap: under which names a run counts."""


def _used_caps(world: World) -> Iterator[tuple[str, int, int]]:
    caps, work = world.station.settings.concurrency, world.station.slots.executing()
    for kind, names in _COUNTED.items():
        if limits := getattr(caps, kind):
            used = Counter(name for each in work for name in names(world, each))
            yield from ((f"{kind}:{name}", used[name], limit) for name, limit in limits.items())
    for column, limit in caps.wip.items():
        held = max((read.counts.get(read.called(column), 0) for read in world.reads.values()), default=0)
        yield f"wip:{column}", held, limit


def _board(world: World, read: BoardRead) -> Document:
    kind = world.station.boards[read.name].kind
    counts: dict[str, int] = {}
    for card in world.cards.values():
        if card.board == read.name and card.column is not None:
            counts[card.column] = counts.get(card.column, 0) + 1
    return {
        "name": read.name,
        "kind": kind,
        "last_complete_at": instant(world.station.memory.last_complete.get(read.name)),
        "cards": counts,
        "degraded": read.error or read.degraded or (REMOVED if read.name in world.station.removed else None),
        "standby": dict(read.standby) if read.standby else None,
        "credential": _credential(read),
    }


def last_read(state: Mapping[str, object]) -> str:
    """When the board that was read to its end longest ago was, of those that are read here; in words."""
    boards = state.get("boards")
    rows = [row for row in boards if not row["standby"]] if isinstance(boards, list) else []
    if not rows or any(row["last_complete_at"] is None for row in rows):
        return "not every board was read yet" if rows else "no board was read yet"
    return f"last complete read {min(row['last_complete_at'] for row in rows)[11:19]} UTC"


def _credential(read: BoardRead) -> Document | None:
    """The credential of a forge's board by its digest, and what is left of its budget; None for a board of ours."""
    told = read.credential
    if told is None:
        return None
    return {
        "id": told.credential,
        "remaining": told.remaining,
        "reset_at": instant(told.reset_at),
        "throttled_until": instant(told.throttled_until),
        "refused": told.refused or None,
    }
