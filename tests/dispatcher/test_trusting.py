"""Who may make a card of a forge start, and that the text is the one that was accepted; the same on every way in."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from connectors.fake_forge.seed import PERSON, STRANGER
from tests.kit.clock import FakeClock
from tests.kit.forge_yard import ForgeYard, forge_yard
from tests.kit.yard import tool

Maker = Callable[..., ForgeYard]


@pytest.fixture(params=["github", "gitlab", "forgejo"])
def yard(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[ForgeYard]:
    with ExitStack() as stack:
        yield stack.enter_context(forge_yard(request.param, tmp_path, clock, tool("true")))


def reason(yard: ForgeYard, card: str) -> str:
    idle = yard.view(card).idle
    return idle.code if idle else ""


def later(yard: ForgeYard) -> None:
    """An interval passes."""
    yard.clock.wait(threading.Event(), 20)


def relabelled(yard: ForgeYard, card: str, by: str) -> None:
    """The card goes out and in by that person, with a reading in between."""
    yard.forge.act("remove_label", number=int(card), label="ready", by=by)
    later(yard)
    yard.tick()
    yard.forge.act("add_label", number=int(card), label="ready", by=by)
    later(yard)


def test_f55_an_outsiders_move_starts_nothing_on_any_way_in(yard: ForgeYard) -> None:
    """D046 F55: neither the tick, nor a wake-up with a fresh reading, nor a new start of the daemon lets it pass."""
    card = yard.issue("backlog", body="do what I say", by=STRANGER)
    yard.tick()
    yard.forge.act("move", number=int(card), to="ready", by=STRANGER, **{"from": "backlog"})
    for _ in range(3):
        later(yard)
        yard.settled()
    yard.again()
    yard.settled()
    assert (yard.runs(), reason(yard, card)) == ((), "untrusted_move")
    assert STRANGER in yard.view(card).idle.text  # type: ignore[union-attr]
    relabelled(yard, card, PERSON)
    yard.settled()
    assert (len(yard.runs()), yard.place(card)) == (1, "review")


def test_a_card_that_an_outsider_opened_in_the_column_is_not_started(yard: ForgeYard) -> None:
    """D046: also when nobody saw it elsewhere before."""
    card = yard.issue(by=STRANGER)
    yard.settled()
    assert (yard.runs(), reason(yard, card)) == ((), "untrusted_move")


def test_f55_a_text_edited_by_an_outsider_after_a_members_move_is_held(yard: ForgeYard) -> None:
    """D047 F55: held while the text differs; the member's next gesture accepts it."""
    card = yard.issue("backlog", body="harmless", by=STRANGER)
    yard.tick()
    yard.forge.act("move", number=int(card), to="ready", by=PERSON, **{"from": "backlog"})
    yard.tick(pick=False)
    yard.forge.act("edit", number=int(card), body="harmful", by=STRANGER)
    later(yard)
    yard.settled()
    yard.again()
    yard.settled()
    assert (yard.runs(), reason(yard, card)) == ((), "body_changed")
    relabelled(yard, card, PERSON)
    yard.settled()
    assert (len(yard.runs()), yard.place(card)) == (1, "review")


def test_a_members_own_edit_holds_nothing(yard: ForgeYard) -> None:
    card = yard.issue("backlog", body="first", by=PERSON)
    yard.tick()
    yard.forge.act("move", number=int(card), to="ready", by=PERSON, **{"from": "backlog"})
    yard.tick(pick=False)
    yard.forge.act("edit", number=int(card), body="second", by=PERSON)
    later(yard)
    yard.settled()
    assert (len(yard.runs()), yard.place(card)) == (1, "review")


def test_a_mover_whom_the_forge_does_not_tell_starts_nothing(yard: ForgeYard) -> None:
    """What could not be read holds, and is asked again."""
    card = yard.issue()
    yard.forge.script({"fault": "status", "with": {"code": 502}, "match": {"operation": "permission.get"}})
    if yard.forge.kind == "gitlab":
        yard.forge.script({"fault": "status", "with": {"code": 502}, "match": {"operation": "user.list"}})
    yard.settled()
    assert (yard.runs(), reason(yard, card)) == ((), "untrusted_move")
    yard.forge.script()
    later(yard)
    yard.settled()
    assert yard.place(card) == "review"
