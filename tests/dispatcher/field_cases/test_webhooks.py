"""Public field cases of webhooks: deliveries of a fake forge over real HTTP to a real listener, and the ticks that they
bring forward. A delivery decides nothing: what is lost, doubled or ours costs at most an interval."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import structlog

from connectors.fake_forge.seed import BOT
from dispatcher import log
from dispatcher.waking import MOST
from engine.states import RunStatus
from tests.kit.clock import FakeClock
from tests.kit.forge_yard import forge_yard
from tests.kit.hooked import Hooked, hooked
from tests.kit.yard import ASKS, HEAD, tool

Maker = Callable[[str, str], Hooked]
FIFTY = 50


@pytest.fixture
def make(tmp_path: Path, clock: FakeClock) -> Iterator[Maker]:
    """Makes the yard of a forge with a bot, which hears of every change."""
    with ExitStack() as stack:

        def made(kind: str, bot: str) -> Hooked:
            return stack.enter_context(hooked(stack.enter_context(forge_yard(kind, tmp_path, clock, bot))))

        yield made


def settled(at: Hooked, clock: FakeClock, times: int = 2) -> None:
    """So many intervals pass."""
    for _ in range(times):
        clock.advance(20)
        at.yard.settled()


def says(times: int) -> str:
    """A bot that comments so often on card 1."""
    nodes = "\n".join(
        f'tool s{n}:\n  action: github.issue.comment\n  connection: web\n  params:\n    number: 1\n    body: "no {n}"\n'
        for n in range(times)
    )
    edges = "\n".join(f"  s{n} -> s{n + 1}" for n in range(times - 1))
    return f"{HEAD}{nodes}\nworkflow work:\n  entry: s0\n{edges}\n  s{times - 1} -> done\n"


def test_a_bots_own_comments_wake_nobody(make: Maker, clock: FakeClock) -> None:
    """D146: fifty comments on its own card, and our moves of it, each told by a webhook; nothing starts, and nothing
    goes round."""
    at = make("github", says(FIFTY))
    card = at.yard.issue("backlog")
    at.yard.tick()
    at.yard.forge.act("move", number=int(card), to="ready", **{"from": "backlog"})
    assert at.woken() >= 1
    at.yard.tick()
    assert len(at.yard.forge.card(int(card)).comments) == FIFTY
    at.yard.tick(pick=False)
    assert at.yard.place(card) == "review"
    moves = [each for each in at.yard.forge.card(int(card)).events if each.actor == BOT]
    assert (at.woken(), at.heard("own_event")) == (1, FIFTY + len(moves)), "the run's end is heard of in this process"
    settled(at, clock)
    before = at.yard.forge.requests()
    settled(at, clock)
    assert (at.woken(), len(at.yard.runs()), at.yard.place(card)) == (0, 1, "review")
    assert [each for each in at.yard.forge.requests()[len(before) :] if each["method"] != "GET"] == []


def test_comments_of_others_on_a_card_start_nothing(make: Maker, clock: FakeClock) -> None:
    """D146: without our marker they are anybody's; they bring one tick forward, which finds nothing to do. When another
    tick finds nothing either, they are not heard any more, until a person moves the card."""
    at = make("gitlab", tool("true"))
    card = at.yard.issue()
    settled(at, clock)
    at.woken()
    ours = at.heard("own_event")
    for n in range(FIFTY):
        at.yard.forge.act("comment", number=int(card), body=f"no {n}")
    assert (at.woken(), at.heard("own_event")) == (FIFTY, ours)
    at.yard.forge.forget_requests()
    report = at.yard.tick()
    assert (at.woken(), len(at.yard.runs()), dict(report.counts)) == (0, 1, {})
    assert [each for each in at.yard.forge.requests() if each["method"] != "GET"] == []
    assert len(at.yard.forge.card(int(card)).comments) == FIFTY
    for n in range(MOST + 1):
        at.yard.forge.act("comment", number=int(card), body=f"still no {n}")
    assert at.woken() == MOST + 1
    at.yard.tick()
    at.yard.forge.act("comment", number=int(card), body="never")
    assert (at.woken(), at.heard("breaker_open")) == (0, 1)
    clock.advance(20)
    at.yard.forge.act("move", number=int(card), to="ready", **{"from": "review"})
    settled(at, clock)
    assert (at.yard.place(card), len(at.yard.runs())) == ("review", 2)
    at.woken()
    at.yard.forge.act("comment", number=int(card), body="again")
    assert at.woken() == 1


def test_f34_what_no_webhook_told_is_found_within_one_interval(make: Maker, clock: FakeClock) -> None:
    """F34 D189: three deliveries are lost, two come while the daemon is down; the next reading repairs all five, and
    says when the board was last seen whole."""
    at = make("gitlab", tool("true"))
    cards = [at.yard.issue("backlog", title=f"Card {n}") for n in range(5)]
    at.yard.tick()
    at.woken()
    at.yard.forge.script({"fault": "deliver_lost"})
    for card in cards[:3]:
        at.yard.forge.act("move", number=int(card), to="ready", **{"from": "backlog"})
    assert at.woken() == 0
    clock.advance(20)
    at.yard.settled()
    assert [at.yard.place(card) for card in cards] == ["review"] * 3 + ["backlog"] * 2
    at.yard.forge.script()
    with at.down():
        for card in cards[3:]:
            at.yard.forge.act("move", number=int(card), to="ready", **{"from": "backlog"})
        at.yard.forge.delivered()
        clock.advance(20)
    started = f"{clock.now():%Y-%m-%dT%H:%M:%S}"
    seen: Any = at.yard.settled().state["boards"]
    assert [at.yard.place(card) for card in cards] == ["review"] * 5
    assert [each["last_complete_at"] >= started for each in seen] == [True]


def test_f33_four_labels_of_one_edit_are_one_reading_and_one_comment(make: Maker, clock: FakeClock) -> None:
    """F33 C129: four events of one edit, one of them twice and out of order; they are one wake-up, one reading, one
    comment."""
    at = make("github", ASKS)
    card = at.yard.issue()
    settled(at, clock)
    at.woken()
    at.yard.forge.script(
        {"fault": "deliver_out_of_order", "match": {"nth": 1}}, {"fault": "deliver_twice", "match": {"nth": 3}}
    )
    for label in ("bug", "a", "b", "c"):
        at.yard.forge.act("add_label", number=int(card), label=label)
    at.woken()
    assert (at.heard("duplicate"), at.heard("accepted") >= 4) == (1, True)
    at.yard.forge.forget_requests()
    at.yard.tick()
    assert len({each["operation"] for each in at.yard.forge.requests() if each["method"] != "GET"}) == 0
    settled(at, clock, 3)
    assert (len(at.yard.forge.card(int(card)).comments), len(at.yard.runs())) == (1, 1)
    assert at.yard.run(card).status == RunStatus.PAUSED_WAITING_HUMAN


@pytest.fixture
def logged(clock: FakeClock) -> Iterator[io.StringIO]:
    """The daemon's log, whatever level an earlier command of this process asked for."""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    stream = io.StringIO()
    log.configure(level="info", form="json", stream=stream, clock=clock)
    yield stream
    root.handlers[:], level = before
    root.setLevel(level)
    structlog.reset_defaults()


@pytest.mark.parametrize("kind", ["github", "gitlab"])
def test_f36_nothing_shortens_a_pause_that_the_forge_asked_for(
    make: Maker, clock: FakeClock, logged: io.StringIO, kind: str
) -> None:
    """F36 D190 C112: fifty webhooks, twenty refreshes and a new start while the credential waits; no request leaves
    before the pause is over, and one line begins the episode, one ends it."""
    at = make(kind, tool("true"))
    card = at.yard.issue("backlog")
    at.yard.tick()
    at.yard.forge.script({"fault": "throttle_date_form", "with": {"seconds": 600}})
    clock.advance(20)
    at.yard.tick()
    at.yard.forge.script()
    at.yard.forge.act("move", number=int(card), to="ready", **{"from": "backlog"})
    at.yard.forge.forget_requests()
    woken = 0
    for n in range(FIFTY):
        at.yard.forge.act("comment", number=int(card), body=f"no {n}")
        if at.woken():
            woken += 1
            at.yard.tick()
        if n == FIFTY // 2:
            with at.down():
                pass
    for _ in range(20):
        at.yard.daemon.refresh("http")
    assert (woken, at.woken()) == (FIFTY, 20)
    at.yard.tick()
    assert at.yard.forge.requests() == []
    clock.advance(700)
    at.yard.settled(2)
    assert at.yard.place(card) == "review"
    events = [str(json.loads(line)["event"]) for line in logged.getvalue().splitlines()]
    told = [each for each in events if each.startswith(("board.", "limiter."))]
    assert told == [
        "limiter.blocked",
        "board.read_failed",
        "board.read_failed",  # of the daemon that was started meanwhile
        "limiter.unblocked",
        "board.recovered",
    ]
