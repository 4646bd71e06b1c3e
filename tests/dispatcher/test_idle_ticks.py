"""What a tick reads while nobody commits anything (dispatcher.md 4; performance, goal 5)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import event

from tests.kit.clock import FakeClock
from tests.kit.yard import ASKS, DETERMINISTIC, Yard

TABLE = re.compile(r"FROM\s+(\w+)")


@pytest.fixture
def yard(tmp_path: Path, clock: FakeClock) -> Iterator[Yard]:
    made = Yard(tmp_path, clock)
    yield made
    made.close()


@contextmanager
def tables_read(yard: Yard) -> Iterator[set[str]]:
    """The tables that reads of the store name inside the block."""
    found, engine = set[str](), yard.wiring.database._read_engine

    def lent(connection: object, _entry: object, _proxy: object) -> None:
        connection.set_trace_callback(lambda sql: found.update(TABLE.findall(sql)))  # type: ignore[attr-defined]

    event.listen(engine, "checkout", lent)
    yield found
    event.remove(engine, "checkout", lent)


def parked(yard: Yard) -> list[str]:
    """A card that waits for answers, and one whose run failed for good."""
    yard.bot(ASKS)
    yard.bot(DETERMINISTIC, "fails")
    cards = [yard.make(), yard.make(bot="fails")]
    yard.tick(4)
    assert [yard.column(card) for card in cards] == ["awaiting_input", "awaiting_input"]
    return cards


def test_parked_cards_cost_an_idle_tick_no_query(yard: Yard) -> None:
    parked(yard)
    yard.clock.advance(5)
    with tables_read(yard) as found:
        yard.tick()
    assert found == set()


def test_what_somebody_commits_is_read_by_the_next_tick(yard: Yard) -> None:
    asking, _ = parked(yard)
    yard.resume(asking, answers={"ok": True})
    with tables_read(yard) as found:
        yard.tick(2)
    assert {"run", "settlement", "card_link"} <= found
    assert yard.column(asking) == "review"
