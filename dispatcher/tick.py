"""One pass over all boards: the sentence of the dispatcher, read from top to bottom (dispatcher.md 4).

``daemon`` calls ``run`` when its clock or a wake-up says so; ``--once``, ``--until-idle`` and ``--dry-run`` call it
too. Each phase decides from what is stored and writes only what changed: two ticks over an unchanged world write
nothing. A fault of one card is caught here, written with the card's id, and the tick goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from dispatcher import breakers, facts, log
from dispatcher.ledger.records import Key
from dispatcher.observe import observe, watch
from dispatcher.parking import unpark
from dispatcher.picking import candidates, pick, unblock
from dispatcher.publishing import publish, publish_held
from dispatcher.reading import begin, read
from dispatcher.reconcile import reconcile, recover
from dispatcher.settle import settle_all
from dispatcher.sharing import tend
from dispatcher.showing import show
from dispatcher.station import Station
from dispatcher.waking import heed
from dispatcher.world import Decided, Gauges, World
from engine.errors import StoreError

_log = log.get(__name__)


@dataclass(frozen=True, slots=True)
class Mode:
    """How a tick runs: ``dry`` records instead of doing, ``pick`` False starts nothing, ``last`` only settles what
    ended; ``mark`` hears each phase."""

    dry: bool = False
    pick: bool = True
    last: bool = False
    mark: Callable[[str], None] = lambda _phase: None


@dataclass(frozen=True, slots=True)
class TickReport:
    """What one tick did. ``state`` is the document of ``GET /api/dispatcher``; ``seconds`` by phase name."""

    number: int
    decided: tuple[Decided, ...]
    counts: Mapping[str, int]
    actionable: int
    complete: bool
    degraded: bool
    seconds: float
    phases: Mapping[str, float] = field(default_factory=dict)
    gauges: Gauges = field(default_factory=dict)
    state: Mapping[str, object] = field(default_factory=dict)
    error: str = ""
    standby: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """The boards that another daemon leads, with who and until when."""


def hold_settled(world: World) -> None:
    """T10 of a daemon that stops: the cards whose outcome was settled a moment ago say what they wait for."""
    world.refresh()
    world.know_links(world.cards)
    for card in candidates(world):
        board = facts.board_facts(world, card.board)
        world.careful(world, (card.board, card.id), partial(pick, world, card, board))


def pick_all(world: World) -> None:
    """T10: each candidate in order, until no slot is free; the rest still get their reason."""
    boards = {name: facts.board_facts(world, name) for name in world.reads}
    for card in candidates(world):
        before = breakers.state_of(world, card.board)
        world.careful(world, (card.board, card.id), partial(pick, world, card, boards[card.board]))
        if breakers.state_of(world, card.board) != before:  # its trial began, or it opened by this very start
            boards[card.board] = facts.board_facts(world, card.board)
    show(world)
    tend(world)


def observe_all(world: World) -> None:
    """T6: what became of the cards under way, and whether anything came of what webhooks told."""
    observe(world)
    heed(world)


def careful(world: World, key: Key, work: Callable[[], None]) -> None:
    """Do one card's work; what goes wrong with it is written with its id and is that card's alone."""
    world.mark()
    if world.station.memory.left:
        return
    try:
        work()
    except StoreError:
        raise
    except Exception as error:  # noqa: BLE001 - one card's fault never stops the next card
        world.errors[key] = str(error) or repr(error)
        _log.error("dispatcher.tick_failed", board=key[0], card_id=key[1], error=repr(error), exc_info=True)


PHASES: Mapping[str, Callable[[World], None]] = {
    "begin": begin,
    "recover": recover,
    "reconcile": reconcile,
    "settle": settle_all,
    "read": read,
    "observe": observe_all,
    "watch": watch,
    "unpark": unpark,
    "unblock": unblock,
    "pick": pick_all,
    "publish": publish,
}
"""T1 to T11, in their order."""

WITHOUT_WRITES = ("begin", "read", "publish")
"""What runs while the store takes no writes."""
LAST: Mapping[str, Callable[[World], None]] = {
    "begin": begin,
    "settle": settle_all,
    "pick": hold_settled,
    "publish": publish_held,
}
"""What runs when the daemon stops: no board is listed, and nothing starts (dispatcher.md 24)."""


def run(station: Station, mode: Mode) -> TickReport:
    """One tick. A store that fails in the middle ends it early and incomplete; nothing is half-decided by that."""
    station.memory.tick += 1
    world = World(station, station.clock.now(), mode.dry, mode.pick, careful=careful, mark=partial(mode.mark, ""))
    begun = station.clock.monotonic()
    with station.leadership.fencing():
        phases, error = _phases(world, mode)
    return _report(world, begun, phases, error)


def _phases(world: World, mode: Mode) -> tuple[dict[str, float], str]:
    """T1 to T11: the seconds that each took, and what ended them early."""
    station, error = world.station, ""
    phases: dict[str, float] = {}
    for name, phase in (LAST if mode.last else PHASES).items():
        if world.daemon.store_error and name not in WITHOUT_WRITES:
            continue
        if station.memory.left:
            return phases, "the process ended before the tick did"
        mode.mark(name)
        since = station.clock.monotonic()
        try:
            phase(world)
        except StoreError as failure:
            error = f"{name}: {failure.message}"
            station.memory.tally.count("pointsman_store_errors_total", kind=failure.code)
            _log.error("dispatcher.tick_failed", phase=name, error=failure.message)
            _say_degraded(world, failure)
            break
        phases[name] = station.clock.monotonic() - since
    return phases, error


def _say_degraded(world: World, failure: StoreError) -> None:
    """The state document of a tick that its store ended: what is known, and that the store takes no writes."""
    world.daemon = replace(world.daemon, store_error=failure.message)
    with suppress(StoreError):
        publish(world)


def _report(world: World, begun: float, phases: Mapping[str, float], error: str) -> TickReport:
    degraded = bool(world.errors) or any(read.error or read.partial or read.degraded for read in world.reads.values())
    seconds = world.station.clock.monotonic() - begun
    counts = {name: n for name, n in world.counts.items() if n}
    number = world.station.memory.tick
    loud = bool(set(counts) - {"hold"})
    (_log.info if loud else _log.debug)(
        "dispatcher.tick_finished", tick=number, counts=counts, seconds=round(seconds, 4)
    )
    return TickReport(
        number=number,
        decided=tuple(world.decided),
        counts=counts,
        actionable=world.actionable,
        complete=not error,
        degraded=degraded,
        seconds=seconds,
        phases=phases,
        gauges=world.gauges,
        state=world.state,
        standby={name: read.standby for name, read in world.reads.items() if read.standby},
        error=error or "; ".join(f"{board} {card_id}: {text}" for (board, card_id), text in world.errors.items()),
    )
