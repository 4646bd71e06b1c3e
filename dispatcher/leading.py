"""Who leads a board when several daemons share one store: a lease per board, and one per daemon (dispatcher.md 9).

Asked by the first phase of a tick, which leaves alone every board that another daemon leads. In a store of one host the
instance lock has decided already: every board is led and nothing is written. Whatever a tick writes is refused by the
store once one of the leases that it began with is another's (``fencing``). Runs carry leases of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from dispatcher import log
from dispatcher.ledger.fence import still_claimed
from dispatcher.ledger.records import Key
from dispatcher.metrics import Tally
from dispatcher.reasons import Facts
from engine.errors import LeaseLost
from engine.runtime.ownership import LeaseKeeper
from engine.store.cursors import Cursor
from engine.store.leases import BOARD, DAEMON, Lease, short

_log = log.get(__name__)


class Fenced(Protocol):
    """What the leadership needs of the store's database."""

    def fenced(self, check: Callable[[Cursor], None]) -> AbstractContextManager[None]:
        """Every write of this thread inside begins with the check."""
        ...


@dataclass(frozen=True, slots=True)
class Standing:
    """Which boards are another daemon's, with the facts of ``board_standby``, and whether one became ours just now."""

    standby: Mapping[str, Facts] = field(default_factory=dict)
    gained: bool = False


@dataclass(slots=True)
class Fence:
    """What stands before the writes of a start, until the run that it started answers for itself."""

    lifted: bool = False

    def lift(self) -> None:
        """From now on the run's own epoch is the fence."""
        self.lifted = True


class Leadership:
    """The leases of one daemon. ``lead`` and ``fencing`` belong to the thread that ticks."""

    def __init__(self, keeper: LeaseKeeper, database: Fenced, tally: Tally) -> None:
        self._keeper = keeper
        self._database = database
        self._tally = tally
        self._began: Mapping[str, int] = {}
        self._counted = (0, 0)

    @property
    def shared(self) -> bool:
        """Whether other daemons may work on this store."""
        return self._keeper.leases.used

    def lead(self, boards: Collection[str], now: datetime) -> Standing:
        """Take or keep the boards that nobody else leads. Raises StoreError."""
        if not self.shared:
            return Standing()
        self._count()
        self._take(DAEMON + self._keeper.owner.instance)
        held = self._keeper.held()
        gained = [name for name in boards if BOARD + name not in held and self._take(BOARD + name)]
        for name in gained:
            _log.info("board.led", board=name)
        held = self._keeper.held()
        self._began = {resource: epoch for resource, epoch in held.items() if resource.startswith((BOARD, DAEMON))}
        others = [name for name in boards if BOARD + name not in held]
        seen = self._keeper.leases.look(BOARD + name for name in others)
        standby = {name: _facts(name, seen.get(BOARD + name), now) for name in others}
        return Standing(standby, bool(gained))

    def living(self, instances: Collection[str]) -> frozenset[str]:
        """Those daemons whose lease is live; where no leases are, nothing is said about anybody."""
        seen = self._keeper.leases.look(DAEMON + each for each in instances)
        return frozenset(resource.removeprefix(DAEMON) for resource, lease in seen.items() if lease.live)

    @contextmanager
    def fencing(self) -> Iterator[None]:
        """Whatever this thread writes inside is refused with LeaseLost once a lease that ``lead`` saw is not ours."""
        if not self.shared:
            yield
            return
        self._began = {}
        with self._database.fenced(self._check):
            yield

    @contextmanager
    def fencing_claim(self, key: Key, epoch: int) -> Iterator[Fence]:
        """Whatever this thread writes inside is refused once the card's claim is another's; ``lift`` ends that."""
        fence = Fence()
        if not self.shared:
            yield fence
            return

        def check(cursor: Cursor) -> None:
            if not fence.lifted and not still_claimed(cursor, key, epoch):
                raise LeaseLost(
                    f"the claim on card {key[1]} is another daemon's by now", "nothing of it is written here"
                )

        with self._database.fenced(check):
            yield fence

    def give_up(self) -> None:
        """The daemon ends: others need not wait."""
        for resource in self._keeper.held():
            if resource.startswith((BOARD, DAEMON)):
                self._keeper.drop(resource)

    def _take(self, resource: str) -> bool:
        if resource in self._keeper.held():
            return True
        epoch = self._keeper.leases.hold(resource, self._keeper.owner)
        if epoch:
            self._keeper.keep(resource, epoch, self._lost)
            if resource.startswith(DAEMON):
                self._keeper.leases.forget_daemons()
        return bool(epoch)

    def _check(self, cursor: Cursor) -> None:
        began = self._began
        lost = self._keeper.leases.still(cursor, began, self._keeper.owner) if began else ""
        if lost:
            hint = "nothing of this tick is written any more; the next one looks who leads"
            raise LeaseLost(f"the lease {lost} is another daemon's by now, or was not renewed in time", hint)

    def _lost(self, resource: str) -> None:
        kind, _, name = resource.partition(":")
        self._tally.count("pointsman_claims_lost_total", cause="lease")
        _log.warning("claim.lost", cause="lease", **({"board": name} if kind == "board" else {"instance": name}))

    def _count(self) -> None:
        """Carry the keeper's renewals over to the metrics."""
        now = (self._keeper.renewals, self._keeper.failures)
        for result, total, before in zip(("ok", "failed"), now, self._counted, strict=True):
            if total > before:
                self._tally.count("pointsman_lease_renewals_total", total - before, result=result)
        self._counted = now


def _facts(name: str, lease: Lease | None, now: datetime) -> Facts:
    until = (now + timedelta(seconds=lease.left if lease else 0.0)).isoformat(timespec="seconds").replace("+00:00", "Z")
    return {"board": name, "until": until, "holder": short(lease.holder) if lease else "another daemon"}
