"""One tick's look at the world: what was read, by whom the cards are held, and the facts that decide.

Filled by the reading phases, asked by the deciding ones. Everything here is read once per tick and for all cards at
once; an idle card costs no query of its own (performance: goal 5).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, TypeVar, cast

from config.settings import ColumnSettings
from connectors.card import BoardEventType, Card, Column, Mover, MoverKind
from connectors.deadline import Deadline, within
from connectors.fields import FieldSpec
from connectors.limiter.state import Standing
from connectors.queries import present_name
from dispatcher.candidate import DaemonFacts
from dispatcher.ledger.records import Key, Link, Park, Snapshot
from dispatcher.policy import Decision, Found, Life
from dispatcher.reasons import park_cause
from dispatcher.slots import Work
from dispatcher.station import Station
from engine.errors import StoreError
from engine.run import RunRecord
from engine.store.changes import Listing

T = TypeVar("T")
HARDLY = 0.02
"""Seconds that are too few for another request."""
Gauges = Mapping[str, Mapping[tuple[str, ...], float]]
"""By name of a metric: its values by label values, in the order of the table."""


class Decided(NamedTuple):
    """One decision about one card, as the report and the JSON document show it."""

    key: Key
    number: int
    decision: Decision


@dataclass(slots=True)
class BoardRead:
    """What reading one board gave in this tick."""

    name: str
    columns: tuple[Column, ...] = ()
    complete: bool = False
    error: str = ""
    late: bool = False
    """Whether it could not be read because it took longer than ``tick.board_deadline``."""
    partial: Mapping[str, object] | None = None
    degraded: str = ""
    """Why nothing may start from it, though it was read."""
    credential: Standing | None = None
    """How the credential of a forge's board stands."""
    standby: Mapping[str, object] | None = None
    """Who leads it, when that is another daemon: then nothing of it is read or touched here."""
    counts: Mapping[str, int] = field(default_factory=dict)
    eligible: frozenset[str] = field(init=False)
    """The columns that cards are picked from."""
    terminal: frozenset[str] = field(init=False)
    """The columns in which work is over."""

    def __post_init__(self) -> None:
        self.eligible = frozenset(column.name for column in self.columns if column.eligible)
        self.terminal = frozenset(column.name for column in self.columns if column.terminal)

    def called(self, name: str) -> str:
        """The present name of the column that has this name or had it; a name that no column has stays."""
        return present_name(self.columns, name)

    def names(self, name: str) -> tuple[str, ...]:
        """Every name that this column has or had."""
        present = self.called(name)
        return next(((each.name, *each.aliases) for each in self.columns if each.name == present), (name,))


@dataclass(frozen=True, slots=True)
class Alive:
    """Who lives behind a running record, and what its reason's text says of it."""

    life: Life
    texts: Mapping[str, object] = field(default_factory=dict)


@dataclass(slots=True)
class World:
    """The state of one tick; made by its first phase, thrown away after its last."""

    station: Station
    now: datetime
    dry: bool = False
    pick: bool = True
    snapshot: Snapshot = field(default_factory=Snapshot)
    daemon: DaemonFacts = field(default_factory=DaemonFacts)
    reads: dict[str, BoardRead] = field(default_factory=dict)
    cards: dict[Key, Card] = field(default_factory=dict)
    gone: dict[Key, str] = field(default_factory=dict)
    listed: set[Key] = field(default_factory=set)
    links: dict[Key, Link] = field(default_factory=dict)
    runs: dict[str, RunRecord] = field(default_factory=dict)
    found: dict[str, tuple[Found, str]] = field(default_factory=dict)
    alive: dict[str, Alive] = field(default_factory=dict)
    settled: set[tuple[str, int]] = field(default_factory=set)
    waiting_to_settle: dict[Key, Mapping[str, object]] = field(default_factory=dict)
    decided: list[Decided] = field(default_factory=list)
    held: dict[Key, Decision] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    started: list[Key] = field(default_factory=list)
    planned: list[Work] = field(default_factory=list)
    """What a dry tick would have started by now: it counts as the daemon's own starts do."""
    actionable: int = 0
    wrote: bool = False
    state: Mapping[str, object] = field(default_factory=dict)
    gauges: Gauges = field(default_factory=dict)
    shared: set[Key] = field(default_factory=set)
    """Cards of shared boards whose claim on the forge this tick looked after already."""
    errors: dict[Key, str] = field(default_factory=dict)
    bots: dict[str, Path | None] = field(default_factory=dict)
    answered: frozenset[str] | None = None
    living: frozenset[str] = frozenset()
    """The daemons of a shared store whose leases are live."""
    cycles: Mapping[Key, tuple[Key, ...]] | None = None
    renamed: dict[str, ColumnSettings] = field(default_factory=dict)
    spent: dict[str, float] = field(default_factory=dict)
    """Seconds that reading each board took so far."""
    ends: dict[str, Deadline] = field(default_factory=dict)
    """When the last piece of reading each board had to end."""
    careful: Callable[[World, Key, Callable[[], None]], None] = lambda _world, _key, work: work()
    mark: Callable[[], None] = lambda: None
    """Hears that the tick got on: a board was read, a card was dealt with (dispatcher.md 32)."""

    @contextmanager
    def in_time(self, board: str, *, single: bool = False) -> Iterator[None]:
        """Read the board: all of it in this tick takes no longer than ``tick.board_deadline``.

        Of single cards only what came to nothing counts: many that answer are no hanging board.
        """
        clock, before = self.station.clock, self.spent.get(board, 0.0)
        begun, left = clock.monotonic(), self.station.settings.tick.board_deadline - before
        end = self.ends[board] = Deadline.after(clock, left)
        answered = False
        try:
            with within(end):
                yield
            answered = True
        finally:
            if not (single and answered):
                self.spent[board] = before + clock.monotonic() - begun

    def is_late(self, board: str) -> bool:
        """Whether reading the board has taken all the time that there is for it in this tick."""
        return board in self.ends and self.ends[board].remaining() <= HARDLY

    def note(self, key: Key, number: int, decision: Decision) -> None:
        """Keep a decision for the report."""
        self.decided.append(Decided(key, number, decision))
        self.counts[decision.action.value] += 1

    def find_bot(self, name: str) -> Path | None:
        """Where the bot of that name lies; the catalogue is looked through once per tick and name."""
        if name not in self.bots:
            self.bots[name] = self.station.find_bot(name)
        return self.bots[name]

    def unchanged(self, what: str, about: object, ask: Callable[[], T]) -> T:
        """The answer of ``ask`` about the store, from memory while nobody committed anything since it was asked.

        One answer is kept per ``what``, with what it is ``about``. It is shared between ticks: nobody changes it.
        """
        version = self.station.store.database.version()
        if version is None:
            return ask()
        answers = self.station.memory.answers_at(version)
        known = answers.get(what)
        if known is None or known[0] != about:
            known = answers[what] = (about, ask())
        return cast(T, known[1])

    @property
    def standby(self) -> frozenset[str]:
        """The boards that another daemon leads."""
        return frozenset(name for name, read in self.reads.items() if read.standby)

    def link(self, key: Key) -> Link | None:
        """The card's link, as this tick knows it."""
        return self.links.get(key)

    def refresh(self) -> None:
        """Read the ledger again, after a phase that wrote to it."""
        self.snapshot = self.station.ledger.snapshot().without(self.standby)
        self.links.update(self.snapshot.links)
        self.wrote = False

    def know_links(self, keys: Collection[Key]) -> None:
        """Read the links of those cards that are not known yet."""
        missing = frozenset(key for key in keys if key not in self.links)
        if missing:
            links = self.station.ledger.links
            self.links.update(self.unchanged("links", missing, lambda: links(missing)))

    def know_runs(self, run_ids: Iterable[str]) -> None:
        """Read the records of those runs that are not known yet; each lands in one kind of ``Found``."""
        missing = frozenset(run_id for run_id in run_ids if run_id and run_id not in self.found)
        if not missing:
            return
        try:
            listing, closed = self.unchanged("runs", missing, lambda: self._read_runs(missing))
        except StoreError as error:
            self.found.update(dict.fromkeys(missing, (Found.UNREADABLE, error.message)))
            return
        for record in listing.records:
            self.know(record)
        for broken in listing.unreadable:
            self.found[broken.id] = (Found.UNREADABLE, broken.message)
        for run_id in missing - set(self.found):
            self.found[run_id] = (Found.ABSENT, "")
        self.settled |= closed

    def _read_runs(self, run_ids: Collection[str]) -> tuple[Listing, frozenset[tuple[str, int]]]:
        """Those of the runs that there are, and the outcomes of any that were carried onto their card."""
        return self.station.store.runs.get_many(run_ids), self.station.ledger.closed_outcomes(run_ids)

    def is_answered(self, run_id: str) -> bool:
        """Whether answers to the paused run's question are recorded; all parked runs are looked at in one go."""
        parked = {park.run_id for park in self.snapshot.parks.values()}
        if self.answered is None:
            ask = self.station.store.interactions.with_answers
            self.answered = self.unchanged("answered", parked, lambda: ask(parked))
        perhaps = run_id in self.answered or run_id not in parked
        return perhaps and self.station.engine.answered(run_id)

    def know(self, record: RunRecord) -> None:
        """Take a record as the present one of its run."""
        self.runs[record.id] = record
        self.found[record.id] = (Found.PRESENT, "")

    def forget(self, run_id: str) -> None:
        """The record changed: the next look reads it again."""
        self.runs.pop(run_id, None)
        self.found.pop(run_id, None)
        self.alive.pop(run_id, None)

    def is_settled(self, record: RunRecord) -> bool:
        """Whether the record's newest outcome was carried onto its card."""
        return (record.id, record.outcome_sequence) in self.settled

    def roles(self, board: str) -> ColumnSettings:
        """The columns of the roles as the board calls them now: the configuration may still say an earlier name."""
        columns, read = self.station.settings.columns, self.columns_of(board)
        known = self.renamed.get(board)
        if known is None:
            told = {role: read.called(name) for role, name in columns.model_dump().items() if name}
            known = self.renamed[board] = columns.model_copy(update=told)
        return known

    def fields_of(self, board: str) -> frozenset[str]:
        """The fields that the board declares; none where it takes any."""
        declared = getattr(self.station.boards.get(board), "fields", None)
        if declared is None:
            return frozenset()
        specs: tuple[FieldSpec, ...] = self.unchanged(f"fields of {board}", None, declared)
        return frozenset(spec.name for spec in specs)

    def at_work(self) -> tuple[Work, ...]:
        """Everything under way, and what a dry tick would have started."""
        return (*self.station.slots.executing(), *self.planned)

    def columns_of(self, board: str) -> BoardRead:
        """The board's columns as this tick read them; a board that is gone has none."""
        return self.reads.get(board) or BoardRead(board)

    def park_of(self, key: Key) -> Park | None:
        """The card's open park, read anew: settling may have made it a moment ago."""
        return self.station.ledger.snapshot().parks.get(key)

    def tell(self, key: Key, event: BoardEventType, data: Mapping[str, object]) -> None:
        """Write an event into the board's history, where it keeps one."""
        board = self.station.boards.get(key[0])
        record = getattr(board, "record", None)
        if record is not None:
            mover = Mover(MoverKind.DISPATCHER, self.station.settings.name)
            record(key[1], event, mover, dict(data))


def cause_of(park: Park) -> str:
    """Why the card is parked, in one word."""
    return park_cause(park.reason, park_texts(park))


def park_texts(park: Park) -> Mapping[str, object]:
    """The facts that fill a park's text."""
    return _decoded(park.facts)


@lru_cache(maxsize=4096)
def _decoded(facts: str) -> Mapping[str, object]:
    """A tick asks several times for each parked card, and the next one asks the same."""
    told = json.loads(facts)
    return MappingProxyType(told) if isinstance(told, dict) else {}
