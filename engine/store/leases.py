"""Leases of a shared store: who owns a run, a board or a daemon's name while its locks cannot be seen (engine.md 12.1).

Used where processes of several hosts share one database; a store of one host has file locks and none of these rows. A
lease ends by the store's own clock, never by a host's. The lease of a run carries the run's epoch, so taking it over is
one transaction that also makes every later write of the old owner change no row. A lease says nothing about processes
that the old owner left behind on its host.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import bindparam, delete, update

from engine.errors import LockHeld
from engine.run import Owner
from engine.states import RunStatus
from engine.store.cursors import Cursor
from engine.store.database import Database
from engine.store.names import table
from engine.store.prepared import Among, Prepared, PreparedRead, inserting_new
from engine.store.records import plain
from engine.store.rows import Row

RUN, BOARD, DAEMON = "run:", "board:", "daemon:"
"""What a resource is: the prefix, then the run's id, the board's name, the daemon's instance."""
FORGOTTEN = timedelta(days=1)
"""How long the row of a daemon that has ended is kept."""

_LEASE, _RUN = table("lease"), table("run")
_ENDS = bindparam("ends", type_=_LEASE.c.expires_at.type)
_AT = bindparam("at", type_=_LEASE.c.expires_at.type)
_MINE = (
    _LEASE.c.resource == bindparam("what"),
    _LEASE.c.holder == bindparam("who"),
    _LEASE.c.epoch == bindparam("nth"),
)
_READ = PreparedRead([*_LEASE.columns], _LEASE.c.resource == bindparam("what"))
_AMONG = Among(_LEASE.columns, _LEASE.c.resource)
_NEW = inserting_new(_LEASE)
_TAKE = Prepared(
    update(_LEASE)
    .where(_LEASE.c.resource == bindparam("what"))
    .values(holder=bindparam("who"), epoch=bindparam("nth"), expires_at=_ENDS)
)
_RENEW = Prepared(update(_LEASE).where(*_MINE, _LEASE.c.expires_at > _AT).values(expires_at=_ENDS))
_END = Prepared(update(_LEASE).where(*_MINE).values(expires_at=_AT))
_DROP = Prepared(delete(_LEASE).where(*_MINE))
_FORGET = Prepared(delete(_LEASE).where(_LEASE.c.resource.like(DAEMON + "%"), _LEASE.c.expires_at < _AT))
_FENCE = Prepared(
    update(_RUN)
    .where(
        _RUN.c.id == bindparam("the_run"), _RUN.c.epoch == bindparam("seen"), _RUN.c.status == str(RunStatus.RUNNING)
    )
    .values(epoch=_RUN.c.epoch + 1, owner=bindparam("the_owner", type_=_RUN.c.owner.type))
)


@dataclass(frozen=True, slots=True)
class Lease:
    """A row as it was seen; ``left`` are seconds by the store's clock, zero or less when it has ended."""

    resource: str
    holder: str
    epoch: int
    left: float

    @property
    def live(self) -> bool:
        """Whether it has not ended."""
        return self.left > 0


def run_lease(run_id: str) -> str:
    """The resource of a run."""
    return RUN + run_id


def holder_of(owner: Owner) -> str:
    """A process in one text, as rows name it."""
    return f"process {owner.pid} of host {owner.host} ({owner.start_ticks} {owner.boot} {owner.instance})"


def store_time(cursor: Cursor, clock: str) -> datetime:
    """The store's own instant; ``clock`` is the driver's statement for it."""
    return datetime.fromisoformat(str(cursor.execute(clock).fetchone()[0])).replace(tzinfo=UTC)


def leased(run_id: str, holder: str, left: float) -> LockHeld:
    """The refusal for a run whose lease is somebody else's; ``left`` in seconds."""
    return LockHeld(
        f"run {run_id} is held by {short(holder)}; its lease ends in {left:.0f} s unless it is renewed",
        f"wait until it has ended; look with: pointsman inspect --run-id {run_id}",
    )


def short(holder: str) -> str:
    """A holder as people read it."""
    return holder.partition(" (")[0]


class Leases:
    """The verbs of ``Store.leases``; ``seconds`` is how long a lease lives, ``heartbeat`` the time between renewals."""

    def __init__(self, database: Database, seconds: float = 60.0, heartbeat: float = 20.0) -> None:
        self._database = database
        self._clock = database.driver.clock
        self.seconds = seconds
        self.heartbeat = heartbeat

    @property
    def used(self) -> bool:
        """Whether owners of this store are told apart by leases; file locks alone do it in a store of one host."""
        return self._database.driver.shared

    def grant(self, cursor: Cursor, run_id: str, owner: Owner, epoch: int) -> None:
        """The lease of a run that is claimed in this very write. Raises LockHeld while somebody else's is live."""
        now = store_time(cursor, self._clock)
        found = self._found(cursor, run_lease(run_id), now)
        if found is not None and found.live and found.holder != holder_of(owner):
            raise leased(run_id, found.holder, found.left)
        if not self._put(cursor, Lease(run_lease(run_id), holder_of(owner), epoch, self.seconds), now, found):
            raise leased(run_id, "another process", self.seconds)

    def hold(self, resource: str, owner: Owner) -> int:
        """Take a lease that is free, has ended, or is ours; its epoch, 0 while somebody else's is live.

        A fresh acquisition has the next epoch, a lease that is held keeps its own. Raises StoreError.
        """
        with self._database.write_raw() as cursor:
            now = store_time(cursor, self._clock)
            found = self._found(cursor, resource, now)
            epoch = 1
            if found is not None:
                if found.live and found.holder != holder_of(owner):
                    return 0
                epoch = found.epoch + (0 if found.live else 1)
            taken = self._put(cursor, Lease(resource, holder_of(owner), epoch, self.seconds), now, found)
        return epoch if taken else 0

    def take_run(self, run_id: str, epoch: int, owner: Owner) -> int:
        """Take a running run over from an owner whose lease has ended: the new epoch, 0 when the run is another by now.

        Run and lease change in one transaction, both under the condition that they are as they were seen; from then on
        no write of the old owner changes a row. Raises LockHeld while a lease is live, StoreError.
        """
        with self._database.write_raw() as cursor:
            if _FENCE.run(cursor, {"the_run": run_id, "seen": epoch, "the_owner": plain(owner)}).rowcount != 1:
                return 0
            now = store_time(cursor, self._clock)
            found = self._found(cursor, run_lease(run_id), now)
            mine = Lease(run_lease(run_id), holder_of(owner), epoch + 1, self.seconds)
            if (found is not None and found.live) or not self._put(cursor, mine, now, found):
                raise leased(run_id, found.holder if found else "another process", self.seconds)
        return epoch + 1

    def renew(self, held: Mapping[str, int], owner: Owner) -> frozenset[str]:
        """Renew these (resource -> epoch) in one commit; those that could not be: ended, or another's by now."""
        lost = set()
        with self._database.write_raw() as cursor:
            now = store_time(cursor, self._clock)
            for resource, epoch in sorted(held.items()):
                values = {**self._mine(resource, epoch, owner), "at": now, "ends": self._end(now)}
                if _RENEW.run(cursor, values).rowcount != 1:
                    lost.add(resource)
        return frozenset(lost)

    def release(self, resource: str, epoch: int, owner: Owner) -> None:
        """Give a lease up. That of a run goes; any other keeps its epoch for the next holder."""
        with self._database.write_raw() as cursor:
            if resource.startswith(RUN):
                _DROP.run(cursor, self._mine(resource, epoch, owner))
            else:
                at = store_time(cursor, self._clock)
                _END.run(cursor, {**self._mine(resource, epoch, owner), "at": at})

    def forget_daemons(self) -> None:
        """Remove the rows of daemons that ended long ago."""
        with self._database.write_raw() as cursor:
            _FORGET.run(cursor, {"at": store_time(cursor, self._clock) - FORGOTTEN})

    def look(self, resources: Iterable[str]) -> dict[str, Lease]:
        """Those that there are, as they stand at one moment."""
        wanted = sorted(set(resources))
        if not wanted:
            return {}
        with self._database.read_raw() as cursor:
            now = store_time(cursor, self._clock)
            return {each.resource: each for each in (_seen(row, now) for row in _AMONG.many(cursor, wanted))}

    def now(self) -> datetime:
        """What the store's clock says."""
        with self._database.read_raw() as cursor:
            return store_time(cursor, self._clock)

    def look_at(self, resource: str) -> Lease | None:
        """One of them."""
        return self.look([resource]).get(resource)

    def still(self, cursor: Cursor, held: Mapping[str, int], owner: Owner) -> str:
        """The first of these that is not ours any more, empty when all are; inside a write, which they fence."""
        now = store_time(cursor, self._clock)
        for resource, epoch in sorted(held.items()):
            found = self._found(cursor, resource, now)
            if found is None or not found.live or (found.holder, found.epoch) != (holder_of(owner), epoch):
                return resource
        return ""

    def _found(self, cursor: Cursor, resource: str, now: datetime) -> Lease | None:
        """The row, locked for the rest of this write."""
        found = _READ.one(cursor, {"what": resource})
        return None if found is None else _seen(found, now)

    def _put(self, cursor: Cursor, lease: Lease, now: datetime, found: Lease | None) -> bool:
        """Write a lease; False when somebody made its row a moment ago, where none was found."""
        if found is None:
            values = {"resource": lease.resource, "holder": lease.holder, "epoch": lease.epoch}
            return _NEW.run(cursor, {**values, "expires_at": self._end(now)}).rowcount == 1
        values = {"what": lease.resource, "who": lease.holder, "nth": lease.epoch}
        _TAKE.run(cursor, {**values, "ends": self._end(now)})
        return True

    def _end(self, now: datetime) -> datetime:
        return now + timedelta(seconds=self.seconds)

    def _mine(self, resource: str, epoch: int, owner: Owner) -> dict[str, object]:
        return {"what": resource, "nth": epoch, "who": holder_of(owner)}


def _seen(values: Mapping[Any, Any], now: datetime) -> Lease:
    row = Row("lease", str(values["resource"]), values)
    left = (row.instant("expires_at") - now).total_seconds()
    return Lease(row.text("resource"), row.text("holder"), row.integer("epoch"), left)
