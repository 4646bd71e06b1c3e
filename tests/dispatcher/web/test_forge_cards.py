"""Cards of a forge over HTTP and on the pages, through a real listener before a daemon over a fake forge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from connectors.card import PERSON, MoverKind
from connectors.drafts import CardDraft
from connectors.fake_forge.running import Setup, running
from connectors.native.board import NativeBoard
from dispatcher.web.backstage import Backstage
from dispatcher.web.server import Listener, WebServer
from engine.ports import SystemClock
from tests.kit.clock import FakeClock
from tests.kit.forge_yard import ForgeYard, forge_yard
from tests.kit.yard import ASKS, Yard


@dataclass
class Desk:
    """A daemon over a forge, and a client before its listener."""

    yard: ForgeYard
    http: httpx.Client

    def get(self, path: str, **query: str) -> httpx.Response:
        return self.http.get(path, params=query)

    def reads(self) -> list[Any]:
        return self.yard.forge.requests()


@pytest.fixture(params=["github", "gitlab", "forgejo"])
def desk(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[Desk]:
    with forge_yard(request.param, tmp_path, clock, ASKS) as yard:
        behind = Backstage(yard.wiring, yard.daemon, yard.daemon.metrics)
        server = WebServer(Listener("127.0.0.1", 0), behind)
        server.start()
        with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", trust_env=False, timeout=20) as client:
            yield Desk(yard, client)
        server.stop()


def test_cards_of_a_forge_are_listed_shown_moved_and_commented_on(desk: Desk) -> None:
    card, other = desk.yard.issue("backlog", title="One"), desk.yard.issue("backlog", title="Two")
    listed = desk.get("/api/cards", board="web").json()["cards"]
    assert [(each["number"], each["column"]) for each in listed] == [(int(card), "backlog"), (int(other), "backlog")]
    assert desk.get("/api/cards").json()["cards"] == listed
    assert desk.get("/api/cards", board="web", column="ready").json() == {"cards": []}
    shown = desk.get(f"/api/cards/{card}", board="web").json()
    assert (shown["title"], shown["comments"]) == ("One", [])
    said = desk.http.post(f"/api/cards/{card}/comments", params={"board": "web"}, json={"text": "Looks good"})
    assert said.status_code == 201
    assert [each.body.splitlines()[0] for each in desk.yard.forge.card(int(card)).comments] == ["Looks good"]
    moved = desk.http.post(f"/api/cards/{card}/move", params={"board": "web"}, json={"to": "ready"})
    assert (moved.status_code, moved.json()["column"], moved.json()["column_by"]) == (200, "ready", "person")
    assert desk.yard.place(card) == "ready"
    lost = desk.http.post(f"/api/cards/{card}/move", params={"board": "web"}, json={"to": "done", "expect": "backlog"})
    assert lost.status_code == 409


def test_what_does_not_exist_is_said(desk: Desk) -> None:
    assert desk.get("/api/cards", board="other").status_code == 422
    assert desk.get("/api/cards/4711", board="web").status_code == 404
    assert desk.get("/api/cards/banana", board="web").status_code == 404
    assert desk.get("/cards/4711", board="web").status_code == 404
    created = desk.http.post("/api/cards", json={"title": "New", "board": "web"})
    assert created.status_code == 422


def test_the_page_shows_what_the_last_tick_read_and_asks_no_forge(desk: Desk) -> None:
    assert desk.get("/").status_code == 200
    assert desk.reads() == []
    card = desk.yard.issue(title="Paint the fence")
    desk.yard.settled(2)
    desk.yard.forge.forget_requests()
    page = desk.get("/")
    assert page.status_code == 200
    assert f'href="/cards/{card}?board=web"' in page.text
    assert "Paint the fence" in page.text
    assert "waits for a person" in page.text
    assert desk.reads() == []


def test_the_page_of_a_card_has_its_text_its_question_and_its_comments(desk: Desk) -> None:
    card = desk.yard.issue(title="Paint the fence", body="All of it.")
    desk.yard.settled(2)
    page = desk.get(f"/cards/{card}", board="web")
    assert page.status_code == 200
    for text in ("Paint the fence", "All of it.", "awaiting_input", desk.yard.run(card).id, "It asks"):
        assert text in page.text
    assert "<!-- pointsman" not in page.text


def test_a_forge_that_is_away_is_a_sentence_never_a_fault(desk: Desk) -> None:
    card = desk.yard.issue(title="Paint the fence")
    desk.yard.settled(2)
    desk.yard.forge.script({"fault": "status", "with": {"code": 503}})
    assert "Paint the fence" in desk.get("/").text
    page = desk.get(f"/cards/{card}", board="web")
    assert page.status_code == 200
    assert "The forge cannot be asked now" in page.text
    for path in ("/api/cards", f"/api/cards/{card}"):
        answer = desk.get(path, board="web")
        assert (answer.status_code, answer.json()["error"]["code"]) == (502, "forge_unreachable")


def test_a_move_by_a_person_over_http_is_a_gesture(desk: Desk) -> None:
    """dispatcher.md 6: who moved it counts, whatever account the forge saw."""
    card = desk.yard.issue("backlog")
    desk.yard.settled()
    desk.http.post(f"/api/cards/{card}/move", params={"board": "web"}, json={"to": "ready"})
    assert desk.yard.web.get(card).column_by is MoverKind.PERSON
    desk.yard.settled()
    assert len(desk.yard.runs()) == 1


BOTH = """
name: yard
boards:
  - {{name: own, kind: native, bot: bots/work.bot}}
  - {{name: web, kind: github, url: "{url}", repo: octo/demo, token: $TOKEN, allow_private: true, bot: bots/work.bot,
      columns: {{ready: {{label: ready}}, in_progress: {{label: in_progress}}, done: {{closed: true}}}}}}
shutdown: {{grace: 0s}}
"""


@pytest.mark.timeout(20)
def test_no_page_waits_for_a_forge_that_hangs(tmp_path: Path) -> None:
    """A read of a forge has 30 s, a person who looks has not: what was read last is shown, a card of ours at once."""
    with running("github", Setup()) as forge:
        yard = Yard(tmp_path, SystemClock(), BOTH.format(url=forge.url), ASKS, TOKEN=forge.token)
        card, board = str(forge.issue("Seen before", labels=["ready"])), yard.wiring.boards["own"]
        assert isinstance(board, NativeBoard)
        own = board.create(CardDraft("Ours", column="ready"), PERSON).id
        yard.tick(pick=False)
        forge.script({"fault": "act_then_hang"})
        server = WebServer(
            Listener("127.0.0.1", 0), Backstage(yard.wiring, yard.daemon, yard.daemon.metrics, patience=0.3)
        )
        server.start()
        forge.forget_requests()
        with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", trust_env=False, timeout=15) as http:
            ours = http.get(f"/cards/{own}")
            assert (ours.status_code, forge.requests()) == (200, []), "another board's forge was asked"
            page = http.get(f"/cards/{card}", params={"board": "web"})
            assert page.status_code == 200
            assert "Seen before" in page.text
            assert "as it was read last" in page.text
            assert http.get("/api/cards", params={"board": "web"}).status_code in (502, 503)
            assert http.get(f"/api/cards/{card}", params={"board": "web"}).status_code in (502, 503)
        server.stop()
        yard.close()
