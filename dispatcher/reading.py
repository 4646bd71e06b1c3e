"""Reading the boards: one listing each, then by-id reads of what is under way elsewhere (dispatcher.md 4, T1 and T5).

A board that cannot be read counts as unreadable for this tick and leaves its work alone; the other boards go on. A
board that says by its revision that nothing changed is not read again.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import TypeVar, cast

from connectors.answer import StopReason
from connectors.base import Board, Listing, Lookup
from connectors.card import Card
from connectors.errors import ConnectorError
from dispatcher import log
from dispatcher.candidate import DaemonFacts, Desired
from dispatcher.ledger.records import Key
from dispatcher.reasons import Facts
from dispatcher.world import BoardRead, World
from engine.errors import StoreError

T = TypeVar("T")
_log = log.get(__name__)
LEAST_SPACE = 4 * 1024 * 1024
"""Bytes that must be free where the store lies; below, nothing new is begun."""
STEP = 5.0
"""Seconds by which the two clocks may differ in one tick."""
PARTIAL, DEGRADED = "partial", "degraded"
EVENTS = {PARTIAL: "board.read_partial", DEGRADED: "board.degraded"}
"""What is told of a board that was read and yet not as it should be."""
WAITING_DEPS = "waiting_deps"
"""The column whose cards wait for their blockers (dispatcher.md 19)."""


def begin(world: World) -> None:
    """T1: the ledger at one moment, the columns of each board, and what holds every card."""
    station = world.station
    _notice_steps(world)
    standby = _standby(world)
    for name, board in station.boards.items():
        told = standby.get(name)
        world.reads[name] = BoardRead(name, standby=told) if told else _columns(world, board)
    world.refresh()
    _tell_damaged(world)
    desired = world.snapshot.desired
    limit = station.settings.limits.max_cost_per_day_usd
    today = world.now.date()
    world.daemon = DaemonFacts(
        desired=_desired(desired.state) if desired else Desired.RUNNING,
        desired_by=desired.by if desired else "",
        desired_since=_instant(desired.since) if desired else "",
        stopping_since=station.memory.stopping_since,
        store_error=_store_error(world),
        spent=station.store.spend.on(today) if limit else station.memory.spent_today,
        spend_limit=limit,
        day=today.isoformat(),
        executing=station.slots.used(),
        slots=station.settings.concurrency.max,
    )


def _desired(state: str) -> Desired:
    """What people asked for; a word that this version does not know holds everything."""
    try:
        return Desired(state)
    except ValueError:
        return Desired.PAUSED


def _standby(world: World) -> Mapping[str, Facts]:
    """The boards that another daemon leads; what was remembered about one that became ours may be old."""
    if world.dry:
        return {}
    standing = world.station.leadership.lead(world.station.boards, world.now)
    if standing.gained:
        world.station.memory.begin_anew()
    return standing.standby


def _tell_damaged(world: World) -> None:
    """One line for each card of which a row cannot be read."""
    for (board, card_id), why in world.snapshot.damaged.items():
        if world.station.memory.first_time(f"damaged {board} {card_id} {why}"):
            _log.error("store.degraded", board=board, card_id=card_id, error=f"a row of the card: {why}")


def _notice_steps(world: World) -> None:
    """Tell when the wall clock and the monotonic one went different ways since the last tick."""
    memory, monotonic = world.station.memory, world.station.clock.monotonic()
    memory.pulse.look(monotonic)
    before, memory.clocks = memory.clocks, (world.now, monotonic)
    if before is None:
        return
    by = (world.now - before[0]).total_seconds() - (monotonic - before[1])
    if abs(by) > STEP:
        memory.tally.count("pointsman_clock_steps_total")
        _log.warning("clock.stepped", by=round(by, 1))


def _instant(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def _columns(world: World, board: Board) -> BoardRead:
    try:
        with world.in_time(board.name):
            columns = _remembered(world, board, frozenset(), board.columns)
    except (ConnectorError, StoreError) as error:
        seen = BoardRead(board.name)
        _failed(world, seen, "columns", error.code, error.message)
        return seen
    _tell(world, board.name, "columns")
    return BoardRead(board.name, columns)


def _failed(world: World, seen: BoardRead, what: str, code: str, error: str) -> None:
    """This part of the board could not be read: it counts as unreadable, and says so when it took all of its time."""
    if world.is_late(seen.name):
        limit = world.station.settings.tick.board_deadline
        seen.late, code = True, "late"
        error = f"it took longer than {limit:g} s (tick.board_deadline): {error}"
    seen.error = error.rstrip(".")
    _tell(world, seen.name, what, code, seen.error)


def _tell(world: World, board: str, what: str, code: str = "", error: str = "") -> None:
    """One line when a part of a board cannot be read, another when it can be again; none in between."""
    memory = world.station.memory
    before = memory.unread.pop((board, what), "")
    if code:
        memory.unread[board, what] = code
        if code != before:
            _log.warning(EVENTS.get(code, "board.read_failed"), board=board, what=what, error=error)
    elif before:
        _log.info("board.recovered", board=board, what=what)


def _store_error(world: World) -> str:
    """Whether a write transaction can begin and there is space; nothing is written."""
    if world.dry:
        return ""
    free = shutil.disk_usage(world.station.store.root).free
    if free < LEAST_SPACE:
        return f"only {free // 1024} KiB are free in {world.station.store.root}"
    try:
        with world.station.ledger.write():
            return ""
    except StoreError as error:
        return error.message


def read(world: World) -> None:
    """T5: what is mirrored, then every board; then, by id, the cards under way and blockers that no listing showed."""
    read_boards(world, world.station.boards)


def read_boards(world: World, names: Collection[str]) -> None:
    """T5 for these boards; of the others nothing is asked."""
    if world.station.mirrors:
        from dispatcher.mirroring import mirror

        mirror(world)
    for name in names:
        seen, board = world.reads[name], world.station.boards[name]
        if seen.standby:
            continue
        if not seen.error:
            with world.in_time(name):
                _read_board(world, board, seen)
            standing = getattr(board, "standing", None)
            seen.credential = standing() if standing is not None else None
        world.mark()
    _read_by_id(world, [key for key in (*world.snapshot.active(), *world.snapshot.damaged) if key[0] in names])
    _measure(world, names)
    read_blockers(world, world.cards.values())
    world.know_links(world.cards)  # a blocker that was read by its id may have become eligible meanwhile
    world.know_runs(link.last_run for link in world.links.values())


def _measure(world: World, names: Iterable[str]) -> None:
    """How reading each board went, and how long it took."""
    tally = world.station.memory.tally
    for seen in (world.reads[name] for name in names if not world.reads[name].standby):
        result = "late" if seen.late else "failed" if seen.error else "partial" if seen.partial else "complete"
        tally.count("pointsman_board_reads_total", board=seen.name, result=result)
        tally.observe("pointsman_board_read_seconds", world.spent.get(seen.name, 0.0), board=seen.name)


def read_blockers(world: World, waiting: Iterable[Card]) -> None:
    """The cards that these wait for, and those that they wait for in turn, by id where no listing showed them.

    One read per layer. A closed card ends its branch: what it waited for holds nobody any more.
    """
    layer, asked = list(waiting), set[Key]()
    while layer:
        named = {(ref.board or card.board, ref.id) for card in layer if not card.closed for ref in card.blockers or ()}
        missing = named - set(world.cards) - asked
        asked |= missing
        _read_by_id(world, missing)
        layer = [world.cards[key] for key in missing if key in world.cards]
    world.cycles = None


def _read_board(world: World, board: Board, seen: BoardRead) -> None:
    columns = world.station.settings.columns
    wanted = seen.eligible | {WAITING_DEPS, *filter(None, (columns.awaiting_input, columns.running))}
    limits = frozenset(world.station.settings.concurrency.wip)
    counting = getattr(board, "counts", None)
    try:
        asked = frozenset(wanted if counting else wanted | limits)

        def list_cards() -> Listing:
            return board.list_cards(asked)

        listing = _remembered(world, board, asked, list_cards)
        linked = getattr(board, "linked", None)
        cards = linked(listing.cards) if linked else listing.cards
        counts = counting() if counting and limits else _counted(listing.cards)
    except (ConnectorError, StoreError) as error:
        _failed(world, seen, "cards", error.code, error.message)
        return
    seen.counts = counts
    if not _judged(world, seen, listing):
        return
    for card in cards:
        key = (card.board, card.id)
        world.cards[key] = card
        world.listed.add(key)
    for broken in listing.unread:
        if world.station.memory.first_time(f"unread {board.name} {broken.id} {broken.why}"):
            _log.warning("board.read_partial", board=board.name, card_id=broken.id, error=broken.why)


def _judged(world: World, seen: BoardRead, listing: Listing) -> bool:
    """Whether the listing shows anything, and how whole it is."""
    late = listing.stopped is StopReason.DEADLINE and world.is_late(seen.name)
    if late or not (listing.complete or listing.degraded or listing.cards):
        said = f"{len(listing.cards)} cards, then {listing.why}" if late else listing.why or str(listing.stopped)
        _failed(world, seen, "cards", str(listing.stopped), said)
        return False
    seen.complete, seen.degraded = listing.complete, listing.degraded
    if listing.degraded:
        _tell(world, seen.name, "cards", DEGRADED, listing.degraded)
    elif not listing.complete:
        why = listing.why or str(listing.stopped)
        seen.partial = {"n": len(listing.cards), "board": seen.name, "why": why}
        _tell(world, seen.name, "cards", PARTIAL, why)
    else:
        _tell(world, seen.name, "cards")
    if listing.complete:
        world.station.memory.last_complete[seen.name] = world.now
    return True


def _remembered(world: World, board: Board, what: frozenset[str], ask: Callable[[], T]) -> T:
    """The answer of ``ask``, from memory when the board's revision did not change since it was asked for the same."""
    revision = getattr(board, "revision", None)
    if revision is None:
        return ask()
    memory, slot = world.station.memory.answers, (board.name, ask.__name__)
    now = (world.unchanged(f"revision of {board.name}", None, revision), what)
    known = memory.get(slot)
    if known is None or known[0] != now:
        known = (now, ask())
        memory[slot] = known
    return cast(T, known[1])


def _counted(cards: Collection[Card]) -> Mapping[str, int]:
    counts: dict[str, int] = {}
    for card in cards:
        if card.column is not None:
            counts[card.column] = counts.get(card.column, 0) + 1
    return counts


def _read_by_id(world: World, keys: Collection[Key]) -> None:
    """Cards that no listing showed; only such a read can prove that one is gone."""
    by_board: dict[str, list[str]] = {}
    for board, card_id in keys:
        late = board in world.reads and world.reads[board].late
        if (board, card_id) not in world.listed and board in world.station.boards and not late:
            by_board.setdefault(board, []).append(card_id)
    for name, ids in by_board.items():
        try:
            with world.in_time(name):
                lookup = _look_up(world, world.station.boards[name], ids)
        except (ConnectorError, StoreError) as error:
            _tell_single(world, name, error.code, error.message)
            continue
        why = next((f"card {card_id}: {why}" for card_id, why in lookup.unread.items()), "")
        _tell_single(world, name, "unread" if why else "", why)
        world.cards.update({(name, card_id): card for card_id, card in lookup.found.items()})
        world.gone.update({(name, card_id): absent.kind.value for card_id, absent in lookup.gone.items()})
        world.gone.update({(name, card_id): f"moved to {where}" for card_id, where in lookup.moved.items()})


def _tell_single(world: World, board: str, code: str, error: str) -> None:
    """What reading by id came to: it fails a card alone, unless it took all the time that the board has."""
    if code and world.is_late(board):
        _failed(world, world.columns_of(board), "single cards", code, error)
    else:
        _tell(world, board, "single cards", code, error)


def _look_up(world: World, board: Board, ids: Collection[str]) -> Lookup:
    def get_many() -> Lookup:
        return board.get_many(ids)

    return _remembered(world, board, frozenset(ids), get_many)


def with_slots(world: World) -> DaemonFacts:
    """The daemon's facts with the slots as they are used now, and whether it was told to stop meanwhile."""
    executing, stopping = world.station.slots.used() + len(world.planned), world.station.memory.stopping_since
    if (executing, stopping) == (world.daemon.executing, world.daemon.stopping_since):
        return world.daemon
    return replace(world.daemon, executing=executing, stopping_since=stopping)
