"""Boards that answer badly, and what follows an outcome on the run's timeline (engine.md 4.5, 13.3)."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from connectors.answer import StopReason
from connectors.base import Absent, Listing, Lookup, Move, Moved, Refused
from connectors.card import Card, MoverKind
from connectors.errors import ForgeRefused
from connectors.native.board import NativeBoard
from engine.failures import FailureCode
from engine.states import RunStatus
from tests.kit.clock import FakeClock
from tests.kit.yard import ASKS, HEAD, Yard, tool, waits

DECLARED = f"""{HEAD}compute work:
  expr:
    x: "1"

fail refuse:
  code: NOT_TODAY
  message: "come back"
  resumable: true

workflow work:
  entry: work
  work -> refuse
"""


class Moody(NativeBoard):
    """The native board behind a forge that fails in the ways that a test sets. It is read anew at every tick."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._revisions = itertools.count(1)
        self.half = self.deaf = self.stubborn = False
        self.changes: Mapping[str, Mapping[str, Any]] = {}
        self.moves = 0
        self.meanwhile: Callable[[], None] = lambda: None
        """Happens before cards are read by their ids."""

    def revision(self) -> int:
        """Another one each time."""
        return next(self._revisions)

    def list_cards(self, columns: Collection[str] | None) -> Listing:
        """``half`` of a listing when its second page fails."""
        found = super().list_cards(columns)
        found = replace(found, cards=tuple(map(self._seen, found.cards)))
        if not self.half:
            return found
        return replace(found, cards=found.cards[:1], complete=False, stopped=StopReason.PAGE_FAILED, why="page 2: 502")

    def get(self, card_id: str) -> Card | Absent:
        """One card."""
        if self.deaf:
            raise ForgeRefused("502 Bad Gateway")
        found = super().get(card_id)
        return found if isinstance(found, Absent) else self._seen(found)

    def get_many(self, card_ids: Collection[str]) -> Lookup:
        """Cards by id; ``deaf`` hears of none."""
        self.meanwhile()
        if self.deaf:
            return Lookup(unread=dict.fromkeys(card_ids, "502 Bad Gateway"))
        found = super().get_many(card_ids)
        return replace(found, found={each: self._seen(card) for each, card in found.found.items()})

    def move(self, card_id: str, move: Move) -> Moved | Refused | Absent:
        """``stubborn`` takes none."""
        self.moves += 1
        if self.stubborn:
            raise ForgeRefused("403 Forbidden")
        return super().move(card_id, move)

    def _seen(self, card: Card) -> Card:
        return replace(card, **self.changes.get(card.id, {}))


@pytest.fixture
def yard(tmp_path: Path, clock: FakeClock) -> Iterator[Yard]:
    made = Yard(tmp_path, clock)
    yield made
    (tmp_path / "go").touch()
    moody(made).half = moody(made).deaf = False
    made.close()


def moody(yard: Yard) -> Moody:
    """The yard's board, made moody the first time."""
    boards, used = yard.wiring.boards, yard.daemon.station.boards
    assert isinstance(boards, dict)
    assert isinstance(used, dict)
    if not isinstance(boards["native"], Moody):
        boards["native"] = used["native"] = Moody("native", yard.wiring.database, yard.clock, yard.wiring.ids)
    made = boards["native"]
    assert isinstance(made, Moody)
    return made


def test_a_listing_whose_second_page_fails_starts_nothing_and_touches_no_running_work(yard: Yard) -> None:
    """R456."""
    board = moody(yard)
    yard.bot(waits(yard.folder))
    working = yard.make("working")
    yard.tick(wait=False)
    yard.until("started")
    others = [yard.make(f"new {n}") for n in range(3)]
    board.half = True
    yard.tick(3, wait=False)
    assert [yard.view(card).last_run for card in others] == [""] * 3
    assert yard.run(working).status == RunStatus.RUNNING
    assert {yard.reason(card) for card in others} <= {"board_partial", ""}
    board.half = False
    (yard.folder / "go").touch()
    yard.join()
    yard.settled(3)
    assert [yard.column(card) for card in (working, *others)] == ["review"] * 4


def test_a_running_card_that_cannot_be_read_has_not_vanished(yard: Yard) -> None:
    """R457: the run goes on and its card settles when it can be read again."""
    board = moody(yard)
    yard.bot(waits(yard.folder))
    card = yard.make()
    yard.tick(wait=False)
    yard.until("started")
    board.deaf = board.half = True
    yard.tick(3, wait=False)
    assert yard.run(card).status == RunStatus.RUNNING
    (yard.folder / "go").touch()
    yard.join()
    yard.tick(2)
    assert yard.run(card).status == RunStatus.FINISHED
    board.deaf = board.half = False
    yard.settled(2)
    assert (yard.column(card), len(yard.runs())) == ("review", 1)


def test_labels_that_contradict_each_other_hold_the_card_once(yard: Yard, clock: FakeClock) -> None:
    """R458: one hold with both names, from the first tick on; nothing starts."""
    board = moody(yard)
    card = yard.make()
    board.changes = {card: {"column": None, "columns_seen": ("ready", "backlog")}}
    yard.tick()
    first = yard.view(card).idle
    clock.advance(60)
    yard.tick(3)
    idle = yard.view(card).idle
    assert idle is not None
    assert idle == first
    assert (idle.code, "ready" in idle.text, "backlog" in idle.text) == ("column_contradictory", True, True)
    assert yard.runs() == ()


def test_a_move_that_the_forge_refuses_stays_pending_and_keeps_the_card(yard: Yard, clock: FakeClock) -> None:
    """R452: tried again with pauses, told, and no fresh run in the meantime."""
    board = moody(yard)
    yard.bot(waits(yard.folder))
    card = yard.make()
    yard.tick(wait=False)
    yard.until("started")
    yard.wiring.engine.cancel(yard.view(card).last_run, "enough")
    yard.join()
    board.stubborn = True
    before = board.moves
    for _ in range(5):
        yard.tick()
        clock.advance(60)
    assert board.moves > before + 1
    assert (yard.reason(card), yard.column(card)) == ("move_pending", "in_progress")
    board.stubborn = False
    clock.advance(600)
    yard.tick(2)
    assert (yard.column(card), len(yard.runs())) == ("backlog", 1)


def test_a_forge_whose_clock_is_ahead_makes_no_gesture_of_an_earlier_move(yard: Yard, clock: FakeClock) -> None:
    """R460: the recorded order decides; a move before the end starts nothing, whatever its time says."""
    board = moody(yard)
    card = yard.make()
    yard.tick()
    yard.move(card, "ready")
    board.changes = {card: {"column_since": clock.now() + timedelta(minutes=10), "column_by": MoverKind.PERSON}}
    yard.bot(tool(f"echo again >> {yard.folder}/trace"))
    moved = yard.card(card).column_sequence
    with yard.wiring.database.write() as connection:
        connection.exec_driver_sql("UPDATE run SET outcome_sequence = ?", (moved + 1,))
    yard.tick(4)
    assert len(yard.runs()) == 1
    assert not (yard.folder / "trace").exists()


def test_a_code_that_the_graph_declares_parks_with_the_code(yard: Yard) -> None:
    """R448: never resumed by the ladder; one skip on the timeline."""
    yard.bot(DECLARED)
    card = yard.make()
    yard.settled(3)
    idle = yard.view(card).idle
    assert idle is not None
    assert (idle.code, "NOT_TODAY" in idle.text, yard.column(card)) == ("parked_deliberate", True, "awaiting_input")
    skips = yard.events(card, "run_retry_skipped")
    assert [(event.data["reason"], event.data["code"]) for event in skips] == [("deliberate", "NOT_TODAY")]
    assert not yard.events(card, "run_retry_scheduled")


def test_an_armed_retry_is_told_once_with_all_its_facts(yard: Yard, clock: FakeClock) -> None:
    """R098: code, reason, when, which attempt of how many."""
    yard.bot(tool("exit 3"))
    card = yard.make()
    yard.settled(4)
    assert [event.data for event in yard.events(card, "run_retry_scheduled")] == [
        {
            "code": FailureCode.EXECUTION_FAILED,
            "reason": "transient",
            "retry_after": "2026-01-01T00:00:10.000Z",
            "attempt": 2,
            "max_attempts": 3,
            "reset_source": "",
        }
    ]
    clock.advance(60)
    yard.settled(2)
    assert [event.data["attempt"] for event in yard.events(card, "run_retry_scheduled")] == [2, 3]


def test_a_resume_by_hand_disarms_the_retry(yard: Yard, clock: FakeClock) -> None:
    """R379: both stay on the timeline; the due time passes without another attempt."""
    yard.bot(tool(f"echo x >> {yard.folder}/trace; [ -e {yard.folder}/ok ]"))
    card = yard.make()
    yard.settled()
    assert ("native", card) in yard.ledger().retries
    (yard.folder / "ok").touch()
    assert yard.resume(card).status == RunStatus.FINISHED
    clock.advance(600)
    yard.settled(2)
    assert not yard.ledger().retries
    assert (yard.folder / "trace").read_text().split() == ["x", "x"]
    assert (len(yard.events(card, "run_retry_scheduled")), len(yard.events(card, "run_resumed"))) == (1, 1)
    assert yard.column(card) == "review"


@pytest.mark.parametrize("again", ["while it works", "when it ended"])
def test_a_card_whose_way_back_to_work_the_board_did_not_take_gets_there_later(
    yard: Yard, clock: FakeClock, again: str
) -> None:
    """11: its run was resumed by hand while the board took no move; a retry finds it in the running column."""
    board, folder = moody(yard), yard.folder
    work = f"touch {folder}/started; until [ -e {folder}/go ]; do sleep 0.02; done; exit 3"
    yard.bot(ASKS.replace("`true`", f"`{work}`"))
    card = yard.make()
    yard.settled(2)
    person = threading.Thread(target=yard.resume, args=(card,), kwargs={"texts": {"ok": "true"}})
    person.start()
    yard.until("started")
    board.stubborn = True
    yard.tick(2, wait=False)
    assert (yard.column(card), yard.ledger().parks) == ("awaiting_input", {})
    if again == "while it works":
        board.stubborn = False
        clock.advance(60)
        yard.tick(wait=False)
        assert (yard.column(card), yard.run(card).status) == ("in_progress", RunStatus.RUNNING)
    (folder / "go").touch()
    person.join()
    board.stubborn = False
    clock.advance(60)
    yard.tick()
    assert (yard.column(card), list(yard.ledger().retries), yard.ledger().pending) == (
        "in_progress",
        [("native", card)],
        {},
    )


def test_a_blocker_that_gets_eligible_between_two_reads_of_one_tick_keeps_its_run(yard: Yard) -> None:
    """The listing did not show it, the read by its id does: its run is resumed and never gets a sibling."""
    board = moody(yard)
    yard.bot(DECLARED)
    blocker = yard.make("first")
    yard.settled(3)
    yard.move(blocker, "backlog")
    yard.settled()
    yard.make("second", "waiting_deps", blockers=(blocker,))
    board.meanwhile = lambda: yard.move(blocker, "ready")
    yard.tick()
    assert [(run.id, run.epoch) for run in yard.runs()] == [(yard.view(blocker).last_run, 2)]
