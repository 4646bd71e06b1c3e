"""Saved views, labels of the whole board, cards put away, sheets (dispatcher.md 29)."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatcher.sheets import documents, sheet
from tests.kit.cli import pointsman
from tests.kit.clock import FakeClock
from tests.kit.yard import Yard, tool


def read(folder: Path, *arguments: str) -> Any:
    answer = pointsman(folder, *arguments, "--json")
    assert answer.code == 0, answer.err
    return answer.document


def make(folder: Path, title: str, *options: str) -> str:
    return str(read(folder, "card", "create", "--title", title, *options)["id"])


def titles(folder: Path, *filters: str) -> list[str]:
    return [card["title"] for card in read(folder, "card", "list", *filters)["cards"]]


@pytest.fixture
def board(tmp_path: Path) -> Path:
    make(tmp_path, "Fix the login", "--label", "bug", "--assignee", "ana", "--column", "backlog")
    make(tmp_path, "Write docs", "--label", "docs", "--body", "about LOGIN pages", "--column", "backlog")
    make(tmp_path, "100% sure_thing", "--label", "bug", "--label", "docs")
    return tmp_path


def test_a_saved_view_is_a_list_under_a_name_that_further_filters_narrow(board: Path) -> None:
    read(board, "board", "views", "save", "mine", "--column", "backlog", "--text", "login")
    assert titles(board, "--view", "mine") == ["Fix the login", "Write docs"]
    assert titles(board, "--view", "mine", "--label", "bug") == ["Fix the login"]
    read(board, "board", "views", "save", "mine", "--assignee", "ana")
    found = read(board, "board", "views")["views"]
    assert [(each["name"], each["columns"], each["assignee"]) for each in found] == [("mine", [], "ana")]
    assert "assignee ana" in pointsman(board, "board", "views").out
    missing = pointsman(board, "card", "list", "--view", "mime")
    assert (missing.code, 'Did you mean "mine"?' in missing.err) == (2, True)
    assert pointsman(board, "board", "views", "save", "x", "--column", "nowhere").code == 2
    read(board, "board", "views", "delete", "mine")
    assert read(board, "board", "views")["views"] == []
    kinds = [each["type"] for each in read(board, "board", "history")["events"]]
    assert kinds[-3:] == ["view_saved", "view_saved", "view_deleted"]


def test_text_is_looked_for_as_it_is(board: Path) -> None:
    assert titles(board, "--text", "100%") == ["100% sure_thing"]
    assert titles(board, "--text", "sure_t") == ["100% sure_thing"]
    assert titles(board, "--text", "s%e") == []
    make(board, "Ärger in der Straße", "--body", "École\n")
    for text in ("Ärger", "ÄRGER", "a\u0308rger", "STRASSE", "école"):
        assert titles(board, "--text", text) == ["Ärger in der Straße"], text


def test_labels_are_counted_renamed_and_taken_off_on_all_cards_at_once(board: Path) -> None:
    assert read(board, "board", "labels")["labels"] == [{"name": "bug", "cards": 2}, {"name": "docs", "cards": 2}]
    read(board, "board", "labels", "rename", "bug", "docs")
    assert read(board, "board", "labels")["labels"] == [{"name": "docs", "cards": 3}]
    assert read(board, "card", "show", "3")["labels"] == ["docs"]
    read(board, "board", "labels", "remove", "docs")
    assert read(board, "board", "labels")["labels"] == []
    assert pointsman(board, "board", "labels", "rename", "nope", "x").code == 2
    last = read(board, "board", "history")["events"][-1]
    assert (last["type"], last["data"]) == ("label_renamed", {"from": "docs", "to": None, "cards": 3})


def test_a_card_that_is_put_away_is_in_no_list_and_comes_back_where_it_was(board: Path) -> None:
    assert read(board, "card", "archive", "1")["archived"] is True
    read(board, "card", "archive", "1")
    assert titles(board) == ["Write docs", "100% sure_thing"]
    assert titles(board, "--archived") == ["Fix the login"]
    assert "Fix the login" not in pointsman(board, "board", "show").out
    shown = read(board, "card", "show", "1")
    assert (shown["archived"], shown["closed"], shown["column"]) == (True, True, "backlog")
    moved = pointsman(board, "card", "move", "1", "--to", "ready")
    assert (moved.code, "card unarchive" in moved.err) == (5, True)
    assert read(board, "board", "labels")["labels"][0] == {"name": "bug", "cards": 1}
    read(board, "card", "unarchive", "1")
    assert titles(board)[0] == "Fix the login"
    kinds = [each["type"] for each in read(board, "card", "history", "1")["events"]]
    assert kinds == ["card_created", "card_archived", "card_unarchived"]


def test_nothing_starts_from_a_card_that_was_put_away(tmp_path: Path, clock: FakeClock) -> None:
    yard = Yard(tmp_path, clock, bot=tool("true"))
    card = yard.make()
    yard.board.archive(card, yard.board.history(card)[0].mover)
    yard.tick(3)
    assert yard.runs() == ()
    yard.board.unarchive(card, yard.board.history(card)[0].mover)
    yard.settled()
    assert yard.column(card) == "review"
    yard.close()


def test_a_board_goes_into_a_sheet_and_back_without_a_change(
    board: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    make(
        board, "=SUM(A1)", "--body", 'two\nlines, "quoted"', "--field", "size=-3", "--blocker", "1", "--bot-arg", "k=v"
    )
    read(board, "card", "archive", "2")
    text = pointsman(board, "board", "export", "--format", "csv").out
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["title"] for row in rows] == ["Fix the login", "100% sure_thing", "'=SUM(A1)", "Write docs"]
    read(board, "card", "update", "1", "--body", "x\r\n" * 50_000)
    (board / "cards.csv").write_bytes(pointsman(board, "board", "export", "--format", "csv").out.encode())
    assert read(board, "board", "import", "cards.csv")["unchanged"] == [row["id"] for row in rows]
    assert pointsman(board, "board", "export", "--format", "csv", "--json").code == 2
    other = tmp_path_factory.mktemp("other")
    assert len(read(other, "board", "import", str(board / "cards.csv"))["created"]) == 4
    assert titles(other) == ["Fix the login", "100% sure_thing", "=SUM(A1)"]
    assert titles(other, "--archived") == ["Write docs"]
    made = read(other, "card", "show", "4")
    assert (made["body"], made["fields"], made["bot_args"]) == ('two\nlines, "quoted"', {"size": "-3"}, {"k": "v"})


@pytest.mark.parametrize("between", [",", ";", "\t"])
def test_a_sheet_as_spreadsheets_save_it_is_read(tmp_path: Path, between: str) -> None:
    rows = (("source", "title", "priority", "archived", "labels"), ("x1", "One", "5.0", "TRUE", '"a; b"'))
    (tmp_path / "new.csv").write_bytes("\r\n".join(map(between.join, rows)).encode("utf-8-sig"))
    read(tmp_path, "board", "import", "new.csv")
    (card,) = read(tmp_path, "card", "list", "--archived")["cards"]
    assert (card["title"], card["priority"], card["labels"]) == ("One", 5, ["a", "b"])


def test_a_damaged_card_is_missed_in_the_export_aloud(board: Path) -> None:
    """D207."""
    with sqlite3.connect(board / ".pointsman" / "pointsman.db") as store:
        store.execute("UPDATE board_card SET labels = '[bro' WHERE number = 2")
    store.close()
    told = pointsman(board, "board", "export", "--json")
    assert [each["number"] for each in told.document["cards"]] == [1, 3]
    assert ("(#2)" in told.err, "not in the export" in told.err) == (True, True)


def test_a_sheet_made_by_hand_needs_a_title_and_a_source(tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text(
        "\ufeffsource,title,column,labels,field:size\nx1,One,ready,a; b,big\n,,,,\nx2,Two,,,\n"
    )
    first = read(tmp_path, "board", "import", "new.csv")
    assert len(first["created"]) == 2
    assert len(read(tmp_path, "board", "import", "new.csv")["unchanged"]) == 2
    card = read(tmp_path, "card", "show", "1")
    assert (card["labels"], card["fields"], card["column"]) == (["a", "b"], {"size": "big"}, "ready")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty"),
        ("titel,source\nx,y\n", "Did you mean title?"),
        ("source,title,priority\nx,One,high\n", "Row 2, priority"),
        ("source,title,priority\nx,One,1.5\n", "no whole number"),
        ("source,title,position\nx,One,first\n", "no number"),
        ("source,title\nx,One,two\n", "more cells"),
        ("source,title\n,One\n", "no card id"),
        ("source,title,bot_args\nx,One,{\n", "Row 2, bot_args"),
        ("source,title,archived\nx,One,maybe\n", "Row 2, archived"),
        ('source,title\nx,"One\n', "near line 2"),
        ("source,title,title\nx,One,Two\n", "two columns"),
    ],
)
def test_a_sheet_that_does_not_fit_names_its_row_and_nothing_is_taken_over(
    tmp_path: Path, text: str, told: str
) -> None:
    (tmp_path / "bad.csv").write_text(text)
    answer = pointsman(tmp_path, "board", "import", "bad.csv")
    assert (answer.code, told in answer.err) == (2, True), answer.err
    assert titles(tmp_path) == []


@given(
    st.lists(
        st.text(
            st.characters(exclude_categories=("Cs",), exclude_characters="\0") | st.sampled_from("\r\n;'[\""),
            max_size=20,
        ),
        min_size=5,
        max_size=5,
    )
)
def test_every_text_survives_the_way_through_a_sheet(texts: list[str]) -> None:
    title, body, assignee, size, label = texts
    labels = [label, f" {label}; x"] if label else []
    document = {"id": "c1", "title": title, "body": body, "assignee": assignee, "labels": labels}
    back = json.loads(json.dumps(documents(sheet([{**document, "fields": {"size": size}}, {"id": "c2"}]))))
    assert {name: back[0][name] for name in document} == document
    assert [each["fields"] for each in back] == [{"size": size}, {}]


@pytest.mark.parametrize("cell", ["=1+1", "+1 x", "-x", "@cmd", "\tx", "'=x"])
def test_no_cell_begins_a_formula(cell: str) -> None:
    row = next(csv.DictReader(io.StringIO(sheet([{"id": "c1", "title": cell}]))))
    assert row["title"] == f"'{cell}"
