"""Boards that come and go while the daemon runs, and the keys that wait for a new start (dispatcher.md 23)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from config.load import load
from connectors.card import PERSON, Card
from connectors.drafts import CardDraft
from connectors.native.board import NativeBoard
from dispatcher.daemon.changes import merge
from engine.api import ResumeRequest
from tests.kit.clock import FakeClock
from tests.kit.yard import ASKS, Yard, tool, waits

ONE = '- {name: native, kind: native, bot: bots/work.bot, vars: {title: "{{card.title}}"}}'
TWO = ONE + '\n- {name: second, kind: native, bot: bots/work.bot, vars: {title: "{{card.title}}"}}'
REST = "retry: {max_attempts: 3, base: 10s, cap: 300s}\nruns: {orphan_grace: 2s}\nshutdown: {grace: 0s}\n"


def config(boards: str, rest: str = REST) -> str:
    return f"name: yard\nboards:\n{boards}\n{rest}"


@pytest.fixture
def yard(tmp_path: Path, clock: FakeClock) -> Iterator[Yard]:
    made = Yard(tmp_path, clock, config(TWO))
    yield made
    (tmp_path / "go").touch()
    made.close()


def rewrite(yard: Yard, text: str) -> bool:
    (yard.folder / "pointsman.yaml").write_text(text)
    return yard.daemon.reload()


def board(yard: Yard, name: str) -> NativeBoard:
    found = yard.wiring.boards[name]
    assert isinstance(found, NativeBoard)
    return found


def make(yard: Yard, name: str) -> str:
    return board(yard, name).create(CardDraft("Do it", column="ready"), PERSON).id


def look(yard: Yard, name: str, card_id: str) -> Card:
    card = board(yard, name).get(card_id)
    assert isinstance(card, Card)
    return card


def boards(yard: Yard) -> list[str]:
    state: Any = yard.daemon.state()
    return [each["name"] for each in state["boards"]]


def test_a_board_that_is_added_is_dispatched_with_the_next_tick(yard: Yard) -> None:
    assert rewrite(yard, config(TWO + "\n" + TWO.splitlines()[1].replace("second", "third")))
    yard.tick()
    card = make(yard, "third")
    yard.settled()
    assert look(yard, "third", card).column == "review"
    state: Any = yard.daemon.state()
    assert (boards(yard), state["config"]["restart_required"]) == (["native", "second", "third"], [])


def test_a_removed_board_is_watched_until_its_work_has_ended(yard: Yard) -> None:
    """No pick-up (`board_degraded`), and what runs or waits there goes its way."""
    yard.bot(waits(yard.folder))
    running, idle = make(yard, "second"), make(yard, "second")
    assert rewrite(yard, config(TWO, REST + "concurrency: {max: 1}\n"))
    yard.tick(wait=False)
    yard.until("started")
    assert rewrite(yard, config(ONE))
    yard.tick(wait=False)
    reasons = yard.wiring.ledger.views([("second", idle)])[("second", idle)].idle
    assert reasons is not None
    assert (reasons.code, boards(yard)) == ("board_degraded", ["native", "second"])
    assert "removed from the configuration" in reasons.text
    (yard.folder / "go").touch()
    yard.join()
    yard.tick()
    assert (look(yard, "second", running).column, look(yard, "second", idle).column) == ("review", "ready")
    yard.tick(2)
    assert boards(yard) == ["native"]
    assert list(yard.wiring.boards) == ["native"]


def test_a_question_on_a_removed_board_may_still_be_answered(yard: Yard) -> None:
    yard.bot(ASKS)
    card = make(yard, "second")
    yard.settled()
    assert look(yard, "second", card).column == "awaiting_input"
    rewrite(yard, config(ONE))
    yard.tick(3)
    assert boards(yard) == ["native", "second"]
    run = yard.wiring.ledger.views([("second", card)])[("second", card)].last_run
    yard.wiring.engine.resume(ResumeRequest(run, answers={"ok": True}))
    yard.tick(3)
    assert boards(yard) == ["native"]


def test_a_new_start_without_the_board_leaves_its_rows_alone_and_finds_them_when_it_is_back(yard: Yard) -> None:
    yard.bot(ASKS)
    card = make(yard, "second")
    yard.settled()
    (yard.folder / "pointsman.yaml").write_text(config(ONE))
    assert yard.again().tick(3).error == ""
    (yard.folder / "pointsman.yaml").write_text(config(TWO))
    assert yard.again().tick(2).error == ""
    assert look(yard, "second", card).column == "awaiting_input"
    assert ("second", card) in yard.ledger().parks


def test_the_name_of_a_removed_board_with_work_is_not_given_to_another_address(yard: Yard) -> None:
    yard.bot(ASKS)
    make(yard, "second")
    yard.settled()
    rewrite(yard, config(ONE))
    yard.tick()
    forge = "\n- {name: second, kind: github, repo: octo/web, token: $TOKEN, columns: {ready: {label: ready}}}"
    yard.daemon.generations._environment = {**yard.environment, "TOKEN": "t" * 8}
    assert not rewrite(yard, config(ONE + forge))
    assert "still has work" in yard.daemon.generations.error
    yard.tick()
    assert boards(yard) == ["native", "second"]


def test_what_only_a_new_start_takes_is_named_and_keeps_its_value(tmp_path: Path, clock: FakeClock) -> None:
    """dispatcher.md 23: the rest of the same file applies."""

    def settings(name: str, text: str) -> Any:
        path = tmp_path / name
        path.write_text(text)
        return load(path, {"A": "a" * 8, "B": "b" * 8})

    forge = "- {name: web, kind: github, repo: octo/%s, token: %s, bot: null, columns: {ready: {label: %s}}}"
    before = settings("a.yaml", config(forge % ("web", "$A", "ready")))
    rest = (
        "workspace: {root: elsewhere, persist: cleanup_on_done}\nserver: {port: 1, host: 127.0.0.1}\n"
        "store: {url: 'sqlite:////tmp/other.db'}\nruns: {isolation: process, stall_timeout: 1m}\n"
    )
    merged = merge(before, settings("b.yaml", config(forge % ("other", "$B", "todo"), rest)))
    assert set(merged.restart_required) == {
        *("store", "workspace.root", "runs.isolation", "server.port"),
        *("boards[web].repo", "boards[web].token"),
    }
    after = merged.settings
    assert (after.workspace.root, after.workspace.persist) == (before.workspace.root, "cleanup_on_done")
    assert (after.runs.isolation, after.runs.stall_timeout, after.server) == ("thread", 60.0, before.server)
    assert (after.boards[0].repo, after.boards[0].columns["ready"].label) == ("octo/web", "todo")
    assert after.store == before.store


def test_the_engine_works_with_what_was_reloaded(yard: Yard) -> None:
    """D155: the daily cap of the next attempt is the one that the file says by now."""
    rewrite(yard, config(TWO, REST + "limits: {max_cost_per_day_usd: 1}\n"))
    yard.tick()
    assert yard.wiring.engine._host.settings.max_cost_per_day_usd == 1.0
    rewrite(yard, config(TWO, REST + "limits: {max_cost_per_day_usd: 9}\n"))
    yard.tick()
    assert yard.wiring.engine._host.settings.max_cost_per_day_usd == 9.0
    yard.bot(tool("true"))
    card = make(yard, "native")
    yard.settled()
    assert look(yard, "native", card).column == "review"
