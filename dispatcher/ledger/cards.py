"""Links, claims and intents: who may start a card, and how far a start has come (dispatcher.md 7, 9).

Each verb runs inside the caller's write transaction. Claims are compare-and-set with an epoch that only grows; a verb
that answers False changed nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dispatcher.ledger.records import OWED, RESUME, ClaimState, Intent, Key, Link
from dispatcher.ledger.rows import change, changed, one, owner_columns, put, remove, values_of
from dispatcher.ledger.schema import CardLink, ClaimRow, GiveUpRow, IntentRow, RetryRow
from engine.run import Owner
from engine.store.cursors import Cursor


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
    resets: bool = False
    """Whether the count of attempts begins anew: by a gesture that had no start yet."""
    outcome: int = -1
    """The run's outcome that was decided about; -1 for a fresh run."""


def link(cursor: Cursor, key: Key) -> Link | None:
    """The card's link, if it was ever claimed or pointed at a run."""
    row = one(cursor, CardLink, board=key[0], card_id=key[1])
    return None if row is None else Link(**row)


def change_link(cursor: Cursor, key: Key, **values: object) -> Link | None:
    """Update columns of an existing link; the link as it is then."""
    row = changed(cursor, CardLink, _where(key), **values)
    return None if row is None else Link(**row)


def point_at(cursor: Cursor, key: Key, number: int, run_id: str) -> None:
    """A person points the card at a run; it blocks and is resumed like any other, but it is not ours."""
    values = {"board": key[0], "card_id": key[1], "number": number, "last_run": run_id, "ours": False}
    if link(cursor, key) is None:
        values = {**_blank(key, number), **values}
    put(cursor, CardLink, values)


def open_intent(cursor: Cursor, start: Start, owner: Owner, now: datetime) -> None:
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
    put(cursor, IntentRow, values)


def reach(cursor: Cursor, key: Key, point: str) -> None:
    """Note the point that a start has reached."""
    change(cursor, IntentRow, _where(key), point=point)


def break_off(cursor: Cursor, begun: Start | Intent) -> None:
    """The start ended before its run had it; what a person asked of a run that exists stays asked."""
    if begun.attended and begun.kind == RESUME:
        reach(cursor, begun.key, OWED)
    else:
        close_intent(cursor, begun.key)


def close_intent(cursor: Cursor, key: Key) -> None:
    """The start succeeded or was undone."""
    remove(cursor, IntentRow, **_where(key))


def forgive(cursor: Cursor, key: Key) -> None:
    """A start that was owed is owed no more: the run went on without it, or the card went elsewhere."""
    remove(cursor, IntentRow, **_where(key), point=OWED)


def points_at(cursor: Cursor, key: Key, run_id: str) -> bool:
    """Whether the card points at that run, empty for none: the one that a start was decided about."""
    known = link(cursor, key)
    return run_id == (known.last_run if known else "")


def take(cursor: Cursor, key: Key, number: int, owner: Owner, now: datetime) -> int:
    """S2: claim an unclaimed card, or our own kept claim; the new epoch, or 0 when somebody else has it."""
    held = one(cursor, ClaimRow, board=key[0], card_id=key[1])
    if held is not None and held["state"] == ClaimState.LIVE:
        return 0
    known = link(cursor, key)
    epoch = (known.epoch if known else 0) + 1
    if known is None:
        put(cursor, CardLink, {**_blank(key, number), "epoch": epoch})
    else:
        change_link(cursor, key, epoch=epoch)
    values = {"board": key[0], "card_id": key[1], "state": ClaimState.LIVE.value, "epoch": epoch, "run_id": ""}
    put(cursor, ClaimRow, {**values, **owner_columns(owner), "claimed_at": now})
    return epoch


def adopt(cursor: Cursor, key: Key, owner: Owner, seen_epoch: int) -> int:
    """Take over the claim of a dead owner by compare-and-set on its epoch; the new epoch, or 0 when it was lost."""
    where = {**_where(key), "epoch": seen_epoch}
    changed = change(cursor, ClaimRow, where, epoch=seen_epoch + 1, **owner_columns(owner))
    if changed:
        change_link(cursor, key, epoch=seen_epoch + 1)
    return seen_epoch + 1 if changed else 0


def stamp(cursor: Cursor, start: Start, epoch: int, workspace: str) -> Link | None:
    """S5: count the attempt and point the card at the planned run and its folder; None when the claim is another's."""
    known = link(cursor, start.key)
    where = {**_where(start.key), "epoch": epoch}
    if known is None or not change(cursor, ClaimRow, where, run_id=start.run_id):
        return None
    attempts = 1 if start.resets else known.attempts + 1
    previous = known.previous_run if known.last_run == start.run_id else known.last_run
    bot = start.bot or known.bot
    return change_link(
        cursor,
        start.key,
        last_run=start.run_id,
        previous_run=previous,
        ours=True,
        attempts=attempts,
        bot=bot,
        workspace=workspace,
    )


def door_passed(cursor: Cursor, key: Key) -> None:
    """S9: the engine has the run; the intent, the retry and the stamp of earlier attempts are done with."""
    close_intent(cursor, key)
    remove(cursor, RetryRow, **_where(key))
    remove(cursor, GiveUpRow, **_where(key))


def keep_claim(cursor: Cursor, key: Key, state: ClaimState) -> None:
    """Keep the claim without an owner process: between attempts, or for a person."""
    change(cursor, ClaimRow, _where(key), state=state.value, **owner_columns(Owner()))


def release(cursor: Cursor, key: Key) -> int:
    """Give the card up; its epoch stays on the link."""
    return remove(cursor, ClaimRow, **_where(key))


def put_back_pointer(cursor: Cursor, start: Start) -> None:
    """A launch failure: ``last_run`` is again what it was before S5; the attempt stays counted."""
    known = link(cursor, start.key)
    if known is not None and start.kind == "fresh":
        change_link(cursor, start.key, last_run=known.previous_run)


def _where(key: Key) -> dict[str, object]:
    return {"board": key[0], "card_id": key[1]}


def _blank(key: Key, number: int) -> dict[str, object]:
    return values_of(Link(key[0], key[1], number))
