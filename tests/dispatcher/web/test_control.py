"""Health, metrics and the switches of the dispatcher (interface.md 6, dispatcher.md 24 and 25)."""

from __future__ import annotations

import httpx

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
    client.post("/api/dispatcher/pause", json={"mode": "drain"}, headers={"X-Pointsman-User": "ann"})
    assert client.post("/api/dispatcher/pause", json={"mode": "stop"}).status_code == 422
    assert client.post("/api/dispatcher/resume", json={}).status_code == 200
    assert client.post("/api/dispatcher/refresh", json={}).status_code == 202
    assert client.post("/api/dispatcher/reload", json={}).status_code == 202
    assert door.asked == [
        ("desire", "paused", "http"),
        ("desire", "draining", "ann"),
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
    door.document |= {
        "desired": {"state": "paused"},
        "parked": [{"card": card_id, "text": "asks: sure?", "unblock": "answer it", "since": "now"}],
    }
    answer = client.get("/")
    assert answer.headers["content-type"].startswith("text/html")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in answer.text
    assert "<script" not in answer.text
    assert card_id not in answer.text
    for told in ("Pick-up: paused", "asks: sure?", "answer it", "Board native", "In progress", 'lang="en"'):
        assert told in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_a_fault_of_ours_is_one_sentence_and_the_listener_lives(client: httpx.Client, door: NotingDoor) -> None:
    door.document = None  # type: ignore[assignment]
    answer = client.get("/api/dispatcher")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal")
    assert "NoneType" not in answer.text
    assert httpx.get(str(client.base_url.join("/healthz")), trust_env=False).status_code == 200
