"""Benches of the board conformance suite: a board of each kind and what people do to its cards (connectors.md 23).

A new kind of board adds a bench here, not tests. What people do goes past our connector: straight into the store for
boards that live with us, through the fake forge's acts for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from config.load import load
from connectors.base import Absent, Capability, Move, Moved, Refused
from connectors.card import DISPATCHER, PERSON, Card
from connectors.drafts import CardDraft, CardPatch
from connectors.fake_forge.records import Option
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
        return [each for each in self.forge.requests() if each["method"] != "GET" and not _is_query(each)]


def _is_query(request: dict[str, Any]) -> bool:
    """Whether a GraphQL document only asks."""
    document = request["body"].get("query", "") if isinstance(request["body"], dict) else ""
    return request["operation"] == "graphql" and str(document).lstrip().startswith("query")


class ForgeBench(Bench):
    """A board over a fake forge that speaks real HTTP on loopback: columns are labels."""

    second_page: Mapping[str, Any] = {"operation": "issue.list", "after": 1}
    """What a listing asks for behind its first page."""

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

    def reads_of(self, card_id: str, place: int) -> dict[str, Any]:
        """What a read of cards asks for the card at this place, from 0, and asks again when it fails."""
        return {"operation": "issue.get", "path": f"*/{card_id}"}

    def person_before_move(self, card_id: str, to: str) -> dict[str, Any]:
        """A person's move of a card in ``ready``, right before our request takes hold."""
        operation = "issue.edit" if self.forge.kind == "gitlab" else "label.add"
        act = {"do": "move", "number": int(card_id), "from": "ready", "to": to}
        return self.scripted({"operation": operation, "nth": 1}, act)

    def scripted(self, match: dict[str, Any], act: dict[str, Any]) -> dict[str, Any]:
        """A person's act before a request."""
        return {"match": match, "fault": "person", "with": {"act": act, "when": "before"}}

    def shown(self, card_id: str) -> list[str]:
        """The card's columns and other labels as the forge itself has them, the column first."""
        names = self.forge.labels_of(int(card_id))
        return sorted(names, key=lambda name: name not in NAMES)

    def rename_column(self, column: str, to: str) -> None:
        """A person renames what a column is mapped to."""
        self.forge.act("rename_label", **{"from": column, "to": to})

    def lose_column(self, column: str) -> None:
        """A person deletes what a column is mapped to."""
        self.forge.act("delete_label", label=column)

    def make_column(self, column: str) -> None:
        """A person makes it anew."""
        self.forge.act("define_label", label=column)

    def act(self, do: str, card_id: str = "", **given: Any) -> None:
        """What a person does on the forge."""
        self.forge.act(do, **({"number": int(card_id)} if card_id else {}), **given)


class ProjectBench(ForgeBench):
    """A board over a project of GitHub: columns are the statuses of its items, and labels are labels."""

    second_page: Mapping[str, Any] = {"operation": "graphql", "after": 2}
    reading_back = 4
    """Which of a move's documents reads the status right before it is set."""

    def make(self, title: str = "A card", column: str = "ready", **given: Any) -> str:
        number = self.forge.issue(title, labels=[], body=given.pop("body", ""))
        self.forge.act("add_item", number=number, **({"status": column} if column in NAMES else {}))
        for label in given.pop("labels", ()):
            self.forge.act("add_label", number=number, label=label)
        if column == "done":
            self.forge.act("close", number=number)
        return str(number)

    def put(self, card_id: str, to: str) -> None:
        self.forge.act("close", number=int(card_id)) if to == "done" else self.act("set_status", card_id, status=to)

    def reads_of(self, card_id: str, place: int) -> dict[str, Any]:
        return {"operation": "graphql", "nth": list(range(place + 1, place + 5))}

    def person_before_move(self, card_id: str, to: str) -> dict[str, Any]:
        act = {"do": "set_status", "number": int(card_id), "status": to}
        return self.scripted({"operation": "graphql", "nth": self.reading_back}, act)

    def shown(self, card_id: str) -> list[str]:
        project = self.forge.world.projects[0]
        names = {option.id: option.name for field in project.fields for option in field.options}
        mine = [item for item in project.items if item.card is not None and item.card.number == int(card_id)]
        statuses = [names[value] for item in mine for value in item.values.values() if value in names]
        return [*statuses, *self.forge.labels_of(int(card_id))]

    def rename_column(self, column: str, to: str) -> None:
        self.forge.act("rename_option", **{"from": column, "to": to})

    def lose_column(self, column: str) -> None:
        project = self.forge.world.projects[0]
        for field in project.fields:
            field.options = [option for option in field.options if option.name != column]

    def make_column(self, column: str) -> None:
        field = self.forge.world.projects[0].fields[0]
        field.options.append(Option(id=f"{self.forge.world.new_id():08x}", name=column))


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


@contextmanager
def project(folder: Path, clock: FakeClock) -> Iterator[Bench]:
    """A board over a fake GitHub's project."""
    with fake("github", Setup(clock=clock)) as forge:
        wiring = wired(folder, clock, forge, by="status", more="project: {owner: octo, number: 1}")
        yield ProjectBench(wiring, clock, forge)
        wiring.close()


def wired(folder: Path, clock: FakeClock, forge: FakeForge, *, by: str = "label", more: str = "") -> Wiring:
    """The parts of a daemon over a fake forge, its store in the folder. ``by`` is what columns are mapped to."""
    columns = ", ".join(f"{name}: {{{by}: {name}}}" for name in NAMES)
    text = CONFIG.format(kind=forge.kind, url=forge.url, repo=forge.repo, columns=columns)
    text += f"    {more}\n" if more else ""
    (folder / "pointsman.yaml").write_text(text)
    settings = load(folder / "pointsman.yaml", {"TOKEN": forge.token})
    wiring = Wiring(settings, store_dir=folder / "store", store_url=f"sqlite:///{folder / 'store' / 'p.db'}")
    wiring.clock, wiring.ids, wiring.watches = clock, CountingIds(), True
    return wiring


MAKERS: dict[str, Callable[[Path, FakeClock], Any]] = {
    "native": native,
    "memory": memory,
    **{kind: over(kind) for kind in FORGES},
    "github-project": project,
}
