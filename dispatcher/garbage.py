"""Which old runs may go: a pure decision over what was read, and the sweep that deletes them one by one.

Called by ``pointsman gc``. A run that a card still needs is never taken: were it gone, the card would start afresh
where it should hold or go on (engine.md 13.2). Each deletion takes the run's lock, so that a run which somebody
resumes meanwhile stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime

from engine.errors import EngineError
from engine.run import RunRecord
from engine.states import is_ended, is_final

PARENT = "a run that may still be resumed started it"


@dataclass(frozen=True, slots=True)
class Readings:
    """What the decision is about. ``needed`` names by run why somebody needs it; ``statuses`` those of parents."""

    records: Iterable[RunRecord]
    needed: Mapping[str, str]
    statuses: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sweep:
    """What goes, oldest first, and by run why others that are old enough stay."""

    old: tuple[RunRecord, ...]
    kept: Mapping[str, str]


def plan(read: Readings, before: datetime) -> Sweep:
    """The runs that ended before that instant and that nobody needs."""
    old = {
        each.id: each
        for each in sorted(read.records, key=lambda each: (each.created_at, each.id))
        if is_ended(each.status) and each.finished_at is not None and each.finished_at < before
    }
    kept = {run_id: read.needed[run_id] for run_id in old if run_id in read.needed}
    while held := [each.id for each in old.values() if each.id not in kept and _held(each, read, old.keys() - kept)]:
        kept |= dict.fromkeys(held, PARENT)
    return Sweep(tuple(each for each in old.values() if each.id not in kept), kept)


def _held(record: RunRecord, read: Readings, going: AbstractSet[str]) -> bool:
    """Whether the run's parent stays and may still be resumed."""
    status = read.statuses.get(record.parent_id, "")
    return bool(status) and record.parent_id not in going and not is_final(status)


def sweep(planned: Sweep, delete: Callable[[str], None]) -> Sweep:
    """Delete what was planned; a run that cannot go any more, or not now, is kept with the reason."""
    done: list[RunRecord] = []
    kept = dict(planned.kept)
    for record in planned.old:
        try:
            delete(record.id)
        except EngineError as error:
            kept[record.id] = error.message
        else:
            done.append(record)
    return Sweep(tuple(done), kept)
