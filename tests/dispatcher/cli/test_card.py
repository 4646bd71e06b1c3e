"""The verbs of cards, as a person and a script call them (interface.md 4)."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from tests.kit.cli import Answer, pointsman


def card(folder: Path, *arguments: str, **environment: str) -> Answer:
    return pointsman(folder, "card", *arguments, environment=environment)


def document(folder: Path, *arguments: str) -> Any:
    answer = card(folder, *arguments, "--json")
    assert answer.code == 0, answer.err
    return answer.document


@pytest.fixture
def one(tmp_path: Path) -> Path:
    """A folder with one card in ``backlog``."""
    assert (
        card(tmp_path, "create", "--title", "One", "--column", "backlog", "--label", "bug", "--priority", "7").code == 0
    )
    return tmp_path


def test_the_document_of_a_card_is_exactly_that_of_the_interface(tmp_path: Path) -> None:
    made = document(
        tmp_path,
        *("create", "--title", 'Fix the "thing"', "--column", "backlog", "--body", "Line one\n\nLine three"),
        *("--label", "bug", "--label", "ui", "--priority", "7", "--assignee", "ann", "--field", "estimate=3"),
        *("--bot", "work", "--bot-arg", "k=v=w"),
    )
    shown = document(tmp_path, "show", "1")
    assert shown.pop("comments") == []
    assert shown == made
    wanted = {
        "number": 1,
        "board": "native",
        "title": 'Fix the "thing"',
        "body": "Line one\n\nLine three",
        "column": "backlog",
        "labels": ["bug", "ui"],
        "priority": 7,
        "assignee": "ann",
        "bot": "work",
        "bot_args": {"k": "v=w"},
        "fields": {"estimate": "3"},
        "blockers": [],
        "url": "",
        "last_run": None,
        "last_run_status": None,
        "claim": None,
        "column_by": "person",
        "idle_reason": None,
        "closed": False,
        "position": None,
        "not_before": None,
        "version": "1",
    }
    assert {name: made[name] for name in wanted} == wanted
    assert all(made[name].endswith("Z") for name in ("created_at", "updated_at", "column_since"))


@pytest.mark.parametrize("form", ["1", "#1", "{id}", "{prefix}"])
def test_a_card_is_named_by_number_id_or_prefix(one: Path, form: str) -> None:
    card_id = document(one, "show", "1")["id"]
    assert document(one, "show", form.format(id=card_id, prefix=card_id[:15]))["number"] == 1


def test_lists_filter_and_show_the_most_urgent_first(one: Path) -> None:
    card(one, "create", "--title", "Second", "--priority", "9", "--assignee", "ann")
    assert [each["title"] for each in document(one, "list")["cards"]] == ["Second", "One"]
    for filters, titles in {
        ("--column", "backlog"): ["One"],
        ("--column", "backlog", "--column", "inbox"): ["Second", "One"],
        ("--label", "bug"): ["One"],
        ("--assignee", "ann"): ["Second"],
        ("--unclaimed",): ["Second", "One"],
        ("--claimed",): [],
        ("--limit", "1", "--offset", "1"): ["One"],
    }.items():
        assert [each["title"] for each in document(one, "list", *filters)["cards"]] == titles
    text = card(one, "list").out
    assert text.splitlines()[1].startswith("#2  inbox")


def test_reading_verbs_make_no_store(tmp_path: Path) -> None:
    assert document(tmp_path, "list") == {"cards": []}
    assert card(tmp_path, "show", "1").code == 1
    verbs = (("history", "1"), ("move", "1", "--to", "ready"), ("update", "1", "--title", "x"), ("comment", "1", "x"))
    for words in (*verbs, *((verb, "1") for verb in ("close", "archive", "unarchive", "delete"))):
        assert card(tmp_path, *words, "--json").document["error"]["code"] == "card_unknown"
    assert pointsman(tmp_path, "explain", "1", "--json").document["error"]["code"] == "card_unknown"
    rehearsed = pointsman(tmp_path, "dispatch", "--dry-run", "--no-server", "--json")
    assert rehearsed.document == {"decisions": [], "counts": {}}
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (("show", "zz-nobody"), 1, "zz-nobody"),
        (("move", "zz-nobody", "--to", "ready"), 1, "zz-nobody"),
        (("move", "1", "--to", "nowhere"), 2, "nowhere"),
        (("move", "1"), 2, "--to"),
        (("create", "--title", "x", "--column", "nowhere"), 2, "nowhere"),
        (("create", "--body", "no title"), 2, "title"),
        (("create", "--title", "y", "--priority", "high"), 2, "priority"),
        (("create", "--title", "z", "--blocker", "99"), 2, "99"),
        (("create", "--title", "z", "--field", "novalue"), 2, "--field"),
        (("create", "--title", "t" * 501), 2, "500"),
        (("create", "--title", "z", "--not-before", "2027-01-01"), 2, "zone"),
        (("update", "1", "--column", "nowhere", "--title", "changed"), 2, "nowhere"),
        (("update", "1", "--blocker", "1"), 2, "#1 -> #1"),
        (("move", "1", "--to", "ready", "--expect", "review"), 5, "backlog"),
        (("move", "1", "--to", "backlog", "--expect", "review"), 5, "backlog"),
        (("move", "1", "--to", "ready", "--before", "99"), 1, "99"),
        (("move", "1", "--to", "ready", "--after", "1"), 2, "another card"),
        (("move", "1", "--to", "ready", "--reason", "r" * 1001), 2, "1000"),
        (("history", "1", "--since", "9" * 30), 2, "--since"),
        (("list", "--limit", "9" * 30), 2, "--limit"),
        (("show", ""), 1, "No card is named"),
        (("list", "--label", "\udcff"), 2, "no Unicode"),
        (("comment", "1", " "), 2, "empty"),
    ],
)
def test_what_is_refused_names_what_was_found_and_leaves_nothing_behind(
    one: Path, arguments: tuple[str, ...], code: int, named: str
) -> None:
    """D160; nothing half done."""
    before = document(one, "list")
    answer = card(one, *arguments)
    assert (answer.code, answer.out) == (code, "")
    assert named in answer.err
    assert len(answer.err.strip().splitlines()) == 2
    assert document(one, "list") == before


def test_a_pointer_is_changed_with_the_rest_or_not_at_all(one: Path) -> None:
    (one / "work.bot").write_text("tool work:\n  command: `true`\n\nworkflow work:\n  entry: work\n  work -> done\n")
    pointsman(one, "run", "work.bot", "--run-id", "r1")
    assert card(one, "update", "1", "--last-run", "r1", "--column", "nowhere").code == 2
    assert document(one, "show", "1")["last_run"] is None
    assert document(one, "update", "1", "--last-run", "r1", "--column", "ready")["last_run"] == "r1"


def test_a_cycle_through_updates_is_refused_with_its_chain(one: Path) -> None:
    """D161."""
    card(one, "create", "--title", "Two", "--blocker", "1")
    card(one, "create", "--title", "Three", "--blocker", "#2")
    answer = card(one, "update", "1", "--blocker", "3")
    assert answer.code == 2
    assert "#1 -> #3 -> #2 -> #1" in answer.err


def test_an_update_changes_what_it_names_and_clears_what_it_is_told_to(one: Path) -> None:
    card(one, "update", "1", "--field", "a=1", "--field", "b=2", "--not-before", "2027-03-28 02:30 Europe/Berlin")
    changed = document(one, "update", "1", "--title", "New", "--field", "c=3")
    assert (changed["title"], changed["fields"], changed["labels"]) == ("New", {"a": "1", "b": "2", "c": "3"}, ["bug"])
    assert (changed["not_before"], changed["not_before_at"]) == (
        "2027-03-28 02:30 Europe/Berlin",
        "2027-03-28T01:00:00.000Z",
    )
    card(one, "create", "--title", "Two", "--blocker", "1")
    assert "waits for   #1 (in backlog)" in card(one, "show", "2").out
    card(one, "archive", "2")
    assert "put away    card unarchive 2 brings it back" in card(one, "show", "2").out
    cleared = document(
        one, "update", "1", "--clear", "fields", "--field", "d=4", "--clear", "labels", "--clear", "not-before"
    )
    assert (cleared["fields"], cleared["labels"], cleared["not_before"]) == ({"d": "4"}, [], None)
    assert document(one, "update", "1", "--column", "ready")["column"] == "ready"


def test_a_move_tells_a_bot_from_a_person_by_the_run_that_calls(one: Path) -> None:
    assert card(one, "move", "1", "--to", "ready", POINTSMAN_RUN_ID="run-7").code == 0
    shown = document(one, "show", "1")
    assert (shown["column"], shown["column_by"], shown["column_run"]) == ("ready", "bot", "run-7")
    card(one, "move", "1", "--to", "review", "--reason", "looks good", USER="ann")
    shown = document(one, "show", "1")
    assert (shown["column_by"], shown["column_run"]) == ("person", None)
    assert "ready -> review (looks good)" in card(one, "history", "1").out


def test_cards_are_placed_within_their_column(one: Path) -> None:
    for title in ("Two", "Three"):
        card(one, "create", "--title", title, "--column", "backlog", "--priority", "7")
    card(one, "move", "3", "--before", "1")
    card(one, "move", "1", "--after", "2")
    assert [each["number"] for each in document(one, "list")["cards"]] == [3, 2, 1]


def test_comments_closing_and_history(one: Path) -> None:
    card(one, "comment", "1", "well done", USER="ann")
    assert document(one, "show", "1")["comments"][0]["text"] == "well done"
    assert document(one, "close", "1")["column"] == "done"
    assert card(one, "close", "1").code == 0
    events = card(one, "history", "1", "--json").document["events"]
    assert [event["type"] for event in events] == ["card_created", "comment_added", "card_moved", "card_closed"]
    assert [event["seq"] for event in card(one, "history", "1", "--since", "2", "--json").document["events"]] == [3, 4]
    assert "well done" in card(one, "show", "1").out


def test_a_comment_is_changed_by_its_author_and_keeps_its_earlier_text(one: Path) -> None:
    made = card(one, "comment", "1", "frist", "--json", USER="ann").document
    assert card(one, "comment", "1", "first", "--edit", made["id"], USER="bob").code == 5
    assert card(one, "comment", "1", "first", "--edit", "mnone", USER="ann").code == 1
    assert card(one, "comment", "1", "first", "--edit", made["id"], USER="ann").code == 0
    (shown,) = document(one, "show", "1")["comments"]
    assert (shown["id"], shown["text"], shown["edited_at"] is None) == (made["id"], "first", False)
    edited = document(one, "history", "1")["events"][-1]
    assert (edited["type"], edited["data"]["from"], edited["data"]["to"]) == ("comment_edited", "frist", "first")
    assert f"ann ({made['id']}, edited):" in card(one, "show", "1").out


def test_a_deleted_card_says_so_and_its_number_stays_spent(one: Path) -> None:
    card(one, "create", "--title", "Two", "--blocker", "1")
    card_id = document(one, "show", "1")["id"]
    answer = card(one, "delete", "1")
    assert "1 cards wait for it" in answer.err
    assert card(one, "show", card_id, "--json").document["error"]["code"] == "card_deleted"
    assert document(one, "create", "--title", "Three")["number"] == 3


def test_a_body_comes_from_stdin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("piped ✓\n".encode())))
    assert document(tmp_path, "create", "--title", "t", "--body", "-")["body"] == "piped ✓\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff")))
    assert card(tmp_path, "create", "--title", "t", "--body", "-").code == 2
    monkeypatch.setattr("sys.stdin", None)
    assert "stdin is closed" in card(tmp_path, "create", "--title", "t", "--body", "-").err


def test_on_a_board_that_is_not_native_cards_are_not_ours_to_change(tmp_path: Path) -> None:
    answer = card(tmp_path, "--board", "elsewhere", "create", "--title", "x")
    assert (answer.code, "elsewhere" in answer.err) == (2, True)
