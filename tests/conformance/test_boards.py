"""One suite for every kind of board (connectors.md 23). A new kind adds a maker, not tests (C001)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from connectors.base import Absent, AbsentKind, Capability, CardQuery, EditableBoard, Move, Moved, Place, Refused
from connectors.card import DISPATCHER, PERSON, BoardEventType, Mover, MoverKind
from connectors.drafts import CardDraft, CardPatch
from connectors.errors import (
    BadCard,
    BlockerCycle,
    CardDeleted,
    Conflict,
    InvalidNotBefore,
    InvalidText,
    UnknownBlocker,
    UnknownCard,
    UnknownColumn,
)
from connectors.memory.board import MemoryBoard
from connectors.native.board import NativeBoard
from connectors.native.defaults import DEFAULT_COLUMNS
from engine.store.database import Database
from tests.kit.clock import FakeClock
from tests.kit.ids import CountingIds

BOT = Mover(MoverKind.BOT, "tool", "run-1")
ANN = Mover(MoverKind.PERSON, "ann")


@pytest.fixture
def board(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[EditableBoard]:
    maker: Callable[[Path, FakeClock], Iterator[EditableBoard]] = request.param
    yield from maker(tmp_path, clock)


def native(folder: Path, clock: FakeClock) -> Iterator[EditableBoard]:
    with Database.open(f"sqlite:///{folder / 'board.db'}") as database:
        yield NativeBoard("native", database, clock, CountingIds())


def memory(_folder: Path, clock: FakeClock) -> Iterator[EditableBoard]:
    yield MemoryBoard("native", DEFAULT_COLUMNS, clock, CountingIds())


pytestmark = pytest.mark.parametrize("board", [native, memory], indirect=True, ids=["native", "memory"])


def need(capability: Capability, board: EditableBoard) -> None:
    if capability not in board.capabilities:
        pytest.skip(f"the board lacks {capability}")


def titles(board: EditableBoard, *columns: str) -> list[str]:
    return [card.title for card in board.list_cards(columns).cards]


# -- reading ---------------------------------------------------------------------------------------------------------
def test_a_new_board_has_the_default_columns_in_their_order(board: EditableBoard) -> None:
    names = [column.name for column in board.columns()]
    assert names == [
        "inbox",
        "backlog",
        "ready",
        "waiting_deps",
        "in_progress",
        "awaiting_input",
        "review",
        "done",
        "blocked",
    ]
    assert [column.name for column in board.columns() if column.eligible] == ["ready", "in_progress"]
    assert [column.name for column in board.columns() if column.terminal] == ["done", "blocked"]


def test_no_column_names_and_no_ids_ask_nothing(board: EditableBoard) -> None:
    """C002, case 1 of the suite."""
    board.create(CardDraft("one"), PERSON)
    assert board.list_cards(()).cards == ()
    assert board.list_cards(()).complete
    assert board.get_many(()).found == {}


def test_cards_of_two_columns_come_once_each(board: EditableBoard) -> None:
    """C004."""
    for column in ("ready", "backlog", "review"):
        board.create(CardDraft(column, column=column), PERSON)
    listing = board.list_cards(["ready", "review", "ready"])
    assert sorted(card.title for card in listing.cards) == ["ready", "review"]
    assert listing.complete
    assert listing.stopped is None


def test_a_listing_of_none_shows_all_columns(board: EditableBoard) -> None:
    for column in ("ready", "done"):
        board.create(CardDraft(column, column=column), PERSON)
    assert len(board.list_cards(None).cards) == 2


def test_a_column_that_the_board_does_not_have_lists_nothing(board: EditableBoard) -> None:
    board.create(CardDraft("one"), PERSON)
    assert board.list_cards(["nowhere"]).cards == ()


def test_cards_come_by_priority_then_age(board: EditableBoard, clock: FakeClock) -> None:
    for title, priority in (("low", 1), ("high", 9), ("mid a", 5), ("mid b", 5), ("none", 0), ("below", -1)):
        board.create(CardDraft(title, column="ready", priority=priority), PERSON)
        clock.advance(1)
    assert titles(board, "ready") == ["high", "mid a", "mid b", "low", "none", "below"]


def test_a_by_id_read_puts_each_id_into_one_place(board: EditableBoard) -> None:
    """C012: found and gone are two answers, and never are both."""
    kept = board.create(CardDraft("kept"), PERSON)
    deleted = board.create(CardDraft("deleted"), PERSON)
    board.delete(deleted.id, PERSON)
    lookup = board.get_many([kept.id, deleted.id, "cnever"])
    assert list(lookup.found) == [kept.id]
    assert {card_id: absent.kind for card_id, absent in lookup.gone.items()} == {
        deleted.id: AbsentKind.GONE,
        "cnever": AbsentKind.UNKNOWN,
    }
    assert lookup.unread == {}


def test_get_tells_deleted_from_unknown(board: EditableBoard) -> None:
    card = board.create(CardDraft("one"), PERSON)
    assert board.get(card.id) == card
    board.delete(card.id, PERSON)
    assert board.get(card.id) == Absent(card.id, AbsentKind.GONE)
    assert board.get("cnever") == Absent("cnever", AbsentKind.UNKNOWN)


def test_a_query_filters_and_pages(board: EditableBoard) -> None:
    for number in range(5):
        draft = CardDraft(f"card {number}", labels=("bug",) if number % 2 else ("bug report",), assignee="ann")
        board.create(draft, PERSON)
    assert [card.title for card in board.query(CardQuery(label="bug")).cards] == ["card 1", "card 3"]
    assert len(board.query(CardQuery(assignee="ann", limit=2)).cards) == 2
    assert [card.number for card in board.query(CardQuery(limit=2, offset=3)).cards] == [4, 5]
    assert [card.number for card in board.query(CardQuery(offset=4)).cards] == [5]
    assert board.query(CardQuery(assignee="Ann")).cards == ()
    with pytest.raises(UnknownColumn, match="nowhere"):
        board.query(CardQuery(columns=("nowhere",)))


def test_a_query_takes_ids_that_the_caller_knows_better(board: EditableBoard) -> None:
    first, second = (board.create(CardDraft(title), PERSON) for title in ("a", "b"))
    assert board.query(CardQuery(only=frozenset({first.id}))).cards == (first,)
    assert board.query(CardQuery(without=frozenset({first.id}))).cards == (second,)
    assert board.query(CardQuery(only=frozenset())).cards == ()


@pytest.mark.parametrize("form", ["#1", "1", "{id}", "{prefix}"])
def test_a_card_is_named_by_number_id_or_prefix(board: EditableBoard, form: str) -> None:
    card = board.create(CardDraft("one"), PERSON)
    assert board.resolve(form.format(id=card.id, prefix=card.id[:-2])) == card.id


def test_an_ambiguous_prefix_an_unknown_and_a_deleted_name_are_refused(board: EditableBoard) -> None:
    first, second = (board.create(CardDraft(title), PERSON) for title in ("a", "b"))
    assert second.id != first.id
    board.delete(first.id, PERSON)
    third = board.create(CardDraft("c"), PERSON)
    with pytest.raises(UnknownCard):
        board.resolve(third.id[:3])
    for text in ("zz-nobody", "99", "#99", ""):
        with pytest.raises(UnknownCard):
            board.resolve(text)
    with pytest.raises(CardDeleted):
        board.resolve(first.id)


# -- making and changing ---------------------------------------------------------------------------------------------
def test_a_card_keeps_everything_that_it_was_made_with(board: EditableBoard) -> None:
    draft = CardDraft(
        title='Fix the "thing"',
        body="Line one\r\n\nLine three 🎉 e\u0301",
        column="backlog",
        labels=("bug", "ui", "bug"),
        priority=7,
        assignee="ann",
        fields={"estimate": "3"},
        bot="work",
        bot_args={"k": "v"},
        url="https://example.org/1",
    )
    card = board.create(draft, ANN)
    assert (card.title, card.body, card.column, card.labels) == (draft.title, draft.body, "backlog", ("bug", "ui"))
    assert (card.priority, card.assignee, card.fields, card.bot) == (7, "ann", {"estimate": "3"}, "work")
    assert (card.bot_args, card.url, card.author, card.board) == ({"k": "v"}, draft.url, "ann", "native")
    assert (card.column_by, card.blockers, card.closed, card.version) == (MoverKind.PERSON, (), False, "1")
    assert card.created_at == datetime(2026, 1, 1, tzinfo=UTC)
    assert board.get(card.id) == card


def test_a_card_without_column_goes_into_the_first_one(board: EditableBoard) -> None:
    assert board.create(CardDraft("one"), PERSON).column == "inbox"


def test_numbers_count_from_one_and_are_never_used_again(board: EditableBoard) -> None:
    first = board.create(CardDraft("a"), PERSON)
    second = board.create(CardDraft("b"), PERSON)
    board.delete(second.id, PERSON)
    assert (first.number, second.number, board.create(CardDraft("c"), PERSON).number) == (1, 2, 3)


@pytest.mark.parametrize(
    ("draft", "error", "named"),
    [
        (CardDraft("t" * 501), InvalidText, "500"),
        (CardDraft("  "), InvalidText, "title"),
        (CardDraft("nul\x00"), InvalidText, "NUL"),
        (CardDraft("half \ud800"), InvalidText, "surrogate"),
        (CardDraft("big", body="é" * 524_289), InvalidText, "1048576"),
        (CardDraft("label", labels=("",)), InvalidText, "label"),
        (CardDraft("column", column="nowhere"), UnknownColumn, "nowhere"),
        (CardDraft("near", column="redy"), UnknownColumn, "ready"),
        (CardDraft("blocker", blockers=("99",)), UnknownBlocker, "99"),
        (CardDraft("field", fields={"n": 3}), BadCard, "n"),
        (CardDraft("prio", priority=10**9), BadCard, "priority"),
        (CardDraft("start", not_before="2027-03-28 02:30"), InvalidNotBefore, "zone"),
        (CardDraft("args", bot_args={"x": float("nan")}), BadCard, "arguments"),
    ],
    ids=lambda value: value.title[:8] if isinstance(value, CardDraft) else None,
)
def test_what_cannot_be_stored_is_refused_and_nothing_is_made(
    board: EditableBoard, draft: CardDraft, error: type[BadCard], named: str
) -> None:
    """D160; dispatcher.md 29: refused with the limit, not cut."""
    with pytest.raises(error) as refusal:
        board.create(draft, PERSON)
    assert named in refusal.value.message + refusal.value.hint
    assert board.list_cards(None).cards == ()
    assert board.create(CardDraft("next"), PERSON).number == 1


def test_the_largest_title_and_body_are_kept_whole(board: EditableBoard) -> None:
    card = board.create(CardDraft("t" * 500, body="é" * 524_288), PERSON)
    assert len(card.title) == 500
    assert len(card.body) == 524_288


def test_an_update_changes_what_it_names_and_nothing_else(board: EditableBoard, clock: FakeClock) -> None:
    card = board.create(CardDraft("one", body="text", labels=("a",), fields={"x": "1", "y": "2"}), PERSON)
    clock.advance(5)
    patch = CardPatch(title="Renamed", priority=2, fields={"x": None, "z": "3"}, version="1")
    changed = board.update(card.id, patch, PERSON)
    assert (changed.title, changed.priority, changed.body, changed.labels) == ("Renamed", 2, "text", ("a",))
    assert changed.fields == {"y": "2", "z": "3"}
    assert changed.updated_at > card.updated_at
    assert changed.version != card.version
    assert changed.column_since == card.column_since


def test_an_update_of_another_version_is_a_conflict_and_changes_nothing(board: EditableBoard) -> None:
    card = board.create(CardDraft("one"), PERSON)
    board.update(card.id, CardPatch(title="two", version=card.version), PERSON)
    with pytest.raises(Conflict):
        board.update(card.id, CardPatch(title="stale", version=card.version), PERSON)
    found = board.get(card.id)
    assert not isinstance(found, Absent)
    assert found.title == "two"


def test_an_update_that_changes_nothing_writes_nothing(board: EditableBoard) -> None:
    card = board.create(CardDraft("one", labels=("a",)), PERSON)
    before = board.history()
    assert board.update(card.id, CardPatch(title="one", labels=("a",), blockers=()), PERSON) == card
    assert board.history() == before


def test_an_update_with_a_column_moves_in_the_same_change_or_changes_nothing(board: EditableBoard) -> None:
    card = board.create(CardDraft("one"), PERSON)
    with pytest.raises(UnknownColumn):
        board.update(card.id, CardPatch(title="two", column="nowhere"), PERSON)
    assert board.get(card.id) == card
    changed = board.update(card.id, CardPatch(title="two", column="ready", version=card.version), PERSON)
    assert (changed.title, changed.column) == ("two", "ready")
    assert board.update(card.id, CardPatch(column="ready"), PERSON) == changed


def test_the_version_changes_with_any_change(board: EditableBoard) -> None:
    other = board.create(CardDraft("other"), PERSON)
    card = board.create(CardDraft("one"), PERSON)
    versions = [card.version]
    versions.append(board.update(card.id, CardPatch(body="x"), PERSON).version)
    versions.append(board.update(card.id, CardPatch(blockers=(other.id,)), PERSON).version)
    versions.append(board.place(card.id, Place(before=other.id), PERSON).version)
    moved = board.move(card.id, Move("ready", PERSON))
    assert isinstance(moved, Moved)
    assert len({*versions, moved.card.version}) == 5


# -- moving ----------------------------------------------------------------------------------------------------------
def test_a_move_tells_when_by_whom_and_takes_a_new_sequence(board: EditableBoard, clock: FakeClock) -> None:
    card = board.create(CardDraft("one"), PERSON)
    clock.advance(60)
    answer = board.move(card.id, Move("ready", BOT, expected="inbox", reason="asked"))
    assert isinstance(answer, Moved)
    moved = answer.card
    assert (answer.changed, moved.column, moved.column_by, moved.column_run) == (True, "ready", MoverKind.BOT, "run-1")
    assert moved.column_since == clock.now()
    assert moved.column_sequence > card.column_sequence


def test_a_move_to_where_the_card_is_changes_nothing(board: EditableBoard) -> None:
    """An echo takes no store sequence, so it is no gesture (dispatcher.md 14)."""
    card = board.create(CardDraft("one", column="ready"), PERSON)
    before = board.history()
    assert board.move(card.id, Move("ready", DISPATCHER, expected="inbox")) == Moved(card, changed=False)
    assert board.history() == before


def test_a_move_from_another_column_than_expected_is_refused_with_the_card_as_it_is(board: EditableBoard) -> None:
    card = board.create(CardDraft("one", column="review"), PERSON)
    answer = board.move(card.id, Move("ready", DISPATCHER, expected="in_progress"))
    assert isinstance(answer, Refused)
    assert answer.card == card
    assert "review" in answer.why
    assert board.get(card.id) == card


def test_of_two_moves_from_one_version_the_second_is_refused(board: EditableBoard) -> None:
    """D199."""
    card = board.create(CardDraft("one"), PERSON)
    first = board.move(card.id, Move("ready", PERSON, version=card.version))
    second = board.move(card.id, Move("review", PERSON, version=card.version))
    assert isinstance(first, Moved)
    assert isinstance(second, Refused)
    assert second.card.column == "ready"


def test_a_move_of_an_absent_card_says_so_and_an_unknown_column_is_bad_input(board: EditableBoard) -> None:
    card = board.create(CardDraft("one"), PERSON)
    assert board.move("cnever", Move("ready", PERSON)) == Absent("cnever", AbsentKind.UNKNOWN)
    with pytest.raises(UnknownColumn, match="nowhere"):
        board.move(card.id, Move("nowhere", PERSON))
    board.delete(card.id, PERSON)
    assert board.move(card.id, Move("ready", PERSON)) == Absent(card.id, AbsentKind.GONE)


def test_only_a_person_takes_a_card_out_of_a_terminal_column(board: EditableBoard) -> None:
    """dispatcher.md 29: the dispatcher never does it; a person's move is a reopening and the history says so."""
    card = board.create(CardDraft("one", column="done"), PERSON)
    assert card.closed
    assert isinstance(board.move(card.id, Move("ready", DISPATCHER)), Refused)
    answer = board.move(card.id, Move("ready", PERSON))
    assert isinstance(answer, Moved)
    assert not answer.card.closed
    assert BoardEventType.CARD_REOPENED in [event.type for event in board.history(card.id)]


def test_closing_goes_to_the_first_terminal_column_that_is_not_the_failed_one(board: EditableBoard) -> None:
    first, second = (board.create(CardDraft(title), PERSON) for title in ("a", "b"))
    assert board.close(first.id, PERSON, failed="blocked").card.column == "done"
    assert board.close(second.id, PERSON, failed="done").card.column == "blocked"
    assert board.close(first.id, PERSON) == Moved(board.close(first.id, PERSON).card, changed=False)
    with pytest.raises(UnknownCard):
        board.close("cnever", PERSON)


def test_a_place_changes_the_order_within_a_column_and_nothing_else(board: EditableBoard, clock: FakeClock) -> None:
    cards = {}
    for title in "abcde":
        cards[title] = board.create(CardDraft(title, column="ready"), PERSON).id
        clock.advance(1)
    board.place(cards["d"], Place(before=cards["b"]), PERSON)
    assert titles(board, "ready") == ["a", "d", "b", "c", "e"]
    board.place(cards["a"], Place(behind=cards["e"]), PERSON)
    assert titles(board, "ready") == ["d", "b", "c", "e", "a"]
    board.place(cards["e"], Place(before=cards["d"]), PERSON)
    board.place(cards["c"], Place(behind=cards["d"]), PERSON)
    assert titles(board, "ready") == ["e", "d", "c", "b", "a"]
    moved = board.get(cards["e"])
    assert not isinstance(moved, Absent)
    assert moved.column_sequence < 6


def test_two_hundred_places_at_one_spot_keep_a_total_order(board: EditableBoard) -> None:
    anchor = board.create(CardDraft("anchor", column="ready"), PERSON)
    first, second = (board.create(CardDraft(title, column="ready"), PERSON) for title in ("first", "second"))
    for turn in range(200):
        mover, other = (first, second) if turn % 2 else (second, first)
        board.place(mover.id, Place(behind=anchor.id), PERSON)
        assert titles(board, "ready") == ["anchor", mover.title, other.title]


def test_a_place_beside_a_card_of_another_column_is_refused(board: EditableBoard) -> None:
    one = board.create(CardDraft("one"), PERSON)
    other = board.create(CardDraft("other", column="ready"), PERSON)
    with pytest.raises(BadCard, match="ready"):
        board.place(one.id, Place(before=other.id), PERSON)
    with pytest.raises(BadCard, match="beside itself"):
        board.place(one.id, Place(before=one.id), PERSON)


# -- blockers --------------------------------------------------------------------------------------------------------
def test_blockers_are_kept_by_id_and_in_order(board: EditableBoard) -> None:
    first, second = (board.create(CardDraft(title), PERSON) for title in ("a", "b"))
    card = board.create(CardDraft("c", blockers=("#2", first.id, "2")), PERSON)
    assert [ref.id for ref in card.blockers or ()] == [second.id, first.id]


def test_a_card_that_would_wait_for_itself_is_refused_with_the_chain(board: EditableBoard) -> None:
    """D161: a cycle of three through an update; a self-reference."""
    one = board.create(CardDraft("one"), PERSON)
    two = board.create(CardDraft("two", blockers=(one.id,)), PERSON)
    three = board.create(CardDraft("three", blockers=(two.id,)), PERSON)
    with pytest.raises(BlockerCycle, match="#1 -> #3 -> #2 -> #1"):
        board.update(one.id, CardPatch(blockers=(three.id,)), PERSON)
    with pytest.raises(BlockerCycle, match="#1 -> #1"):
        board.update(one.id, CardPatch(blockers=("1",)), PERSON)
    assert board.get(one.id) == one


def test_a_deleted_blocker_stays_an_open_blocker_and_the_deletion_says_who_waits(board: EditableBoard) -> None:
    first = board.create(CardDraft("a"), PERSON)
    card = board.create(CardDraft("b", blockers=("1",)), PERSON)
    assert board.delete(first.id, PERSON) == (card.id,)
    assert board.get(card.id) == card


# -- comments and history --------------------------------------------------------------------------------------------
def test_a_comment_is_kept_and_changes_no_version(board: EditableBoard) -> None:
    card = board.create(CardDraft("one"), PERSON)
    comment = board.comment(card.id, "well done ✓", BOT)
    assert board.comments(card.id) == (comment,)
    assert (comment.author, comment.text) == (BOT, "well done ✓")
    assert board.get(card.id) == card
    with pytest.raises(UnknownCard):
        board.comment("cnever", "x", BOT)
    with pytest.raises(InvalidText):
        board.comment(card.id, " ", BOT)


def test_the_history_has_every_change_once_with_contiguous_numbers(board: EditableBoard) -> None:
    need(Capability.HISTORY, board)
    card = board.create(CardDraft("one"), ANN)
    other = board.create(CardDraft("other"), PERSON)
    board.move(card.id, Move("ready", BOT, reason="go"))
    board.update(card.id, CardPatch(title="two", blockers=(other.id,)), PERSON)
    board.comment(card.id, "hm", PERSON)
    board.close(card.id, PERSON)
    board.delete(card.id, PERSON)
    events = board.history()
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    kinds = [event.type for event in board.history(card.id)]
    assert kinds == [
        "card_created",
        "card_moved",
        "blockers_changed",
        "card_updated",
        "comment_added",
        "card_moved",
        "card_closed",
        "card_deleted",
    ]
    assert events[0].mover == ANN
    assert events[2].mover == BOT
    assert events[2].data["from"] == "inbox"
    assert events[2].data["reason"] == "go"
    assert board.history(since=events[4].seq) == events[5:]
    assert board.history(since=2, limit=2) == events[2:4]


def test_a_scheduled_start_is_kept_as_text_and_instant(board: EditableBoard) -> None:
    """D156."""
    card = board.create(CardDraft("one", not_before="2027-03-28 02:30 Europe/Berlin"), PERSON)
    assert card.not_before is not None
    assert card.not_before.text == "2027-03-28 02:30 Europe/Berlin"
    assert card.not_before.instant == datetime(2027, 3, 28, 1, 0, tzinfo=UTC)
    assert board.get(card.id) == card
    assert board.update(card.id, CardPatch(not_before=""), PERSON).not_before is None
