"""What boards of forges cost: requests of a listing, of a tick in which nothing changed, and of cards' links.

A request that says what is known already, and is answered with 304, spends nothing of the forge's limit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from connectors.card import CardRef
from connectors.fake_forge.running import Setup, running
from connectors.forge.links import AGAIN, AT_ONCE, BELIEVED
from tests.kit.clock import FakeClock
from tests.kit.forge_yard import ForgeYard
from tests.kit.yard import ASKS, tool

FORGES = ("github", "gitlab", "forgejo")
PAGE = {"github": 100, "gitlab": 100, "forgejo": 50}
"""The most that the forge gives in one page."""
FREE = ("github", "gitlab")
"""Forges that say "not changed"."""
Maker = Callable[..., ForgeYard]


@pytest.fixture
def make(tmp_path: Path, clock: FakeClock) -> Iterator[Maker]:
    """Makes the yard of a forge with a bot."""
    with ExitStack() as stack:

        def made(kind: str, bot: str = tool("true")) -> ForgeYard:
            yard = ForgeYard(tmp_path, clock, stack.enter_context(running(kind, Setup(clock=clock))), bot)
            stack.callback(yard.close)
            return yard

        yield made


def asked(yard: ForgeYard) -> Counter[tuple[str, int]]:
    """operation and status -> how often, since the last look."""
    seen = Counter((str(each["operation"]), int(each["status"])) for each in yard.forge.requests())
    yard.forge.forget_requests()
    return seen


def links_asked(yard: ForgeYard) -> int:
    """How many lists of links were asked for since the last look."""
    return sum(count for (name, _), count in asked(yard).items() if name == "dependency.list")


@pytest.mark.parametrize("kind", FORGES)
def test_a_thousand_cards_cost_their_pages(make: Maker, kind: str) -> None:
    """Ten requests and the labels, twenty where the forge gives fifty at most; asked again nothing of the limit."""
    yard = make(kind)
    for number in range(1000):
        yard.issue(title=f"Card {number}")
    asked(yard)
    assert len(yard.web.list_cards(["ready"]).cards) == 1000
    first, pages = asked(yard), 1000 // PAGE[kind]
    assert first["issue.list", 200] == pages
    assert first.total() - first["label.list", 200] - first["label.list", 404] == pages + (kind in FREE)
    assert len(yard.web.list_cards(["ready"]).cards) == 1000
    again = asked(yard)
    assert again["issue.list", 304 if kind in FREE else 200] == pages
    if kind in FREE:
        assert again == {("issue.list", 304): pages, ("label.list", 304): 1}


@pytest.mark.parametrize("kind", FORGES)
def test_a_tick_in_which_nothing_changed_asks_each_page_once_and_spends_nothing(
    make: Maker, clock: FakeClock, kind: str
) -> None:
    """Parked cards, and cards that wait in columns which nobody reads, cost nothing of their own."""
    yard = make(kind, ASKS)
    for column in ("ready", "ready", "backlog", "blocked"):
        yard.issue(column)
    yard.settled(2)
    budget = yard.wiring.forges.limiter("web").budget()
    for _ in range(3):
        clock.advance(15)
        asked(yard)
        yard.tick()
        requests = yard.forge.requests()
        assert {each["method"] for each in requests} == {"GET"}
        assert len(requests) == len({(each["path"], str(each.get("query"))) for each in requests})
        if kind in FREE:
            assert {each["status"] for each in requests} == {304}
            assert len(requests) == 5, "the labels, and one page for each column that the dispatcher reads"
    if kind in FREE:
        assert yard.wiring.forges.limiter("web").budget() == budget


@pytest.mark.parametrize("kind", FORGES)
def test_links_are_asked_a_few_at_a_time_and_an_empty_list_is_not_asked_for_again(
    make: Maker, clock: FakeClock, kind: str
) -> None:
    """Not until its card changes, or is about to start."""
    yard = make(kind)
    for number in range(AT_ONCE + 10):
        yard.issue(title=f"Card {number}")
    counts = []
    for _ in range(4):
        yard.tick(pick=False)
        counts.append(links_asked(yard))
        clock.advance(BELIEVED.total_seconds() + 1)
    assert counts == [AT_ONCE, 10, 0, 0]
    yard.forge.act("edit", number=1, title="Another title")
    yard.tick(pick=False)
    assert links_asked(yard) == 1


@pytest.mark.parametrize("kind", FREE)
def test_links_that_hold_a_card_or_could_not_be_read_are_asked_for_again(
    make: Maker, clock: FakeClock, kind: str
) -> None:
    yard = make(kind)
    blocker, card = yard.issue("backlog"), yard.issue()
    yard.forge.act("block", number=int(card), by_number=int(blocker))
    fails = {"fault": "status", "with": {"code": 404}, "match": {"operation": "dependency.list"}}
    reasons, counts = [], []
    for rule, wait in (((fails,), 1.0), ((), AGAIN.total_seconds()), ((), 1.0), ((), BELIEVED.total_seconds())):
        yard.forge.script(*rule)
        asked(yard)
        yard.tick(2)
        counts.append(links_asked(yard))
        reasons.append(yard.view(card).idle)
        clock.advance(wait)
    told = [each.code if each else "" for each in reasons]
    assert told == ["blockers_unreadable", "blockers_unreadable", "blocked_by", "blocked_by"]
    assert counts == [1, 0, 2, 0], "its own, and once those of the card that it waits for"
    yard.tick()
    assert asked(yard)["dependency.list", 304] == 1


@pytest.mark.parametrize("kind", FORGES)
def test_a_link_that_came_after_the_listing_holds_the_card_before_its_start(make: Maker, kind: str) -> None:
    """The read of the card itself asks for its links anew, whatever is known of them (D135 for blockers)."""
    yard = make(kind)
    blocker, card = yard.issue("backlog"), yard.issue()
    yard.tick(pick=False)
    known = yard.web.linked(yard.web.list_cards(["ready"]).cards)[0]
    assert known.blockers == ()
    yard.forge.act("block", number=int(card), by_number=int(blocker))
    assert yard.web.get(card).blockers == (CardRef("web", blocker),)
    yard.tick()
    assert yard.runs() == ()
