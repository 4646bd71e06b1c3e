"""The invariants: what must hold whatever happens (dispatcher.md 35), looked at as it happens and once all is at rest.

Called by ``machine`` at the engine's door, by the board for each move, and by ``play`` behind each tick.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from connectors.base import Move
from connectors.card import MoverKind
from dispatcher.ledger.records import ClaimState, Follows, Key, Snapshot
from dispatcher.policy import Action
from dispatcher.reasons import Reason
from dispatcher.tick import TickReport
from engine import states
from engine.failures import Allowance, row_of
from engine.run import RunRecord
from engine.states import RunStatus

if TYPE_CHECKING:
    from tests.simulation.grounds import Standing
    from tests.simulation.machine import Machine
    from tests.simulation.play import Dispatcher

PATIENCE = 4
"""So many complete ticks in a row may pass an eligible card without a word."""
ONCE = frozenset(each.value for each in (Follows.COMPLETED, Follows.FAILED, Follows.CANCELLED, Follows.GAVE_UP))
"""Reasons of moves that one outcome makes at most once."""


class Broken(AssertionError):
    """An invariant does not hold. ``law`` is its name, which a shortened history must break as well."""

    def __init__(self, law: str, told: str) -> None:
        super().__init__(f"{law}: {told}")
        self.law = law


@dataclass(frozen=True, slots=True)
class Stop:
    """A machine's stop, as it was asked for: how long the run was silent while its process ran, and what is allowed."""

    cause: str
    silent: float
    limit: float


class Watch:
    """The notes of one history."""

    def __init__(self) -> None:
        self.line: list[str] = []
        self.outcomes: Counter[tuple[str, int, str]] = Counter()
        self.hooks: dict[tuple[str, int], int] = {}
        self.came: dict[Key, int] = {}
        self.quiet: Counter[Key] = Counter()
        self.doors: Counter[Key] = Counter()
        self.unheeded: set[Key] = set()
        """Cards that a person moved and that no run was resumed for because of it: a forge's moves are seen late."""
        self.kinds: Counter[str] = Counter()
        self.machine: Machine

    def note(self, text: str) -> None:
        """One line of the history as it is told to people."""
        self.line.append(text)

    # -- the engine's door ---------------------------------------------------------------------------------------------
    def launching(self, key: Key, run_id: str) -> None:
        """A fresh run: no other of this card works or may go on."""
        self._alone(key, run_id)
        for other in self.machine.runs_of(key):
            if other.id != run_id and not states.is_final(other.status):
                raise Broken("no sibling of a resumable run", f"{run_id} beside {other.id} in {other.status}")
        self._counted(key, run_id, "launch")

    def resuming(self, key: Key, record: RunRecord, attended: bool) -> None:
        """The next attempt of a run: nobody else's, and only where a machine may, or a person came."""
        self._alone(key, record.id)
        late = self.machine.ground.remote and key in self.unheeded
        person = attended and (late or self.came.get(key, 0) > record.outcome_sequence)
        if attended:  # a resume that was decided before the move may come behind it, and heeds nothing
            self.unheeded.discard(key)
        if attended and not person:
            raise Broken("only a gesture is a gesture", f"{record.id} resumed as if somebody had moved the card in")
        if states.is_paused(record.status):
            raise Broken("a paused run waits for people", f"{record.id} in {record.status} was resumed")
        if record.status == RunStatus.CANCELLED and not person:
            raise Broken("a cancel stays", f"{record.id} was resumed")
        allowance = row_of(record.failure_code).unattended
        if not person and allowance is not Allowance.YES and not self.machine.may_go_on(record):
            raise Broken("a park stays", f"{record.id} with {record.failure_code} was resumed")
        self._counted(key, record.id, "resume")

    def _alone(self, key: Key, run_id: str) -> None:
        for other in self.machine.runs_of(key):
            if self.machine.held(other.id):
                raise Broken("one live run per card", f"{run_id} beside {other.id}, whose lock is held")

    def _counted(self, key: Key, run_id: str, kind: str) -> None:
        self.kinds[kind] += 1
        self.doors[key] += 1
        if self.doors[key] > self.machine.bound:
            raise Broken("attempts are counted", f"{run_id} is start {self.doors[key]} with nobody in between")

    def promoting(self, record: RunRecord) -> None:
        """A run is judged dead: its lock is free."""
        if self.machine.held(record.id):
            raise Broken("a live run is not judged dead", f"{record.id}")
        self.kinds["promote"] += 1

    def interrupting(self, run_id: str, stop: Stop) -> None:
        """A machine's stop."""
        if stop.cause == "stall" and stop.silent < stop.limit:
            raise Broken("no stall while nothing could move", f"{run_id} after {stop.silent:.0f} s")
        self.kinds[f"interrupt {stop.cause}"] += 1

    def hooked(self, run_id: str, epoch: int, faults: int) -> None:
        """``after_run`` runs: once per attempt, unless a fault came between it and its mark."""
        before = self.hooks.get((run_id, epoch))
        if before is not None and before == faults:
            raise Broken("each effect of a finish once", f"after_run of {run_id}, attempt {epoch}, ran twice")
        self.hooks[run_id, epoch] = faults

    # -- the board -----------------------------------------------------------------------------------------------------
    def moved(self, before: Standing, move: Move, after: Standing) -> None:
        """Somebody moved a card."""
        key = (before.board, before.id)
        if move.mover.kind is not MoverKind.DISPATCHER:
            self.came[key] = after.column_sequence
            self.doors[key] = 0
            self.unheeded.add(key)
            return
        self.note(f"    #{before.number} {before.column} -> {after.column} ({move.reason})")
        eligible = before.column in self.machine.eligible or before.column == "waiting_deps"
        if before.column_by is MoverKind.PERSON and not eligible:
            raise Broken("a person's move stands", f"#{before.number} {before.column} -> {after.column}")
        if move.reason in ONCE:
            self._once(key, move.reason)

    def _once(self, key: Key, why: str) -> None:
        runs = self.machine.runs_of(key)
        if not runs:
            return
        record = runs[-1]
        told = (record.id, record.outcome_sequence, why)
        self.outcomes[told] += 1
        self.kinds[why] += 1
        if self.outcomes[told] > 1:
            raise Broken("each effect of a finish once", f"moved twice as {why} for {record.id}")

    # -- behind a tick -------------------------------------------------------------------------------------------------
    def ticked(self, daemon: Dispatcher, report: TickReport) -> None:
        """Slots, and that no card is passed without a word for long."""
        used = daemon.slots.taken()
        if used > daemon.settings.concurrency.max:
            raise Broken("slots are bounded", f"{used} of {daemon.settings.concurrency.max}")
        if not report.complete or report.degraded or not daemon.leads or self.machine.ground.blind():
            self.quiet.clear()
            return
        told = {each.key for each in report.decided}
        reasons = daemon.memory.idle or {}
        for card in self.machine.cards():
            key = (card.board, card.id)
            silent = card.column in self.machine.eligible and not card.closed and key not in told
            if silent and key not in reasons and not self.machine.works(key) and not daemon.slots.has(key):
                self.quiet[key] += 1
            else:
                self.quiet[key] = 0
            if self.quiet[key] >= PATIENCE:
                raise Broken("every idle card can say why", f"#{card.number} in {card.column}")
        for key, reason in reasons.items():
            if not reason.text or not reason.unblock:
                raise Broken("every idle card can say why", f"{key}: {reason.code} without text or way out")

    # -- at rest -------------------------------------------------------------------------------------------------------
    def at_rest(self, daemon: Dispatcher, snapshot: Snapshot) -> None:
        """Nothing is half-done, nothing is lost, nothing is kept for ever."""
        if snapshot.intents:
            raise Broken("nothing stays half-done", f"intents {sorted(snapshot.intents)}")
        if snapshot.settlements:
            raise Broken("nothing stays half-done", f"settlements {sorted(snapshot.settlements)}")
        if snapshot.pending:
            raise Broken("nothing stays half-done", f"pending moves {sorted(snapshot.pending)}")
        for key, claim in snapshot.claims.items():
            parked = claim.state is ClaimState.PARKED and key in snapshot.parks
            retrying = claim.state is ClaimState.RETRYING and key in snapshot.retries
            if not parked and not retrying and not self.machine.works(key):
                raise Broken("no claim for ever", f"{key} {claim.state} {claim.run_id}")
        for card in self.machine.cards():
            self._card_at_rest(daemon, snapshot, card)
        self.machine.ground.at_rest(daemon, snapshot)

    def _card_at_rest(self, daemon: Dispatcher, snapshot: Snapshot, card: Standing) -> None:
        key = (card.board, card.id)
        reason = (daemon.memory.idle or {}).get(key)
        if card.column in self.machine.eligible and not card.closed and reason is None:
            raise Broken("no card is lost", f"#{card.number} in {card.column} without a reason")
        waiting = card.column == daemon.settings.columns.awaiting_input and card.column_by is MoverKind.DISPATCHER
        if waiting and key not in snapshot.parks:
            raise Broken("no card is lost", f"#{card.number} in {card.column} without a park")
        if reason is not None and reason.code == Reason.RETRY_WAIT:
            raise Broken("the system comes to rest", f"#{card.number} still waits for its retry")
        runs = self.machine.runs_of(key)
        if runs and runs[-1].outcome_sequence and not states.is_running(runs[-1].status):
            link = daemon.station.ledger.links([key]).get(key)
            closed = daemon.station.ledger.closed_outcomes([runs[-1].id])
            pointed = link is not None and link.last_run == runs[-1].id
            if pointed and (runs[-1].id, runs[-1].outcome_sequence) not in closed:
                raise Broken("every outcome reaches its card", f"#{card.number} {runs[-1].id} {runs[-1].status}")

    def decided(self, report: TickReport) -> None:
        """Tell what a tick did."""
        for each in report.decided:
            if each.decision.action is not Action.HOLD:
                self.note(f"    #{each.number} {each.decision.action.value} {each.decision.row}")
