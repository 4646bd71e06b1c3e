"""Two installations, each with its own store, over one board of a forge: one run per card (connectors.md 19)."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from connectors.effects.markers import markers_in
from connectors.fake_forge.running import FakeForge, Setup
from connectors.forge.board import LabelBoard
from dispatcher.explaining import explain
from dispatcher.ledger import claims
from dispatcher.ledger.claims import Stage
from tests.kit.clock import FakeClock
from tests.kit.fakes import fake
from tests.kit.forge_yard import ForgeYard
from tests.kit.yard import ASKS, FAILS_FOR_GOOD, tool


@dataclass
class Pair:
    """Two installations, their forge and the clock of all three."""

    one: ForgeYard
    two: ForgeYard
    forge: FakeForge
    clock: FakeClock

    def claims(self, card: str) -> list[str]:
        """The owners of the claim comments of a card, oldest first."""
        texts = [each.body for each in self.forge.card(int(card)).comments]
        return [m.pairs["owner"] for text in texts for m in markers_in(text) if m.is_claim]

    def epochs(self, card: str) -> list[str]:
        texts = [each.body for each in self.forge.card(int(card)).comments]
        return [m.pairs["epoch"] for text in texts for m in markers_in(text) if m.is_claim]


def yard(folder: Path, clock: FakeClock, forge: FakeForge, *, shared: bool = True) -> ForgeYard:
    folder.mkdir(exist_ok=True)
    made = ForgeYard(folder, clock, forge, ASKS)
    if shared:
        path = folder / "pointsman.yaml"
        path.write_text(path.read_text().replace("bot: bots/work.bot", "bot: bots/work.bot\n    shared: true"))
        made.again()
    return made


@pytest.fixture(params=["github", "gitlab", "forgejo"])
def pair(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[Pair]:
    with ExitStack() as stack:
        forge = stack.enter_context(fake(request.param, Setup(clock=clock)))
        one, two = yard(tmp_path / "one", clock, forge), yard(tmp_path / "two", clock, forge)
        stack.callback(one.close)
        stack.callback(two.close)
        yield Pair(one, two, forge, clock)


def name_of(made: ForgeYard) -> str:
    return claims.identity(made.wiring.ledger, lambda: "nobody")


def rows(made: ForgeYard) -> list[Stage]:
    return [each.stage for each in claims.of_board(made.wiring.ledger, "web").values()]


def reason(made: ForgeYard, card: str) -> str:
    idle = made.view(card).idle
    return f"{idle.code}: {idle.text}" if idle else ""


def runs(made: ForgeYard, card: str) -> str:
    return made.view(card).last_run


def test_the_older_of_two_claims_has_the_card(pair: Pair) -> None:
    """C153: one account, two stores; the younger comment goes, and one run is there."""
    card = pair.one.issue()
    pair.one.tick()
    claim = next(each for each in pair.forge.card(int(card)).comments)
    pair.clock.advance(1)
    pair.two.tick()
    assert pair.claims(card) == [name_of(pair.one)]
    assert reason(pair.two, card).startswith(f"claimed_elsewhere: claimed by store {name_of(pair.one)} until ")
    assert not runs(pair.one, card)
    pair.clock.advance(5)
    pair.one.tick()
    pair.two.tick()
    assert (bool(runs(pair.one, card)), runs(pair.two, card), rows(pair.one), rows(pair.two)) == (
        True,
        "",
        [Stage.WON],
        [],
    )
    assert [each.id for each in pair.forge.card(int(card)).comments if "claim owner" in each.body] == [claim.id]


def test_the_claim_is_released_when_the_run_is_settled(pair: Pair) -> None:
    """E8 of dispatcher.md 8: the comment goes, the row after it, and the other store is free to start the card."""
    pair.one.bot(FAILS_FOR_GOOD)
    card = pair.one.issue()
    pair.one.tick()
    pair.clock.advance(5)
    pair.one.tick()
    pair.one.tick()
    assert (pair.one.place(card), pair.claims(card), rows(pair.one)) == ("blocked", [], [])


def test_a_dead_winner_is_waited_out_and_taken_over_with_a_larger_epoch(pair: Pair) -> None:
    """C154: the other store waits until the claim ends by itself; the old comment is ignored from then on."""
    card = pair.one.issue()
    pair.one.tick()
    first = pair.claims(card)
    pair.one.daemon.close()
    for _ in range(3):
        pair.clock.advance(200)
        pair.two.tick()
        assert (pair.claims(card), runs(pair.two, card)) == (first, "")
    pair.clock.advance(301)
    pair.two.tick()
    pair.clock.advance(5)
    pair.two.tick()
    assert runs(pair.two, card)
    assert (pair.claims(card), pair.epochs(card)) == ([*first, name_of(pair.two)], ["1", "2"])
    pair.one.daemon.open()


def test_an_edited_claim_is_honoured_and_a_destroyed_one_holds_for_two_leases(pair: Pair) -> None:
    """C155."""
    card = pair.one.issue()
    number = int(card)
    pair.one.tick()
    made = pair.forge.card(number).comments[0]
    pair.forge.act("edit_comment", number=number, id=made.id, body=f"Who is that?\n{made.body}\nThanks.")
    pair.two.tick()
    assert reason(pair.two, card).startswith("claimed_elsewhere: ")
    pair.forge.act("edit_comment", number=number, id=made.id, body="<!-- pointsman claim owner=")
    pair.two.tick()
    assert reason(pair.two, card).startswith("claim_uncertain: ")
    assert f"counts until {pair.forge.now():%Y}" in reason(pair.two, card)
    pair.clock.advance(2 * 900 - 10)
    pair.two.tick()
    assert reason(pair.two, card).startswith("claim_uncertain: ")
    pair.clock.advance(11)
    pair.two.tick()
    pair.clock.advance(5)
    pair.two.tick()
    assert runs(pair.two, card)


@pytest.mark.parametrize("skew", [600, -600])
def test_claims_live_and_end_by_the_clock_of_the_forge(pair: Pair, skew: int) -> None:
    """C157: ten minutes off ours, in either direction."""
    pair.forge.clock(skew=skew)
    card = pair.one.issue()
    pair.one.tick()
    (row,) = claims.of_board(pair.one.wiring.ledger, "web").values()
    assert (row.until - pair.forge.now()).total_seconds() == pytest.approx(900, abs=1)
    pair.clock.advance(899)
    pair.two.tick()
    assert reason(pair.two, card).startswith("claimed_elsewhere: ")
    pair.clock.advance(3)
    pair.two.tick()
    pair.clock.advance(5)
    pair.two.tick()
    assert runs(pair.two, card)


def test_a_release_whose_answer_was_lost_is_finished(pair: Pair) -> None:
    """C158, D069: the comment is read as gone, and the row with it."""
    pair.one.bot(FAILS_FOR_GOOD)
    pair.forge.script({"fault": "act_then_close", "match": {"operation": "comment.delete"}})
    card = pair.one.issue()
    pair.one.tick()
    pair.clock.advance(5)
    pair.one.tick()
    pair.one.tick()
    pair.one.again()
    pair.one.tick()
    assert (pair.claims(card), rows(pair.one)) == ([], [])


def test_a_release_that_the_forge_does_not_take_is_made_by_a_later_tick(pair: Pair) -> None:
    """C158: the row stays as long as the comment does."""
    pair.one.bot(FAILS_FOR_GOOD)
    card = pair.one.issue()
    pair.one.tick()
    pair.clock.advance(5)
    pair.one.tick()
    pair.forge.script({"fault": "status", "with": {"code": 503}, "match": {"operation": "comment.delete"}})
    pair.one.tick()
    assert (pair.one.place(card), len(pair.claims(card)), rows(pair.one)) == ("blocked", 1, [Stage.WON])
    pair.forge.script()
    pair.one.tick()
    assert (pair.claims(card), rows(pair.one)) == ([], [])


def test_a_claim_that_a_late_read_does_not_show_is_released_when_it_shows(pair: Pair) -> None:
    """C158: the card was taken away from us while the forge's reads were behind."""
    card = pair.one.issue()
    pair.forge.script({"fault": "lag", "with": {"seconds": 20, "what": "comments"}})
    pair.one.tick()
    pair.clock.advance(6)
    pair.one.tick()
    pair.one.again()
    pair.one.tick()
    assert len(pair.claims(card)) == 1, "nor is another one written, by no daemon of this store"
    pair.forge.act("remove_label", number=int(card), label="ready")
    pair.one.tick()
    assert len(pair.claims(card)) == 1
    pair.forge.script()
    pair.one.tick()
    assert (pair.claims(card), rows(pair.one)) == ([], [])


def test_a_claim_is_prolonged_every_third_of_its_lease(pair: Pair) -> None:
    card = pair.one.issue()
    pair.one.tick()
    pair.clock.advance(5)
    pair.one.tick()
    pair.one.tick()
    for _ in range(6):
        pair.clock.advance(301)
        pair.one.tick()
        pair.two.tick()
        (row,) = claims.of_board(pair.one.wiring.ledger, "web").values()
        assert (row.until - pair.forge.now()).total_seconds() > 600
    assert pair.claims(card) == [name_of(pair.one)]
    assert not runs(pair.two, card)


def test_a_claim_of_a_daemon_that_died_before_it_started_anything_makes_room_for_one_of_the_next(pair: Pair) -> None:
    """D051: read back as gone before the new one is written; never two of one store."""
    card = pair.one.issue()
    pair.one.tick()
    first = pair.forge.card(int(card)).comments[0].id
    pair.one.again()
    pair.one.tick()
    assert [each.id for each in pair.forge.card(int(card)).comments if each.id == first] == []
    assert pair.claims(card) == [name_of(pair.one)]


def test_a_claim_whose_answer_was_lost_is_found_and_not_made_twice(pair: Pair) -> None:
    pair.forge.script({"fault": "act_then_close", "match": {"operation": "issue.comment", "nth": 1}})
    card = pair.one.issue()
    pair.one.tick()
    assert reason(pair.one, card).startswith("claim_uncertain: ")
    pair.one.tick()
    pair.clock.advance(5)
    pair.one.tick()
    assert pair.claims(card) == [name_of(pair.one)]
    assert runs(pair.one, card)


def test_a_board_that_is_not_shared_respects_the_claims_of_others_and_writes_none(
    tmp_path: Path, clock: FakeClock
) -> None:
    """D039: explain says the same of it."""
    with ExitStack() as stack:
        forge = stack.enter_context(fake("github", Setup(clock=clock)))
        one = yard(tmp_path / "one", clock, forge)
        two = yard(tmp_path / "two", clock, forge, shared=False)
        stack.callback(one.close)
        stack.callback(two.close)
        card = one.issue()
        one.tick()
        two.tick()
        assert reason(two, card).startswith("claimed_elsewhere: ")
        told = explain(two.wiring, {}, f"web#{card}").judgement.decision
        assert f"{told.reason}: {told.text}" == reason(two, card)
        one.forge.act("delete_comment", number=int(card))
        two.tick()
        assert runs(two, card)
        assert rows(two) == []
        assert isinstance(two.web, LabelBoard)


def both(pair: Pair) -> None:
    """Both daemons tick at the same moment."""
    with ThreadPoolExecutor(2) as threads:
        for done in [threads.submit(each.tick) for each in (pair.one, pair.two)]:
            done.result(60)


@pytest.mark.parametrize(
    ("pair", "lag"),
    [pytest.param("gitlab", 0, id="D080"), pytest.param("forgejo", 3, id="D081")],
    indirect=["pair"],
)
def test_two_installations_that_dispatch_at_once_run_every_card_once(pair: Pair, tmp_path: Path, lag: int) -> None:
    """D080, D081: ten ready cards, also where lists of comments show what was true three seconds ago; who lost a card
    has taken its claim back."""
    for each in (pair.one, pair.two):
        each.bot(tool(f"echo {{{{vars.title}}}} >> {tmp_path}/trace"))
    if lag:
        pair.forge.script({"fault": "lag", "with": {"seconds": lag, "what": "comments"}})
    titles = [f"card-{n}" for n in range(10)]
    cards = [pair.one.issue(title=title) for title in titles]
    for _ in range(40):
        both(pair)
        pair.clock.advance(2)
        if all(pair.one.place(card) == "review" for card in cards):
            break
    both(pair)
    assert [pair.one.place(card) for card in cards] == ["review"] * 10
    assert sorted((tmp_path / "trace").read_text().split()) == titles
    assert [bool(runs(pair.one, card)) + bool(runs(pair.two, card)) for card in cards] == [1] * 10
    assert [pair.claims(card) for card in cards] == [[]] * 10
    assert (rows(pair.one), rows(pair.two)) == ([], [])
