"""The versioned save of a rewind: checkpoint, outputs, artifacts, questions, pointers and event in one transaction.

Called by ``runtime/rewinding.py`` under the run's lock, after the claim. Nothing is removed: outputs are marked with
the number of the rewind, questions are withdrawn (engine.md 1.5, 8.1, 8.4).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import bindparam, func, select, update

from engine.checkpoint import ArtifactVersion, Head
from engine.errors import RunConflict
from engine.events import NewEvent
from engine.ports import Clock
from engine.store import writes
from engine.store.changes import Written
from engine.store.database import Database
from engine.store.names import table
from engine.store.prepared import Prepared
from engine.store.writes import Timed

_RUN, _OUTPUT, _QUESTION, _EFFECT = table("run"), table("node_output"), table("interaction"), table("effect")
_SAVE = Prepared(
    update(_RUN)
    .where(_RUN.c.id == bindparam("the_run"), _RUN.c.version == bindparam("seen"))
    .values(
        version=_RUN.c.version + 1,
        error="",
        end_reason="",
        children=bindparam("the_children", type_=_RUN.c.children.type),
    )
)
_NUMBER = Prepared(select(func.max(_OUTPUT.c.dropped_by)).where(_OUTPUT.c.run_id == bindparam("the_run")))
_DROP = Prepared(
    update(_OUTPUT)
    .where(
        _OUTPUT.c.run_id == bindparam("the_run"),
        _OUTPUT.c.node_id == bindparam("the_node"),
        _OUTPUT.c.dropped_by == 0,
    )
    .values(dropped_by=bindparam("number"))
)
_DROP_EFFECTS = Prepared(
    update(_EFFECT)
    .where(
        _EFFECT.c.run_id == bindparam("the_run"),
        _EFFECT.c.node_id == bindparam("the_node"),
        _EFFECT.c.dropped_by == 0,
    )
    .values(dropped_by=bindparam("number"), stopped_run=False)
)
_RETIRE = Prepared(
    update(_QUESTION)
    .where(
        _QUESTION.c.run_id == bindparam("the_run"),
        _QUESTION.c.node_id == bindparam("the_node"),
        _QUESTION.c.retired_at.is_(None),
    )
    .values(retired_at=bindparam("at", type_=_QUESTION.c.retired_at.type))
)


@dataclass(frozen=True, slots=True)
class Rewinding:
    """What a rewind saves. ``version`` is the record's as it was claimed; ``retired`` are nodes whose questions go."""

    version: int
    head: Head
    dropped: frozenset[str]
    retired: frozenset[str]
    event: NewEvent
    artifacts: tuple[ArtifactVersion, ...] = ()
    children: Mapping[str, str] = field(default_factory=dict)


class Rewinds:
    """The verb of ``Store.rewinds``."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    def save(self, run_id: str, change: Rewinding) -> None:
        """Save the rewind, whole or not at all. Raises RunConflict when the record is another by now."""
        at = self._clock.now()
        key = {"the_run": run_id}
        with self._database.write_raw() as cursor:
            saved = _SAVE.run(cursor, {**key, "seen": change.version, "the_children": dict(change.children)})
            if saved.rowcount != 1:
                text = f"run {run_id} changed while it was rewound; files of its workspace may already be restored"
                raise RunConflict(text, "look at the run, then rewind it again")
            number = (_NUMBER.run(cursor, key).fetchone()[0] or 0) + 1
            for node in sorted(change.dropped):
                _DROP.run(cursor, {**key, "the_node": node, "number": number})
                _DROP_EFFECTS.run(cursor, {**key, "the_node": node, "number": number})
            for node in sorted(change.retired):
                _RETIRE.run(cursor, {**key, "the_node": node, "at": at})
            batches = [Timed(at, Written(artifacts=change.artifacts, events=(change.event,)))]
            after = writes.advance(cursor, run_id, batches, at, None)
            assert after is not None
            writes.write_rows(cursor, run_id, batches, after)
            writes.put_head(cursor, run_id, change.head, at)
