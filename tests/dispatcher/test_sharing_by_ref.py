"""Two installations over one GitHub board whose claims are refs: who makes the ref has the card (connectors.md 19)."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from connectors.effects.markers import markers_in
from connectors.fake_forge.running import Setup
from dispatcher.ledger.claims import Stage
from tests.dispatcher.test_sharing import Pair, name_of, reason, rows, runs, yard
from tests.kit.clock import FakeClock
from tests.kit.fakes import fake
from tests.kit.forge_yard import ForgeYard
from tests.kit.yard import FAILS_FOR_GOOD

REF = "refs/pointsman/claims/{}"


def by_ref(folder: Path, clock: FakeClock, forge: Any) -> ForgeYard:
    made = yard(folder, clock, forge)
    path = folder / "pointsman.yaml"
    path.write_text(path.read_text() + "claims: {arbitration: ref}\n")
    made.again()
    return made


@pytest.fixture
def pair(tmp_path: Path, clock: FakeClock) -> Iterator[Pair]:
    with ExitStack() as stack:
        forge = stack.enter_context(fake("github", Setup(clock=clock)))
        one, two = by_ref(tmp_path / "one", clock, forge), by_ref(tmp_path / "two", clock, forge)
        stack.callback(one.close)
        stack.callback(two.close)
        yield Pair(one, two, forge, clock)


def claim(pair: Pair, card: str) -> dict[str, str]:
    """What the claim ref of the card says; nothing where there is none."""
    sha = pair.forge.here.refs.get(REF.format(card))
    if sha is None:
        return {}
    (marker,) = markers_in(pair.forge.here.commits[sha].message)
    return dict(marker.pairs)


def test_who_makes_the_ref_has_the_card_at_once(pair: Pair) -> None:
    """C156: alive is lost; no comment is written, and no settle delay passes."""
    card = pair.one.issue()
    pair.one.tick()
    assert (bool(runs(pair.one, card)), rows(pair.one)) == (True, [Stage.WON])
    assert (claim(pair, card)["owner"], claim(pair, card)["epoch"]) == (name_of(pair.one), "1")
    pair.forge.act("move", number=int(card), **{"from": pair.one.place(card), "to": "ready"})
    pair.two.tick()
    assert reason(pair.two, card).startswith(f"claimed_elsewhere: claimed by store {name_of(pair.one)} until ")
    assert (runs(pair.two, card), rows(pair.two), pair.claims(card)) == ("", [], [])


def test_of_two_who_race_one_wins(pair: Pair) -> None:
    """C156: both saw no claim; the forge makes one ref, and the other's 422 is read as lost."""
    cards = [pair.one.issue() for _ in range(3)]
    with ThreadPoolExecutor(2) as pool:
        for each in [pool.submit(made.daemon.tick) for made in (pair.one, pair.two)]:
            each.result()
    for made in (pair.one, pair.two):
        made.join()
    for card in cards:
        started = [made for made in (pair.one, pair.two) if runs(made, card)]
        assert [name_of(made) for made in started] == [claim(pair, card)["owner"]]


def test_a_ref_that_another_made_between_read_and_write_is_lost(pair: Pair) -> None:
    """C156: ``create`` answers 422, and the read behind it shows a living claim."""
    card = pair.one.issue()
    pair.one.tick()
    sha = pair.forge.here.refs.pop(REF.format(card))
    pair.forge.act("move", number=int(card), **{"from": pair.one.place(card), "to": "ready"})
    taken = {"do": "set_ref", "ref": REF.format(card), "sha": sha}
    pair.forge.script(
        {"match": {"operation": "branch.create"}, "fault": "person", "with": {"act": taken, "when": "before"}}
    )
    pair.two.tick()
    assert reason(pair.two, card).startswith(f"claimed_elsewhere: claimed by store {name_of(pair.one)} until ")
    assert (runs(pair.two, card), rows(pair.two)) == ("", [])


def test_any_other_refusal_is_uncertain_and_neither_lost_nor_won(pair: Pair) -> None:
    """C156: 422 for another reason."""
    card = pair.one.issue()
    refused = {"code": 422, "body": {"message": "Reference update failed", "documentation_url": "", "status": "422"}}
    pair.forge.script({"match": {"operation": "branch.create"}, "fault": "status", "with": refused})
    pair.one.tick()
    assert reason(pair.one, card).startswith("claim_uncertain: ")
    assert (runs(pair.one, card), claim(pair, card)) == ("", {})
    pair.forge.script()
    pair.one.tick()
    assert runs(pair.one, card)


def test_an_ended_claim_is_taken_over_by_expectation(pair: Pair) -> None:
    """C154, C156: the ref moves from the commit that was read to ours, with a larger epoch."""
    card = pair.one.issue()
    pair.one.tick()
    first = pair.forge.here.refs[REF.format(card)]
    pair.one.daemon.close()
    pair.forge.act("move", number=int(card), **{"from": pair.one.place(card), "to": "ready"})
    pair.two.tick()
    assert not runs(pair.two, card)
    pair.clock.advance(901)
    pair.two.tick()
    assert (claim(pair, card)["owner"], claim(pair, card)["epoch"]) == (name_of(pair.two), "2")
    assert pair.forge.here.commits[pair.forge.here.refs[REF.format(card)]].parents == [first]
    assert runs(pair.two, card)
    pair.one.daemon.open()


def test_a_claim_is_prolonged_and_goes_with_the_outcome(pair: Pair) -> None:
    """connectors.md 19: every third of the lease, and released when the run is settled."""
    card = pair.one.issue()
    pair.one.tick()
    before = claim(pair, card)["until"]
    pair.clock.advance(301)
    pair.one.tick()
    assert claim(pair, card)["until"] > before
    pair.one.bot(FAILS_FOR_GOOD)
    other = pair.one.issue()
    pair.one.settled()
    assert (pair.one.place(other), claim(pair, other)) == ("blocked", {})


@pytest.mark.parametrize("operation", ["tree.create", "commit.create", "branch.create"])
def test_a_lost_answer_over_a_claim_is_read_back(pair: Pair, operation: str) -> None:
    """C103 for a claim: one ref, one start."""
    card = pair.one.issue()
    pair.forge.script({"match": {"operation": operation, "nth": 1}, "fault": "act_then_close"})
    pair.one.tick()
    assert claim(pair, card)["owner"] == name_of(pair.one)
    assert (bool(runs(pair.one, card)), rows(pair.one)) == (True, [Stage.WON])


def test_a_claim_that_ended_before_its_release_is_taken_once_more_to_be_deleted(pair: Pair) -> None:
    """The forge deletes without an expectation: what somebody else took over meanwhile stays."""
    card = pair.one.issue()
    pair.one.tick()
    pair.clock.advance(901)
    pair.forge.act("close", number=int(card))
    pair.one.tick(2)
    assert (claim(pair, card), rows(pair.one)) == ({}, [])


def test_a_claim_that_nobody_can_read_holds_the_card(pair: Pair) -> None:
    """C155 for a ref."""
    card = pair.one.issue()
    pair.forge.here.refs[REF.format(card)] = pair.forge.here.refs["refs/heads/main"]
    pair.one.tick()
    assert reason(pair.one, card).startswith("claim_uncertain: ")
    assert not runs(pair.one, card)
