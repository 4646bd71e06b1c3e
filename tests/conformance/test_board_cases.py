"""The board conformance suite (connectors.md 23): 36 cases, unchanged over every kind of board (C001).

The number of each case stands in its docstring. Cases that a kind cannot have are skipped by the capability's name.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from connectors.answer import StopReason
from connectors.base import Absent, Capability, Move, Moved, Refused
from connectors.card import DISPATCHER, CardRef, MoverKind
from connectors.errand import Errand, Purpose
from connectors.errors import (
    AmbiguousEffect,
    ColumnLost,
    ConnectorError,
    ForgeRefused,
    MovePending,
    RateLimited,
    UnknownColumn,
)
from dispatcher import forge_checkup
from engine.ports import SystemClock
from tests.conformance.benches import MAKERS, PERSON, Bench, ForgeBench
from tests.kit.clock import FakeClock

REMOTE = Capability.REMOTE
CHECKS = {
    *("conn.resolve", "conn.address", "conn.tls", "conn.identity", "conn.scopes", "conn.clock", "conn.limit"),
    *("board.columns", "board.labels", "board.unmapped", "board.contradictory", "board.roles", "board.read"),
    *("board.shared", "hook.secret", "effects.ambiguous", "text.limits"),
}
"""What is looked at of a board without webhooks (connectors.md 22)."""


@pytest.fixture(params=MAKERS)
def bench(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[Bench]:
    with MAKERS[request.param](tmp_path, clock) as made:
        yield made


@pytest.fixture(params=MAKERS)
def forge_bench(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[ForgeBench]:
    with MAKERS[request.param](tmp_path, clock) as made:
        made.need(REMOTE)
        yield made


def titles(bench: Bench, *columns: str) -> list[str]:
    return sorted(card.title for card in bench.board.list_cards(columns).cards)


# -- reading ---------------------------------------------------------------------------------------------------------
def test_no_columns_and_no_ids_ask_nothing(bench: Bench) -> None:
    """Case 1, C002."""
    bench.make()
    if bench.forge is not None:
        bench.forge.forget_requests()
    assert bench.board.list_cards([]).complete
    assert bench.board.list_cards([]).cards == ()
    assert bench.board.get_many([]).found == {}
    assert bench.forge is None or bench.forge.requests() == []


def test_the_cards_of_two_columns_come_once_each(bench: Bench) -> None:
    """Case 2."""
    for column in ("ready", "review", "backlog"):
        bench.make(column, column)
    listing = bench.board.list_cards(["ready", "review", "ready"])
    assert sorted(card.title for card in listing.cards) == ["ready", "review"]
    assert listing.complete


def test_more_cards_than_two_pages_hold_all_come(bench: Bench) -> None:
    """Case 3."""
    for number in range(120 if bench.forge is None or bench.forge.kind == "forgejo" else 205):
        bench.make(f"card {number}")
    listing = bench.board.list_cards(["ready"])
    assert listing.complete
    assert len({card.id for card in listing.cards}) == len(listing.cards) >= 120


def test_a_failing_page_makes_the_listing_incomplete(forge_bench: ForgeBench) -> None:
    """Case 4, C003."""
    for number in range(120):
        forge_bench.make(f"card {number}")
    forge_bench.forge.script({"match": forge_bench.second_page, "fault": "status", "with": {"code": 502}})
    listing = forge_bench.board.list_cards(["ready"])
    assert not listing.complete
    assert listing.stopped is StopReason.PAGE_FAILED


def test_each_id_lands_in_one_place(bench: Bench) -> None:
    """Cases 5 and 6, C012: found and gone; moved where cards can be transferred."""
    kept, deleted = bench.make("kept"), bench.make("deleted")
    bench.delete(deleted)
    wanted = [kept, deleted]
    if isinstance(bench, ForgeBench):
        moved = bench.make("moved")
        bench.act("transfer", moved, to="octo/other")
        wanted.append(moved)
    lookup = bench.board.get_many(wanted)
    assert list(lookup.found) == [kept]
    assert deleted in lookup.gone
    assert lookup.unread == {}
    if isinstance(bench, ForgeBench):
        assert set(lookup.moved) | set(lookup.gone) == {deleted, moved}


def test_a_failing_read_leaves_the_others_alone(forge_bench: ForgeBench) -> None:
    """Case 6, C011: one chunk."""
    first, second = forge_bench.make("one"), forge_bench.make("two")
    forge_bench.board.get(first)
    forge_bench.need(Capability.SINGLE_READS)
    forge_bench.forge.script({"match": forge_bench.reads_of(second, 1), "fault": "status", "with": {"code": 502}})
    lookup = forge_bench.board.get_many([first, second])
    assert (list(lookup.found), list(lookup.unread), lookup.gone) == ([first], [second], {})


def test_a_repository_that_is_not_there_makes_no_card_gone(forge_bench: ForgeBench) -> None:
    """C012: 404 of both is the board's matter."""
    card = forge_bench.make()
    forge_bench.board.get(card)
    forge_bench.act("hide")
    lookup = forge_bench.board.get_many([card])
    assert (list(lookup.unread), lookup.gone) == ([card], {})


def test_pull_requests_are_no_cards(forge_bench: ForgeBench) -> None:
    """Case 7, C015."""
    card = forge_bench.make("a card")
    forge_bench.forge.act("create_pull", head="work", title="a pull")
    listing = forge_bench.board.list_cards(None)
    assert [each.id for each in listing.cards] == [card]


def test_unmapped_cards_are_shown_as_such(forge_bench: ForgeBench) -> None:
    """Case 8."""
    unmapped = forge_bench.make("unmapped", "")
    assert forge_bench.card(unmapped).column is None
    assert forge_bench.card(unmapped).columns_seen == ()
    assert forge_bench.board.list_cards(["ready"]).cards == ()
    assert unmapped in {card.id for card in forge_bench.board.list_cards(None).cards}


def test_contradictory_cards_are_shown_as_such(forge_bench: ForgeBench) -> None:
    """Case 8."""
    forge_bench.need(Capability.CONTRADICTIONS)
    both = forge_bench.make("both", "ready", labels=["review"])
    assert set(forge_bench.card(both).columns_seen) == {"ready", "review"}
    assert {card.title for card in forge_bench.board.list_cards(["ready"]).cards} == {"both"}


def test_a_closed_card_is_in_the_closed_column_whatever_its_labels(bench: Bench) -> None:
    """Case 9, C039."""
    card = bench.make("a card", "ready")
    bench.put(card, "done")
    found = bench.card(card)
    assert (found.column, found.closed, found.columns_seen) == ("done", True, ("done",))


# -- moving ----------------------------------------------------------------------------------------------------------
def test_a_move_is_made_once_refused_elsewhere_and_already_there(bench: Bench) -> None:
    """Case 10."""
    card = bench.make()
    moved = bench.move(card, "in_progress", "ready")
    assert isinstance(moved, Moved)
    assert (moved.changed, moved.card.column, moved.card.column_by) == (True, "in_progress", MoverKind.DISPATCHER)
    again = bench.move(card, "in_progress", "ready")
    assert isinstance(again, Moved)
    assert not again.changed
    refused = bench.move(card, "review", "ready")
    assert isinstance(refused, Refused)
    assert refused.card.column == "in_progress"
    assert bench.column(card) == "in_progress"


def test_a_card_that_is_not_there_is_not_moved(bench: Bench) -> None:
    card = bench.make()
    bench.delete(card)
    assert isinstance(bench.move(card, "review"), Absent)


def test_an_unknown_column_is_refused(bench: Bench) -> None:
    card = bench.make()
    with pytest.raises(UnknownColumn):
        bench.move(card, "nowhere")


def test_at_no_moment_the_card_has_no_column(forge_bench: ForgeBench) -> None:
    """Case 11, C024: the new label comes before the old one goes; one request where the forge does both."""
    card = forge_bench.make()
    forge_bench.forge.forget_requests()
    assert isinstance(forge_bench.move(card, "in_progress", "ready"), Moved)
    operations = [each["operation"] for each in forge_bench.writes()]
    if forge_bench.board.client.traits.swaps:
        assert len(operations) == 1
    else:
        assert operations == ["label.add", "label.remove"]
    assert forge_bench.shown(card) == ["in_progress"]


@pytest.mark.parametrize("lost", ["label.add", "label.remove"])
def test_half_a_move_is_finished_by_the_next_look(forge_bench: ForgeBench, lost: str) -> None:
    """Case 12, C026: whichever half lost its answer or was refused, the card ends in one column."""
    forge_bench.need(Capability.HALVES)
    card = forge_bench.make()
    forge_bench.board.get(card)
    rule = {"match": {"operation": lost, "nth": 1}, "fault": "act_then_close"}
    forge_bench.forge.script(rule)
    moved = forge_bench.move(card, "in_progress", "ready")
    assert isinstance(moved, Moved)
    assert forge_bench.shown(card) == ["in_progress"]
    assert [each["operation"] for each in forge_bench.writes()] == ["label.add", "label.remove"]


def test_a_move_that_stopped_between_its_halves_is_one_column_and_goes_on(forge_bench: ForgeBench) -> None:
    """Case 12, C025: two labels of our own move are no contradiction; one removal finishes it."""
    forge_bench.need(Capability.HALVES)
    card = forge_bench.make()
    forge_bench.board.get(card)
    forge_bench.forge.script({"match": {"operation": "label.remove"}, "fault": "status", "with": {"code": 502}})
    with pytest.raises(ConnectorError):
        forge_bench.move(card, "in_progress", "ready")
    assert set(forge_bench.shown(card)) == {"ready", "in_progress"}
    assert forge_bench.card(card).columns_seen == ("in_progress",)
    forge_bench.forge.script()
    forge_bench.forge.forget_requests()
    forge_bench.board.finish_moves()
    assert forge_bench.shown(card) == ["in_progress"]
    assert [each["operation"] for each in forge_bench.writes()] == ["label.remove"]


def test_a_refused_half_leaves_the_move_to_be_finished(forge_bench: ForgeBench) -> None:
    """Case 12: what was made of the move stays known as ours, whatever the second half was answered."""
    forge_bench.need(Capability.HALVES)
    card = forge_bench.make()
    forge_bench.board.get(card)
    forge_bench.forge.script({"match": {"operation": "label.remove"}, "fault": "status", "with": {"code": 403}})
    with pytest.raises(ForgeRefused):
        forge_bench.move(card, "in_progress", "ready")
    forge_bench.forge.script()
    assert forge_bench.card(card).columns_seen == ("in_progress",)
    forge_bench.board.finish_moves()
    assert forge_bench.shown(card) == ["in_progress"]
    assert forge_bench.card(card).column_by is MoverKind.DISPATCHER


def test_a_read_that_is_older_than_half_a_move_does_not_end_it(forge_bench: ForgeBench) -> None:
    """Cases 12 and 32: the next look sees the card as it was before; the one after it finishes the move."""
    forge_bench.need(Capability.HALVES)
    card = forge_bench.make()
    forge_bench.board.get(card)
    forge_bench.clock.advance(60)
    lag = {"fault": "lag", "match": {"operation": "issue.get"}, "with": {"seconds": 90, "what": "labels"}}
    forge_bench.forge.script({"match": {"operation": "label.remove"}, "fault": "status", "with": {"code": 502}}, lag)
    with pytest.raises(ConnectorError):
        forge_bench.move(card, "in_progress", "ready")
    forge_bench.board.finish_moves()
    forge_bench.forge.script()
    forge_bench.board.finish_moves()
    assert forge_bench.shown(card) == ["in_progress"]


def test_a_person_between_the_halves_wins(forge_bench: ForgeBench) -> None:
    """C027: the person's column stands; our extra label goes."""
    forge_bench.need(Capability.HALVES)
    card = forge_bench.make()
    forge_bench.board.get(card)
    forge_bench.forge.script({"match": {"operation": "label.remove"}, "fault": "status", "with": {"code": 502}})
    with pytest.raises(ConnectorError):
        forge_bench.move(card, "in_progress", "ready")
    forge_bench.forge.script()
    forge_bench.clock.advance(5)
    forge_bench.act("move", card, to="backlog", **{"from": "ready"})
    forge_bench.board.finish_moves()
    assert forge_bench.shown(card) == ["backlog"]
    assert forge_bench.card(card).column_by is MoverKind.FORGE


@pytest.mark.parametrize("when", ["before", "after"])
def test_who_closes_a_card_in_the_middle_of_our_move_is_not_overruled(forge_bench: ForgeBench, when: str) -> None:
    """C027 for the closed column: the card stays closed, now and at the next look, with one label."""
    if forge_bench.board.client.traits.exclusive:
        pytest.skip("a status is set by one document among many")
    card = forge_bench.make()
    forge_bench.board.get(card)
    halves = Capability.HALVES in forge_bench.board.capabilities
    last = {"operation": "label.remove"} if halves else {"method": "PUT"}
    act = {"do": "close", "number": int(card)}
    forge_bench.forge.script({"match": {**last, "nth": 1}, "fault": "person", "with": {"act": act, "when": when}})
    answer = forge_bench.move(card, "in_progress", "ready")
    assert isinstance(answer, Refused)
    assert "somebody closed the card meanwhile" in answer.why
    forge_bench.board.finish_moves()
    seen = forge_bench.card(card)
    assert (seen.closed, seen.column, len(forge_bench.shown(card))) == (True, "done", 1)


def test_a_card_closed_between_the_halves_stays_closed(forge_bench: ForgeBench) -> None:
    """C025, C027: what a crash left half done is given up, and the label that we added goes."""
    forge_bench.need(Capability.HALVES)
    card = forge_bench.make()
    forge_bench.board.get(card)
    forge_bench.forge.script({"match": {"operation": "label.remove"}, "fault": "status", "with": {"code": 502}})
    with pytest.raises(ConnectorError):
        forge_bench.move(card, "in_progress", "ready")
    forge_bench.forge.script()
    forge_bench.act("close", card)
    forge_bench.board.finish_moves()
    seen = forge_bench.card(card)
    assert (seen.closed, seen.column, forge_bench.shown(card)) == (True, "done", ["ready"])


def test_a_person_moves_a_closed_card_that_kept_a_label(forge_bench: ForgeBench) -> None:
    """C039 backwards: the label that stayed on the closed card goes before it is open again."""
    card = forge_bench.make(column="done", labels=("backlog", "review", "bug"))
    forge_bench.forge.forget_requests()
    moved = forge_bench.board.move(card, Move("ready", PERSON))
    assert isinstance(moved, Moved)
    assert (moved.card.column, moved.card.closed) == ("ready", False)
    assert forge_bench.card(card).columns_seen == ("ready",)
    assert "bug" in forge_bench.forge.labels_of(int(card))


def test_labels_that_are_no_columns_survive_every_move(bench: Bench) -> None:
    """Case 13, C023, F27."""
    card = bench.make(labels=("bug",))
    for column in ("in_progress", "review", "done"):
        assert isinstance(bench.move(card, column), Moved)
    assert bench.labels(card) == ["bug"]
    if bench.forge is not None:
        assert not [each for each in bench.writes() if each["method"] == "PUT" and each["operation"] == "label.set"]


def test_a_role_without_a_column_takes_the_label_away(forge_bench: ForgeBench) -> None:
    """C041: ``blocked`` is a role of the configuration that this board does not map."""
    card = forge_bench.make(labels=("bug",))
    moved = forge_bench.move(card, "blocked", "ready")
    assert isinstance(moved, Moved)
    assert moved.card.column is None
    assert forge_bench.shown(card) == ["bug"]


def test_a_closing_is_a_state_and_the_column_s_label_goes(forge_bench: ForgeBench) -> None:
    card = forge_bench.make()
    assert isinstance(forge_bench.move(card, "done", "ready"), Moved)
    assert forge_bench.shown(card) == []
    assert forge_bench.card(card).closed


# -- labels ----------------------------------------------------------------------------------------------------------
def test_a_label_is_added_and_removed_once(forge_bench: ForgeBench) -> None:
    """Cases 14 and 15."""
    card = forge_bench.make()
    assert forge_bench.board.add_label(card, "bug")
    assert not forge_bench.board.add_label(card, "bug")
    assert forge_bench.labels(card) == ["bug"]
    assert forge_bench.board.remove_label(card, "bug")
    assert not forge_bench.board.remove_label(card, "bug")
    assert forge_bench.labels(card) == []


@pytest.mark.parametrize(
    "name", ["stat: stale", "lifecycle/stale", "approved?", "bug#1", "a%2Fb", "\u2764\ufe0f heart"], ids=ascii
)
def test_a_label_of_any_spelling_is_removed(forge_bench: ForgeBench, name: str) -> None:
    """Case 16, C033, F30."""
    card = forge_bench.make(labels=(name,))
    assert forge_bench.board.remove_label(card, name)
    assert forge_bench.labels(card) == []


def test_an_unknown_label_is_refused_and_not_made(forge_bench: ForgeBench) -> None:
    """C032 for a label: nothing is sent."""
    card = forge_bench.make()
    forge_bench.forge.forget_requests()
    with pytest.raises(ForgeRefused, match="no label"):
        forge_bench.board.add_label(card, "urgentt")
    assert forge_bench.writes() == []
    assert "urgentt" not in {label.name for label in forge_bench.forge.here.labels.values()}


def test_case_counts_where_the_forge_says_so(forge_bench: ForgeBench) -> None:
    """Case 17, C031."""
    card = forge_bench.make()
    forge_bench.board.get(card)
    forge_bench.act("define_label", label="Urgent")
    if forge_bench.board.client.traits.folds_case:
        assert forge_bench.board.add_label(card, "urgent")
        assert forge_bench.labels(card) == ["Urgent"]
    else:
        with pytest.raises(ForgeRefused):
            forge_bench.board.add_label(card, "urgent")


# -- comments --------------------------------------------------------------------------------------------------------
def test_a_comment_is_made_once_and_found_by_its_marker(bench: Bench) -> None:
    """Case 18."""
    card = bench.make()
    made = bench.board.comment(card, "Hello there", DISPATCHER)
    assert bench.comments(card) == ["Hello there"]
    if isinstance(bench, ForgeBench):
        (found,) = bench.board.comments(card)
        assert (found.id, found.author.kind) == (made.id, MoverKind.DISPATCHER)
        assert "<!-- pointsman effect=" in found.text


def test_a_comment_of_one_place_is_never_made_twice(forge_bench: ForgeBench) -> None:
    card = forge_bench.make()
    first = forge_bench.board.comment(card, "Hello", DISPATCHER, place="outcome 1")
    assert forge_bench.board.comment(card, "Hello again", DISPATCHER, place="outcome 1").id == first.id
    assert forge_bench.comments(card) == ["Hello"]


def test_a_comment_whose_answer_was_lost_is_looked_for(forge_bench: ForgeBench) -> None:
    """Case 19: found by its marker; never made again when it is not."""
    card = forge_bench.make()
    lost = {"match": {"operation": "issue.comment", "nth": 1}, "fault": "act_then_close"}
    unread = {"match": {"operation": "comment.list", "nth": 1}, "fault": "status", "with": {"code": 403}}
    forge_bench.forge.script(lost, unread)
    with pytest.raises(AmbiguousEffect):
        forge_bench.board.comment(card, "Hello", DISPATCHER, place="outcome 1")
    found = forge_bench.board.comment(card, "Hello", DISPATCHER, place="outcome 1")
    assert forge_bench.comments(card) == ["Hello"]
    assert found.text.startswith("Hello")
    forge_bench.forge.script({"match": {"operation": "issue.comment", "nth": 1}, "fault": "close_before_read"})


def test_a_comment_whose_answer_is_lost_is_looked_up_at_once(forge_bench: ForgeBench) -> None:
    """Case 19, connectors.md 10: before anybody is told of a doubt."""
    card = forge_bench.make()
    forge_bench.forge.script({"match": {"operation": "issue.comment", "nth": 1}, "fault": "act_then_close"})
    made = forge_bench.board.comment(card, "Hello", DISPATCHER)
    assert made.text.startswith("Hello")
    assert forge_bench.comments(card) == ["Hello"]
    assert [each.state for each in forge_bench.wiring.store.effects.list()] == ["done"]


def test_a_comment_that_is_not_found_is_for_a_person(forge_bench: ForgeBench) -> None:
    """C072, C076 for the board: a copied marker is not ours, and nothing is sent again."""
    card = forge_bench.make()
    forge_bench.forge.script(
        {"match": {"operation": "issue.comment", "nth": 1}, "fault": "status", "with": {"code": 503}}
    )
    with pytest.raises(AmbiguousEffect) as lost:
        forge_bench.board.comment(card, "Hello", DISPATCHER, place="outcome 1")
    forge_bench.act("comment", card, body=f"copied\n<!-- pointsman effect={lost.value.effect_id} -->")
    for _ in range(3):
        with pytest.raises(AmbiguousEffect, match="may have been made"):
            forge_bench.board.comment(card, "Hello", DISPATCHER, place="outcome 1")
    assert len(forge_bench.comments(card)) == 1


def test_an_edit_keeps_the_comment_and_its_marker(forge_bench: ForgeBench) -> None:
    """Case 20."""
    card = forge_bench.make()
    made = forge_bench.board.comment(card, "First", DISPATCHER)
    forge_bench.board.edit_comment(card, made.id, "Second")
    (text,) = [each.body for each in forge_bench.forge.card(int(card)).comments if not each.system]
    assert text.startswith("Second")
    assert "<!-- pointsman effect=" in text


def test_another_s_comment_is_not_edited(forge_bench: ForgeBench) -> None:
    """Case 21."""
    card = forge_bench.make()
    theirs = str(forge_bench.forge.act("comment", number=int(card), body="mine")["id"])
    with pytest.raises(ForgeRefused, match="not one of ours"):
        forge_bench.board.edit_comment(card, theirs, "yours")
    assert forge_bench.comments(card) == ["mine"]


def test_the_status_comment_is_one_and_made_anew_when_deleted(forge_bench: ForgeBench) -> None:
    """C080 F39."""
    card = forge_bench.make()
    forge_bench.board.get(card)
    first = forge_bench.board.post_status(card, "Parked", place="run 1")
    second = forge_bench.board.post_status(card, "Finished", place="run 2")
    assert (first.id, forge_bench.comments(card)) == (second.id, ["Finished"])
    forge_bench.act("delete_comment", card, id=int(first.id))
    third = forge_bench.board.post_status(card, "Failed", place="run 3")
    assert third.id != first.id
    assert forge_bench.comments(card) == ["Failed"]


def test_closing_and_reopening_say_whether_it_was_so(forge_bench: ForgeBench) -> None:
    """Case 22."""
    card = forge_bench.make()
    assert forge_bench.board.close(card)
    assert not forge_bench.board.close(card)
    assert forge_bench.board.reopen(card)
    assert not forge_bench.board.reopen(card)
    assert not forge_bench.card(card).closed


# -- columns ---------------------------------------------------------------------------------------------------------
def test_a_renamed_column_is_followed(forge_bench: ForgeBench) -> None:
    """Case 23, C034."""
    card = forge_bench.make()
    assert titles(forge_bench, "ready") == ["A card"]
    forge_bench.rename_column("ready", "todo")
    assert titles(forge_bench, "ready") == ["A card"]
    assert forge_bench.column(card) == "ready"
    assert next(each.title for each in forge_bench.board.columns() if each.name == "ready") == "todo"


def test_a_column_made_anew_is_taken_over(forge_bench: ForgeBench) -> None:
    """Case 24, C035."""
    card = forge_bench.make()
    assert titles(forge_bench, "ready") == ["A card"]
    forge_bench.lose_column("ready")
    forge_bench.make_column("ready")
    assert forge_bench.board.list_cards(["ready"]).complete
    forge_bench.put(card, "ready")
    assert titles(forge_bench, "ready") == ["A card"]


def test_a_lost_column_is_no_empty_column(forge_bench: ForgeBench) -> None:
    """Case 25, C036."""
    card = forge_bench.make("a card", "backlog")
    assert titles(forge_bench, "backlog", "ready") == ["a card"]
    forge_bench.lose_column("ready")
    listing = forge_bench.board.list_cards(["backlog", "ready"])
    assert not listing.complete
    assert "ready" in listing.why
    forge_bench.forge.forget_requests()
    with pytest.raises(ColumnLost):
        forge_bench.move(card, "ready", "backlog")
    assert forge_bench.writes() == []


# -- what a card says ------------------------------------------------------------------------------------------------
def test_blockers_are_links_and_lines_and_may_be_unreadable(forge_bench: ForgeBench) -> None:
    """Case 26: none, some, another repository, unreadable."""
    first, second = forge_bench.make("one"), forge_bench.make("two")
    third = forge_bench.make("three", body=f"Blocked by #{first}")
    far = forge_bench.make("far", body="Depends on octo/api#4")
    forge_bench.act("block", third, by_number=int(second))
    assert forge_bench.card(first).blockers == ()
    if forge_bench.board.client.traits.native_blockers:
        assert set(forge_bench.card(third).blockers or ()) == {CardRef("web", first), CardRef("web", second)}
    else:
        assert forge_bench.card(third).blockers == (CardRef("web", first),)
    assert forge_bench.card(far).blockers is None
    forge_bench.forge.script({"match": {"operation": "dependency.list"}, "fault": "status", "with": {"code": 404}})
    if forge_bench.board.client.traits.native_blockers:
        assert forge_bench.card(first).blockers is None


def test_the_version_changes_with_each_change(bench: Bench) -> None:
    """Case 27."""
    card = bench.make()
    seen = [bench.card(card).version]
    bench.edit(card, "another title")
    seen.append(bench.card(card).version)
    bench.move(card, "review")
    seen.append(bench.card(card).version)
    bench.put(card, "done")
    seen.append(bench.card(card).version)
    assert len(set(seen)) == 4
    assert bench.card(card).version == seen[-1]


@pytest.mark.parametrize(
    "text", ["e\u0301 Ünï ∀ \U0001f9d1\u200d\U0001f4bb", "a\tb\n\n    code\n`x`", "\u202eright-to-left"], ids=ascii
)
def test_text_survives_the_round_trip(bench: Bench, text: str) -> None:
    """Case 28."""
    card = bench.make("é" + text.split("\n", maxsplit=1)[0], body=text)
    assert bench.card(card).body == text
    bench.board.comment(card, text, DISPATCHER)
    assert bench.comments(card)[0].replace("\u2060", "") == text


def test_a_text_that_is_too_long_is_cut_before_it_is_sent(forge_bench: ForgeBench) -> None:
    """Case 29, C078."""
    card = forge_bench.make()
    size = 1_100_000 if forge_bench.forge.kind == "gitlab" else 70_000
    made = forge_bench.board.comment(card, "x" * size, DISPATCHER, place="long")
    (text,) = [each.body for each in forge_bench.forge.card(int(card)).comments if not each.system]
    assert "cut:" in text
    assert text.rstrip().endswith("-->")
    assert len(text) < size
    assert forge_bench.board.comment(card, "again", DISPATCHER, place="long").id == made.id


# -- faults ----------------------------------------------------------------------------------------------------------
def test_a_throttle_is_told_as_one(forge_bench: ForgeBench) -> None:
    """Case 30."""
    card = forge_bench.make()
    forge_bench.forge.script({"match": {}, "fault": "throttle_plain"})
    with pytest.raises(RateLimited):
        forge_bench.board.get(card) if forge_bench.forge.kind != "gitlab" else forge_bench.board.list_cards(["ready"])


@pytest.mark.parametrize("status", [401, 403])
def test_a_refusal_is_told_with_its_kind(forge_bench: ForgeBench, status: int) -> None:
    """Case 31."""
    forge_bench.make()
    forge_bench.forge.script({"match": {}, "fault": "status", "with": {"code": status}})
    with pytest.raises(ForgeRefused) as refused:
        forge_bench.board.list_cards(["ready"])
    assert refused.value.status == status
    assert refused.value.evidence.kind == {401: "unauthorised", 403: "forbidden"}[status]


def test_a_read_back_that_lags_is_waited_for(forge_bench: ForgeBench) -> None:
    """Case 32, C043: five seconds are waited for, longer is pending, and nothing is sent twice."""
    card = forge_bench.make()
    forge_bench.board.get(card)
    forge_bench.forge.script({"match": {"method": "GET"}, "fault": "lag", "with": {"seconds": 5, "what": "labels"}})
    forge_bench.clock.advance(60)
    forge_bench.forge.forget_requests()
    try:
        moved = forge_bench.move(card, "in_progress", "ready")
        assert isinstance(moved, Moved)
    except MovePending:
        forge_bench.clock.advance(60)
        assert isinstance(forge_bench.move(card, "in_progress"), Moved)
    added = [each for each in forge_bench.writes() if each["operation"] != "label.remove"]
    assert len(added) == 1


def test_a_list_that_is_older_than_our_move_is_no_person_s_word(forge_bench: ForgeBench) -> None:
    """Case 32, C016: what it shows elsewhere than we put it lately is read again by its number."""
    card = forge_bench.make()
    forge_bench.board.list_cards(["ready"])
    lag = {"fault": "lag", "match": {"method": "GET"}, "with": {"seconds": 90, "what": "lists"}}
    forge_bench.forge.script(lag)
    forge_bench.clock.advance(60)
    assert isinstance(forge_bench.move(card, "in_progress", "ready"), Moved)
    shown = {each.id: each for each in forge_bench.board.list_cards(["ready", "in_progress"]).cards}
    assert (shown[card].column, shown[card].column_by) == ("in_progress", MoverKind.DISPATCHER)
    forge_bench.clock.advance(60)
    forge_bench.forge.script()
    forge_bench.put(card, "review")
    assert forge_bench.board.list_cards(["review"]).cards[0].column_by is MoverKind.FORGE


def test_two_writers_do_not_both_believe(forge_bench: ForgeBench) -> None:
    """Case 33, C040: a person moves the card between our read and our write."""
    card = forge_bench.make()
    forge_bench.board.get(card)
    forge_bench.forge.script(forge_bench.person_before_move(card, "backlog"))
    answer = forge_bench.move(card, "in_progress", "ready")
    assert isinstance(answer, Refused)
    assert forge_bench.shown(card) == ["backlog"]


def test_nothing_is_repeated_below_us(forge_bench: ForgeBench) -> None:
    """Case 36, C104: one request for a change that is not safe to repeat, whatever happens to its answer."""
    card = forge_bench.make()
    for number, fault in enumerate(("act_then_close", "act_then_reset", "act_then_5xx", "act_then_cut_body")):
        forge_bench.forge.script({"match": {"operation": "issue.comment"}, "fault": fault})
        forge_bench.forge.forget_requests()
        forge_bench.board.comment(card, f"text {number}", DISPATCHER)
        assert [each["operation"] for each in forge_bench.writes()] == ["issue.comment"]


def test_a_check_looks_at_everything_and_changes_nothing(forge_bench: ForgeBench) -> None:
    """Case 34, C160: identity, rights, columns, limits, clock, as ``doctor`` shows them."""
    forge_bench.make()
    forge_bench.forge.forget_requests()
    findings = list(forge_checkup.examine(forge_bench.wiring, readable=True))
    assert {each.id for each in findings} == CHECKS
    assert [each for each in findings if each.level == "fail"] == []
    assert forge_bench.writes() == []


def test_a_check_names_what_is_wrong_with_a_column(forge_bench: ForgeBench) -> None:
    """Case 34, C036: each finding that is no pass says what to do."""
    forge_bench.lose_column("review")
    wrong = [each for each in forge_checkup.examine(forge_bench.wiring, readable=True) if each.level != "pass"]
    assert any("review" in each.text for each in wrong)
    assert all(each.remedy for each in wrong)


def test_a_deadline_holds_against_a_peer_that_drips(forge_bench: ForgeBench) -> None:
    """Case 35, C020: bytes that keep coming do not keep a call alive."""
    forge_bench.make()
    forge_bench.board.list_cards(["ready"])
    forge_bench.forge.script({"match": {}, "fault": "drip", "with": {"bytes_per_s": 20}})
    read_only = Errand(Purpose.WATCH, deadline=0.5)
    begun = time.monotonic()
    with pytest.raises(ConnectorError):
        forge_bench.client_on(SystemClock()).whoami(read_only)
    assert time.monotonic() - begun < 10


def test_every_case_of_the_suite_is_played() -> None:
    """C001: the numbers 1 to 36, each in the docstring of a test."""
    told = re.findall(r"Cases? ([\d, and]+)", Path(__file__).read_text(encoding="utf-8"))
    assert {int(number) for each in told for number in re.findall(r"\d+", each)} == set(range(1, 37))
