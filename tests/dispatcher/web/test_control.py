"""Health, metrics and the switches of the dispatcher (interface.md 6, dispatcher.md 24 and 25)."""

from __future__ import annotations

import httpx
import pytest

from dispatcher.web.backstage import Backstage
from tests.dispatcher.web.conftest import NotingDoor


def test_health_and_readiness_are_two_things(client: httpx.Client, door: NotingDoor) -> None:
    assert client.get("/healthz").status_code == 200
    assert client.get("/readyz").json() == {"ready": True, "reasons": []}
    door.reasons = ["no tick has completed yet"]
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["reasons"]) == (503, ["no tick has completed yet"])
    assert client.get("/healthz").status_code == 200


def test_metrics_are_prometheus_text(client: httpx.Client, backstage: Backstage) -> None:
    backstage.metrics.count("pointsman_ticks_total", result="complete")
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'pointsman_ticks_total{result="complete"} 1.0' in answer.text


def test_the_state_is_the_daemons_document(client: httpx.Client, door: NotingDoor) -> None:
    assert client.get("/api/dispatcher").json() == door.document


def test_switches_reach_the_daemon_before_the_answer(client: httpx.Client, door: NotingDoor) -> None:
    assert client.post("/api/dispatcher/pause", json={}).json() == {"state": "paused"}
    client.post("/api/dispatcher/pause", json={"mode": "drain"}, headers={"X-Pointsman-User": "Jürgen".encode()})
    assert client.post("/api/dispatcher/pause", json={"mode": "stop"}).status_code == 422
    assert client.post("/api/dispatcher/resume", json={}).status_code == 200
    assert client.post("/api/dispatcher/refresh", json={}).status_code == 202
    assert client.post("/api/dispatcher/reload", json={}).status_code == 202
    assert door.asked == [
        ("desire", "paused", "http"),
        ("desire", "draining", "Jürgen"),
        ("desire", "running", "http"),
        ("refresh", "http"),
        ("refresh", "http"),
        ("reload",),
    ]


def test_the_contract_names_every_endpoint(client: httpx.Client) -> None:
    paths = client.get("/api/openapi.json").json()["paths"]
    for path in (
        "/api/runs",
        "/api/runs/{run_id}",
        "/api/runs/{run_id}/events",
        "/api/runs/{run_id}/resume",
        "/api/runs/{run_id}/cancel",
        "/api/runs/{run_id}/pause",
        "/api/cards",
        "/api/cards/{card_id}",
        "/api/cards/{card_id}/move",
        "/api/cards/{card_id}/comments",
        "/api/dispatcher",
        "/api/dispatcher/refresh",
        "/healthz",
        "/readyz",
        "/metrics",
    ):
        assert path in paths


def test_the_page_shows_board_and_reasons_and_escapes_what_people_wrote(client: httpx.Client, door: NotingDoor) -> None:
    card = {"title": "<script>alert(1)</script>", "column": "ready", "labels": ["bug"]}
    card_id = client.post("/api/cards", json=card).json()["id"]
    parked = {
        "card": card_id,
        "board": "native",
        "run_id": "r1",
        "cause": "source_changed",
        "text": "the source changed.",
    }
    door.document |= {
        "desired": {"state": "paused", "by": "ann"},
        "parked": [{**parked, "unblock": "put it back", "since": "2026-01-01T00:00:00Z"}],
    }
    answer = client.get("/")
    assert answer.headers["content-type"].startswith("text/html")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in answer.text
    assert answer.text.count("<script") == 1
    assert card_id not in answer.text
    for told in ("Pick-up paused by ann", "the source changed", "put it back", "In progress", 'lang="en"'):
        assert told in answer.text
    assert "<bdi>&lt;script&gt;" in answer.text, "a title that reads the other way turns nothing else round"
    assert "the source changed.<" in answer.text.replace("</p>", "<")
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_the_page_of_a_card_tells_its_gates_and_an_unknown_one_is_404(client: httpx.Client) -> None:
    client.post("/api/cards", json={"title": "Alone", "column": "inbox", "body": "a <b> text"})
    answer = client.get("/cards/1")
    for told in ("#1 Alone", "a &lt;b&gt; text", "column inbox is not eligible", "card created", "no_route"):
        assert told in answer.text
    assert client.get("/cards/7").status_code == 404
    assert client.get("/static/page.css").headers["content-type"] == "text/css; charset=utf-8"
    assert client.get("/static/..%2fpage.py").status_code == 404


@pytest.mark.parametrize("path", ["/", "/api/cards", "/api/cards/1", "/api/runs", "/api/dispatcher", "/static/page.js"])
def test_what_did_not_change_is_not_sent_again(client: httpx.Client, path: str) -> None:
    """ETag and If-None-Match on every document and page."""
    client.post("/api/cards", json={"title": "One"})
    first = client.get(path)
    tag = first.headers["etag"]
    again = client.get(path, headers={"If-None-Match": f'"other", W/{tag}'})
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    assert client.get(path, headers={"If-None-Match": '"other"'}).content == first.content
    if path.startswith("/api/cards"):
        client.patch("/api/cards/1", json={"title": "Two"})
        changed = client.get(path, headers={"If-None-Match": tag})
        assert (changed.status_code, changed.headers["etag"] != tag) == (200, True)


def test_streams_metrics_and_refusals_carry_no_tag(client: httpx.Client) -> None:
    for path in ("/metrics", "/api/cards/99", "/nowhere"):
        assert "etag" not in client.get(path).headers


def test_a_fault_of_ours_is_one_sentence_and_the_listener_lives(client: httpx.Client, door: NotingDoor) -> None:
    door.document = None  # type: ignore[assignment]
    answer = client.get("/api/dispatcher")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal")
    assert "NoneType" not in answer.text
    assert httpx.get(str(client.base_url.join("/healthz")), trust_env=False).status_code == 200
