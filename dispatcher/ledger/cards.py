"""Links, claims and intents: who may start a card, and how far a start has come (dispatcher.md 7, 9).

Each verb runs inside the caller's write transaction. Claims are compare-and-set with an epoch that only grows; a verb
that answers False changed nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from dispatcher.ledger.records import ClaimState, Key, Link
from dispatcher.ledger.rows import change, one, owner_columns, put, remove
from dispatcher.ledger.schema import CardLink, ClaimRow, GiveUpRow, IntentRow, RetryRow
from engine.run import Owner


@dataclass(frozen=True, slots=True)
class Start:
    """A start as planned: the card, the run id, fresh or resume, from which column, by whose wish."""

    key: Key
    number: int
    run_id: str
    kind: str
    origin: str
    attended: bool
    bot: str = ""


def link(connection: Connection, key: Key) -> Link | None:
    """The card's link, if it was ever claimed or pointed at a run."""
    row = one(connection, CardLink, board=key[0], card_id=key[1])
    return None if row is None else Link(**row)


def change_link(connection: Connection, key: Key, **values: object) -> int:
    """Update columns of an existing link."""
    return change(connection, CardLink, _where(key), **values)


def point_at(connection: Connection, key: Key, number: int, run_id: str) -> None:
    """A person points the card at a run; it blocks and is resumed like any other, but it is not ours."""
    values = {"board": key[0], "card_id": key[1], "number": number, "last_run": run_id, "ours": False}
    if link(connection, key) is None:
        values = {**_blank(key, number), **values}
    put(connection, CardLink, values)


def open_intent(connection: Connection, start: Start, owner: Owner, now: datetime) -> None:
    """S1: say what is about to be started."""
    values = {
        "board": start.key[0],
        "card_id": start.key[1],
        "run_id": start.run_id,
        "kind": start.kind,
        "instance": owner.instance,
        "point": "S1",
        "origin": start.origin,
        "attended": start.attended,
        "opened_at": now,
    }
    put(connection, IntentRow, values)


def reach(connection: Connection, key: Key, point: str) -> None:
    """Note the point that a start has reached."""
    change(connection, IntentRow, _where(key), point=point)


def close_intent(connection: Connection, key: Key) -> None:
    """The start succeeded or was undone."""
    remove(connection, IntentRow, **_where(key))


def take(connection: Connection, key: Key, number: int, owner: Owner, now: datetime) -> int:
    """S2: claim an unclaimed card, or our own kept claim; the new epoch, or 0 when somebody else has it."""
    held = one(connection, ClaimRow, board=key[0], card_id=key[1])
    if held is not None and held["state"] == ClaimState.LIVE:
        return 0
    known = link(connection, key)
    if known is None:
        put(connection, CardLink, _blank(key, number))
    epoch = (known.epoch if known else 0) + 1
    change_link(connection, key, epoch=epoch)
    values = {"board": key[0], "card_id": key[1], "state": ClaimState.LIVE.value, "epoch": epoch, "run_id": ""}
    put(connection, ClaimRow, {**values, **owner_columns(owner), "claimed_at": now})
    return epoch


def adopt(connection: Connection, key: Key, owner: Owner, seen_epoch: int) -> int:
    """Take over the claim of a dead owner by compare-and-set on its epoch; the new epoch, or 0 when it was lost."""
    where = {**_where(key), "epoch": seen_epoch}
    changed = change(connection, ClaimRow, where, epoch=seen_epoch + 1, **owner_columns(owner))
    if changed:
        change_link(connection, key, epoch=seen_epoch + 1)
    return seen_epoch + 1 if changed else 0


def stamp(connection: Connection, start: Start, epoch: int) -> bool:
    """S5: count the attempt and point the card at the planned run, while the claim is still ours."""
    known = link(connection, start.key)
    where = {**_where(start.key), "epoch": epoch}
    if known is None or not change(connection, ClaimRow, where, run_id=start.run_id):
        return False
    attempts = 1 if start.attended else known.attempts + 1
    previous = known.previous_run if known.last_run == start.run_id else known.last_run
    bot = start.bot or known.bot
    change_link(
        connection,
        start.key,
        last_run=start.run_id,
        previous_run=previous,
        ours=True,
        attempts=attempts,
        bot=bot,
    )
    return True


def door_passed(connection: Connection, key: Key) -> None:
    """S9: the engine has the run; the intent, the retry and the stamp of earlier attempts are done with."""
    close_intent(connection, key)
    remove(connection, RetryRow, **_where(key))
    remove(connection, GiveUpRow, **_where(key))


def keep_claim(connection: Connection, key: Key, state: ClaimState) -> None:
    """Keep the claim without an owner process: between attempts, or for a person."""
    change(connection, ClaimRow, _where(key), state=state.value, **owner_columns(Owner()))


def release(connection: Connection, key: Key) -> int:
    """Give the card up; its epoch stays on the link."""
    return remove(connection, ClaimRow, **_where(key))


def put_back_pointer(connection: Connection, start: Start) -> None:
    """A launch failure: ``last_run`` is again what it was before S5; the attempt stays counted."""
    known = link(connection, start.key)
    if known is not None and start.kind == "fresh":
        change_link(connection, start.key, last_run=known.previous_run)


def _where(key: Key) -> dict[str, object]:
    return {"board": key[0], "card_id": key[1]}


def _blank(key: Key, number: int) -> dict[str, object]:
    made = Link(key[0], key[1], number)
    return {name: getattr(made, name) for name in Link.__dataclass_fields__}
