"""The moments between two steps of the product at which the world may interfere: crash points, phases, commits, calls.

Every seam of a tick has a number; a history says what happens at which. What cannot happen inside a transaction waits
for the next seam outside of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from enum import Enum
from typing import Any, NoReturn

from sqlalchemy import Connection

from connectors.base import Absent, Listing, Lookup, Move, Moved, Refused
from connectors.card import Card, Comment, Mover
from connectors.errors import Unreachable
from connectors.memory.board import MemoryBoard
from dispatcher.crashpoints import CrashPoints
from engine.errors import StoreFull
from engine.store.cursors import Cursor
from engine.store.database import Database, take_sequence


class Crashed(BaseException):
    """The process is gone: nothing that it would have done next happens."""


class Where(Enum):
    """What surrounds a seam."""

    FREE = "free"
    COMMIT = "commit"
    """Inside a write transaction, right before its commit."""
    CALL = "call"
    """Around a call of the board."""


class Fault(Enum):
    """What a seam itself may do; anything else is a deed of somebody."""

    CRASH = "crash"
    REFUSE = "refuse"
    """The store refuses the next commit."""
    BOARD = "board fails"
    """The next call of the board fails; behind a call this is a lost answer."""


Deed = Callable[[], None]


class Seams:
    """Counts the seams of one tick and does what was planned for them."""

    def __init__(self) -> None:
        self.faults = 0
        self.quiet = False
        self.dying = False
        """A process has just been killed: whatever its unwinding code still wants to write does not happen."""
        self.elsewhere: Callable[[], AbstractContextManager[None]] = nullcontext
        self.arm({})

    def arm(self, planned: Mapping[int, Fault | Deed]) -> None:
        """Begin a tick: what happens at which seam."""
        self._planned, self._count = planned, 0
        self._waiting: list[Fault | Deed] = []

    def paused(self) -> AbstractContextManager[None]:
        """Somebody else works: his steps are no seams."""
        return _Paused(self)

    def die(self) -> NoReturn:
        """The process that executes is gone from here on, until ``dying`` is taken back by whoever buries it."""
        self.dying = True
        raise Crashed

    def passed(self, where: Where = Where.FREE) -> None:
        """One more seam lies behind us."""
        if self.quiet:
            return
        planned = self._planned.get(self._count)
        self._count += 1
        if planned is not None:
            self._waiting.append(planned)
        if self._waiting:
            self._happen(where)

    def phase(self, _name: str) -> None:
        """A phase of a tick begins."""
        self.passed()

    def _happen(self, where: Where) -> None:
        for each in list(self._waiting):
            if each is Fault.CRASH:
                self._waiting.clear()
                self.faults += 1
                self.die()
            if isinstance(each, Fault):
                self._fail(each, where)
            elif where is Where.FREE:
                self._waiting.remove(each)
                with self.paused(), self.elsewhere():
                    each()

    def _fail(self, fault: Fault, where: Where) -> None:
        if fault is Fault.REFUSE and where is Where.COMMIT:
            self._waiting.remove(fault)
            self.faults += 1
            raise StoreFull("the disk is full")
        if fault is Fault.BOARD and where is Where.CALL:
            self._waiting.remove(fault)
            self.faults += 1
            raise Unreachable("the board does not answer")


class _Paused:
    """Seams that are quiet for a while."""

    __slots__ = ("_before", "_seams")

    def __init__(self, seams: Seams) -> None:
        self._seams, self._before = seams, seams.quiet

    def __enter__(self) -> None:
        self._seams.quiet = True

    def __exit__(self, *_how: object) -> None:
        self._seams.quiet = self._before


class SimulatedCrashPoints(CrashPoints):
    """The product's own crash points are seams."""

    def __init__(self, seams: Seams) -> None:
        super().__init__()
        self._seams = seams

    def passed(self, point: str) -> None:
        """A point of a start or of a settlement."""
        del point
        self._seams.passed()


class _Moment:
    """Reads of one moment: nobody writes meanwhile, so that no transaction is needed to keep it."""

    __slots__ = ("_cursor", "_database")

    def __init__(self, database: SimulatedDatabase, cursor: Any) -> None:
        self._database, self._cursor = database, cursor

    def __enter__(self) -> Cursor:
        self._database.moments += 1
        cursor: Cursor = self._cursor
        return cursor

    def __exit__(self, *_how: object) -> None:
        self._database.moments -= 1
        self._cursor.close()


STORE_TIME = "simulated_time"
"""A function of the store's SQL."""


class SimulatedDatabase(Database):
    """The real store; before and behind each commit is a seam. One thread uses it, so one reader is kept open."""

    seams = Seams()
    time: Callable[[], str] = staticmethod(lambda: "")
    """What the store's own clock says."""
    _reader: Any = None
    _unseen = 0
    moments = 0
    """Reads that are under way."""

    def _connect(self) -> None:
        super()._connect()
        self._raw.create_function(STORE_TIME, 0, self._told)

    def _told(self) -> str:
        return self.time()

    def read_raw(self) -> AbstractContextManager[Cursor]:
        """As in the product, without a pool: a connection that cannot write, and one moment per read."""
        if self._mine() is not None:
            return super().read_raw()
        if self._reader is None:
            self._reader = self._read_engine.raw_connection()
            self._reader.dbapi_connection.create_function(STORE_TIME, 0, self._told)
        return _Moment(self, self._reader.dbapi_connection.cursor())

    def version(self) -> int | None:
        """As in the product; nobody else commits here, so what this connection changed says it without a statement."""
        return None if self._mine() is not None else int(self._raw.total_changes) - self._unseen

    @contextmanager
    def unseen(self) -> Iterator[None]:
        """Leases are renewed inside, of which nobody remembers an answer: as if nobody had committed anything."""
        before = self._raw.total_changes
        yield
        self._unseen += self._raw.total_changes - before

    def close(self) -> None:
        """As in the product."""
        if self._reader is not None:
            self._reader.close()
        super().close()

    @contextmanager
    def elsewhere(self) -> Iterator[None]:
        """What happens inside is another thread's: the fence of this one does not stand before its writes."""
        check = getattr(self._fence, "check", None)
        self._fence.check = None
        try:
            yield
        finally:
            self._fence.check = check

    def begin_turn(self) -> None:
        """As in the product."""
        assert not self.moments, "a write inside a read would not see what the product's sees"
        super().begin_turn()

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """As in the product; the commit may be refused, or the process may die before or behind it."""
        joined = self._mine() is not None
        if self.seams.dying:
            raise Crashed
        with super().write() as connection:
            yield connection
            if not joined:
                self.seams.passed(Where.COMMIT)
        if not joined:
            self.seams.passed()

    @contextmanager
    def write_raw(self) -> Iterator[Cursor]:
        """As ``write``."""
        joined = self._mine() is not None
        if self.seams.dying:
            raise Crashed
        with super().write_raw() as cursor:
            yield cursor
            if not joined:
                self.seams.passed(Where.COMMIT)
        if not joined:
            self.seams.passed()


class SimulatedBoard(MemoryBoard):
    """The memory board with the store's own counter; before and behind each call is a seam."""

    def __init__(self, plain: MemoryBoard, database: SimulatedDatabase, seams: Seams) -> None:
        super().__init__(plain.name, plain.columns(), plain._clock, plain._ids)
        self._database, self._seams = database, seams
        self.moved: Callable[[Card, Move, Card], None] = lambda _before, _move, _after: None

    def _next_sequence(self) -> int:
        with self._seams.paused(), self._database.write_raw() as cursor:
            return take_sequence(cursor)

    def list_cards(self, columns: object) -> Listing:
        """As the board."""
        self._seams.passed(Where.CALL)
        found = super().list_cards(columns)  # type: ignore[arg-type]
        self._seams.passed(Where.CALL)
        return found

    def get(self, card_id: str) -> Card | Absent:
        """As the board."""
        self._seams.passed(Where.CALL)
        found = super().get(card_id)
        self._seams.passed(Where.CALL)
        return found

    def get_many(self, card_ids: object) -> Lookup:
        """As the board."""
        self._seams.passed(Where.CALL)
        return super().get_many(card_ids)  # type: ignore[arg-type]

    def move(self, card_id: str, move: Move) -> Moved | Refused | Absent:
        """As the board; behind it the answer may be lost."""
        self._seams.passed(Where.CALL)
        before = self._cards.get(card_id)
        answer = super().move(card_id, move)
        if isinstance(answer, Moved) and answer.changed and before is not None:
            self.moved(before, move, answer.card)
        self._seams.passed(Where.CALL)
        return answer

    def comment(self, card_id: str, text: str, author: Mover) -> Comment:
        """As the board; behind it the answer may be lost."""
        self._seams.passed(Where.CALL)
        made = super().comment(card_id, text, author)
        self._seams.passed(Where.CALL)
        return made
