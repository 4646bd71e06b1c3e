"""What is remembered of forges, over a real store (connectors.md 4, 6, 13)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from connectors.card import MoverKind
from connectors.forge.memory import Crossing, KnownLabel, Placed
from connectors.limiter.state import Budget
from dispatcher.ledger import Ledger
from dispatcher.ledger.forge_rows import UNSEEN, BoardMemory, LedgerLimits, Seat
from engine.run import EffectRecord
from engine.store.store import Store
from tests.kit.clock import FakeClock
from tests.kit.runs import launched, open_store

SEAT = Seat("web", "github", frozenset({"web", "bots"}))


@pytest.fixture
def opened(tmp_path: Path, clock: FakeClock) -> Iterator[tuple[Store, Ledger]]:
    store = open_store(tmp_path, clock)
    with store.database:
        yield store, Ledger(store.database)


def memory(opened: tuple[Store, Ledger], *, writes: bool = True) -> BoardMemory:
    store, ledger = opened
    return BoardMemory(SEAT, ledger, store.effects, writes=writes)


def test_each_place_of_a_card_takes_the_next_sequence_of_the_store(
    opened: tuple[Store, Ledger], clock: FakeClock
) -> None:
    kept = memory(opened)
    placed = Placed("ready", MoverKind.FORGE, clock.now(), "ann")
    first = kept.place({"1": placed, "2": placed})
    second = kept.place({"1": replace(placed, column="")})
    assert second["1"].sequence > max(each.sequence for each in first.values())
    assert kept.cards(["1", "2", "3"])["1"].placed == second["1"]
    assert set(kept.cards(["1", "2", "3"])) == {"1", "2"}


def test_who_only_looks_writes_nothing_and_sees_the_newest(opened: tuple[Store, Ledger], clock: FakeClock) -> None:
    looking = memory(opened, writes=False)
    seen = looking.place({"1": Placed("ready", MoverKind.FORGE, clock.now())})
    looking.keep_columns({"ready": KnownLabel("ready", "l1", "ready")})
    assert seen["1"].sequence == UNSEEN
    assert (looking.cards(["1"]), looking.columns()) == ({}, {})


def test_who_moves_a_card_is_kept_though_its_command_only_looks(opened: tuple[Store, Ledger], clock: FakeClock) -> None:
    """A person's ``card move`` on a forge is a person's to the daemon as well."""
    looking = memory(opened, writes=False)
    moved = looking.place({"1": Placed("ready", MoverKind.PERSON, clock.now(), "ann")}, moved=True)
    assert memory(opened).cards(["1"])["1"].placed == moved["1"]


def test_a_move_under_way_and_the_status_comment_outlive_what_is_seen(
    opened: tuple[Store, Ledger], clock: FakeClock
) -> None:
    kept = memory(opened)
    placed = Placed("ready", MoverKind.FORGE, clock.now())
    kept.place({"1": placed, "2": placed})
    kept.cross("1", Crossing("ready", "in_progress"))
    kept.cross("2", Crossing("ready", ""))
    kept.keep_note("1", "c7")
    kept.place({"1": replace(placed, column="in_progress")})
    assert kept.crossings() == {"1": Crossing("ready", "in_progress"), "2": Crossing("ready", "")}
    assert kept.cards(["1"])["1"].note == "c7"
    kept.cross("1", None)
    kept.cross("2", None)
    assert kept.crossings() == {}


def test_labels_of_columns_are_kept_per_board(opened: tuple[Store, Ledger]) -> None:
    kept = memory(opened)
    kept.keep_columns({"ready": KnownLabel("ready", "l1", "Ready"), "review": KnownLabel("review", "l2", "review")})
    kept.keep_columns({"ready": KnownLabel("ready", "l3", "ready")})
    assert kept.columns()["ready"] == KnownLabel("ready", "l3", "ready")
    assert kept.columns()["review"].id == "l2"


def test_the_run_whose_own_call_moved_a_card_is_known(opened: tuple[Store, Ledger], clock: FakeClock) -> None:
    store, _ = opened
    for run, operation, params in (
        ("r1", "github.label.add", {"number": 1, "label": "review"}),
        ("r2", "github.label.add", {"number": 1, "label": "urgent"}),
        ("r3", "github.label.add", {"number": 2, "label": "review"}),
        ("r4", "github.issue.close", {"number": 3}),
    ):
        launched(store, run)
        plain = EffectRecord("e" + run, run, "n", "", "", 1, "bots", operation, "f", "", "done", clock.now())
        store.effects.open(replace(plain, params=params), 1)
        clock.advance(1)
    kept = memory(opened)
    assert kept.run_of_move("1", ["review", "Review"]) == "r1"
    assert kept.run_of_move("3", []) == "r4"
    assert kept.run_of_move("4", ["review"]) == ""


def test_the_limiter_s_row_survives_and_a_damaged_one_is_made_anew(opened: tuple[Store, Ledger]) -> None:
    """C112 in the store: what a forge asked for is known to the next process."""
    store, ledger = opened
    limits = LedgerLimits(ledger)
    after = limits.change("c1", lambda state: replace(state, budgets={"core": Budget(10, 5000)}, throttles=2))
    assert LedgerLimits(Ledger(store.database)).read("c1") == after
    with ledger.write() as cursor:
        cursor.execute("UPDATE forge_limit SET state = 'x'")
    assert limits.read("c1").throttles == 0
