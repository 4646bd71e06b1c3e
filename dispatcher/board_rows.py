"""The rows of board writes: moves, comments, claims, over the engine's effect rows (connectors.md 9).

Implements ``connectors.effects.journal.Journal``. These rows belong to no run and carry no run's failure. A row of a
sender that died is found by ``lose_orphans`` when a daemon begins to send for the board.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from connectors.effects.guard import Effect, Known
from connectors.effects.journal import Order, Past
from connectors.effects.markers import marker_of
from dispatcher import log
from engine.ports import Clock, IdMaker, Witness
from engine.run import IN_DOUBT, EffectRecord, EffectState, SettledBy
from engine.runtime.calls import CallVerdict, judge, unsent
from engine.store.effects import Settling

if TYPE_CHECKING:
    from engine.store.effects import Effects

_log = log.get(__name__)
NO_EPOCH = 0
LONGEST_RESPONSE = 64 * 1024
"""Bytes of a response that a row keeps (connectors.md 9)."""


@dataclass(frozen=True, slots=True)
class Desk:
    """What the rows are made with. ``passed`` is told the points X1, X2 and X5."""

    effects: Effects
    clock: Clock
    ids: IdMaker
    redactor: log.Cleaner
    passed: Callable[[str], None]


class BoardRows:
    """The journal of every board of this process."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def newest(self, order: Order) -> Past | None:
        """The newest row of the order's place."""
        found = self._desk.effects.newest_at(card_of(order), order.place)
        if found is None:
            return None
        done, doubtful = found.state == EffectState.DONE, found.state in IN_DOUBT
        return Past(found.id, found.marker, done, doubtful, found.response, found.sent_at)

    def begin(self, order: Order) -> BoardRow:
        """A new row, ``intended``. Raises StoreFull, StoreBusy."""
        effect_id = self._desk.ids.new("e")
        params = self._desk.redactor.scrub(dict(order.params))
        assert isinstance(params, dict)
        record = EffectRecord(
            id=effect_id,
            run_id="",
            node_id="",
            branch_path="",
            iteration_path="",
            attempt=0,
            connection=order.board,
            operation=order.operation,
            fingerprint=_fingerprint(order),
            marker=marker_of(effect_id, card=order.card_id),
            state=EffectState.INTENDED,
            created_at=self._desk.clock.now(),
            effect_class=str(order.effect),
            params=params,
            repeatable=order.effect is Effect.IDEMPOTENT,
            card=card_of(order),
            place=order.place,
        )
        self._desk.effects.open_apart(record)
        self._desk.passed("X1")
        _log.debug("effect.intended", effect_id=effect_id, operation=order.operation, card=record.card)
        return BoardRow(self._desk, record)

    def found(self, effect_id: str, response: Mapping[str, object]) -> None:
        """A read shows that a change in doubt was made."""
        settling = Settling(EffectState.DONE, SettledBy.PROBE, "found on the forge", response)
        self._desk.effects.settle(effect_id, settling)

    def lose_orphans(self, board: str) -> tuple[EffectRecord, ...]:
        """Rows of a board whose sender died: what never left is withdrawn, what may have left is ambiguous; the latter.

        Called when this process begins to send for the board, and no other does (dispatcher.md 4, T2).
        """
        left = []
        for each in self._desk.effects.apart((EffectState.INTENDED, EffectState.SENT)):
            if each.connection != board:
                continue
            if each.state == EffectState.INTENDED:
                note = "its sender ended before anything was sent"
                self._desk.effects.settle(each.id, Settling(EffectState.NOT_SENT, SettledBy.WITHDRAWN, note))
            else:
                note = "its sender died before the answer was written"
                self._desk.effects.settle(each.id, Settling(EffectState.AMBIGUOUS, SettledBy.LOST, note))
                _log.warning("effect.ambiguous", effect_id=each.id, operation=each.operation, card=each.card)
                left.append(each)
        return tuple(left)


class BoardRow:
    """The row of one board write. Implements ``connectors.effects.journal.JournalRow``."""

    def __init__(self, desk: Desk, record: EffectRecord) -> None:
        self._desk, self._record = desk, record
        self._left = False
        self._known = Known()
        self.effect_id = record.id
        self.marker = record.marker

    def stopped(self) -> bool:
        """A board write is never taken back: the tick that wants it waits for it."""
        return False

    def sending(self) -> None:
        """From now on bytes may leave. Raises EffectSettled, StoreFull, StoreBusy."""
        if self._left:
            return
        self._desk.effects.send(self.effect_id, NO_EPOCH)
        self._left = True
        self._desk.passed("X2")
        self._tell("effect.sent")

    def note(self, known: Known) -> None:
        """What the row keeps beside the answer."""
        self._known = known

    def done(self, response: Mapping[str, object]) -> None:
        """The change was made, or had not to be made."""
        if self._left:
            by = SettledBy.READ_BACK if self._known.read_back else SettledBy.ANSWER
            self._settle(Settling(EffectState.DONE, by, self._known.note, response))
            self._tell("effect.done", how=str(by))
        else:
            note = "it was so already; nothing was sent"
            self._settle(Settling(EffectState.NOT_SENT, SettledBy.WITHDRAWN, note))

    def failed(self, error: BaseException) -> None:
        """What became of it, as the error tells."""
        verdict = self._verdict(error)
        note = " ".join((str(error) or type(error).__name__).split())
        self._settle(Settling(verdict.state, verdict.by, note, repeatable=verdict.repeatable))
        self._tell(f"effect.{verdict.state}", error=note)

    def _verdict(self, error: BaseException) -> CallVerdict:
        now, effect_class = self._desk.clock.now(), self._record.effect_class
        if self._left:
            return judge(error, effect_class, key_sent=False, now=now)
        return unsent(error, effect_class, stopped=False, now=now)

    def _settle(self, settling: Settling) -> None:
        known = self._known
        witness = Witness(known.status, dict(known.wire or {}), known.pending, known.read_back, known.note)
        made = Settling(
            settling.to,
            settling.by,
            self._desk.redactor.clean(settling.note),
            _kept(settling.response),
            repeatable=settling.repeatable,
            witness=witness,
        )
        self._desk.effects.settle(self.effect_id, made)
        self._desk.passed("X5")

    def _tell(self, event: str, **values: str) -> None:
        record = self._record
        level = _log.warning if event.endswith("ambiguous") else _log.info
        level(event, effect_id=record.id, operation=record.operation, card=record.card, **values)


def card_of(order: Order) -> str:
    """The card as a row names it."""
    return f"{order.board}#{order.card_id}"


def _fingerprint(order: Order) -> str:
    told = json.dumps([order.operation, order.board, order.place, dict(order.params)], sort_keys=True)
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()


def _kept(response: Mapping[str, object]) -> Mapping[str, object]:
    size = len(json.dumps(dict(response), ensure_ascii=False, default=str).encode("utf-8", "replace"))
    return response if size <= LONGEST_RESPONSE else {**response, "body": ""}
