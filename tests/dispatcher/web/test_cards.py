"""Cards over HTTP (interface.md 6)."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from connectors.base import CardQuery
from connectors.card import PERSON
from connectors.native.board import NativeBoard
from dispatcher.wiring import Wiring


def create(client: httpx.Client, **values: Any) -> Any:
    answer = client.post("/api/cards", json={"title": "one", **values})
    assert answer.status_code == 201, answer.text
    return answer.json()


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def test_a_card_is_made_read_listed_changed_moved_and_commented(client: httpx.Client) -> None:
    made = create(client, column="backlog", labels=["bug"], priority=3, fields={"x": "1"}, bot_args={"n": 1})
    assert (made["number"], made["column"], made["bot_args"]) == (1, "backlog", {"n": 1})
    for name in (made["id"], "1", "%231", made["id"][:15]):
        assert client.get(f"/api/cards/{name}").json() == {**made, "comments": []}
    assert client.get("/api/cards", params={"label": "bug"}).json() == {"cards": [made]}
    changed = client.patch("/api/cards/1", json={"title": "two", "fields": {"x": None}, "version": made["version"]})
    assert (changed.json()["title"], changed.json()["fields"]) == ("two", {})
    moved = client.post("/api/cards/1/move", json={"to": "ready", "expect": "backlog"}).json()
    assert (moved["column"], moved["column_by"]) == ("ready", "person")
    comment = client.post("/api/cards/1/comments", json={"text": "hello"})
    assert (comment.status_code, comment.json()["text"]) == (201, "hello")
    assert client.get("/api/cards/1").json()["comments"] == [comment.json()]
    kinds = [event["type"] for event in client.get("/api/cards/1/history").json()["events"]]
    assert kinds == ["card_created", "card_updated", "card_moved", "comment_added"]


def test_a_stale_version_or_another_column_is_a_conflict_and_changes_nothing(client: httpx.Client) -> None:
    """dispatcher.md 29: HTTP writes carry the version."""
    card = create(client)
    assert client.patch("/api/cards/1", json={"title": "two", "version": "1"}).status_code == 200
    assert code(client.patch("/api/cards/1", json={"title": "x", "version": 1})) == (409, "card_conflict")
    assert code(client.post("/api/cards/1/move", json={"to": "ready", "version": "1"})) == (409, "card_conflict")
    assert code(client.post("/api/cards/1/move", json={"to": "ready", "expect": "review"})) == (409, "card_conflict")
    found = client.get("/api/cards/1").json()
    assert (found["title"], found["column"]) == ("two", card["column"])


def test_a_card_is_changed_only_as_it_was_read_when_the_request_says_so(client: httpx.Client) -> None:
    """``If-Match`` with the ETag of the card: another text, place or comment since is 412, and nothing is changed."""
    create(client, column="backlog")

    def tag() -> str:
        return client.get("/api/cards/1").headers["etag"]

    def change(tag: str, **body: Any) -> httpx.Response:
        return client.patch("/api/cards/1", json=body, headers={"If-Match": tag})

    def move(tag: str, to: str) -> httpx.Response:
        return client.post("/api/cards/1/move", json={"to": to}, headers={"If-Match": tag})

    first = tag()
    assert change(first, title="two").json()["title"] == "two"
    assert code(change(first, title="three")) == (412, "precondition_failed")
    assert code(move(first, "ready")) == (412, "precondition_failed")
    assert code(change(tag(), title="three", version="1")) == (409, "card_conflict")
    assert move(f'"other", W/{tag()}', "ready").json()["column"] == "ready"
    read = tag()
    client.post("/api/cards/1/comments", json={"text": "hello"})
    assert code(change(read, title="three")) == (412, "precondition_failed")
    for path, body in (("comments", {"text": "x"}), ("place", {"after": "1"}), ("archive", {}), ("unarchive", {})):
        answer = client.post(f"/api/cards/1/{path}", json=body, headers={"If-Match": read})
        assert code(answer) == (412, "precondition_failed"), path
    assert change("*", title="three").status_code == 200
    found = client.get("/api/cards/1").json()
    assert (found["title"], found["column"]) == ("three", "ready")


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"body": "no title"}, "title"),
        ({"title": "x", "column": "nowhere"}, "nowhere"),
        ({"title": "x", "blockers": ["99"]}, "99"),
        ({"title": "x", "priority": "3"}, "priority"),
        ({"title": "x", "priority": True}, "priority"),
        ({"title": "x", "id": "mine"}, "id"),
        ({"title": "t" * 501}, "500"),
        ({"title": "x", "fields": {"n": 3}}, "n"),
        ({"title": "x", "not_before": "2027-01-01"}, "zone"),
        ([], "body"),
    ],
)
def test_a_body_that_does_not_fit_is_422_and_names_the_field(client: httpx.Client, body: Any, named: str) -> None:
    answer = client.post("/api/cards", json=body)
    assert answer.status_code == 422
    assert named in answer.json()["error"]["message"] + answer.json()["error"]["hint"]
    assert client.get("/api/cards").json() == {"cards": []}


@pytest.mark.parametrize("body", [b"{", b'{"title": "\\ud800"}', b'{"title": "a\\u0000"}', b"\xff", b"NaN", b""])
def test_text_that_is_no_json_or_no_unicode_is_refused_cleanly(client: httpx.Client, body: bytes) -> None:
    answer = client.post("/api/cards", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422, answer.text
    assert answer.json()["error"]["message"]


def test_unknown_is_404_deleted_is_410(client: httpx.Client, wiring: Any) -> None:
    card = create(client)
    assert code(client.get("/api/cards/nobody")) == (404, "card_unknown")
    assert code(client.post("/api/cards/nobody/move", json={"to": "ready"})) == (404, "card_unknown")
    board = wiring.boards["native"]
    from connectors.card import PERSON

    board.delete(card["id"], PERSON)
    assert code(client.get(f"/api/cards/{card['id']}")) == (410, "card_deleted")
    assert code(client.get("/api/nothing")) == (404, "not_found")
    assert code(client.put("/api/cards", json={})) == (405, "method")


def test_a_run_that_asks_counts_as_a_bot(client: httpx.Client) -> None:
    create(client)
    moved = client.post("/api/cards/1/move", json={"to": "ready"}, headers={"X-Pointsman-Run": "run-9"}).json()
    assert (moved["column_by"], moved["column_run"]) == ("bot", "run-9")


def test_cards_are_paged_and_placed(client: httpx.Client) -> None:
    for title in ("a", "b", "c"):
        create(client, title=title, column="ready")
    assert client.post("/api/cards/3/place", json={"before": "1"}).status_code == 200
    client.post("/api/cards/2/archive", json={})
    for card, other in ((1, "2"), (2, "1")):
        assert code(client.post(f"/api/cards/{card}/place", json={"before": other})) == (422, "bad_card")
    client.post("/api/cards/2/unarchive", json={})
    params: dict[str, Any] = {"column": ["ready", "review"], "limit": 2, "offset": 1}
    assert [each["title"] for each in client.get("/api/cards", params=params).json()["cards"]] == ["a", "b"]
    assert client.get("/api/cards", params={"claimed": True}).json() == {"cards": []}
    assert len(client.get("/api/cards", params={"claimed": False}).json()["cards"]) == 3
    assert client.get("/api/cards", params={"limit": -1}).status_code == 422
    assert client.patch("/api/cards/1", json={"column": "review", "title": "z"}).json()["column"] == "review"
    assert client.get("/api/cards", params={"board": "elsewhere"}).status_code == 422


def test_a_card_is_pointed_at_a_run_that_is_there(client: httpx.Client) -> None:
    """dispatcher.md 6 and 29."""
    card = client.post("/api/cards", json={"title": "x"}).json()
    answer = client.patch(f"/api/cards/{card['id']}", json={"last_run": "nothing"})
    assert answer.status_code == 404
    assert client.patch(f"/api/cards/{card['id']}", json={"last_run": ""}).json()["last_run"] is None


def test_lists_are_paged_and_the_answer_names_the_next_page(client: httpx.Client) -> None:
    for number in range(5):
        client.post("/api/cards", json={"title": f"card {number}"})
    seen: list[str] = []
    path: str | None = "/api/cards?limit=2"
    pages = 0
    while path:
        answer = client.get(path)
        seen += [card["title"] for card in answer.json()["cards"]]
        path = answer.links["next"]["url"] if "next" in answer.links else None
        pages += 1
    assert (seen, pages) == ([f"card {number}" for number in range(5)], 3)
    first = client.get("/api/cards/1/history?limit=1").json()
    assert (len(first["events"]), first["more"]) == (1, True)
    assert client.get(f"/api/cards/1/history?since={first['events'][0]['seq']}").json() == {"events": [], "more": False}


def test_cards_are_put_away_and_views_are_used(client: httpx.Client, wiring: Wiring) -> None:
    client.post("/api/cards", json={"title": "Fix login", "labels": ["bug"]})
    client.post("/api/cards", json={"title": "Other"})
    board = wiring.boards["native"]
    assert isinstance(board, NativeBoard)
    board.save_view("bugs", CardQuery(label="bug"), PERSON)
    assert [view["name"] for view in client.get("/api/cards/views").json()["views"]] == ["bugs"]
    assert [card["title"] for card in client.get("/api/cards?view=bugs").json()["cards"]] == ["Fix login"]
    assert [card["title"] for card in client.get("/api/cards?text=oth").json()["cards"]] == ["Other"]
    assert client.get("/api/cards?view=nope").status_code == 422
    put_away = client.post("/api/cards/1/archive", json={})
    assert (put_away.status_code, put_away.json()["archived"]) == (200, True)
    assert client.get("/api/cards?view=bugs").json()["cards"] == []
    assert [card["number"] for card in client.get("/api/cards?archived=true").json()["cards"]] == [1]
    assert client.post("/api/cards/1/move", json={"to": "ready"}).status_code == 409
    assert client.post("/api/cards/1/unarchive", json={}).json()["archived"] is False
