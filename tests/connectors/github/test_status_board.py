"""The one board over forges, on a project's statuses: made from the configuration, driven like any other board."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from config.load import load
from connectors.base import Absent, Lookup, Move, Moved, Refused
from connectors.card import DISPATCHER, PERSON, Card
from connectors.errors import ConnectorError
from connectors.fake_forge.running import FakeForge, Setup
from connectors.forge.board import LabelBoard
from dispatcher.wiring import Wiring
from tests.kit.clock import FakeClock
from tests.kit.fakes import fake
from tests.kit.ids import CountingIds

CONFIG = """
boards:
  - name: web
    kind: github
    url: "{url}"
    repo: octo/demo
    token: $TOKEN
    allow_private: true
    project: {{owner: octo, number: 1}}
    columns:
      ready: {{status: ready}}
      in_progress: {{status: in_progress}}
      review: {{status: review}}
      done: {{closed: true}}
"""


@dataclass
class Bench:
    forge: FakeForge
    board: LabelBoard
    wiring: Wiring

    def make(self, status: str = "ready", **given: Any) -> str:
        number = self.forge.issue(**given)
        self.forge.act("add_item", number=number, **({"status": status} if status else {}))
        return str(number)

    def card(self, card_id: str) -> Card:
        found = self.board.get(card_id)
        assert isinstance(found, Card)
        return found

    def move(self, card_id: str, to: str, expected: str | None = None) -> Moved | Refused | Absent:
        return self.board.move(card_id, Move(to, DISPATCHER, expected))

    @property
    def changes(self) -> list[str]:
        return [
            each["body"]["query"]
            for each in self.forge.requests("POST", "graphql")
            if each["body"]["query"].startswith("mutation")
        ]


@pytest.fixture
def bench(tmp_path: Path, clock: FakeClock) -> Iterator[Bench]:
    with fake("github", Setup(clock=clock)) as forge:
        (tmp_path / "pointsman.yaml").write_text(CONFIG.format(url=forge.url))
        settings = load(tmp_path / "pointsman.yaml", {"TOKEN": forge.token})
        wiring = Wiring(settings, store_dir=tmp_path / "store", store_url=f"sqlite:///{tmp_path / 'store' / 'p.db'}")
        wiring.clock, wiring.ids, wiring.watches = clock, CountingIds(), True
        board: Any = wiring.boards["web"]
        yield Bench(forge, board, wiring)
        wiring.close()


def test_cards_are_listed_by_their_status(bench: Bench) -> None:
    ready, review, closed = bench.make(), bench.make("review"), bench.make("review")
    bench.make("")
    bench.forge.act("close", number=int(closed))
    listing = bench.board.list_cards(["ready", "review"])
    assert listing.complete
    assert {card.id: card.column for card in listing.cards} == {ready: "ready", review: "review"}
    assert bench.card(closed).column == "done"
    assert [card.id for card in bench.board.list_cards(["done"]).cards] == [closed]


def test_a_move_sets_the_status_in_one_request_and_is_read_back(bench: Bench) -> None:
    """C024."""
    card = bench.make(labels=["bug"])
    assert isinstance(bench.move(card, "in_progress", "ready"), Moved)
    found = bench.card(card)
    assert (found.column, found.labels) == ("in_progress", ("in_progress", "bug"))
    assert len(bench.changes) == 1
    again = bench.move(card, "in_progress")
    assert isinstance(again, Moved)
    assert not again.changed
    assert len(bench.changes) == 1


def test_a_move_against_a_person_is_refused(bench: Bench) -> None:
    card = bench.make()
    bench.forge.act("set_status", number=int(card), status="review")
    refused = bench.move(card, "in_progress", "ready")
    assert isinstance(refused, Refused)
    assert refused.card.column == "review"
    assert bench.changes == []


def test_a_card_is_closed_and_its_status_cleared_and_reopened_by_a_person(bench: Bench) -> None:
    card = bench.make("review")
    assert isinstance(bench.move(card, "done", "review"), Moved)
    assert bench.forge.card(int(card)).state == "closed"
    assert len(bench.changes) == 1
    assert isinstance(bench.board.move(card, Move("ready", PERSON)), Moved)
    assert (bench.card(card).column, bench.forge.card(int(card)).state) == ("ready", "open")


@pytest.mark.parametrize("fault", ["act_then_close", "act_then_5xx", "close_before_read"])
def test_a_lost_answer_to_a_move_is_read_back_and_sent_again_only_when_it_was_not_made(
    bench: Bench, fault: str
) -> None:
    """C026."""
    card = bench.make()
    bench.card(card)
    match = {"operation": "graphql"}

    def scripted(nth: int) -> None:
        bench.forge.script({"match": {**match, "nth": nth}, "fault": fault})

    before = len(bench.forge.requests("POST", "graphql"))
    bench.move(card, "in_progress", "ready")
    reads = bench.forge.requests("POST", "graphql")[before:]
    nth = next(n for n, each in enumerate(reads, 1) if each["body"]["query"].startswith("mutation"))
    scripted(nth)
    made = len(bench.changes)
    assert isinstance(bench.move(card, "review", "in_progress"), Moved)
    assert bench.card(card).column == "review"
    assert len(bench.changes) - made == 1, "one that was not read by the forge is not among its records"


def test_options_that_were_made_anew_are_found_by_name(bench: Bench) -> None:
    """C037."""
    card = bench.make()
    bench.card(card)
    bench.forge.act("options_regenerated")
    assert isinstance(bench.move(card, "in_progress", "ready"), Moved)


def test_a_renamed_option_takes_its_cards_along(bench: Bench) -> None:
    """C034."""
    card = bench.make()
    assert bench.card(card).column == "ready"
    bench.forge.act("rename_option", **{"from": "ready", "to": "todo"})
    assert bench.card(card).column == "ready"
    assert bench.board.list_cards(["ready"]).complete


def test_a_lost_option_degrades_the_listing_and_no_card_is_gone(bench: Bench) -> None:
    """C036."""
    card = bench.make()
    bench.card(card)
    field = bench.forge.world.projects[0].fields[0]
    field.options = [each for each in field.options if each.name != "ready"]
    assert not bench.board.list_cards(["ready"]).complete
    seen = bench.board.get_many([card])
    assert isinstance(seen, Lookup)
    assert card in seen.found
    with pytest.raises(ConnectorError):
        bench.move(card, "ready")


def test_a_comment_and_a_label_go_to_the_issue(bench: Bench) -> None:
    card = bench.make()
    bench.board.comment(card, "hello", DISPATCHER)
    assert [each.author for each in bench.forge.card(int(card)).comments] == ["pointsman-bot"]
    assert bench.card(card).column == "ready"
