"""Benches of the board conformance suite: a board of each kind and what people do to its cards (connectors.md 23).

A new kind of board adds a bench here, not tests. What people do goes past our connector: straight into the store for
boards that live with us, through the fake forge's acts for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from config.load import load
from connectors.base import Absent, Capability, Move, Moved, Refused
from connectors.card import DISPATCHER, PERSON, Card
from connectors.drafts import CardDraft, CardPatch
from connectors.fake_forge.running import FakeForge, Setup
from connectors.forge.client import ForgeClient
from connectors.limiter.state import MemoryLimiterStore
from connectors.memory.board import MemoryBoard
from connectors.native.board import NativeBoard
from connectors.native.defaults import DEFAULT_COLUMNS
from connectors.observer import Silent
from dispatcher.forges import Forges, World
from dispatcher.wiring import Wiring
from engine.ports import Clock
from engine.store.database import Database
from tests.kit.clock import FakeClock
from tests.kit.fakes import fake
from tests.kit.ids import CountingIds

FORGES = ("github", "gitlab", "forgejo")
NAMES = ("inbox", "backlog", "ready", "waiting_deps", "in_progress", "awaiting_input", "review")
CONFIG = """
boards:
  - name: web
    kind: {kind}
    url: "{url}"
    repo: {repo}
    token: $TOKEN
    allow_private: true
    columns: {{{columns}, done: {{closed: true}}}}
"""


class Bench:
    """A board of ours, and people's hands on it. ``forge`` is None where the board lives with us."""

    board: Any
    forge: FakeForge | None = None

    def __init__(self, board: Any, clock: FakeClock) -> None:
        self.board, self.clock = board, clock

    def need(self, capability: Capability) -> None:
        """Skip a case that this kind of board cannot have, by the capability's name."""
        if capability not in self.board.capabilities:
            pytest.skip(f"the board lacks {capability}")

    def make(self, title: str = "A card", column: str = "ready", **given: Any) -> str:
        """A person makes a card; ``labels``, ``body``."""
        return str(self.board.create(CardDraft(title, column=column, **given), PERSON).id)

    def put(self, card_id: str, to: str) -> None:
        """A person moves a card."""
        assert isinstance(self.board.move(card_id, Move(to, PERSON)), Moved)

    def delete(self, card_id: str) -> None:
        """A person deletes a card."""
        self.board.delete(card_id, PERSON)

    def edit(self, card_id: str, title: str) -> None:
        """A person changes a card's title."""
        self.board.update(card_id, CardPatch(title=title), PERSON)

    def labels(self, card_id: str) -> list[str]:
        """A card's labels without those of columns."""
        return list(self.card(card_id).labels)

    def comments(self, card_id: str) -> list[str]:
        """The texts of a card's comments, without our markers."""
        return [each.text.split("\n\n<!--")[0] for each in self.board.comments(card_id)]

    def card(self, card_id: str) -> Card:
        """The card as our board reads it."""
        found = self.board.get(card_id)
        assert isinstance(found, Card), found
        return found

    def column(self, card_id: str) -> str | None:
        """The card's column as our board reads it."""
        return self.card(card_id).column

    def move(self, card_id: str, to: str, expected: str | None = None) -> Moved | Refused | Absent:
        """Our move."""
        answer = self.board.move(card_id, Move(to, DISPATCHER, expected))
        assert isinstance(answer, Moved | Refused | Absent)
        return answer

    def writes(self) -> list[dict[str, Any]]:
        """The changes that the forge was asked for, oldest first."""
        assert self.forge is not None
        return [each for each in self.forge.requests() if each["method"] != "GET"]


class ForgeBench(Bench):
    """A board over a fake forge that speaks real HTTP on loopback."""

    def __init__(self, wiring: Wiring, clock: FakeClock, forge: FakeForge) -> None:
        super().__init__(wiring.boards["web"], clock)
        self.wiring = wiring
        self.forge: FakeForge = forge

    def make(self, title: str = "A card", column: str = "ready", **given: Any) -> str:
        labels = [*given.pop("labels", ()), *([column] if column in NAMES else [])]
        number = self.forge.issue(title, labels=[], body=given.pop("body", ""))
        for label in labels:
            self.forge.act("add_label", number=number, label=label)
        if column == "done":
            self.forge.act("close", number=number)
        return str(number)

    def put(self, card_id: str, to: str) -> None:
        number = int(card_id)
        if to == "done":
            self.forge.act("close", number=number)
            return
        for label in self.forge.labels_of(number):
            if label in NAMES:
                self.forge.act("remove_label", number=number, label=label)
        self.forge.act("add_label", number=number, label=to)

    def delete(self, card_id: str) -> None:
        self.forge.act("delete", number=int(card_id))

    def edit(self, card_id: str, title: str) -> None:
        self.forge.act("edit", number=int(card_id), title=title)

    def labels(self, card_id: str) -> list[str]:
        return [label for label in self.forge.labels_of(int(card_id)) if label not in NAMES]

    def comments(self, card_id: str) -> list[str]:
        return [each.body.split("\n\n<!--")[0] for each in self.forge.card(int(card_id)).comments if not each.system]

    def client_on(self, clock: Clock) -> ForgeClient:
        """Another client of the same forge, on another clock."""
        world = World(clock, MemoryLimiterStore(), Silent())
        return Forges(self.wiring.settings, world).client("web")

    def act(self, do: str, card_id: str = "", **given: Any) -> None:
        """What a person does on the forge."""
        self.forge.act(do, **({"number": int(card_id)} if card_id else {}), **given)


@contextmanager
def native(folder: Path, clock: FakeClock) -> Iterator[Bench]:
    """The board of the store."""
    with Database.open(f"sqlite:///{folder / 'board.db'}") as database:
        yield Bench(NativeBoard("web", database, clock, CountingIds()), clock)


@contextmanager
def memory(folder: Path, clock: FakeClock) -> Iterator[Bench]:
    """The board of a process."""
    yield Bench(MemoryBoard("web", DEFAULT_COLUMNS, clock, CountingIds()), clock)


def over(kind: str) -> Callable[[Path, FakeClock], Any]:
    """The maker of a bench over a fake forge of that kind."""

    @contextmanager
    def made(folder: Path, clock: FakeClock) -> Iterator[Bench]:
        with fake(kind, Setup(clock=clock)) as forge:
            wiring = wired(folder, clock, forge)
            yield ForgeBench(wiring, clock, forge)
            wiring.close()

    return made


def wired(folder: Path, clock: FakeClock, forge: FakeForge) -> Wiring:
    """The parts of a daemon over a fake forge, its store in the folder."""
    columns = ", ".join(f"{name}: {{label: {name}}}" for name in NAMES)
    text = CONFIG.format(kind=forge.kind, url=forge.url, repo=forge.repo, columns=columns)
    (folder / "pointsman.yaml").write_text(text)
    settings = load(folder / "pointsman.yaml", {"TOKEN": forge.token})
    wiring = Wiring(settings, store_dir=folder / "store", store_url=f"sqlite:///{folder / 'store' / 'p.db'}")
    wiring.clock, wiring.ids, wiring.watches = clock, CountingIds(), True
    return wiring


MAKERS: dict[str, Callable[[Path, FakeClock], Any]] = {
    "native": native,
    "memory": memory,
    **{kind: over(kind) for kind in FORGES},
}
