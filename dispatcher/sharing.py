"""Cards of boards that several installations work on: no start before the card is ours on the forge, too (section 9).

Point S3: a claim comment, one settle delay, then the oldest living claim has the card; or a claim ref, which only one
can make (``claims.arbitration``). ``connectors.forge.claims`` decides whose a claim is. The delay is a stage in the
row, so that no other card waits for it. ``tend`` prolongs the claims of this store and takes away what no claim of the
ledger stands behind any more, whatever ended it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from connectors.card import Card
from connectors.errors import AmbiguousEffect, ConnectorError, ForgeRefused
from connectors.forge.claims import Claimed, Identity, Mark, Standing, Verdict, judge
from dispatcher import log
from dispatcher.ledger import claims
from dispatcher.ledger.claims import ForgeClaimed, Stage
from dispatcher.ledger.records import ClaimState, Key
from dispatcher.reasons import Facts, Reason
from dispatcher.station import INTERRUPT_LEASE_LOST
from dispatcher.world import World

if TYPE_CHECKING:
    from connectors.forge.claiming import Claims, Look

_log = log.get(__name__)
LATE = timedelta(seconds=60)
"""For so long a claim whose answer was lost may not show yet."""
Held = tuple[Reason, Facts]
"""Why a card does not start, and what fills the reason."""


@runtime_checkable
class Claimable(Protocol):
    """A board on whose cards claims can be written."""

    @property
    def claiming(self) -> Claims: ...  # noqa: D102


def claimed(world: World, card: Card) -> Held | None:
    """S3: None when the card may start; else why it does not, yet or at all."""
    board, key = world.station.boards[card.board], (card.board, card.id)
    if not isinstance(board, Claimable):
        return None
    row = claims.of_board(world.station.ledger, card.board).get(key)
    try:
        me = _identity(world, board.claiming, row)
        look = board.claiming.look(card.id)
        verdict = judge(look.claims, me, look.at, _lease(world))
        if not world.station.board_settings(card.board).shared:
            return _foreign(world, key, verdict)
        world.shared.add(key)
        return _placed(world, key, row, _Seen(board.claiming, me, look, verdict))
    except AmbiguousEffect as error:
        return Reason.CLAIM_UNCERTAIN, {"what": error.message}
    except ConnectorError as error:
        return Reason.CLAIM_UNCERTAIN, {"what": f"its claims could not be read or written: {error.message}"}


def elsewhere(world: World, card: Card) -> Held | None:
    """What another store's claim makes of the card, for who only looks: one read, and nothing is written."""
    station = world.station
    board, key = station.boards[card.board], (card.board, card.id)
    if not isinstance(board, Claimable):
        return None
    row = claims.of_board(station.ledger, card.board).get(key)
    try:
        owner, login = claims.known_identity(station.ledger) or "nobody yet", board.claiming.login()
        me = Identity(owner, login, station.owner.instance, row.comment_id if row is not None else "")
        look = board.claiming.look(card.id)
    except ConnectorError as error:
        return Reason.CLAIM_UNCERTAIN, {"what": f"its claims could not be read: {error.message}"}
    return _foreign(world, key, judge(look.claims, me, look.at, _lease(world)))


class _Seen:
    """One look at a card's claims, and what it means for us."""

    def __init__(self, marks: Claims, me: Identity, look: Look, verdict: Verdict) -> None:
        self.marks, self.me, self.look, self.verdict = marks, me, look, verdict

    @property
    def ours(self) -> list[Claimed]:
        """Our own claims there, the oldest first; more than one after a lost answer only."""
        found = [each for each in self.look.claims if each.is_ours(self.me)]
        return sorted(found, key=lambda each: each.rank)


def _placed(world: World, key: Key, row: ForgeClaimed | None, seen: _Seen) -> Held | None:
    """From no claim to one that is ours, one step at a time."""
    ledger, instance = world.station.ledger, world.station.owner.instance
    if row is not None and row.instance != instance and key not in world.snapshot.claims:
        # Of a daemon that died before it started anything.
        return claimed(world, world.cards[key]) if _forget(world, key, row, seen) else _settling()
    if seen.verdict.standing in (Standing.THEIRS, Standing.UNCERTAIN):
        if row is not None:
            _forget(world, key, row, seen)
        return _foreign(world, key, seen.verdict)
    if row is None or seen.verdict.standing is Standing.FREE:
        return _settling() if row is not None and _may_show_late(world, row, seen) else _written(world, key, seen)
    first = seen.ours[0]
    if row.stage is Stage.PLACING:  # its answer was lost; a read shows it
        row = replace(row, stage=Stage.SETTLING, comment_id=first.comment_id)
        claims.keep(ledger, row)
    if not _over(world, row, seen):
        return _settling()
    for extra in seen.ours[1:]:
        seen.marks.remove(key[1], extra)
    _won(world, row)
    return None


def _won(world: World, row: ForgeClaimed) -> None:
    if row.stage is not Stage.WON:
        claims.keep(world.station.ledger, replace(row, stage=Stage.WON))
        _log.info("claim.made", board=row.key[0], card_id=row.key[1], epoch=row.epoch, on="forge")
    world.station.crash.passed("S3")


def _over(world: World, row: ForgeClaimed, seen: _Seen) -> bool:
    """Whether the claim is ours for good, or its settle delay is over by the forge's clock."""
    delay = timedelta(seconds=world.station.settings.claims.settle_delay)
    return row.stage is Stage.WON or seen.marks.at_once or seen.look.at >= row.until - _lease(world) + delay


def _written(world: World, key: Key, seen: _Seen) -> Held | None:
    """The intent, then the claim. A ref is won with that; whether a comment is the oldest, the settle delay shows.

    A comment of ours that has ended goes first: another store may have read it so, and an old number must not win
    again. A ref that has ended is moved on.
    """
    station = world.station
    if not seen.marks.at_once:
        _away(key, seen)
    until = seen.look.at + _lease(world)
    row = ForgeClaimed(key, Stage.PLACING, station.owner.instance, seen.verdict.epoch + 1, until)
    claims.keep(station.ledger, row)
    try:
        comment_id = seen.marks.write(key[1], _mark(seen.me, row), seen.look)
    except ForgeRefused:
        held = _foreign(world, key, _seen(world, row, seen.marks).verdict)
        claims.drop(station.ledger, key)
        if held is None:
            raise
        return held
    except ConnectorError as error:
        if not isinstance(error, AmbiguousEffect):
            claims.drop(station.ledger, key)  # it was not made, for sure
        raise
    row = replace(row, stage=Stage.SETTLING, comment_id=comment_id)
    claims.keep(station.ledger, row)
    if not seen.marks.at_once:
        return _settling()
    _won(world, row)
    return None


def _may_show_late(world: World, row: ForgeClaimed, seen: _Seen) -> bool:
    """Whether the claim, which this read does not show, was written so lately that the read may be older.

    One that was answered is there for sure; one whose answer was lost is waited for a while. One that was won was seen.
    """
    if row.stage is Stage.WON or seen.marks.at_once or seen.ours:
        return False
    end = row.until if row.stage is Stage.SETTLING else row.until - _lease(world) + LATE
    return seen.look.at < end


def _settling() -> Held:
    return Reason.CLAIMED_ELSEWHERE, {"owner": "nobody yet: our own claim settles", "until": "the next ticks"}


def _foreign(world: World, key: Key, verdict: Verdict) -> Held | None:
    """What another store's claim makes of the card."""
    by = verdict.by
    if by is None or verdict.standing in (Standing.FREE, Standing.OURS):
        return None
    until = _text(by.ends(_lease(world)))
    if verdict.standing is Standing.THEIRS:
        return Reason.CLAIMED_ELSEWHERE, {"owner": f"store {by.owner}", "until": until}
    if world.station.memory.first_time(f"claim {key} {by.comment_id} {by.changed_at}"):
        _log.warning("claim.marker_malformed", board=key[0], card_id=key[1], url=by.url)
    return Reason.CLAIM_UNCERTAIN, {"what": f"{by.url} cannot be read; it counts until {until}"}


def tend(world: World) -> None:
    """Behind T10: claims are prolonged; those that nothing stands behind any more go (E8, and after every undo)."""
    if world.dry:
        return
    for name, read in world.reads.items():
        marks = _marks(world.station.boards.get(name))
        if marks is not None and not read.standby:
            _tend_board(world, name, marks)


def _marks(board: object) -> Claims | None:
    """The claims of a ``Claimable``, asked by name: each tick asks, and a protocol is dear to check."""
    return getattr(board, "claiming", None)


def _tend_board(world: World, name: str, marks: Claims) -> None:
    rows = claims.of_board(world.station.ledger, name)
    held = world.station.ledger.snapshot().claims if rows else {}
    for key, row in rows.items():
        if key in held:
            if _due(world, row, marks.now()):
                world.careful(world, key, partial(_carried, marks, row, partial(_renew, world, row)))
        elif key not in world.shared:
            world.careful(world, key, partial(_carried, marks, row, partial(_release, world, row)))


def _due(world: World, row: ForgeClaimed, now: datetime | None) -> bool:
    """Whether a third of the lease is over, by the forge's clock; also where that is not known yet."""
    return now is None or row.stage is not Stage.WON or now >= row.until - _lease(world) * 2 / 3


def _carried(marks: Claims, row: ForgeClaimed, work: Callable[[Claims], None]) -> None:
    """What does not work now is done by the next tick: the row stays."""
    try:
        work(marks)
    except ConnectorError as error:
        _log.warning("board.degraded", board=row.key[0], card_id=row.key[1], what="claim", error=error.message)


def _release(world: World, row: ForgeClaimed, marks: Claims) -> None:
    try:
        _forget(world, row.key, row, _seen(world, row, marks))
    except ForgeRefused as error:
        if error.status not in (404, 410):
            raise
        claims.drop(world.station.ledger, row.key)  # the card is gone, and its claims with it


def _seen(world: World, row: ForgeClaimed, marks: Claims) -> _Seen:
    me, look = _identity(world, marks, row), marks.look(row.key[1])
    return _Seen(marks, me, look, judge(look.claims, me, look.at, _lease(world)))


def _renew(world: World, row: ForgeClaimed, marks: Claims) -> None:
    """Another end for the claim; one that is another's by now stops the run."""
    seen = _seen(world, row, marks)
    if seen.verdict.standing in (Standing.THEIRS, Standing.UNCERTAIN):
        _log.warning("claim.lost", board=row.key[0], card_id=row.key[1], epoch=row.epoch)
        claim = world.snapshot.claims.get(row.key)
        if claim is not None and claim.state is ClaimState.LIVE and claim.run_id:
            world.station.engine.interrupt(claim.run_id, INTERRUPT_LEASE_LOST)
    elif seen.verdict.standing is Standing.FREE:
        if not _may_show_late(world, row, seen):
            _written(world, row.key, seen)
    elif row.stage is Stage.WON and _due(world, row, seen.look.at):
        _prolonged(world, row, seen)
    elif row.stage is not Stage.WON and _over(world, row, seen):
        claims.keep(world.station.ledger, replace(row, stage=Stage.WON))


def _prolonged(world: World, row: ForgeClaimed, seen: _Seen) -> None:
    later = replace(row, until=seen.look.at + _lease(world))
    comment_id = seen.marks.prolong(row.key[1], seen.ours[0], _mark(seen.me, later))
    claims.keep(world.station.ledger, replace(later, comment_id=comment_id))
    _log.debug("claim.renewed", board=row.key[0], card_id=row.key[1], epoch=row.epoch, until=_text(later.until))


def _forget(world: World, key: Key, row: ForgeClaimed, seen: _Seen) -> bool:
    """Every claim of ours away, and the row; False when it stays, since a claim may show late."""
    _away(key, seen)
    if _may_show_late(world, row, seen):
        return False
    claims.drop(world.station.ledger, key)
    _log.info("claim.released", board=key[0], card_id=key[1], epoch=row.epoch, on="forge")
    return True


def _away(key: Key, seen: _Seen) -> None:
    for each in seen.ours:
        seen.marks.remove(key[1], each)


def _identity(world: World, marks: Claims, row: ForgeClaimed | None) -> Identity:
    station = world.station
    owner = claims.identity(station.ledger, partial(station.ids.new, "store"))
    return Identity(owner, marks.login(), station.owner.instance, row.comment_id if row is not None else "")


def _mark(me: Identity, row: ForgeClaimed) -> Mark:
    return Mark(me.owner, me.instance, row.epoch, row.until)


def _lease(world: World) -> timedelta:
    return timedelta(seconds=world.station.settings.claims.forge_lease)


def _text(at: datetime) -> str:
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")
