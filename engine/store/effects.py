"""Remote mutations as they were written down: before the call, settled after it, looked up again (engine.md 5.3).

Called through ``Store.effects`` by the runtime, by promotion, by ``pointsman effects`` and by the dispatcher. Every
verb that writes is one transaction with its event. It asks no forge and decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Select, bindparam, case, func, select, update

from engine.errors import EffectSettled, EffectUnknown, OwnershipLost, StopRequested
from engine.events import EventType, NewEvent
from engine.ports import Clock, Witness
from engine.run import EFFECT_NEXT, IN_DOUBT, UNDER_WAY, EffectRecord, EffectState, SettledBy
from engine.states import RunStatus
from engine.store import writes
from engine.store.changes import Stop, StopKind, Written
from engine.store.cursors import Cursor
from engine.store.database import Database
from engine.store.names import table
from engine.store.prepared import Among, Prepared, inserting
from engine.store.rows import Row
from engine.store.writes import Timed

_EFFECT = table("effect")
_ADD = inserting(_EFFECT)
_MADE = case((_EFFECT.c.state == EffectState.DONE.value, 0), else_=1)
_MAYBE = case((_EFFECT.c.state.in_(sorted(IN_DOUBT | UNDER_WAY)), 0), else_=1)
_SETTLE = Prepared(
    update(_EFFECT)
    .where(_EFFECT.c.id == bindparam("the_id"), _EFFECT.c.state == bindparam("seen"))
    .values(
        state=bindparam("to"),
        settled_by=bindparam("by"),
        settled_at=bindparam("at", type_=_EFFECT.c.settled_at.type),
        note=bindparam("the_note"),
        stopped_run=bindparam("stopped", type_=_EFFECT.c.stopped_run.type),
        repeatable=bindparam("again", type_=_EFFECT.c.repeatable.type),
        response=bindparam("the_response", type_=_EFFECT.c.response.type),
        http_status=bindparam("the_status"),
        wire=bindparam("the_wire", type_=_EFFECT.c.wire.type),
        pending=bindparam("is_pending", type_=_EFFECT.c.pending.type),
        settler=bindparam("the_settler"),
        probes=0,
        probed_at=None,
    )
)
_SEND = Prepared(
    update(_EFFECT)
    .where(_EFFECT.c.id == bindparam("the_id"), _EFFECT.c.state == EffectState.INTENDED.value)
    .values(state=EffectState.SENT.value, sent_at=bindparam("at", type_=_EFFECT.c.sent_at.type))
)
_PROBED = Prepared(
    update(_EFFECT)
    .where(_EFFECT.c.id == bindparam("the_id"))
    .values(
        probes=_EFFECT.c.probes + 1,
        probed_at=bindparam("at", type_=_EFFECT.c.probed_at.type),
        note=bindparam("the_note"),
        asked=bindparam("all_asked", type_=_EFFECT.c.asked.type),
    )
)
_ONE = Among(_EFFECT.columns, _EFFECT.c.id)
_OF_RUNS = Among(_EFFECT.columns, _EFFECT.c.run_id)
_IN_STATES = Among(_EFFECT.columns, _EFFECT.c.state)
_STOPPING = Among(_EFFECT.columns, _EFFECT.c.run_id, _EFFECT.c.stopped_run == 1)
_APART = Among(_EFFECT.columns, _EFFECT.c.state, _EFFECT.c.run_id == "")
_BY_STATE = Prepared(select(_EFFECT.c.state, func.count()).group_by(_EFFECT.c.state))
ASKED_KEPT = 20
"""How many answers of the forge a row keeps, the newest."""
_STOPS = (StopKind.INTERRUPT, StopKind.CANCEL)
_RELEASE = (
    update(_EFFECT).where(_EFFECT.c.stopped_run == 1, _EFFECT.c.state.not_in(tuple(IN_DOUBT))).values(stopped_run=False)
)


@dataclass(frozen=True, slots=True)
class CallKey:
    """Which call of which execution: equal calls have equal keys (engine.md 5.5)."""

    run_id: str
    node_id: str
    branch_path: str
    iteration_path: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Settling:
    """What became of a call, and by what it is known. ``stopped``: whether its run stops by it, None: as before."""

    to: EffectState
    by: SettledBy
    note: str = ""
    response: Mapping[str, object] = field(default_factory=dict)
    stopped: bool | None = None
    repeatable: bool = False
    witness: Witness = field(default_factory=Witness)
    settler: str = ""


class Effects:
    """The verbs of ``Store.effects``. Each raises RecordUnreadable for a row that cannot be decoded."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self.told: Callable[[str, str], None] = lambda _operation, _state: None
        """Told the operation of each row that came to a state in this process, and the state."""

    def get(self, effect_id: str) -> EffectRecord | None:
        """One row, None when there is none."""
        found = self._among(_ONE, (effect_id,))
        return found[0] if found else None

    def list(self, run_id: str = "", states: tuple[str, ...] = ()) -> tuple[EffectRecord, ...]:
        """Rows, oldest first; empty values do not filter."""
        if run_id:
            found = self._among(_OF_RUNS, (run_id,))
            return tuple(each for each in found if not states or each.state in states)
        if states:
            return self._among(_IN_STATES, states)
        return self._many(select(_EFFECT).order_by(_EFFECT.c.created_at, _EFFECT.c.id))

    def in_doubt(self, run_id: str) -> tuple[EffectRecord, ...]:
        """The rows of a run without an owner that nobody can answer for; none that a rewind went behind."""
        rows = self.list(run_id, tuple(IN_DOUBT))
        return tuple(each for each in rows if each.doubtful and not each.dropped_by)

    def stopping(self, run_ids: Iterable[str]) -> tuple[EffectRecord, ...]:
        """The rows because of which these runs stopped, settled or not, oldest first."""
        return self._among(_STOPPING, run_ids)

    def newest(self, key: CallKey) -> EffectRecord | None:
        """The newest row of this call that no rewind went behind; attempts tell what is new, since clocks step back.

        Of one attempt's rows the one that was made counts, then one that may have been.
        """
        query = (
            select(_EFFECT)
            .where(
                _EFFECT.c.run_id == key.run_id,
                _EFFECT.c.node_id == key.node_id,
                _EFFECT.c.branch_path == key.branch_path,
                _EFFECT.c.iteration_path == key.iteration_path,
                _EFFECT.c.fingerprint == key.fingerprint,
                _EFFECT.c.dropped_by == 0,
            )
            .order_by(_EFFECT.c.attempt.desc(), _MADE, _MAYBE, _EFFECT.c.created_at.desc(), _EFFECT.c.id.desc())
            .limit(1)
        )
        found = self._many(query)
        return found[0] if found else None

    def open(self, effect: EffectRecord, epoch: int, branch_id: str = "") -> None:
        """Write a row with its event; what is only intended has none yet.

        Raises OwnershipLost for another's epoch, StoreFull, StoreBusy.
        """
        with self._database.write_raw() as cursor:
            self._tell(cursor, effect, epoch, _told(effect, branch_id))
            _ADD.run(cursor, _values(effect))
        self.told(effect.operation, str(effect.state))

    def open_apart(self, effect: EffectRecord) -> None:
        """Write a row that belongs to no run: a board write of the dispatcher. Raises StoreFull, StoreBusy."""
        with self._database.write_raw() as cursor:
            _ADD.run(cursor, _values(effect))
        self.told(effect.operation, str(effect.state))

    def newest_at(self, card: str, place: str) -> EffectRecord | None:
        """The row that tells most of this board write, by its card and its place among the card's writes: one that may
        have been made, else the newest; a clock that stepped back makes no new one out of an old one."""
        query = select(_EFFECT).where(_EFFECT.c.card == card, _EFFECT.c.place == place)
        found = self._many(query.order_by(_MAYBE, _EFFECT.c.created_at.desc(), _EFFECT.c.id.desc()).limit(1))
        return found[0] if found else None

    def apart(self, states: tuple[str, ...]) -> tuple[EffectRecord, ...]:
        """The board writes in these states, oldest first."""
        return self._among(_APART, states)

    def by_state(self) -> Mapping[str, int]:
        """How many rows there are in each state."""
        with self._database.read_raw() as cursor:
            counted = _BY_STATE.run(cursor, {})
            return {str(state): int(count) for state, count in iter(counted.fetchone, None)}

    def done_on(self, connections: Iterable[str], operations: Iterable[str], most: int) -> tuple[EffectRecord, ...]:
        """The newest calls of these operations that runs made over these connections, newest first."""
        query = select(_EFFECT).where(
            _EFFECT.c.connection.in_(tuple(connections)),
            _EFFECT.c.operation.in_(tuple(operations)),
            _EFFECT.c.state == EffectState.DONE.value,
            _EFFECT.c.run_id != "",
        )
        return self._many(query.order_by(_EFFECT.c.created_at.desc(), _EFFECT.c.id.desc()).limit(most))

    def send(self, effect_id: str, epoch: int, branch_id: str = "") -> None:
        """``intended`` becomes ``sent``, with its event, unless the run was told to stop in the same instant.

        Raises StopRequested, OwnershipLost, EffectUnknown, EffectSettled, StoreFull, StoreBusy: then no byte may leave.
        """
        effect = self.get(effect_id)
        if effect is None:
            raise unknown(effect_id)
        with self._database.write_raw() as cursor:
            if effect.run_id:
                sent = _event(EventType.EFFECT_SENT, effect, EffectState.SENT, "", branch_id)
                stop = self._tell(cursor, effect, epoch, (sent,))
                if stop.request in _STOPS or stop.status != RunStatus.RUNNING:
                    message = f"run {effect.run_id} was told to stop before {effect.operation} was sent"
                    raise StopRequested(message, "the call is withdrawn; nothing was sent")
            if _SEND.run(cursor, {"the_id": effect_id, "at": self._clock.now()}).rowcount != 1:
                raise EffectSettled(f"effect {effect_id} is not waiting to be sent any more", "nothing was sent")
        self.told(effect.operation, str(EffectState.SENT))

    def _tell(self, cursor: Cursor, effect: EffectRecord, epoch: int, events: tuple[NewEvent, ...]) -> Stop:
        at = self._clock.now()
        batches = [Timed(at, Written(events=events))]
        after = writes.advance(cursor, effect.run_id, batches, at, epoch)
        if after is None:
            message = f"run {effect.run_id} has another owner by now"
            raise OwnershipLost(message, "this attempt stops and calls nobody")
        writes.write_rows(cursor, effect.run_id, batches, after)
        return after.stop

    def settle(self, effect_id: str, settling: Settling) -> bool:
        """Compare-and-set of the state; False when the row's state does not lead there (any more).

        Raises EffectUnknown, StoreFull, StoreBusy.
        """
        before = self.get(effect_id)
        if before is None:
            raise unknown(effect_id)
        if settling.to not in EFFECT_NEXT[EffectState(before.state)]:
            return False
        at = self._clock.now()
        values = {
            "the_id": effect_id,
            "seen": before.state,
            "to": str(settling.to),
            "by": str(settling.by),
            "at": at,
            "the_note": settling.note or before.note,
            "stopped": before.stopped_run if settling.stopped is None else settling.stopped,
            "again": settling.repeatable or before.repeatable,
            "the_response": dict(settling.response) or None,
            "the_status": settling.witness.status or before.http_status,
            "the_wire": dict(settling.witness.wire or before.wire) or None,
            "is_pending": settling.witness.pending,
            "the_settler": settling.settler or before.settler,
        }
        event = _event(EventType.EFFECT_SETTLED, before, settling.to, settling.by)
        with self._database.write_raw() as cursor:
            if _SETTLE.run(cursor, values).rowcount != 1:
                return False
            batches = [Timed(at, Written(events=(event,)))]
            after = writes.advance(cursor, before.run_id, batches, at, None)
            if after is not None:
                writes.write_rows(cursor, before.run_id, batches, after)
        self.told(before.operation, str(settling.to))
        return True

    def probed(self, effect_id: str, note: str) -> None:
        """Remember that the forge was asked and what came of it."""
        at, before = self._clock.now(), self.get(effect_id)
        told = f"{at.isoformat(timespec='seconds').replace('+00:00', 'Z')} {note}"
        asked = [*(before.asked if before else ()), told][-ASKED_KEPT:]
        with self._database.write_raw() as cursor:
            _PROBED.run(cursor, {"the_id": effect_id, "at": at, "the_note": note, "all_asked": asked})

    def release(self, run_id: str) -> None:
        """The run goes on: rows that are settled did not stop it any more."""
        with self._database.write() as connection:
            connection.execute(_RELEASE.where(_EFFECT.c.run_id == run_id))

    def _among(self, wanted: Among, values: Iterable[str]) -> tuple[EffectRecord, ...]:
        """The rows of those values, oldest first."""
        with self._database.read_raw() as cursor:
            found = [_read(row) for row in wanted.many(cursor, map(str, values))]
        return tuple(sorted(found, key=lambda each: (each.created_at, each.id)))

    def _many(self, query: Select[Any]) -> tuple[EffectRecord, ...]:
        with self._database.read() as connection:
            return tuple(_read(row) for row in connection.execute(query).mappings())


def unknown(effect_id: str) -> EffectUnknown:
    """The refusal for an id that no row has."""
    return EffectUnknown(f"effect {effect_id} is unknown", "list them with: pointsman effects list")


def _event(kind: EventType, effect: EffectRecord, state: str, how: str, branch_id: str = "") -> NewEvent:
    data = {"effect_id": effect.id, "operation": effect.operation, "state": str(state)}
    if how:
        data["how"] = str(how)
    return NewEvent(kind, effect.node_id, branch_id, data)


def _values(effect: EffectRecord) -> dict[str, Any]:
    values = {column.name: getattr(effect, column.name) for column in _EFFECT.columns}
    more = {"response": dict(effect.response) or None, "wire": dict(effect.wire) or None}
    return {**values, "params": dict(effect.params), "asked": list(effect.asked) or None, **more}


def _told(effect: EffectRecord, branch_id: str) -> tuple[NewEvent, ...]:
    if effect.state == EffectState.INTENDED:
        return ()
    kind = EventType.EFFECT_SENT if effect.state == EffectState.SENT else EventType.EFFECT_SETTLED
    return (_event(kind, effect, effect.state, effect.settled_by, branch_id),)


def _read(values: Mapping[Any, Any]) -> EffectRecord:
    row = Row("effect", str(values["id"]), values)
    return EffectRecord(
        id=row.text("id"),
        run_id=row.text("run_id"),
        node_id=row.text("node_id"),
        branch_path=row.text("branch_path"),
        iteration_path=row.text("iteration_path"),
        attempt=row.integer("attempt"),
        connection=row.text("connection"),
        operation=row.text("operation"),
        fingerprint=row.text("fingerprint"),
        marker=row.text("marker"),
        state=_state(row),
        created_at=row.instant("created_at"),
        effect_class=row.text("effect_class"),
        params=row.mapping("params"),
        settled_by=row.text("settled_by"),
        stopped_run=row.truth("stopped_run"),
        repeatable=row.truth("repeatable"),
        dropped_by=row.integer("dropped_by"),
        probes=row.integer("probes"),
        response=row.mapping("response"),
        note=row.text("note"),
        settled_at=row.maybe_instant("settled_at"),
        probed_at=row.maybe_instant("probed_at"),
        sent_at=row.maybe_instant("sent_at"),
        card=row.text("card"),
        place=row.text("place"),
        http_status=row.integer("http_status"),
        pending=row.truth("pending"),
        wire=row.mapping("wire"),
        asked=row.texts("asked"),
        settler=row.text("settler"),
    )


def _state(row: Row) -> EffectState:
    text = row.text("state")
    return EffectState(text) if text in tuple(EffectState) else row.refuse("state", "a known state")
