"""Questions: what is asked, what was answered, what is withdrawn.

Called through ``Store.interactions`` and, inside the claim commit, by ``runs.py`` (engine.md 7.4, 7.5). Whether answers
fit is checked before they come here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import bindparam, select, update

from engine.checkpoint import Interaction, PendingQuestion
from engine.events import NewEvent
from engine.ports import Clock
from engine.store import writes
from engine.store.changes import AnswersAccepted, Written
from engine.store.cursors import Cursor
from engine.store.database import Database
from engine.store.names import table
from engine.store.prepared import Among, Prepared
from engine.store.rows import Row
from engine.store.writes import Timed

_QUESTION = table("interaction")
_ANSWERED = Among(
    [_QUESTION.c.run_id],
    _QUESTION.c.run_id,
    _QUESTION.c.answered_at.is_not(None),
    _QUESTION.c.retired_at.is_(None),
)
_THIS = (
    _QUESTION.c.run_id == bindparam("the_run"),
    _QUESTION.c.node_id == bindparam("the_node"),
    _QUESTION.c.id == bindparam("the_id"),
)
_ANSWER = Prepared(
    update(_QUESTION)
    .where(*_THIS)
    .values(
        answers=bindparam("the_answers", type_=_QUESTION.c.answers.type),
        answered_at=bindparam("at", type_=_QUESTION.c.answered_at.type),
    )
)
_ANSWER_OPEN = Prepared(
    update(_QUESTION)
    .where(*_THIS, _QUESTION.c.answered_at.is_(None), _QUESTION.c.retired_at.is_(None))
    .values(
        answers=bindparam("the_answers", type_=_QUESTION.c.answers.type),
        answered_at=bindparam("at", type_=_QUESTION.c.answered_at.type),
    )
)


def record_answers(
    cursor: Cursor, run_id: str, accepted: AnswersAccepted, pending: PendingQuestion | None, at: datetime
) -> None:
    """Write the answers onto their question; a question whose row was lost is made again from the head."""
    key = {"the_run": run_id, "the_node": accepted.node_id, "the_id": accepted.interaction_id}
    answered = _ANSWER.run(cursor, {**key, "the_answers": dict(accepted.answers), "at": at})
    if answered.rowcount == 1:
        return
    asked = pending or PendingQuestion(accepted.interaction_id, accepted.node_id, "human", {})
    question = Interaction(
        id=accepted.interaction_id,
        run_id=run_id,
        node_id=accepted.node_id,
        kind=asked.kind,
        questions=asked.questions,
        fields=asked.fields,
        answers=accepted.answers,
        asked_at=at,
        answered_at=at,
        retired_at=None,
    )
    writes.put_question(cursor, question)


class Interactions:
    """The verbs of ``Store.interactions``."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def get(self, run_id: str, node_id: str, interaction_id: str) -> Interaction | None:
        """One question, None when there is none. Raises RecordUnreadable."""
        query = select(_QUESTION).where(
            _QUESTION.c.run_id == run_id, _QUESTION.c.node_id == node_id, _QUESTION.c.id == interaction_id
        )
        with self._database.read() as connection:
            found = connection.execute(query).mappings().first()
        return None if found is None else _read(found)

    def all(self, run_id: str) -> tuple[Interaction, ...]:
        """Every question of the run, oldest first."""
        query = select(_QUESTION).where(_QUESTION.c.run_id == run_id).order_by(_QUESTION.c.asked_at)
        with self._database.read() as connection:
            return tuple(_read(row) for row in connection.execute(query).mappings())

    def with_answers(self, run_ids: Iterable[str]) -> frozenset[str]:
        """Those of the runs that have an answered question which is not withdrawn: one look for many paused runs."""
        with self._database.read_raw() as cursor:
            return frozenset(row["run_id"] for row in _ANSWERED.many(cursor, run_ids))

    def pending(self, run_id: str) -> tuple[Interaction, ...]:
        """The questions that are neither answered nor withdrawn, oldest first."""
        return tuple(q for q in self.all(run_id) if q.answered_at is None and q.retired_at is None)

    def ask(self, question: Interaction, event: NewEvent) -> None:
        """Store a question outside a change of status, an ``async`` one, with the event that tells of it."""
        with self._database.write_raw() as cursor:
            writes.put_question(cursor, question)
            self._tell(cursor, question.run_id, event)

    def answer(self, run_id: str, accepted: AnswersAccepted, event: NewEvent | None = None) -> bool:
        """Answer an open question while the run goes on (kind ``async``); False when there is none, or not any more."""
        key = {"the_run": run_id, "the_node": accepted.node_id, "the_id": accepted.interaction_id}
        values = {**key, "the_answers": dict(accepted.answers), "at": self._clock.now()}
        with self._database.write_raw() as cursor:
            if _ANSWER_OPEN.run(cursor, values).rowcount != 1:
                return False
            if event is not None:
                self._tell(cursor, run_id, event)
            return True

    def _tell(self, cursor: Cursor, run_id: str, event: NewEvent) -> None:
        batches = [Timed(self._clock.now(), Written(events=(event,)))]
        after = writes.advance(cursor, run_id, batches, batches[0].at, None)
        if after is not None:
            writes.write_rows(cursor, run_id, batches, after)

    def retire(self, run_id: str, node_ids: frozenset[str]) -> int:
        """Withdraw the questions of these nodes, as a rewind does; how many."""
        change = (
            update(_QUESTION)
            .where(_QUESTION.c.run_id == run_id, _QUESTION.c.node_id.in_(node_ids), _QUESTION.c.retired_at.is_(None))
            .values(retired_at=self._clock.now())
        )
        with self._database.write() as connection:
            return connection.execute(change).rowcount


def _read(values: Mapping[Any, Any]) -> Interaction:
    row = Row("interaction", str(values["id"]), values)
    return Interaction(
        id=row.text("id"),
        run_id=row.text("run_id"),
        node_id=row.text("node_id"),
        kind=row.text("kind"),
        questions=row.mapping("questions"),
        fields=row.items("fields"),
        answers=row.maybe_mapping("answers"),
        asked_at=row.instant("asked_at"),
        answered_at=row.maybe_instant("answered_at"),
        retired_at=row.maybe_instant("retired_at"),
        turns=row.items("turns"),
    )
