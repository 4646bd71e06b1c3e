"""Two stores over one board of a forge: each moves the same card to another column (connectors.md 6, C040)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from connectors.base import Absent, Board, Move, Moved, Refused
from connectors.card import DISPATCHER
from connectors.errors import ConnectorError
from tests.conformance.benches import FORGES, MAKERS, NAMES, ForgeBench, wired
from tests.kit.clock import FakeClock

POINTS = ("X1", "X2", "X3", "X4", "X5")
Told = Moved | Refused | Absent | None
"""What a store believes of its move; None when it knows of no end yet."""


class Pair:
    """Two stores with one account, and whatever is to happen at the points of each one's changes."""

    def __init__(self, bench: ForgeBench, folder: Path, stack: ExitStack) -> None:
        self.bench = bench
        self.at: list[Callable[[str], None]] = [lambda _point: None] * 2
        self.boards: list[Board] = []
        for place in range(2):
            (folder / f"store{place}").mkdir()
            wiring = wired(folder / f"store{place}", bench.clock, bench.forge)
            wiring.passed = lambda point, place=place: self.at[place](point)  # type: ignore[misc]
            stack.callback(wiring.close)
            self.boards.append(wiring.boards["web"])

    @property
    def steps(self) -> int:
        """How many requests a move takes."""
        return 1 if self.bench.board.client.traits.swaps else 2

    def card(self, title: str) -> str:
        """A card in ``ready`` that both have seen."""
        card = self.bench.make(title)
        for board in self.boards:
            board.get(card)
        return card

    def move(self, place: int, card: str) -> Told:
        """One store's move out of ``ready``."""
        try:
            return self.boards[place].move(card, Move(("in_progress", "backlog")[place], DISPATCHER, "ready"))
        except ConnectorError:
            return None

    def check(self, card: str, told: list[Told]) -> None:
        """At most one believes that it moved the card, and it stands where that one says, in one column."""
        for _ in range(2):
            for board in self.boards:
                board.finish_moves()  # type: ignore[attr-defined]
            self.bench.clock.advance(60)
        believers = [each.card.column for each in told if isinstance(each, Moved) and each.changed]
        assert len(believers) <= 1
        (column,) = (label for label in self.bench.forge.labels_of(int(card)) if label in NAMES)
        assert not believers or believers == [column]


@pytest.fixture(params=FORGES)
def pair(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> Iterator[Pair]:
    with ExitStack() as stack:
        yield Pair(stack.enter_context(MAKERS[request.param](tmp_path, clock)), tmp_path, stack)


def once_at(point: str, number: int, act: Callable[[], object]) -> Callable[[str], None]:
    """Do it behind the n-th pass of a point."""
    left = [number]

    def passed(here: str) -> None:
        left[0] -= here == point
        if here == point and left[0] == 0:
            act()

    return passed


@pytest.mark.parametrize("point", POINTS)
def test_a_move_of_another_store_between_our_requests_is_believed_by_one(pair: Pair, point: str) -> None:
    """C040: behind each point of our move the other store makes the whole of its own."""
    for number in range(1, pair.steps + 1):
        card, told = pair.card(f"{point}#{number}"), list[Told]()
        pair.at[0] = once_at(point, number, lambda card=card, told=told: told.append(pair.move(1, card)))  # type: ignore[misc]
        told.append(pair.move(0, card))
        assert len(told) == 2
        pair.check(card, told)


def test_two_stores_that_send_at_the_same_instant_do_not_both_believe(pair: Pair) -> None:
    """C040: both have looked, both rows are written, then both requests leave; each other step is in step too."""
    card = pair.card("both")
    both = threading.Barrier(2)

    def together(point: str) -> None:
        if point == "X2" and not both.broken:
            try:
                both.wait(5)
            except threading.BrokenBarrierError:
                return

    pair.at[:] = [together, together]
    told: list[Told] = []
    threads = [threading.Thread(target=lambda place=place: told.append(pair.move(place, card))) for place in range(2)]  # type: ignore[misc]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        both.abort()
    assert len(told) == 2
    pair.check(card, told)
