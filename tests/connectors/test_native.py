"""What the native board promises beyond the common suite (dispatcher.md 29, rows D199 to D207)."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from connectors.base import CardQuery, Move, Moved, Refused
from connectors.card import DISPATCHER, PERSON, Mover, MoverKind
from connectors.drafts import CardDraft, CardPatch
from connectors.errors import (
    ColumnInUse,
    Conflict,
    DamagedCard,
    InvalidColumn,
    InvalidField,
    InvalidImport,
    UnknownColumn,
)
from connectors.fields import FieldSpec, FieldType
from connectors.native.board import Deletion, NativeBoard, NewColumn
from dispatcher.documents import card_document, comment_document
from engine.store.database import Database
from tests.kit.clock import FakeClock
from tests.kit.ids import CountingIds

ANN = Mover(MoverKind.PERSON, "ann")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.open(f"sqlite:///{tmp_path / 'board.db'}") as opened:
        yield opened


@pytest.fixture
def native(database: Database, clock: FakeClock) -> NativeBoard:
    return NativeBoard("native", database, clock, CountingIds())


def names(board: NativeBoard) -> list[str]:
    return [column.name for column in board.columns()]


def break_card(database: Database, card_id: str, damage: str = "labels = '[bro'") -> None:
    with database.write() as connection:
        connection.execute(text(f"UPDATE board_card SET {damage} WHERE id = :id"), {"id": card_id})


# -- columns ---------------------------------------------------------------------------------------------------------
def test_reading_a_board_makes_nothing(native: NativeBoard, database: Database) -> None:
    native.columns()
    native.list_cards(None)
    with database.read() as connection:
        assert connection.execute(text("SELECT count(*) FROM board_meta")).scalar() == 0


def test_a_renamed_column_keeps_id_and_cards_and_the_old_name_resolves(native: NativeBoard) -> None:
    """D200."""
    card = native.create(CardDraft("one", column="ready"), PERSON)
    followed: list[tuple[str, str]] = []
    column = native.rename_column("ready", "todo", PERSON, lambda _, old, new: followed.append((old, new)))
    assert (column.id, column.name, column.aliases, column.eligible) == ("ready", "todo", ("ready",), True)
    assert followed == [("ready", "todo")]
    found = native.list_cards(["ready"]).cards
    assert [(each.id, each.column, each.version) for each in found] == [(card.id, "todo", card.version)]
    assert isinstance(native.move(card.id, Move("in_progress", DISPATCHER, expected="ready")), Moved)
    assert isinstance(native.move(card.id, Move("ready", PERSON)), Moved)
    with pytest.raises(InvalidColumn, match="ready"):
        native.add_column(NewColumn("ready"), PERSON)
    assert native.rename_column("todo", "ready", PERSON).aliases == ("todo",)


def test_a_column_with_cards_goes_only_when_it_is_said_where_they_go(native: NativeBoard) -> None:
    """D201."""
    cards = [native.create(CardDraft(str(each), column="review"), PERSON) for each in range(3)]
    with pytest.raises(InvalidColumn, match="3 cards"):
        native.delete_column(Deletion("review"), PERSON)
    assert native.delete_column(Deletion("review", "backlog"), PERSON) == 3
    assert "review" not in names(native)
    moved = native.list_cards(["backlog"]).cards
    assert [card.id for card in moved] == [card.id for card in cards]
    assert all(card.column_sequence > cards[-1].column_sequence for card in moved)
    assert native.delete_column(Deletion("inbox"), PERSON) == 0


def test_a_view_follows_a_deleted_column_or_says_that_it_is_gone(native: NativeBoard) -> None:
    native.save_view("mine", CardQuery(columns=("review", "backlog")), PERSON)
    native.delete_column(Deletion("review", "backlog"), PERSON)
    assert native.view("mine").columns == ("backlog",)
    native.delete_column(Deletion("backlog"), PERSON)
    with pytest.raises(UnknownColumn, match='view "mine" shows column "backlog"'):
        native.view("mine")
    native.delete_view("mine", PERSON)
    assert native.views() == {}


def test_a_column_that_a_role_needs_is_not_deleted_also_under_its_earlier_name(native: NativeBoard) -> None:
    native.rename_column("review", "look", PERSON)
    with pytest.raises(ColumnInUse):
        native.delete_column(Deletion("look", "done", frozenset({"review"})), PERSON)
    assert "look" in names(native)


@pytest.mark.parametrize("name", ["", "two words", "x" * 41, "ü", "done", "a/b", "unmapped"])
def test_a_column_name_has_a_closed_form_and_is_unique(native: NativeBoard, name: str) -> None:
    with pytest.raises(InvalidColumn):
        native.add_column(NewColumn(name), PERSON)


def test_columns_are_added_in_place_and_reordered_whole(native: NativeBoard) -> None:
    native.add_column(NewColumn("triage", "Triage", before="ready"), PERSON)
    assert names(native)[1:4] == ["backlog", "triage", "ready"]
    with pytest.raises(InvalidColumn, match="never both"):
        native.add_column(NewColumn("both", eligible=True, terminal=True), PERSON)
    with pytest.raises(InvalidColumn, match="inbox"):
        native.reorder_columns(["ready"], PERSON)
    wanted = list(reversed(names(native)))
    native.reorder_columns(wanted, PERSON)
    assert names(native) == wanted


def test_a_column_made_again_after_its_deletion_has_another_id(native: NativeBoard) -> None:
    native.rename_column("inbox", "start", PERSON)
    native.delete_column(Deletion("review"), PERSON)
    native.add_column(NewColumn("review"), PERSON)
    ids = [column.id for column in native.columns()]
    assert len(set(ids)) == len(ids)


# -- fields ----------------------------------------------------------------------------------------------------------
def test_declared_fields_close_the_set_and_a_refusal_makes_nothing(native: NativeBoard) -> None:
    """D205."""
    native.declare_field(FieldSpec("size", FieldType.ENUM, required=True, values=("S", "L")), PERSON)
    native.declare_field(FieldSpec("hours", FieldType.NUMBER, default="2"), PERSON)
    for fields in ({}, {"size": "M"}, {"size": "S", "colour": "red"}):
        with pytest.raises(InvalidField):
            native.create(CardDraft("one", fields=fields), PERSON)
    assert native.list_cards(None).cards == ()
    card = native.create(CardDraft("one", fields={"size": "S"}), PERSON)
    assert card.fields == {"size": "S", "hours": 2}
    with pytest.raises(InvalidField, match="required"):
        native.update(card.id, CardPatch(fields={"size": None}), PERSON)
    for kind, values in ((FieldType.ENUM, ()), (FieldType.ENUM, ("a", "a")), (FieldType.TEXT, ("a",))):
        with pytest.raises(InvalidField, match='"kind"'):
            native.declare_field(FieldSpec("kind", kind, values=values), PERSON)
    native.remove_field("hours", PERSON)
    assert [spec.name for spec in native.fields()] == ["size"]


# -- damaged rows ----------------------------------------------------------------------------------------------------
def test_a_damaged_card_is_reported_by_id_while_the_others_are_shown(native: NativeBoard, database: Database) -> None:
    """D207."""
    broken, whole = (native.create(CardDraft(title, column="ready"), PERSON) for title in ("broken", "whole"))
    break_card(database, broken.id)
    listing = native.list_cards(["ready"])
    assert listing.cards == (whole,)
    assert [(each.id, each.number) for each in listing.unread] == [(broken.id, 1)]
    lookup = native.get_many([broken.id, whole.id])
    assert list(lookup.found) == [whole.id]
    assert list(lookup.unread) == [broken.id]
    with pytest.raises(DamagedCard, match=broken.id):
        native.get(broken.id)
    with pytest.raises(DamagedCard):
        native.move(broken.id, Move("done", PERSON))
    native.delete(broken.id, PERSON)
    assert native.list_cards(["ready"]).unread == ()


@pytest.mark.parametrize(
    "damage",
    [
        "labels = '{}'",
        "fields = '[]'",
        "bot_args = 'x'",
        "title = x'00ff'",
        "column_id = x'00ff'",
        "column_by = 'ghost'",
        "created_at = 'yesterday'",
        "updated_at = '2026-01-01'",
        "priority = 'high'",
        "position = 'first'",
        "version = 1.5",
    ],
)
def test_no_damage_of_one_card_hides_another(native: NativeBoard, database: Database, damage: str) -> None:
    """D207."""
    broken, whole = (native.create(CardDraft(title), PERSON) for title in ("broken", "whole"))
    break_card(database, broken.id, damage)
    listing = native.list_cards(None)
    assert [card.id for card in listing.cards] == [whole.id]
    assert [each.id for each in listing.unread] == [broken.id]


# -- comments, history, other rooms' events --------------------------------------------------------------------------
def test_an_edited_comment_keeps_its_earlier_text_in_the_history(native: NativeBoard) -> None:
    card = native.create(CardDraft("one"), PERSON)
    comment = native.comment(card.id, "first", ANN)
    edited = native.edit_comment(comment.id, "second", ANN)
    assert native.comments(card.id) == (edited,)
    assert native.history(card.id)[-1].data == {"comment": comment.id, "from": "first", "to": "second"}
    with pytest.raises(Conflict):
        native.edit_comment(comment.id, "third", Mover(MoverKind.BOT, "ann"))


# -- import ----------------------------------------------------------------------------------------------------------
def test_a_document_imported_twice_changes_nothing_the_second_time(
    native: NativeBoard, tmp_path: Path, clock: FakeClock
) -> None:
    """D203."""
    first = native.create(CardDraft("one", column="ready", labels=("a",), fields={"x": "1"}, priority=3), PERSON)
    native.create(CardDraft("two", blockers=("1",), not_before="2027-01-01 UTC", body="é\n"), PERSON)
    documents = [card_document(card) for card in native.list_cards(None).cards]
    with Database.open(f"sqlite:///{tmp_path / 'other.db'}") as database:
        other = NativeBoard("native", database, clock, _Ids("o"))
        report = other.import_cards(documents, (), PERSON)
        assert len(report.created) == 2
        assert [card_document(card)["blockers"] for card in other.list_cards(None).cards] == [[], [first.id]]
        kept = {card.id: card for card in other.list_cards(None).cards}
        again = other.import_cards(documents, (), PERSON)
        assert (again.created, again.updated, len(again.unchanged)) == ((), (), 2)
        assert {card.id: card for card in other.list_cards(None).cards} == kept
        assert other.create(CardDraft("three"), PERSON).number == 3


def test_cards_of_a_column_that_is_not_here_are_unmapped_and_in_no_listing(native: NativeBoard) -> None:
    """D202."""
    report = native.import_cards([{"id": "cforeign", "title": "far", "column": "elsewhere", "number": 7}], (), PERSON)
    assert report.unmapped == ("cforeign",)
    (card,) = native.unmapped().cards
    assert (card.column, card.columns_seen, card.number) == (None, ("elsewhere",), 7)
    assert native.list_cards(names(native)).cards == ()
    assert card_document(card)["column"] == "unmapped"
    answer = native.move(card.id, Move("ready", PERSON, expected="unmapped"))
    assert isinstance(answer, Moved)


def test_an_import_leaves_claimed_cards_alone_and_keeps_one_id_per_source(native: NativeBoard) -> None:
    native.import_cards([{"source": "octo/web#12", "title": "one"}, {"source": "octo/web#13", "title": "two"}], (), ANN)
    first, second = native.list_cards(None).cards
    documents = [{"source": "octo/web#12", "title": "one!"}, {"source": "octo/web#13", "title": "two!"}]
    report = native.import_cards(documents, {first.id}, ANN)
    assert (report.skipped_claimed, report.updated) == ((first.id,), (second.id,))
    assert [card.title for card in native.list_cards(None).cards] == ["one", "two!"]


@pytest.mark.parametrize(
    "document",
    [
        "text",
        {"title": "x"},
        {"id": "12", "title": "x"},
        {"id": "cx", "title": ""},
        {"id": "cx", "title": "t", "labels": 3},
        {"id": "cx", "title": "t", "number": 10**30},
        {"id": "cx", "title": "t", "number": -1},
        {"id": "cx", "title": "t", "position": float("inf")},
        {"id": "cx", "title": "t", "position": "5"},
        {"id": "cx", "title": "t", "archived": "yes"},
        {"id": "cx", "title": "t", "column": "a\0b"},
        {"id": "cx", "title": "t", "blockers": ["\ud800"]},
        {"id": "cx", "title": "t", "fields": {"k": "\ud800"}},
        {"id": "cx", "title": "t", "fields": {"k": {"nested": 1}}},
        {"id": "cx", "title": "t", "created_at": "9999-12-31T23:59:59-10:00"},
        {"id": "cx", "title": "t", "created_at": "2026-01-01"},
        {"id": "cx", "title": "t", "comments": [{"id": "m1", "text": "no author"}]},
        {"id": "cgood", "title": "the same card twice"},
    ],
)
def test_an_import_is_all_or_nothing(native: NativeBoard, document: object) -> None:
    with pytest.raises(InvalidImport, match=r"Cards? (1 and )?2 "):
        native.import_cards([{"id": "cgood", "title": "good"}, document], (), PERSON)
    assert native.list_cards(None).cards == ()


def test_a_card_of_another_board_of_the_store_is_not_taken_over(native: NativeBoard, database: Database) -> None:
    other = NativeBoard("other", database, FakeClock(), _Ids("o"))
    card = other.create(CardDraft("theirs"), PERSON)
    with pytest.raises(InvalidImport, match="other"):
        native.import_cards([card_document(card)], (), PERSON)


def test_an_import_keeps_numbers_comments_and_what_was_put_away(native: NativeBoard, tmp_path: Path) -> None:
    """D203: whatever the order of the document, which is that of urgency."""
    for title, priority in (("low", 0), ("high", 9), ("away", 5)):
        native.create(CardDraft(title, priority=priority), ANN)
    native.comment(native.resolve("1"), "said", ANN)
    native.archive(native.resolve("3"), ANN)
    cards = [*native.list_cards(None).cards, *native.query(CardQuery(archived=True)).cards]
    said = native.every_comment()
    told = [{**card_document(c), "comments": list(map(comment_document, said.get(c.id, ())))} for c in cards]
    with Database.open(f"sqlite:///{tmp_path / 'other.db'}") as database:
        other = NativeBoard("native", database, FakeClock(), _Ids("o"))
        assert other.import_cards(told, (), PERSON).renumbered == {}
        assert {c.number: c.title for c in other.list_cards(None).cards} == {1: "low", 2: "high"}
        assert [c.number for c in other.query(CardQuery(archived=True)).cards] == [3]
        assert other.every_comment() == native.every_comment()
        assert len(other.import_cards(told, (), PERSON).unchanged) == 3
        first = other.resolve("1")
        again = [{**told[1], "column": "done", "archived": False}, {**told[2], "archived": False}]
        assert len(other.import_cards(again, (), PERSON).updated) == 2
        kinds = [event.type for event in other.history(first)]
        assert kinds == ["card_created", "comment_added", "card_moved", "card_closed"]
        assert other.query(CardQuery(archived=True)).cards == ()


def test_an_imported_field_fits_the_board_or_is_what_the_card_has_already(native: NativeBoard) -> None:
    """D205 for documents: numbers become text where nothing is declared, text numbers where that is."""
    native.import_cards([{"id": "ca", "title": "a", "fields": {"size": 3, "old": True}}], (), PERSON)
    (card,) = native.list_cards(None).cards
    assert card.fields == {"size": "3", "old": "true"}
    native.declare_field(FieldSpec("size", FieldType.NUMBER, required=True), PERSON)
    assert native.import_cards([card_document(card)], (), PERSON).unchanged == ("ca",)
    report = native.import_cards([{"id": "ca", "title": "a", "fields": {"size": "4", "old": "true"}}], (), PERSON)
    (card,) = native.list_cards(None).cards
    assert (report.updated, card.fields) == (("ca",), {"size": 4, "old": "true"})
    for fields in ({"size": "big"}, {"size": 1, "other": "x"}, {}):
        with pytest.raises(InvalidImport, match="Card 1"):
            native.import_cards([{"id": "cb", "title": "b", "fields": fields}], (), PERSON)


def test_a_field_from_before_a_declaration_is_in_nobody_s_way(native: NativeBoard) -> None:
    card = native.create(CardDraft("one", fields={"colour": "red"}), PERSON)
    native.declare_field(FieldSpec("size", FieldType.NUMBER), PERSON)
    native.declare_field(FieldSpec("prio", FieldType.TEXT, required=True), PERSON)
    card = native.update(card.id, CardPatch(fields={"size": "4", "prio": "hi"}), PERSON)
    assert card.fields == {"colour": "red", "size": 4, "prio": "hi"}
    with pytest.raises(InvalidField, match="no field"):
        native.update(card.id, CardPatch(fields={"colour": "blue"}), PERSON)
    with pytest.raises(InvalidField, match="required"):
        native.update(card.id, CardPatch(fields={"prio": None}), PERSON)
    assert native.update(card.id, CardPatch(fields={"colour": None}), PERSON).fields == {"size": 4, "prio": "hi"}


def test_a_taken_number_is_replaced_and_told(native: NativeBoard) -> None:
    native.create(CardDraft("mine"), PERSON)
    report = native.import_cards([{"id": "cthem", "title": "theirs", "number": 1}], (), PERSON)
    assert report.renumbered == {"cthem": 2}


# -- several writers, many cards -------------------------------------------------------------------------------------
def test_of_two_moves_at_once_one_wins_in_each_of_a_hundred_rounds(tmp_path: Path) -> None:
    """D199: two connections as two processes have them."""
    url = f"sqlite:///{tmp_path / 'board.db'}"
    with Database.open(url) as one, Database.open(url) as two:
        boards = [NativeBoard("native", each, FakeClock(), CountingIds()) for each in (one, two)]
        card = boards[0].create(CardDraft("one"), PERSON)
        answers: list[list[object]] = [[], []]
        gate = threading.Barrier(2, timeout=30)

        def rounds(mine: int) -> None:
            for turn in range(100):
                seen = boards[mine].get(card.id)
                gate.wait()
                to = ("ready", "review", "backlog")[(turn + mine) % 3]
                answers[mine].append(boards[mine].move(card.id, Move(to, PERSON, version=seen.version)))  # type: ignore[union-attr]
                gate.wait()

        threads = [threading.Thread(target=rounds, args=(mine,)) for mine in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        for pair in zip(*answers, strict=True):
            changed = [each for each in pair if isinstance(each, Moved) and each.changed]
            assert len(changed) == 1 or all(isinstance(each, Moved) and not each.changed for each in pair)
            assert len(changed) + sum(isinstance(each, Refused) for each in pair) <= 2
        events = boards[0].history(card.id)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))


def test_eight_writers_leave_a_history_without_a_gap(tmp_path: Path) -> None:
    """D204, without the kill."""
    url = f"sqlite:///{tmp_path / 'board.db'}"

    def work(prefix: str) -> None:
        with Database.open(url, synchronous="OFF") as database:
            board = NativeBoard("native", database, FakeClock(), _Ids(prefix))
            card = board.create(CardDraft(prefix), PERSON)
            for turn in range(40):
                board.move(card.id, Move(("ready", "backlog")[turn % 2], PERSON))
                board.comment(card.id, str(turn), PERSON)

    with Database.open(url) as database:
        board = NativeBoard("native", database, FakeClock(), CountingIds())
        threads = [threading.Thread(target=work, args=(f"w{each}",)) for each in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        events = board.history()
        assert [event.seq for event in events] == list(range(1, 8 * 81 + 1))
        assert sorted(card.number for card in board.list_cards(None).cards) == list(range(1, 9))
        with database.read() as connection:
            assert connection.execute(text("PRAGMA integrity_check")).scalar() == "ok"


class _Ids:
    def __init__(self, prefix: str) -> None:
        self._prefix, self._count = prefix, 0

    def new(self, prefix: str = "") -> str:
        self._count += 1
        return f"{prefix}{self._prefix}{self._count:06d}"


def test_a_column_among_ten_thousand_cards_is_listed_in_milliseconds(native: NativeBoard, database: Database) -> None:
    """D206; processor time, so that a busy machine does not decide."""
    seed = native.create(CardDraft("seed", column="backlog", labels=("x",)), PERSON)
    columns = (
        "title, body, column_since, column_by, column_mover, column_run, column_sequence, labels, label_keys, priority,"
        " position, assignee, author, bot, bot_args, fields, url, not_before, not_before_at, version, created_at,"
        " updated_at, archived_at"
    )
    with database.write() as connection:
        connection.execute(
            text(
                "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)"
                f" INSERT INTO board_card (id, board, number, column_id, {columns})"
                " SELECT 'cn' || i, board, i, CASE WHEN i % 200 = 0 THEN 'ready' ELSE 'backlog' END,"
                f" {columns} FROM board_card, n WHERE id = :seed"
            ),
            {"seed": seed.id},
        )
    native.list_cards(["ready"])
    assert _seconds(lambda: len(native.list_cards(["ready"]).cards) == 50) < 0.1
    assert _seconds(lambda: len(native.query(CardQuery(("backlog",), label="x", limit=50)).cards) == 50) < 0.2
    assert _seconds(lambda: native.counts()["ready"] == 50) < 0.1
    assert _seconds(lambda: len(native.list_cards(None).cards) == 10_000) < 1.0


def _seconds(work: object) -> float:
    assert callable(work)
    start = time.thread_time()
    assert work()
    return time.thread_time() - start


def test_a_query_by_a_label_with_quotes_and_percent_is_exact(native: NativeBoard) -> None:
    for label in ('a"b', "50%", "50x", "é", "e\u0301"):
        native.create(CardDraft(label, labels=(label,)), PERSON)
    assert [card.title for card in native.query(CardQuery(label='a"b')).cards] == ['a"b']
    assert [card.title for card in native.query(CardQuery(label="50%")).cards] == ["50%"]
    assert [card.title for card in native.query(CardQuery(label="é")).cards] == ["é", "e\u0301"]


def test_two_boards_of_one_store_do_not_see_each_other(native: NativeBoard, database: Database) -> None:
    other = NativeBoard("other", database, FakeClock(), _Ids("o"))
    native.create(CardDraft("one"), PERSON)
    card = other.create(CardDraft("two"), PERSON)
    assert card.number == 1
    assert [each.title for each in other.list_cards(None).cards] == ["two"]
    assert native.resolve("1") != other.resolve("1")
    with pytest.raises(UnknownColumn):
        native.query(CardQuery(("nowhere",)))
