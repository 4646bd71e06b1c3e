"""What happens in a slot's thread: workspace, hooks, the engine's door, the run (dispatcher.md 7, S7 to S10).

A failure before the door is a launch failure: the pointer goes back, the claim waits on the ladder. A lost race counts
no attempt. What the run itself does is told by its record, and the next tick settles it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from connectors.card import Card
from dispatcher import breakers, log
from dispatcher.facts import fitting
from dispatcher.hooking import before_start
from dispatcher.ladder import wait_after
from dispatcher.leading import Fence
from dispatcher.ledger import Transaction, cards, outcomes
from dispatcher.ledger.records import Breaker, ClaimState, Retry
from dispatcher.routing import Names, Route, rendered
from dispatcher.station import INTERRUPT_SHUTDOWN, LaunchOrder, Station
from dispatcher.workspaces import Workspace
from engine.errors import AmbiguousUnread, EngineError, LeaseLost, Refusal, StoreError
from engine.failures import Ladder
from engine.states import is_running

_log = log.get(__name__)


@dataclass(frozen=True, slots=True)
class Plan:
    """A start that passed S6: the card as it is now, the attempt's number, the bot of a fresh run."""

    begun: cards.Start
    card: Card
    attempt: int
    route: Route | None
    workspace: str
    """The key of the card's folder."""
    epoch: int
    """Of the claim that the start was made under."""
    by: str = ""
    """Who moved the card in, where a person did."""

    def fail(self, station: Station, cause: str, error: str) -> Breaker | None:
        """Record a launch failure: pointer back, claim kept for the ladder, retry row (dispatcher.md 12); the board's
        breaker when this was one too many."""
        _log.warning("run.retry_scheduled", run_id=self.begun.run_id, code=cause, error=error)
        with station.ledger.write() as connection:
            breakers.repeat(station, connection, self.begun.key, f"start failed: {cause}")
            self._wait(station, connection, cause, wait_after(self.attempt, station.retry_settings()))
            return breakers.count_refusal(station, connection, self.begun.key, cause)

    def lose(self, station: Station, cause: str) -> None:
        """Record a lost race: nothing is counted, and the card waits for at least the first rung."""
        _log.info("claim.lost", run_id=self.begun.run_id, cause=cause)
        station.memory.tally.count("pointsman_claims_lost_total", cause=cause)
        with station.ledger.write() as connection:
            self._uncount(connection)
            breakers.repeat(station, connection, self.begun.key, f"start lost: {cause}")
            if cause == AmbiguousUnread.code:  # the gesture was heard and refused: the card parks again
                cards.change_link(connection, self.begun.key, handled_sequence=self.card.column_sequence)
                cards.close_intent(connection, self.begun.key)
            self._wait(station, connection, cause, station.settings.retry.base)

    def give_back(self, station: Station) -> None:
        """The daemon stops: nothing is counted, and the next one begins this start again (dispatcher.md 12)."""
        with station.ledger.write() as connection:
            self._uncount(connection)
            self._wait(station, connection, INTERRUPT_SHUTDOWN, 0.0)

    def _uncount(self, connection: Transaction) -> None:
        link = cards.link(connection, self.begun.key)
        if link is not None:
            cards.change_link(connection, self.begun.key, attempts=max(0, link.attempts - 1))

    def _wait(self, station: Station, connection: Transaction, cause: str, seconds: float) -> None:
        key, now = self.begun.key, station.clock.now()
        cards.put_back_pointer(connection, self.begun)
        cards.break_off(connection, self.begun)
        cards.keep_claim(connection, key, ClaimState.RETRYING)
        run_id = "" if self.begun.kind == "fresh" else self.begun.run_id
        sequence = station.ledger.next_sequence(connection)
        due = now + timedelta(seconds=seconds)
        ladder = Ladder.LADDER.value
        row = Retry(key[0], key[1], run_id, self.attempt + 1, cause, cause, ladder, now, due, sequence)
        outcomes.schedule(connection, row)


def execute(station: Station, plan: Plan) -> None:
    """The whole work of one slot. Nothing is written for a claim that another daemon took over meanwhile."""
    key = plan.begun.key
    try:
        with station.leadership.fencing_claim(key, plan.epoch) as fence:
            _execute(station, plan, fence)
    except LeaseLost as lost:
        station.memory.tally.count("pointsman_claims_lost_total", cause="lease")
        told = {"board": key[0], "card_id": key[1], "run_id": plan.begun.run_id}
        _log.warning("claim.lost", cause="lease", epoch=plan.epoch, error=lost.message, **told)


def _execute(station: Station, plan: Plan, fence: Fence) -> None:
    try:
        workspace = _workspace(station, plan)
    except OSError as error:
        plan.fail(station, "workspace", error.strerror or str(error))
        return
    station.crash.passed("S7")
    hook, end = before_start(station, plan.card, workspace, plan.begun.run_id, plan.attempt)
    if end.stopped:
        plan.give_back(station)
        return
    if not end.ok:
        plan.fail(station, f"hook_{hook.value}", end.why)
        return
    station.crash.passed("S8")
    try:
        _through_the_door(station, plan, workspace, fence)
    except Refusal as refusal:
        plan.lose(station, refusal.code)
    except EngineError as error:
        if _went_through(station, plan):
            _log.error("dispatcher.tick_failed", run_id=plan.begun.run_id, code=error.code, error=error.message)
        else:
            plan.fail(station, error.code, error.message)


def _went_through(station: Station, plan: Plan) -> bool:
    """Whether the engine has the run although the start failed, or nobody can tell: then recovery finds it.

    Putting the pointer back would let a second run begin beside one that may go on.
    """
    try:
        listing = station.store.runs.get_many([plan.begun.run_id])
    except StoreError:
        return True
    fresh = plan.begun.kind == "fresh"
    return bool(listing.unreadable) or any(fresh or is_running(each.status) for each in listing.records)


def _workspace(station: Station, plan: Plan) -> Workspace:
    """S7: the card's folder, verified or made; its link names it since S5."""
    begun = plan.begun
    made = station.workspaces.prepare(plan.workspace, station.place(plan.card), begun.run_id, station.clock.now())
    told = {"board": begun.key[0], "card_id": begun.key[1], "path": str(made.path)}
    if made.quarantined is not None:
        _log.warning("workspace.quarantined", aside=str(made.quarantined), **told)
    _log.info("workspace.created" if made.made else "workspace.reused", **told)
    return made


def _through_the_door(station: Station, plan: Plan, workspace: Workspace, fence: Fence) -> None:
    """S9 and S10: the engine claims the run; from then on its record says what happens."""
    begun = plan.begun

    def claimed() -> None:
        station.crash.passed("S9")
        with station.ledger.write() as connection:
            cards.door_passed(connection, begun.key)
        fence.lift()
        station.crash.passed("S10")

    if plan.route is None:
        # What was decided about one outcome holds for no later one: neither a cancel meanwhile is undone, nor a park.
        station.engine.resume(begun.run_id, begun.attended, claimed, begun.outcome, plan.by)
        return
    names = Names(begun.run_id, str(workspace.path), plan.attempt)
    given = rendered(plan.route, plan.card, names)
    values = fitting(station, plan.route, given)
    if unknown := sorted(set(given) - set(values)):
        _log.warning("run.started", run_id=begun.run_id, card_id=plan.card.id, undeclared_vars=unknown)
    order = LaunchOrder(begun.run_id, plan.route.path, values, workspace.path, f"#{plan.card.number} {plan.card.title}")
    station.engine.launch(order, claimed)
