"""A forge that takes a request and never answers: what it may cost the boards beside it, and who waits for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from connectors.card import PERSON
from connectors.drafts import CardDraft
from connectors.fake_forge.running import Setup
from dispatcher.web.backstage import Backstage
from dispatcher.web.server import Listener, WebServer
from engine.ports import SystemClock
from engine.states import RunStatus
from tests.kit.cli import pointsman
from tests.kit.clock import FakeClock
from tests.kit.fakes import fake
from tests.kit.forge_yard import COLUMNS, THREE, ForgeYard
from tests.kit.yard import ASKS, HEAD, Yard, waits

IMPATIENT = THREE + "tick: {{board_deadline: 500ms}}\n"
"""Reads of a forge have 30 s each of their own."""


@pytest.mark.timeout(25)
@pytest.mark.parametrize("operation", ["label.list", "issue.list", "issue.get"])
def test_f26_a_board_that_hangs_costs_the_others_its_deadline_and_nothing_else(tmp_path: Path, operation: str) -> None:
    """F26 D187: columns, list or card never come; the tick ends, boards one and three dispatch, nothing of two is
    judged gone, and the state document names it."""
    clock = SystemClock()  # the time that a socket is waited for is real
    with fake("github", Setup(clock=clock)) as forge:
        columns = ", ".join(f"{name}: {{label: {name}}}" for name in COLUMNS)
        config = IMPATIENT.format(kind=forge.kind, url=forge.url, repo=forge.repo, columns=columns)
        yard = Yard(tmp_path, clock, config, ASKS.replace('vars:\n  title: string = ""\n\n', ""), TOKEN=forge.token)
        card = str(forge.issue(labels=["ready"]))
        yard.settled()
        before = yard.wiring.ledger.views([("two", card)])[("two", card)].last_run
        if operation == "issue.get":  # in no column that is listed: it is read by its id
            forge.act("move", number=int(card), to="review", **{"from": "awaiting_input"})
        forge.script({"fault": "act_then_hang", "match": {"operation": operation}})
        for name in ("one", "three"):
            board: Any = yard.wiring.boards[name]
            board.create(CardDraft("Do it", column="ready"), PERSON)
        report = yard.tick()
        assert report.complete
        assert {each.key[0] for each in report.decided if each.decision.action == "fresh"} == {"one", "three"}
        assert yard.wiring.store.runs.get(before).status == RunStatus.PAUSED_WAITING_HUMAN
        assert ("two", card) in yard.ledger().parks
        degraded: Any = report.state["degraded"]
        assert [each["code"] for each in degraded if each["board"] == "two"] == ["board_unreadable"]
        assert "it took longer than 0.5 s (tick.board_deadline)" in degraded[0]["text"]
        assert "board two could not be read: it took longer than" in yard.daemon.status()
        assert b'pointsman_board_reads_total{board="two",result="late"} 1.0' in yard.daemon.metrics.text()
        assert yard.wiring.ledger.views([("two", card)])[("two", card)].idle is not None, "nothing is known to be over"
        again: Any = yard.tick().state["degraded"]
        assert again[0]["since"] == degraded[0]["since"]
        yard.close()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("way", ["http", "command"])
def test_f20_a_person_stops_a_run_while_the_tick_hangs_in_a_read(tmp_path: Path, clock: FakeClock, way: str) -> None:
    """F20 D140: the forge takes the listing and never answers; the cancel is over before the tick is."""
    with fake("github", Setup(clock=clock)) as forge:
        yard = ForgeYard(tmp_path, clock, forge, waits(tmp_path))
        card = yard.issue()
        yard.tick(wait=False)
        yard.until("started")
        forge.script({"fault": "act_then_hang", "match": {"operation": "issue.list"}})
        stuck = threading.Thread(target=yard.tick, kwargs={"wait": False})
        stuck.start()
        until(lambda: any(each["fault"] == "act_then_hang" for each in forge.requests()))
        assert cancelled(yard, way, yard.view(card).last_run) == "cancelled"
        yard.join()
        assert (yard.run(card).status, yard.run(card).error, stuck.is_alive()) == (RunStatus.CANCELLED, "enough", True)
    stuck.join(30)  # with the forge its connections end
    yard.close()


CALLS = f"""{HEAD}tool say:
  action: github.issue.comment
  connection: web
  params:
    number: 1
    body: "hello"

workflow work:
  entry: say
  say -> done
"""


@pytest.mark.timeout(60)
def test_a_run_whose_stop_never_comes_keeps_its_slot_and_says_so_once(tmp_path: Path, clock: FakeClock) -> None:
    """D130: its thread waits for a forge that never answers; the card is held, the slot used, readiness ends."""
    with fake("github", Setup(clock=clock)) as forge:
        yard = ForgeYard(tmp_path, clock, forge, CALLS)
        path = tmp_path / "pointsman.yaml"
        path.write_text(f"{path.read_text()}concurrency: {{max: 1}}\n")
        yard.again()
        card = yard.issue()
        forge.script({"fault": "act_then_hang", "match": {"operation": "issue.comment"}})
        yard.tick(wait=False)
        until(lambda: bool(forge.requests(operation="issue.comment")))
        other = yard.issue(title="other")
        forge.act("move", number=int(card), to="backlog", **{"from": "in_progress"})
        yard.tick(2, wait=False)
        clock.advance(61)
        report = yard.tick(2, wait=False)
        assert report.state["slots"] == {"used": 1, "max": 1, "over": 0, "overdue": 1}
        assert any("told to stop" in reason for reason in yard.daemon.not_ready())
        assert [idle.code for idle in (yard.view(other).idle,) if idle] == ["no_slot"]
        assert [run.status for run in yard.runs()] == [RunStatus.RUNNING]
    yard.close()  # with the forge its connections end, and so does the thread


def cancelled(yard: ForgeYard, way: str, run_id: str) -> str:
    """Cancel the run as a person does; the status that is told."""
    if way == "command":
        url = f"sqlite:///{yard.wiring.store_dir / 'pointsman.db'}"
        given = ("--store-dir", str(yard.wiring.store_dir), "--store-url", url)
        assert pointsman(yard.folder, *given, "cancel", "--run-id", run_id, "--reason", "enough").code == 0
        return str(yard.wiring.store.runs.get(run_id).status)
    server = WebServer(Listener("127.0.0.1", 0), Backstage(yard.wiring, yard.daemon, yard.daemon.metrics))
    server.start()
    try:
        url = f"http://127.0.0.1:{server.port}/api/runs/{run_id}/cancel"
        answer = httpx.post(url, json={"reason": "enough"}, timeout=20, trust_env=False)
    finally:
        server.stop()
    return str(answer.json()["status"])


def until(holds: Callable[[], bool]) -> None:
    """Look in real time until it holds."""
    end, looking = time.monotonic() + 30, threading.Event()
    while not holds():
        assert time.monotonic() < end
        looking.wait(0.01)
