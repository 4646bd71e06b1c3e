"""The verbs of whole boards (interface.md 4, dispatcher.md 29)."""

from __future__ import annotations

import json
from pathlib import Path

from tests.kit.cli import Answer, pointsman


def board(folder: Path, *arguments: str) -> Answer:
    return pointsman(folder, "board", *arguments)


def test_the_default_columns_come_in_their_order_and_make_no_store(tmp_path: Path) -> None:
    (tmp_path / "pointsman.yaml").write_text("concurrency: {wip: {review: 10}}\n")
    columns = board(tmp_path, "columns", "--json").document["columns"]
    assert [each["name"] for each in columns if each["eligible"]] == ["ready", "in_progress"]
    assert columns[6] == {"name": "review", "title": "Review", "eligible": False, "terminal": False, "wip": 10}
    assert not (tmp_path / ".pointsman").exists()
    assert "inbox (0)" in board(tmp_path, "show").out
    assert json.loads(board(tmp_path, "export").out)["cards"] == []


def test_an_export_is_one_document_that_another_store_takes_back(tmp_path: Path) -> None:
    """D203."""
    pointsman(tmp_path, "card", "create", "--title", "Find me", "--column", "ready", "--label", "bug")
    assert "Find me" in board(tmp_path, "show").out
    exported = board(tmp_path, "export").out
    document = json.loads(exported)
    assert set(document) == {"format", "board", "columns", "fields", "cards"}
    other = tmp_path / "other"
    other.mkdir()
    (other / ".pointsman").mkdir()
    (other / "board.json").write_text(exported)
    first = pointsman(other, "board", "import", str(other / "board.json"), "--json").document
    again = pointsman(other, "board", "import", str(other / "board.json"), "--json").document
    assert (len(first["created"]), len(again["created"]), len(again["unchanged"])) == (1, 0, 1)


def test_a_document_that_is_none_is_refused(tmp_path: Path) -> None:
    for text in ("no json", "[]", '{"cards": 3}', '{"cards": [{"id": "cx", "title": ""}]}'):
        (tmp_path / "board.json").write_text(text)
        assert board(tmp_path, "import", str(tmp_path / "board.json")).code == 2
    assert board(tmp_path, "import", str(tmp_path / "absent.json")).code == 2


def test_a_rename_tells_which_keys_of_the_configuration_still_say_the_old_name(tmp_path: Path) -> None:
    """D200."""
    (tmp_path / "pointsman.yaml").write_text("columns: {completed: review}\nconcurrency: {wip: {review: 3}}\n")
    pointsman(tmp_path, "card", "create", "--title", "one", "--column", "review")
    answer = board(tmp_path, "columns", "rename", "review", "look")
    assert answer.code == 0
    assert "columns.completed, concurrency.wip.review" in answer.err
    columns = {each["name"]: each["wip"] for each in board(tmp_path, "columns", "--json").document["columns"]}
    assert columns["look"] == 3
    assert pointsman(tmp_path, "card", "list", "--column", "review", "--json").document["cards"][0]["column"] == "look"


def test_a_column_is_deleted_with_a_place_for_its_cards_and_never_one_of_a_role(tmp_path: Path) -> None:
    """D201."""
    board(tmp_path, "columns", "add", "extra", "--before", "ready")
    pointsman(tmp_path, "card", "create", "--title", "one", "--column", "extra")
    assert board(tmp_path, "columns", "delete", "extra").code == 2
    assert board(tmp_path, "columns", "delete", "review", "--to", "done").code == 5
    assert board(tmp_path, "columns", "delete", "extra", "--to", "backlog").code == 0
    assert pointsman(tmp_path, "card", "show", "1", "--json").document["column"] == "backlog"
    (tmp_path / "pointsman.yaml").write_text("concurrency: {by_column: {extra: 3}}\n")
    board(tmp_path, "columns", "add", "extra")
    assert board(tmp_path, "columns", "rename", "extra", "extra").err == ""
    assert "concurrency.by_column.extra" in board(tmp_path, "columns", "delete", "extra").err
    names = [each["name"] for each in board(tmp_path, "columns", "--json").document["columns"]]
    assert board(tmp_path, "columns", "reorder", *reversed(names)).code == 0
    assert [e["name"] for e in board(tmp_path, "columns", "--json").document["columns"]] == list(reversed(names))


def test_declared_fields_are_asked_for(tmp_path: Path) -> None:
    """D205."""
    assert "any field" in board(tmp_path, "fields").out
    added = board(tmp_path, "fields", "add", "size", "--type", "enum", "--value", "S", "--value", "L", "--required")
    assert added.code == 0
    refused = pointsman(tmp_path, "card", "create", "--title", "one", "--field", "size=M")
    assert (refused.code, "size" in refused.err) == (2, True)
    assert pointsman(tmp_path, "card", "create", "--title", "one", "--field", "size=L").code == 0
    assert board(tmp_path, "fields", "--json").document["fields"][0]["values"] == ["S", "L"]
    assert board(tmp_path, "fields", "remove", "size").code == 0


def test_the_history_of_the_board_goes_on_where_a_reader_stopped(tmp_path: Path) -> None:
    for title in ("one", "two"):
        pointsman(tmp_path, "card", "create", "--title", title)
    events = board(tmp_path, "history", "--json").document["events"]
    assert [event["seq"] for event in events] == [1, 2]
    assert board(tmp_path, "history", "--since", "1", "--json").document["events"] == events[1:]
    assert "card_created" in board(tmp_path, "history").out
