"""Every answer fits the contract at ``/api/openapi.json``, and the contract promises no more than is answered."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from openapi_schema_validator import OAS31Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from connectors.base import CardQuery
from connectors.card import PERSON
from connectors.native.board import NativeBoard
from dispatcher.wiring import Wiring
from tests.dispatcher.web.conftest import NotingDoor
from tests.dispatcher.web.test_runs import paused
from tests.kit.clock import FakeClock
from tests.kit.yard import ASKS, CONFIG, FAILS_FOR_GOOD, Yard, tool

__all__ = ["paused"]


class Contract:
    """The document of a listener, closed: a key that it does not name is a fault of it."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        closed = copy.deepcopy(document)
        for each in closed["components"]["schemas"].values():
            if "properties" in each:
                each["additionalProperties"] = False
        self._registry: Registry[Any] = Registry().with_resource(
            "urn:contract", Resource(contents=closed, specification=DRAFT202012)
        )

    def operation(self, method: str, path: str) -> tuple[str, dict[str, Any]]:
        """The path as the contract writes it, and what it says of the method."""
        parts = path.partition("?")[0].split("/")
        for template, operations in self.document["paths"].items():
            wanted = template.split("/")
            fits = len(parts) == len(wanted) and all(w[:1] == "{" or w == p for w, p in zip(wanted, parts, strict=True))
            if fits and method.lower() in operations:
                return template, operations[method.lower()]
        raise AssertionError(f"{method} {path} is not in the contract")

    def check(self, answer: httpx.Response) -> None:
        """Refuse an answer that the contract does not promise."""
        method, path = answer.request.method, answer.request.url.path
        template, operation = self.operation(method, path)
        said = operation["responses"].get(str(answer.status_code))
        assert said is not None, f"{method} {path} answered {answer.status_code}: {answer.text}"
        content = said.get("content", {})
        kind = answer.headers.get("content-type", "").partition(";")[0]
        assert kind in content or (not answer.content and not content), (method, path, kind)
        if kind == "application/json":
            at = f"paths/{template.replace('/', '~1')}/{method.lower()}"
            where = f"urn:contract#/{at}/responses/{answer.status_code}/content/application~1json/schema"
            OAS31Validator({"$ref": where}, registry=self._registry).validate(answer.json())


@pytest.fixture
def contract(client: httpx.Client) -> Contract:
    return Contract(client.get("/api/openapi.json").json())


def lively(folder: Path, clock: FakeClock) -> dict[str, object]:
    """The state of a daemon with something in every list that can be filled without a forge."""
    folder.mkdir()
    config = CONFIG.replace("retry:", "concurrency: {max: 2, wip: {review: 1}}\nretry:")
    yard = Yard(folder, clock, config, ASKS)
    yard.bot(tool("exit 75"), "again")
    yard.bot(FAILS_FOR_GOOD, "fails")
    for bot in ("work", "again", "fails", "nobody"):
        yard.make(bot, bot=bot)
    yard.settled(2)
    state = dict(yard.daemon.state())
    yard.close()
    assert [name for name in ("parked", "retries", "held", "caps", "boards") if not state[name]] == []
    return state


def answers(client: httpx.Client, run: str) -> Iterator[httpx.Response]:
    """One answer and more of every operation."""
    yield client.post("/api/cards", json={"title": "One", "fields": {"a": "b"}, "labels": ["x"], "not_before": None})
    yield client.post("/api/cards", json={"title": "Two", "column": "ready", "blockers": ["1"]})
    yield client.post("/api/cards/1/comments", json={"text": "hello"})
    tag = client.get("/api/cards/1").headers["etag"]
    for path in ("/healthz", "/readyz", "/metrics", "/api/dispatcher", "/api/cards", "/api/cards/views", "/api/runs"):
        yield client.get(path)
    for path in ("", "/events", "/commits"):
        yield client.get(f"/api/runs/{run}{path}")
        yield client.get(f"/api/runs/nobody{path}")
        yield client.get(f"/api/runs/%20{path}")
    yield client.get("/api/runs?status=nothing")
    yield client.get("/api/cards/1", headers={"If-None-Match": tag})
    yield client.get("/api/cards/1/history?board=native&limit=1")
    yield client.get("/api/cards/9")
    yield client.patch("/api/cards/1", json={"priority": 3})
    yield client.patch("/api/cards/1", json={"priority": 3}, headers={"If-Match": tag})
    yield client.patch("/api/cards/1", json={"priority": 3, "version": "0"})
    yield client.post("/api/cards/2/move", json={"to": "backlog", "expect": "ready"})
    yield client.post("/api/cards/2/move", json={"to": "nowhere"})
    yield client.post("/api/cards/1/move", json={"to": "ready"}, headers={"X-Pointsman-Run": "no id!"})
    yield client.post("/api/cards/1/place", json={})
    yield client.post("/api/cards/2/archive", content=b"", headers={"Content-Type": "application/json"})
    yield client.post("/api/cards/2/unarchive", json={})
    yield client.post("/api/cards", content=b"\xff", headers={"Content-Type": "application/json"})
    yield client.post("/api/cards", content=b"{}", headers={"Content-Type": "text/plain"})
    yield client.post("/api/session", json={"token": "any"})
    for switch in ("refresh", "reload", "pause", "resume"):
        yield client.post(f"/api/dispatcher/{switch}", json={})
    yield client.post("/api/hooks/nowhere", json={})
    yield client.get("/api/cards", headers={"Host": "evil.example"})
    yield client.get("/api/cards", headers={"Origin": "https://evil.example"})
    yield client.post(f"/api/runs/{run}/resume", content=b"", headers={"Content-Type": "application/json"})
    yield client.post(f"/api/runs/{run}/rewind", json={"node": "nowhere"})
    yield client.post(f"/api/runs/{run}/pause", json={})
    yield client.post(f"/api/runs/{run}/cancel", content=b"", headers={"Content-Type": "application/json"})
    yield client.get(f"/api/runs/{run}/events", headers={"Accept": "text/event-stream"})
    yield client.post(f"/api/runs/{run}/resume", json={"answers": {"ok": True}})
    yield client.post(f"/api/runs/{run}/rewind", json={"node": "gate"})


@pytest.fixture
def full(door: NotingDoor, wiring: Wiring, tmp_path: Path, clock: FakeClock) -> NotingDoor:
    """A door whose state, and a board whose views, are not empty."""
    board = wiring.boards["native"]
    assert isinstance(board, NativeBoard)
    board.save_view("bugs", CardQuery(label="bug"), PERSON)
    door.document = lively(tmp_path / "yard", clock)
    return door


def test_every_answer_fits_the_contract(
    client: httpx.Client, contract: Contract, paused: str, full: NotingDoor
) -> None:
    asked = set()
    for answer in answers(client, paused):
        contract.check(answer)
        asked.add((answer.request.method, contract.operation(answer.request.method, answer.request.url.path)[0]))
        for thread in full.threads:
            thread.join(30)
    told = {(method.upper(), path) for path, each in contract.document["paths"].items() for method in each}
    assert asked == told
