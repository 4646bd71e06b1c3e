"""A forge that takes a request and never answers, beside boards that are well: what it may cost them.

The clock is the machine's own, since the time that a socket is waited for is real.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from connectors.card import PERSON
from connectors.drafts import CardDraft
from connectors.fake_forge.running import Setup
from engine.ports import SystemClock
from engine.states import RunStatus
from tests.kit.fakes import fake
from tests.kit.forge_yard import COLUMNS
from tests.kit.yard import ASKS, Yard

THREE = """
name: yard
boards:
  - {{name: one, kind: native, bot: bots/work.bot}}
  - name: two
    kind: {kind}
    url: "{url}"
    repo: {repo}
    token: $TOKEN
    allow_private: true
    bot: bots/work.bot
    columns: {{{columns}, done: {{closed: true}}}}
  - {{name: three, kind: native, bot: bots/work.bot}}
tick: {{board_deadline: 500ms}}
shutdown: {{grace: 0s}}
"""
"""Reads of a forge have 30 s each of their own."""


@pytest.mark.timeout(25)
@pytest.mark.parametrize("operation", ["label.list", "issue.list", "issue.get"])
def test_f26_a_board_that_hangs_costs_the_others_its_deadline_and_nothing_else(tmp_path: Path, operation: str) -> None:
    """F26 D187: columns, list or card never come; the tick ends, boards one and three dispatch, nothing of two is
    judged gone, and the state document names it."""
    clock = SystemClock()
    with fake("github", Setup(clock=clock)) as forge:
        columns = ", ".join(f"{name}: {{label: {name}}}" for name in COLUMNS)
        config = THREE.format(kind=forge.kind, url=forge.url, repo=forge.repo, columns=columns)
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
        codes = {"label.list": ["board_unreadable"], "issue.list": ["board_partial"], "issue.get": []}
        assert [each["code"] for each in degraded if each["board"] == "two"] == codes[operation]
        yard.close()
