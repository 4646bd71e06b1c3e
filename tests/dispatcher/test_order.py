"""The order of candidates: total and the same everywhere (dispatcher.md 17)."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from connectors.card import Card, MoverKind
from dispatcher.order import key

NOW = datetime(2026, 11, 1, tzinfo=UTC)
CARD = Card("native", "c1", 1, "t", "ready", NOW, NOW, NOW, MoverKind.PERSON)

cards = st.builds(
    lambda board, number, priority, position, age: replace(
        CARD,
        board=board,
        id=f"c{number}",
        number=number,
        priority=priority,
        position=position,
        created_at=NOW + timedelta(seconds=age),
    ),
    st.sampled_from(["a", "b"]),
    st.integers(1, 50),
    st.integers(-2, 2),
    st.none() | st.floats(-10, 10),
    st.integers(0, 3),
)


def test_priority_then_position_then_age_then_address() -> None:
    """D150."""
    high = replace(CARD, id="h", priority=9)
    placed = replace(CARD, id="p", position=1.0)
    older = replace(CARD, id="o", created_at=NOW - timedelta(days=1))
    later = replace(CARD, id="z", number=2)
    assert [c.id for c in sorted([later, CARD, older, placed, high], key=key)] == ["h", "p", "o", "c1", "z"]


@given(st.lists(cards, max_size=40, unique_by=lambda card: (card.board, card.number)))
def test_the_order_is_total_and_independent_of_the_input(given_cards: list[Card]) -> None:
    """D150."""
    shuffled = random.Random(1).sample(given_cards, len(given_cards))
    assert sorted(given_cards, key=key) == sorted(shuffled, key=key)
    assert len({key(card) for card in given_cards}) == len(given_cards)
